"""Files by several names: links to folders above, to themselves and to nothing, and files that are listed twice.

No file may be read twice or left out without an error, whatever names lead to it.
"""

import os
import shutil
import warnings
from pathlib import Path
from random import Random
from typing import Any

from sgdone.cli.input_data import file_input
from sgdone.readers.file_parts import file_parts
from sgdone.readers.input_files import input_files
from sgdone.readers.reading import read_parts
from sgdone.readers.table import DataError, ReadOptions

from ..case_kind import Kind, Note
from ..judging import answer, only

_NAMES = ("a", "b", "c 1", "_hidden", ".x", "d-10", "d-9")


def _run(_: None, random: Random, folder: Path, note: Note) -> None:
    top = folder / "links"
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir()
    for _ in range(random.randrange(1, 9)):
        _add(random, top)
    if not any(path.is_file() for path in _folders_and_files(top)):
        (top / "t.csv").write_text(_content(0))
    given = [_given(random, top) for _ in range(random.choice([1, 1, 2, 3]))]
    note(f"{sorted(str(path.relative_to(top)) for path in top.rglob('*'))} {given}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = answer(lambda: input_files(given), _problem)
        real = [os.path.realpath(file.path) for file in found]
        assert len(set(real)) == len(real), "a file is listed twice"
        way = random.choice(["parts", "partitions", "command"])
        note(way)
        n_rows = answer(lambda: _rows(way, given, found), _problem)
    expected = sum(Path(name).read_text().count("\n") - 1 for name in real)
    assert n_rows == expected, f"{n_rows} rows instead of {expected}"
    names = [str(file.path) for file in found]
    assert all(isinstance(warning.message, UserWarning) for warning in caught)
    if len(given) > 1 and len(set(map(str, given))) < len(given):
        assert caught, f"no warning that something is given twice: {names}"


def _problem(error: Exception) -> str | None:
    """Any DataError that names a file or what was given; a loop of links is one."""
    return only(DataError, Path("links"))(error) if "no data files" not in str(error) else None


def _rows(way: str, given: list[Any], found: list[Any]) -> int:
    options = ReadOptions(found[0].path, skip_unlabelled=True)
    if way == "parts":
        return sum(table.X.num_rows for table in read_parts(found, options))
    if way == "partitions":
        return sum(part.read().X.num_rows for part in file_parts(found, options).parts)
    source = file_input([str(one) for one in given], ReadOptions(skip_unlabelled=True))
    return sum(table.X.num_rows for table in source.tables())


def _add(random: Random, top: Path) -> None:
    """A file, a folder, or a link to anything: itself, a folder above, another file, nothing."""
    folders = [top, *(path for path in _folders_and_files(top) if path.is_dir())]
    path = random.choice(folders) / random.choice(_NAMES)
    kind = random.choice(["file", "file", "folder", "link", "link", "link"])
    everything = [top, *_folders_and_files(top)]
    if kind == "file":
        path = path.with_name(f"{path.name}.csv")
    if path.is_symlink() or path.exists():
        return
    if kind == "file":
        path.write_text(_content(len(everything)))
    elif kind == "folder":
        path.mkdir()
    else:
        target = random.choice([*everything, *everything, path, top / "nowhere"])
        if target.suffix == ".csv":
            path = path.with_name(f"{path.name}.csv")
        if not (path.is_symlink() or path.exists()):
            path.symlink_to(random.choice([target, os.path.relpath(target, path.parent)]))


def _folders_and_files(top: Path) -> list[Path]:
    """What is below a folder, without following links."""
    return [Path(at) / name for at, folders, files in os.walk(top) for name in sorted([*folders, *files])]


def _given(random: Random, top: Path) -> Any:
    """A folder, a pattern or a file, by any of its names."""
    chosen = random.choice([top, top, *_folders_and_files(top)])
    around = f"{chosen.parent}/../{chosen.parent.name}/{chosen.name}"
    path = random.choice([str(chosen), os.path.relpath(chosen), around])
    if chosen.is_dir() and random.random() < 0.5:
        return f"{path}/{random.choice(['*.csv', '**', '**/*.csv', '*/*', '**/**/*.csv', '*/**/d-*', '[ab]/*'])}"
    return random.choice([path, Path(path)])


def _content(number: int) -> str:
    return "a,label\n" + "".join(f"{number}.{row},{row % 2}\n" for row in range(number + 2))


KIND = Kind("links", 1, _run)
