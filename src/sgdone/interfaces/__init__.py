"""Interfaces shared by all packages: objectives, methods, stopping rules, progress and reasons to stop."""
