"""What the layers above speak in: objectives, methods, stopping rules, progress and reasons to stop."""
