"""The argument DATA, opened: all rows if they fit into memory, otherwise the first ones and a source of all."""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli.errors import usage
from sgdone.cli.file_options import FileOptions
from sgdone.cli.input_data import InputData, is_dataset, load, of_table
from sgdone.fit.open_rows import OpenedInput
from sgdone.readers.byte_streams import can_be_read_again, is_compressed
from sgdone.readers.input_files import InputFile, input_files
from sgdone.readers.occurring_columns import names_of, occurring, select
from sgdone.readers.reading import format_of
from sgdone.readers.row_input import FileInput, all_rows
from sgdone.readers.table import DataError, ReadOptions, Table

#: Bytes of memory that a byte of a file becomes at most: a cell of a text is a character, and a number of eight bytes;
#: a column of few values is stored in hardly any bytes in other formats.
_GROWTH_OF_TEXT, _GROWTH_OF_OTHERS = 8, 100
_TEXTS = frozenset({"csv", "jsonl", "svmlight", "vw"})
#: Share of the memory that rows in memory may take.
_IN_MEMORY = 4
#: Inputs that are named in messages.
_MOST_NAMES = 3


@final
@dataclass
class OpenedData:
    """Rows of DATA.

    Parameters
    ----------
    rows : InputData
        All rows, or those of the first part.
    others : OpenedInput or None
        All rows, to be read in parts; None if they are in memory.
    """

    rows: InputData
    others: OpenedInput | None = None

    def first_labels(self) -> NDArray[Any]:
        """The labels of all rows, or of the first ones that fit into memory."""
        if self.others is None:
            return self.rows.labels
        return np.concatenate([table.y for table in self.others.head if table.y is not None])

    def first_rows(self) -> InputData:
        """All rows, or the first ones that fit into memory."""
        if self.others is None:
            return self.rows
        complete = next(self.others.rest, None) is None
        return replace(of_table(self.rows.name, _narrowed(all_rows(self.others.head))), complete=complete)


def open_data(
    data: Sequence[str],
    options: FileOptions,
    *,
    subset: Literal["train", "test"] = "train",
    features: list[str] | None = None,
    n_features: int | None = None,
    as_strings: Collection[str] = (),
    allow_missing: bool = False,
) -> OpenedData:
    """Open files, or load a data set; rows without a label are skipped."""
    how: dict[str, Any] = {"features": features, "n_features": n_features, "as_strings": as_strings}
    if len(data) == 1 and is_dataset(data[0]):
        return OpenedData(load(data[0], options, subset=subset, **how))
    source = file_input(data, options, allow_missing=allow_missing, **how)
    name, single = named(data), source.found[0] if len(source.found) == 1 else None
    if single is not None and is_small(source):
        return OpenedData(load(data[0], options, path=single.path, allow_missing=allow_missing, **how))
    try:
        opened = OpenedInput.of(source)
    except DataError:
        if single is None or not _may_fit(single, options.max_memory):
            raise
        # Of a file in memory all cells decide the types of its columns, not the first ones.
        return OpenedData(load(data[0], options, path=single.path, allow_missing=allow_missing, **how))
    _check_bits(options, opened.head[0])
    if opened.complete:
        return OpenedData(of_table(name, _narrowed(all_rows(opened.head))))
    return OpenedData(of_table(name, opened.head[0]), opened)


def file_input(
    data: Sequence[str],
    options: FileOptions,
    *,
    features: list[str] | None = None,
    n_features: int | None = None,
    as_strings: Collection[str] = (),
    allow_missing: bool = False,
) -> FileInput:
    """The files that DATA names, to be read in parts."""
    found = input_files(data)
    if any(file.path == Path("-") for file in found[1:]):
        raise DataError("standard input (-) cannot follow other files: give it alone")
    how = ReadOptions(
        path=found[0].path,
        features=features,
        n_features=n_features,
        allow_missing=allow_missing,
        skip_unlabelled=True,
        **options.reading(as_strings),
    )
    return FileInput(found, how, None, options.max_memory, options.cache)


def named(data: Sequence[str]) -> str:
    """DATA in messages.

    Examples
    --------
    >>> named(["day 1.csv"]), named(["a.csv", "b.csv", "c.csv", "d.csv"])
    ('day 1.csv', 'a.csv b.csv c.csv and 1 more')
    """
    if len(data) == 1:
        return "standard input" if data[0] == "-" else data[0]
    more = f" and {len(data) - _MOST_NAMES:,} more" if len(data) > _MOST_NAMES else ""
    return shlex.join(data[:_MOST_NAMES]) + more


def is_small(source: FileInput) -> bool:
    """Whether there is one file, which fits into memory without a doubt."""
    file = source.found[0]
    if len(source.found) > 1 or not can_be_read_again(file.path):
        return False
    if file.size is None:
        return True  # there is no such file: the reader says so
    if format_of(source.options) == "jsonl":
        return False  # keys that few lines have take as much memory as others
    growth = _GROWTH_OF_OTHERS
    if not is_compressed(file.path) and format_of(source.options) in _TEXTS:
        growth = _GROWTH_OF_TEXT
    return file.size * growth * _IN_MEMORY <= source.max_memory


def _may_fit(file: InputFile, max_memory: int) -> bool:
    return can_be_read_again(file.path) and (file.size or 0) * _IN_MEMORY <= max_memory


def _check_bits(options: FileOptions, table: Table) -> None:
    with usage("--bits"):
        if options.bits is not None and isinstance(table.X, pa.Table):
            raise ValueError("it hashes features of svmlight and Vowpal Wabbit files, and these are tables: remove it")


def _narrowed(table: Table) -> Table:
    """The columns that occur, if the largest index of svmlight files is far beyond their number."""
    if table.zero_based is None or table.feature_names is not None:
        return table
    columns = occurring(table.X)
    if columns is None:
        return table
    return replace(table, X=select(table.X, columns), feature_names=names_of(columns, 0 if table.zero_based else 1))
