"""What a reader of data files is, and which ones there are."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sgdone.data.table import ReadOptions, Table


class Reader(NamedTuple):
    """A file format: its name, its extensions, and the functions that read it."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[ReadOptions], Table]
    #: Reads columns as strings, as they are written.
    read_as_written: Callable[[ReadOptions], dict[str, list[str]]] | None = None
    #: Yields the rows of several files in their order, a few megabytes at a time. All tables have the same columns, of
    #: the same types; the width of sparse matrices may grow.
    parts: Callable[[Sequence[ReadOptions]], Iterator[Table]] | None = None
    #: Yields the columns that ``features`` names as strings, as they are written, in parts of any number of rows.
    written_parts: Callable[[Sequence[ReadOptions]], Iterator[dict[str, list[str]]]] | None = None


@lru_cache(maxsize=1)
def readers() -> dict[str, Reader]:
    """The ``READER`` of every file in `sgdone.data.readers`, by name."""
    from sgdone.data import readers as folder

    modules = [
        importlib.import_module(f"{folder.__name__}.{file.name}") for file in pkgutil.iter_modules(folder.__path__)
    ]
    return {module.READER.name: module.READER for module in modules}
