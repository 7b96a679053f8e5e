"""What a reader of data files is, and which ones there are."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from sgdone.data.table import ReadOptions, Table


class Reader(NamedTuple):
    """A file format: its name, its extensions, and the functions that read it, the second only columns as strings."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[ReadOptions], Table]
    read_as_written: Callable[[ReadOptions], dict[str, list[str]]] | None = None


@lru_cache(maxsize=1)
def readers() -> dict[str, Reader]:
    """The ``READER`` of every file in `sgdone.data.readers`, by name."""
    from sgdone.data import readers as folder

    modules = [
        importlib.import_module(f"{folder.__name__}.{file.name}") for file in pkgutil.iter_modules(folder.__path__)
    ]
    return {module.READER.name: module.READER for module in modules}
