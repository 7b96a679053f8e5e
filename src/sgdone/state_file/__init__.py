"""Arrays and plain numbers in files, as safetensors without pickle: checkpoints, and the base of model files."""
