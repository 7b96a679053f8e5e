"""Checkpoints: the state of a running fit in a file, to continue it after it was interrupted."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from sgdone._version import __version__
from sgdone.losses.loss import Loss
from sgdone.readers.table import shortened
from sgdone.state_file.codec import Decoder, Encoder
from sgdone.state_file.container import read, write
from sgdone.state_file.custom_loss import check_loss, name_and_task
from sgdone.state_file.errors import UNUSABLE, CheckpointError
from sgdone.state_file.file_format import FileFormat
from sgdone.state_file.identity import check_is_plain

CHECKPOINT = FileFormat(
    name="sgdone-checkpoint",
    version=3,
    what="checkpoint",
    holds="checkpoint",
    made_by="that a fit of sgdone wrote",
    again="copy it again, or delete it and start the fit again",
    error=CheckpointError,
    refused=dict.fromkeys("12", "is a checkpoint of an earlier version of sgdone: delete it and start the fit again"),
)
_PARTS = ("custom_loss", "identity", "parts", "sgdone")


@final
@dataclass(frozen=True)
class Checkpoint:
    """What it takes to continue a fit.

    Parameters
    ----------
    identity : dict
        Which data and options it belongs to: dicts, lists, texts, numbers, booleans and None.
    parts : dict
        Named values of any kind that `sgdone.state_file.codec` holds.
    """

    identity: dict[str, Any]
    parts: dict[str, Any]


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all; an earlier one at ``path`` stays until the new one is complete.

    Arrays are not copied. The temporary file is called ``.NAME.partial``: a process that is killed while it writes
    leaves at most that file, which the next write replaces and `sgdone.machine.atomic.remove_partial` removes. Two
    processes must not write the same checkpoint.

    Parameters
    ----------
    path : path
        Name of the file.
    checkpoint : Checkpoint
        What to write.

    Raises
    ------
    OSError
        If it could not be written, because the disk is full for example.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = tempfile.mkdtemp() + "/fit.checkpoint"
    >>> write_checkpoint(path, Checkpoint({"alpha": 0.1}, {"rng": np.random.default_rng(0), "position": 512}))
    >>> read_checkpoint(path).parts["rng"].random() == np.random.default_rng(0).random()
    True
    """
    check_is_plain(checkpoint.identity)
    encoder = Encoder(running=True)
    parts = {name: encoder.encode(value, f"parts.{name}") for name, value in checkpoint.parts.items()}
    content = {
        "sgdone": __version__,
        "identity": checkpoint.identity,
        "parts": parts,
        "custom_loss": name_and_task(encoder.custom_loss),
    }
    try:
        write(path, CHECKPOINT, content, encoder.tensors, fixed_name=True)
    except OSError as error:
        if error.errno is None:
            raise
        kept = "; the earlier checkpoint is unchanged" if Path(path).is_file() else ""
        raise OSError(error.errno, f"the checkpoint was not written: {error.strerror}{kept}", str(path)) from error


def read_checkpoint(path: str | os.PathLike[str], *, loss: Loss | None = None) -> Checkpoint:
    """Read a checkpoint: its values are those that were written, bit for bit.

    Parameters
    ----------
    path : path
        The file. It is only ever read as numbers and names; no code in it is run.
    loss : Loss, optional
        The `CustomLoss` of the fit, which a file cannot hold.

    Raises
    ------
    CheckpointError
        If the file is cut short, altered, of a newer version, or no checkpoint at all.
    """
    content, tensors = read(path, CHECKPOINT)
    try:
        if sorted(content) != sorted(_PARTS):
            raise ValueError(f"its parts are {', '.join(content)}")
        check_loss(path, content["custom_loss"], loss, CHECKPOINT, "loss=...")
        check_is_plain(content["identity"])
        decoder = Decoder(tensors, loss, running=True)
        parts = {str(name): decoder.decode(code) for name, code in content["parts"].items()}
        decoder.check_all_used()
    except CheckpointError:
        raise
    except UNUSABLE as error:
        raise CheckpointError(
            f"{path}: holds no checkpoint that sgdone {__version__} can use "
            f"({type(error).__name__}: {shortened(str(error), 300)}); it was written by sgdone "
            f"{shortened(str(content.get('sgdone', '?')), 30)}: use that version, or delete it and start the fit again"
        ) from error
    return Checkpoint(content["identity"], parts)
