"""What can be wrong with a model file."""

from sgdone.state_file.file_format import StateFileError


class ModelFileError(StateFileError):
    """A file that holds no model that can be used: the message says what was found and what to do."""
