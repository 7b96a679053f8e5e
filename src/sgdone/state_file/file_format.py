"""Kinds of files, their errors, and how messages name them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from sgdone._version import __version__
from sgdone.losses.loss import Loss
from sgdone.readers.table import shortened


class StateFileError(ValueError):
    """A file that cannot be used: the message says what was found and what to do."""


class CheckpointError(StateFileError):
    """A file without a usable checkpoint, or with that of another fit."""


#: Errors that unsuitable values can cause.
UNUSABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


@final
@dataclass(frozen=True)
class FileFormat:
    """A kind of file, and how messages about it are worded."""

    #: Name and version of the format, stored in each file.
    name: str
    version: int
    #: Kind of file, as in "model file", and its content, as in "model".
    what: str
    holds: str
    #: Which files can be read: "that sgdone.save wrote".
    made_by: str
    #: Advice if a file is damaged, and if another version wrote it.
    again: str
    start_again: str
    error: type[StateFileError]

    @contextmanager
    def usable(self, path: str | os.PathLike[str], content: dict[str, Any]) -> Iterator[None]:
        """Convert errors of unsuitable content to one that names the file."""
        try:
            yield
        except self.error:
            raise
        except UNUSABLE as error:
            raise self.error(
                f"{path}: holds no {self.holds} that sgdone {__version__} can use "
                f"({type(error).__name__}: {shortened(str(error), 300)}); it was written by sgdone "
                f"{shortened(str(content.get('sgdone', '?')), 30)}: use that version, or {self.start_again}"
            ) from error


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
