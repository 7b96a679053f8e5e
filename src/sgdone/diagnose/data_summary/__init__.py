"""What `sgdone.diagnose.shape` looks at, one question a file."""
