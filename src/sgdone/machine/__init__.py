"""Memory, threads, signals, and files that are written completely or not at all."""
