"""Readers of data files: their interface, and one for each format."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sgdone.readers.column_choice import Columns
from sgdone.readers.table import ReadOptions, Table


class FileLayout(NamedTuple):
    """Columns and groups of rows of several files, known before their rows are read."""

    columns: Columns
    #: Of each file, the number of groups of rows that can be read apart from each other; 0 if it is read whole.
    n_groups: list[int]
    #: Types of the columns that all files have in common; empty if each file has its own.
    types: Mapping[str, Any] = {}


class Reader(NamedTuple):
    """A file format: its name, its extensions, and the functions that read it."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[ReadOptions], Table]
    #: Yields the rows of several files in their order, a few megabytes at a time. All tables have the same columns, of
    #: the same types; the width of sparse matrices may grow.
    parts: Callable[[Sequence[ReadOptions]], Iterator[Table]]
    #: Yields the columns that ``features`` names as strings, as they are written, in parts of any number of rows.
    written_parts: Callable[[Sequence[ReadOptions]], Iterator[dict[str, list[str]]]] | None = None
    #: Reads the names of the columns of several files, and how many groups of rows each has; None for formats without
    #: columns.
    layout: Callable[[Sequence[ReadOptions]], FileLayout] | None = None
    #: Yields the rows of some groups of a file, with columns of given types.
    read_groups: Callable[[ReadOptions, range, Mapping[str, Any]], Iterator[Table]] | None = None


@lru_cache(maxsize=1)
def readers() -> dict[str, Reader]:
    """The ``READER`` of every file in `sgdone.readers.formats`, by name."""
    from sgdone.readers import formats as folder

    modules = [
        importlib.import_module(f"{folder.__name__}.{file.name}") for file in pkgutil.iter_modules(folder.__path__)
    ]
    return {module.READER.name: module.READER for module in modules}
