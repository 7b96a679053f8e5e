"""Fits from files that are killed, or sent a signal, at random moments: ``python -m tests.interruptions --help``."""
