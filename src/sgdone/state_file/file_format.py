"""Kinds of files, their errors, and how messages name them."""

import os
from dataclasses import dataclass
from typing import final

from sgdone.losses.loss import Loss


class StateFileError(ValueError):
    """A file that cannot be used: the message says what was found and what to do."""


class CheckpointError(StateFileError):
    """A file without a usable checkpoint, or with that of another fit."""


#: Errors that unsuitable values can cause.
UNUSABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


@final
@dataclass(frozen=True)
class FileFormat:
    """A kind of file.

    Parameters
    ----------
    name, version : str, int
        Name and version of the format, stored in each file.
    what : str
        Kind of file, as in "model file".
    holds : str
        Content of the file, as in "model".
    made_by : str
        Which files can be read: "that sgdone.save wrote".
    again : str
        Advice if a file cannot be read.
    error : type
        Error that is raised.
    refused : dict of str to str
        Messages about versions that are no longer supported.
    """

    name: str
    version: int
    what: str
    holds: str
    made_by: str
    again: str
    error: type[StateFileError]
    refused: dict[str, str]


def name_and_task(loss: Loss | None) -> dict[str, str] | None:
    """Name and task of a loss that its reader must supply."""
    return None if loss is None else {"name": loss.name, "task": loss.task}


def check_loss(
    path: str | os.PathLike[str], stored: dict[str, str] | None, given: Loss | None, form: FileFormat, call: str
) -> None:
    """Raise if the loss is missing, or not the one that was used; ``call`` says how to give it."""
    if stored is None:
        if given is not None:
            raise form.error(f"{path}: was not trained with a loss of your own: leave loss= out")
        return
    what = f"was trained with a loss of your own, {stored['name']!r} (for {stored['task']}), which no file holds"
    if given is None:
        raise form.error(f"{path}: {what}: bring it along, {call}")
    if not isinstance(given, Loss):
        raise form.error(f"{path}: {what}; loss={given!r} is not a sgdone.CustomLoss: give the object itself")
    if (given.name, given.task) != (stored["name"], stored["task"]):
        raise form.error(f"{path}: {what}; loss= is {given.name!r} (for {given.task}): give the same one")
