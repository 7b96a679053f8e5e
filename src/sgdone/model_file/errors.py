"""What can be wrong with a model file."""


class ModelFileError(ValueError):
    """A file that holds no model that can be used: the message says what was found and what to do."""


def shortened(text: str, length: int = 300) -> str:
    """The beginning of a text that a file decides."""
    return text if len(text) <= length else f"{text[:length]}…"
