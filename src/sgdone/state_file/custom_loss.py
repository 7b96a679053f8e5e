"""Losses that users define: a file holds their names, never their functions."""

import os

from sgdone.losses.loss import Loss
from sgdone.state_file.file_format import FileFormat


def name_and_task(loss: Loss | None) -> dict[str, str] | None:
    """What a file says of the loss that its reader must bring along."""
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
