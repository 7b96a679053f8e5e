"""Whether a checkpoint belongs to the data and options that are given now; differences in words."""

import json
import math
import os
from typing import Any

from sgdone.readers.table import shortened
from sgdone.state_file.errors import CheckpointError

#: Differences that a message names, and the characters of a value that it shows: nobody reads more.
_MOST, _LONGEST = 20, 60
_ABSENT: Any = object()


def check_is_plain(identity: Any) -> None:
    """Raise a TypeError for an identity that is not a dict of what JSON can express.

    Examples
    --------
    >>> check_is_plain({"alpha": None, "files": [{"name": "clicks.csv", "bytes": 1024}]})
    >>> check_is_plain({"alpha": float("nan")})
    Traceback (most recent call last):
    TypeError: an identity must be a dict of texts, numbers, booleans, None, dicts and lists; alpha is nan
    """
    if not isinstance(identity, dict):
        raise TypeError(f"an identity must be a dict; got {identity!r}")
    for name, value in identity.items():
        if not isinstance(name, str) or not _is_plain(value):
            kinds = "texts, numbers, booleans, None, dicts and lists"
            raise TypeError(f"an identity must be a dict of {kinds}; {name} is {_shown(value)}")


def check_identity(path: str | os.PathLike[str], stored: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise if a checkpoint belongs to other data or options.

    Parameters
    ----------
    path : path
        The checkpoint, for the message.
    stored, now : dict
        The identity in the checkpoint, and that of the fit. Anything may be in it. ``"files"``, if there is such a
        key, is a list of dicts, one a file in the order of reading, each with its ``"name"``, its size in ``"bytes"``
        and whatever else identifies it.

    Raises
    ------
    CheckpointError
        With every difference in words.

    Examples
    --------
    >>> check_identity("fit.checkpoint", {"alpha": 0.1}, {"alpha": 0.2})  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    sgdone.state_file.errors.CheckpointError: fit.checkpoint: belongs to another fit: alpha was 0.1 and is 0.2 now.
    Use the same data and options, or delete the checkpoint to start again
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
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            text
            for key in dict.fromkeys((*before, *now))
            for text in _differences_of_key(f"{place}{key}", before.get(key, _ABSENT), now.get(key, _ABSENT))
        ]
    if before == now and isinstance(before, bool) == isinstance(now, bool):
        return []
    return [f"{place} {_was(before)} and {_is(now)} now"]


def _differences_of_key(place: str, before: Any, now: Any) -> list[str]:
    if place == "files" and _are_files(before) and _are_files(now):
        return _differences_of_files(before, now)
    if isinstance(before, dict) and isinstance(now, dict):
        place = f"{place}."
    return _differences(place, before, now)


def _differences_of_files(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    old, new = ({file["name"]: file for file in files} for files in (before, now))
    found = [f"the file {name} is no longer among the files" for name in old if name not in new]
    found += [f"the file {name} is new" for name in new if name not in old]
    names = [name for name in old if name in new]
    if not found and [file["name"] for file in before] != [file["name"] for file in now]:
        twice = len(before) != len(now)
        found.append("a file is given more often than before, or less" if twice else "the files are in another order")
    for name in names:
        found += [
            _difference_of_file(name, key, old[name].get(key, _ABSENT), new[name].get(key, _ABSENT))
            for key in dict.fromkeys((*old[name], *new[name]))
            if old[name].get(key, _ABSENT) != new[name].get(key, _ABSENT)
        ]
    return found


def _difference_of_file(name: str, key: str, before: Any, now: Any) -> str:
    if key == "bytes" and type(before) is int and type(now) is int:
        return f"the file {name} had {before:,} bytes and has {now:,} now"
    return f"{key} of the file {name} {_was(before)} and {_is(now)} now"


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
