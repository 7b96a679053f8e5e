"""Data files that paths, patterns, folders and addresses name, in an order that does not change."""

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import dropwhile
from pathlib import Path, PurePosixPath
from typing import Any, final
from urllib.parse import unquote, urlsplit

from sgdone.readers.byte_streams import format_suffix, similar
from sgdone.readers.locations import STANDARD_INPUT, Location, RemoteFile, shown
from sgdone.readers.reader import readers
from sgdone.readers.table import DataError
from sgdone.tables.warn_user import warn_user

#: Schemes of addresses that pyarrow opens.
REMOTE_SCHEMES = ("abfs", "abfss", "gcs", "gs", "hdfs", "s3", "viewfs")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")

#: What users give: a path, a pattern or an address.
Given = str | os.PathLike[str] | RemoteFile


def location(path: Given) -> Location:
    """The place that a path or an address names."""
    if isinstance(path, RemoteFile):
        return path
    text = os.fspath(path)
    found = _SCHEME.match(text)
    if found is None:
        return Path(text)
    scheme = found[1].lower()
    if scheme == "file":
        return Path(unquote(urlsplit(text).path))
    if scheme in REMOTE_SCHEMES:
        return RemoteFile(text)
    known = ", ".join(f"{name}:" for name in ("file", *REMOTE_SCHEMES))
    raise DataError(
        f"{text}: addresses with {scheme}: cannot be read: download the file first. Supported are files and folders, "
        f"- for standard input, and {known}"
    )


#: Folders that have been met before, by another name, and these names.
_Again = list[tuple[Path, Path]]
_WILDCARD = re.compile(r"[*?\[]")


@final
@dataclass(frozen=True)
class InputFile:
    """A data file: its size in bytes, None for a pipe, and its last modification, in nanoseconds since 1970."""

    path: Location
    size: int | None = None
    modified: int | None = None


def input_files(given: Given | Iterable[Given]) -> list[InputFile]:
    """The files that paths, patterns (``clicks/*.parquet``, ``**``), folders and addresses name.

    A folder stands for its data files and those of its subfolders, without those whose names begin with ``.`` or ``_``.
    Files of a folder or a pattern are sorted by name, numbers by their value: part-2 comes before part-10. A file
    that is found several times, by whatever names and links, is read once, with a warning.

    Raises
    ------
    DataError
        If nothing is found, or files of two formats in one folder.
    """
    several = [given] if isinstance(given, (str, os.PathLike, RemoteFile)) else given
    found = [file for one in several for file in _files_of(location(one))]
    if not found:
        raise DataError("no data files were given: give a path, a pattern, a folder or several of them")
    return _each_once(found)


def total_bytes(files: Iterable[InputFile]) -> int | None:
    """The size of all files, if each is known."""
    sizes = [file.size for file in files]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def natural_order(path: str) -> list[list[tuple[int, int, str]]]:
    """A key that sorts paths by folder, and numbers in names by their value."""
    pieces = ([piece for piece in re.split(r"(\d+)", part) if piece] for part in path.replace(os.sep, "/").split("/"))
    return [
        [(0, int(piece), piece) if piece.isdecimal() and piece.isascii() else (1, 0, piece) for piece in part]
        for part in pieces
    ]


def _each_once(files: Sequence[InputFile]) -> list[InputFile]:
    """The files without those that are others by another name: their rows would count twice."""
    once: dict[str, InputFile] = {}
    repeated = []
    for file in files:
        first = once.setdefault(_real_name(file.path), file)
        if first is not file:
            repeated.append((file.path, first.path))
    if repeated:
        again, first_path = repeated[0]
        same = "is given several times" if again == first_path else f"is the same file as {shown(first_path)}"
        more = f"; so are {len(repeated) - 1:,} more" if len(repeated) > 1 else ""
        warn_user(f"{shown(again)}: {same}{more}: its rows are read once. To count rows several times, use weights.")
    return list(once.values())


def _real_name(place: Location) -> str:
    """A name that is the same whatever links lead to a file."""
    return str(place) if isinstance(place, RemoteFile) or place == STANDARD_INPUT else os.path.realpath(place)


def _files_of(place: Location) -> list[InputFile]:
    if isinstance(place, RemoteFile):
        return _remote_files(place)
    if place == STANDARD_INPUT:
        return [InputFile(place)]
    try:
        return _local_files(place)
    except OSError as error:
        raise DataError(f"{place}: cannot be read ({error.strerror or error})") from error


