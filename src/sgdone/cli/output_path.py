"""Paths of output files, checked before any data are read."""

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import typer


def output_path(text: str) -> Path:
    """Convert the value of an option to the path of a file that can be written."""
    path = Path(text)
    if path.is_dir() or text.endswith(("/", os.sep)):
        raise typer.BadParameter(f"{text} is a folder: give the name of a file in it")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise typer.BadParameter(f"there is no folder {folder}: create it first")
    return path


def check_not_input(option: str, path: Path | None, inputs: Iterable[str | os.PathLike[str] | None]) -> None:
    """Raise a usage error if a file to write is one of those to read, under whatever name."""
    if path is None or not path.is_file():
        return
    for other in _each_file(inputs):
        if _same_file(path, other):
            raise typer.BadParameter(f"{path} is read by this command: give another file", param_hint=f"'{option}'")


def _each_file(inputs: Iterable[str | os.PathLike[str] | None]) -> Iterator[str | os.PathLike[str]]:
    """The inputs, and the files that patterns and folders among them stand for."""
    from sgdone.readers.input_files import InputFile, input_files

    for given in inputs:
        if given is None:
            continue
        yield given
        found = list[InputFile]()
        with suppress(OSError, ValueError), warnings.catch_warnings():  # the reader reports them
            warnings.simplefilter("ignore")
            found = input_files(given)
        yield from (file.path for file in found if isinstance(file.path, Path))


def _same_file(path: Path, other: str | os.PathLike[str]) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # no such file: the name of a data set, or the reader reports it
        return False
