"""What can be wrong with a model file."""


class ModelFileError(ValueError):
    """A file that holds no model that can be used: the message says what was found and what to do."""