def _local_files(place: Path) -> list[InputFile]:
    again: _Again = []
    if place.is_dir():
        files = _data_files(place, _below(place, again))
    elif place.exists() or not _WILDCARD.search(str(place)):
        files = [place]
    else:
        files = sorted(_matching(place, again), key=lambda path: natural_order(str(path)))
    if again:
        link, folder = again[0]
        links = f" ({len(again) - 1:,} more folders are such links)" if len(again) > 1 else ""
        warn_user(f"{link}: is the same folder as {folder}: its files are read once{links}.")
    return [
        # A pipe has no size; what does not exist is an error when it is opened.
        InputFile(path, path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else InputFile(path)
        for path in files
    ]


def _matching(pattern: Path, again: _Again) -> list[Path]:
    matching = [path for path in map(Path, dict.fromkeys(_names_of(pattern, again))) if _is_visible(path, pattern)]
    files = [path for path in matching if not path.is_dir()]
    if not files:
        folders = [path for path in matching if path.is_dir()]
        files = [path for folder in folders for path in _data_files(folder, _below(folder, again))]
    if not files:
        raise DataError(f"{pattern}: no file matches{_hint(pattern)}")
    return files


def _below(folder: Path, again: _Again) -> list[Path]:
    """The files of a folder and its subfolders; those that links lead to again are added to ``again``."""
    folders = _folders(folder, again, {_real_name(folder): folder}, hidden=(".", "_"))
    paths = (path for each in folders for path in each.iterdir() if not path.name.startswith((".", "_")))
    return sorted((path for path in paths if not path.is_dir()), key=lambda path: natural_order(str(path)))


def _names_of(pattern: Path, again: _Again) -> Iterator[str]:
    """Paths that match a pattern, as `glob` finds them, but ``**`` enters a folder once, whatever links lead to it."""
    parts = pattern.parts
    if "**" not in parts:
        yield from glob.glob(str(pattern))  # noqa: PTH207 (pathlib finds hidden files too)
        return
    at = parts.index("**")
    rest = list(dropwhile(lambda part: part == "**", parts[at:])) or ["*"]
    for top in map(Path, _names_of(Path(*parts[:at]), again)):
        for folder in _folders(top, again, {_real_name(top): top}) if top.is_dir() else ():
            yield from _names_of(Path(glob.escape(str(folder)), *rest), again)


def _folders(folder: Path, again: _Again, entered: dict[str, Path], hidden: tuple[str, ...] = (".",)) -> Iterator[Path]:
    """A folder and its subfolders, each once, whatever links lead to it."""
    yield folder
    for path in sorted(folder.iterdir(), key=lambda path: natural_order(path.name)):
        if path.name.startswith(hidden) or not path.is_dir():
            continue
        first = entered.setdefault(_real_name(path), path)
        if first is path:
            yield from _folders(path, again, entered, hidden)
        else:
            again.append((path, first))


def _is_visible(path: Path, pattern: Path) -> bool:
    """Whether no part of a path begins with ``_``, unless one of the pattern does, or has no wildcards."""
    given = set(pattern.parts)
    hidden = any(part.startswith("_") and part not in given for part in path.parts)
    return not hidden or any(part.startswith("_") and _WILDCARD.search(part) for part in given)


def _data_files(folder: Location, files: Iterable[Any]) -> list[Any]:
    """The files with an extension of a format, or all if none has one; an error if there are several formats."""
    known = {suffix: reader.name for reader in readers().values() for suffix in reader.suffixes}
    files = list(files)
    formats: dict[str, Any] = {}
    for file in files:
        suffix = format_suffix(file)
        if suffix in known:
            formats.setdefault(known[suffix], file)
    if len(formats) > 1:
        (one, first), (other, second) = list(formats.items())[:2]
        raise DataError(
            f"{shown(folder)}: has files of several formats: {first} is {one}, and {second} is {other}. Give a pattern "
            f"such as {shown(folder).rstrip('/')}/*{format_suffix(first)}"
        )
    if not files:
        raise DataError(f"{shown(folder)}: is a folder without data files; names that begin with . or _ are left out")
    return [file for file in files if not formats or format_suffix(file) in known]


def _hint(pattern: Path) -> str:
    """Hint for a pattern that matches nothing: a folder that does not exist, or the extension of files that do."""
    parts = pattern.parts
    fixed = next(index for index, part in enumerate(parts) if _WILDCARD.search(part))
    folder = Path(*parts[:fixed])
    for index in range(1, fixed + 1):
        if not Path(*parts[:index]).is_dir():
            missing = Path(*parts[:index])
            return f": the folder {missing} does not exist{similar(missing)}"
    others = [path.name for path in _below(folder, [])] if folder.is_dir() else []
    return f": the folder {folder} has {others[0]}" if others else f": the folder {folder} has no data files"


def _remote_files(place: RemoteFile) -> list[InputFile]:
    from pyarrow import fs

    plain, options = place.without_options()
    pattern = _WILDCARD.search(plain)
    base = plain[: plain.rindex("/", 0, pattern.start()) + 1] if pattern else plain
    try:
        system, path = RemoteFile(base + options).file_system()
        info = system.get_file_info(path.rstrip("/") if pattern else path)
        if info.type == fs.FileType.File:
            return [InputFile(place, info.size, info.mtime_ns)]
        if info.type == fs.FileType.NotFound:
            missing = "the folder of the pattern does not exist" if pattern else "no such file or folder"
            raise DataError(f"{place}: {missing}")
        infos = [
            (file.path[len(info.path) :].strip("/"), file)
            for file in system.get_file_info(fs.FileSelector(info.path, recursive=True))
            if file.type == fs.FileType.File
        ]
    except OSError as error:
        raise DataError(f"{place}: cannot be listed ({error})") from error
    known = {
        RemoteFile(f"{base.rstrip('/')}/{name}{options}"): file
        for name, file in sorted(infos, key=lambda pair: natural_order(pair[0]))
        if _is_wanted(name, plain[len(base) :] if pattern else None)
    }
    if pattern and not known:
        raise DataError(f"{place}: no file matches; {base} has {len(infos):,} files")
    chosen = known if pattern else _data_files(place, known)
    return [InputFile(file, known[file].size, known[file].mtime_ns) for file in chosen]


def _is_wanted(name: str, pattern: str | None) -> bool:
    parts = PurePosixPath(name).parts
    if pattern is None:
        return not any(part.startswith((".", "_")) for part in parts)
    return _matches(parts, pattern.split("/"))


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern; ``**`` stands for any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        further = bool(parts) and not parts[0].startswith((".", "_")) and _matches(parts[1:], pattern)
        return further or _matches(parts, pattern[1:])
    if not parts or (parts[0].startswith((".", "_")) and not pattern[0].startswith((".", "_"))):
        return False
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
