"""Models in files: safetensors with a JSON header, no pickle."""

from sgdone.model_file.model import ModelFileError, load, load_fitted, read_header, save

__all__ = ["ModelFileError", "load", "load_fitted", "read_header", "save"]
