"""Readers of data files, whole or in parts; `formats` has one file per format."""
