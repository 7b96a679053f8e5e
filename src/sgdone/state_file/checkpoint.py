"""Checkpoints: the state of a running fit in a file, to continue it after it was interrupted."""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from sgdone._version import __version__
from sgdone.losses.loss import Loss
from sgdone.readers.table import shortened
from sgdone.state_file.codec import Decoder, Encoder
from sgdone.state_file.container import read, write
from sgdone.state_file.file_format import CheckpointError, FileFormat, check_loss, name_and_task

#: Differences that a message names, and the characters of a value that it shows: nobody reads more.
_MOST, _LONGEST = 20, 60
_ABSENT: Any = object()


def check_is_plain(identity: Any) -> None:
    """Raise a TypeError for an identity that is not a dict of JSON values."""
    if not isinstance(identity, dict):
        raise TypeError(f"an identity must be a dict; got {identity!r}")
    for name, value in identity.items():
        if not isinstance(name, str) or not _is_plain(value):
            kinds = "texts, numbers, booleans, None, dicts and lists"
            raise TypeError(f"an identity must be a dict of {kinds}; {name} is {_shown(value)}")


def check_identity(path: str | os.PathLike[str], stored: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise a CheckpointError with every difference in words if a checkpoint belongs to other data or options.

    ``"files"`` of an identity is a list of dicts, one a file in the order of reading, each with its ``"name"``, its
    size in ``"bytes"`` and whatever else identifies it.
    """
    check_is_plain(now)
    found = _differences("", stored, json.loads(json.dumps(now)))
    if not found:
        return
    more = f"; and {len(found) - _MOST:,} more differences" if len(found) > _MOST else ""
    raise CheckpointError(
        f"{path}: belongs to another fit: {'; '.join(found[:_MOST])}{more}. "
        "Use the same data and options, or delete the checkpoint to start again"
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))


def _differences(place: str, before: Any, now: Any) -> list[str]:
    """Differences in words; ``place`` is the keys that lead to the values."""
    if isinstance(before, dict) and isinstance(now, dict):
        start = f"{place}." if place else ""
        pairs = [(f"{start}{key}", before.get(key, _ABSENT), now.get(key, _ABSENT)) for key in {**before, **now}]
        return [text for pair in pairs for text in _differences(*pair)]
    if place == "files" and _are_files(before) and _are_files(now):
        return _differences_of_files(before, now)
    if before == now and isinstance(before, bool) == isinstance(now, bool):
        return []
    return [f"{place} {_was(before)} and {_is(now)} now"]


def _differences_of_files(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    old, new = ({file["name"]: file for file in files} for files in (before, now))
    found = [f"the file {name} is no longer among the files" for name in old if name not in new]
    found += [f"the file {name} is new" for name in new if name not in old]
    names = [name for name in old if name in new]
    if not found and [file["name"] for file in before] != [file["name"] for file in now]:
        twice = len(before) != len(now)
        found.append("a file is given more often than before, or less" if twice else "the files are in another order")
    for name in names:
        for key in {**old[name], **new[name]}:
            was, now_is = old[name].get(key, _ABSENT), new[name].get(key, _ABSENT)
            if was != now_is and key == "bytes" and type(was) is int and type(now_is) is int:
                found.append(f"the file {name} had {was:,} bytes and has {now_is:,} now")
            elif was != now_is:
                found.append(f"{key} of the file {name} {_was(was)} and {_is(now_is)} now")
    return found


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(file, dict) and isinstance(file.get("name"), str) for file in value
    )


def _was(value: Any) -> str:
    return "was not given" if value is _ABSENT else f"was {_shown(value)}"


def _is(value: Any) -> str:
    return "is not given" if value is _ABSENT else f"is {_shown(value)}"


def _shown(value: Any) -> str:
    return shortened(repr(value), _LONGEST)


CHECKPOINT = FileFormat(
    name="sgdone-checkpoint",
    version=5,
    what="checkpoint",
    holds="checkpoint",
    made_by="that a fit of sgdone wrote",
    again="copy it again, or delete it and start the fit again",
    start_again="delete it and start the fit again",
    error=CheckpointError,
)
_PARTS = ("custom_loss", "identity", "parts", "sgdone")


@final
@dataclass(frozen=True)
class Checkpoint:
    """State of a fit that can be continued."""

    #: Which data and options it belongs to: dicts, lists, texts, numbers, booleans and None.
    identity: dict[str, Any]
    #: Named values of any kind that `sgdone.state_file.codec` holds.
    parts: dict[str, Any]


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically; an earlier one at ``path`` stays until the new one is complete.

    Arrays are not copied. The temporary file is called ``.NAME.partial``: a process that is killed while it writes
    leaves at most that file, which the next write replaces and `sgdone.machine.atomic.remove_partial` removes. Two
    processes must not write the same checkpoint. An OSError says why it could not be written.
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
    """Read a checkpoint; its values equal those that were written, bit for bit.

    The file is only ever read as numbers and names; no code in it is run. One that is cut short, altered or of another
    version is a CheckpointError. ``loss`` is the `CustomLoss` of the fit, which a file cannot hold.
    """
    content, tensors = read(path, CHECKPOINT)
    with CHECKPOINT.usable(path, content):
        if sorted(content) != sorted(_PARTS):
            raise ValueError(f"its parts are {', '.join(content)}")
        check_loss(path, content["custom_loss"], loss, CHECKPOINT, "loss=...")
        check_is_plain(content["identity"])
        decoder = Decoder(tensors, loss, running=True)
        parts = {str(name): decoder.decode(code) for name, code in content["parts"].items()}
        decoder.check_all_used()
    return Checkpoint(content["identity"], parts)
