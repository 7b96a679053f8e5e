"""Readers of data files, one file each; they are found by their place in this folder."""
