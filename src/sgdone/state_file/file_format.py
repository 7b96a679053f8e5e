"""What a kind of file is called, and how messages speak of it."""

from dataclasses import dataclass
from typing import final

from sgdone.state_file.errors import StateFileError


@final
@dataclass(frozen=True)
class FileFormat:
    """A kind of file.

    Parameters
    ----------
    name, version : str, int
        What files of this format say of themselves.
    what : str
        What a file is, "model file".
    holds : str
        What it holds, "model".
    made_by : str
        Which files can be read: "that sgdone.save wrote".
    again : str
        What to do if it cannot be read.
    error : type
        What is raised.
    refused : dict of str to str
        What to say of versions that are no longer read.
    """

    name: str
    version: int
    what: str
    holds: str
    made_by: str
    again: str
    error: type[StateFileError]
    refused: dict[str, str]
