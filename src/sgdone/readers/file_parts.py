"""Files as parts that are read apart from each other: each a file, or some row groups of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from scipy import sparse

from sgdone.matrices.csr import with_unique_entries
from sgdone.readers.byte_streams import can_be_read_again, head_of
from sgdone.readers.column_choice import Columns
from sgdone.readers.input_files import InputFile
from sgdone.readers.locations import shown
from sgdone.readers.reader import readers
from sgdone.readers.reading import same_format
from sgdone.readers.table import ReadOptions, Table, concatenated
from sgdone.tables.string_cells import without_missing_words

#: Row groups of a file are parts of their own up to this many in all; of more, neighbours are one part.
MOST_PARTS = 1024
#: Names of groups of rows in messages.
_GROUPS = {"parquet": "row group", "arrow": "record batch"}


@final
@dataclass(frozen=True)
class FilePart:
    """Rows that are read apart from others; it can be sent to another process."""

    options: ReadOptions
    #: Name of the reader.
    format: str
    #: Bytes of the file, if known.
    size: int | None = None
    #: The row groups from ``first`` to before ``last``; both 0 for the whole file.
    first: int = 0
    last: int = 0
    #: Types of the columns of row groups.
    types: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        name = shown(self.options.path)
        if not self.last:
            return name
        what = _GROUPS.get(self.format, "group")
        if self.last - self.first == 1:
            return f"{name}, {what} {self.first + 1:,}"
        plural = "record batches" if what == "record batch" else f"{what}s"
        return f"{name}, {plural} {self.first + 1:,} to {self.last:,}"

    def read(self) -> Table:
        """The rows; those without a label are left out. A part may have no rows."""
        self._check_size()
        reader = readers()[self.format]
        if self.last:
            assert reader.read_groups is not None
            tables = reader.read_groups(self.options, range(self.first, self.last), self.types)
        else:
            tables = reader.parts([self.options])
        found, unlabelled = list[Table](), 0
        for table in tables:
            unlabelled += table.unlabelled
            if table.n_rows:
                found.append(table)
        if not found:
            names = self.options.features
            X: Any = sparse.csr_array((0, 1)) if names is None else pa.table({name: pa.nulls(0) for name in names})
            return Table(X, np.empty(0), name=shown(self.options.path), unlabelled=unlabelled)
        made = concatenated(found)
        return replace(made, X=self._features(made.X), labelled=None, unlabelled=unlabelled)

    def _features(self, X: Any) -> Any:
        """Features whose types do not depend on the other parts of the table."""
        if not isinstance(X, pa.Table):
            return with_unique_entries(X)
        if self.types:  # of the files, not of the cells
            return X
        for place, name in enumerate(X.column_names):
            if name not in self.options.as_strings and _is_blank(X.column(place)):
                X = X.set_column(place, name, pa.chunked_array([pa.nulls(X.num_rows)]))
        return X

    def _check_size(self) -> None:
        """Raise if the file has changed since the parts were listed: a part may be read again after a failure."""
        path = self.options.path
        if self.size is None or not isinstance(path, Path) or not path.is_file():
            return
        now = path.stat().st_size
        if now != self.size:
            raise self.options.error(
                f"has changed since the fit began (it had {self.size:,} bytes and has {now:,} now): start again when "
                "it is complete"
            )


@final
@dataclass(frozen=True)
class FileParts:
    """The parts of several files, in their order; ``columns`` is None for formats without names of columns."""

    parts: list[FilePart]
    format: str
    columns: Columns | None

    def with_strings(self, names: Sequence[str]) -> "FileParts":
        """The parts with further columns that stay strings."""
        parts = [
            replace(part, options=replace(part.options, as_strings=[*part.options.as_strings, *names]))
            for part in self.parts
        ]
        return replace(self, parts=parts)


def file_parts(files: Sequence[InputFile], options: ReadOptions) -> FileParts:
    """List the parts of files. Only names of columns are read, and of Parquet and Arrow files the index.

    Parquet files are divided at their row groups, and Arrow files at their record batches, unless they are compressed
    as a whole. Files of other formats are one part each.
    """
    # Absolute paths mean the same in other processes.
    paths = [file.path.absolute() if isinstance(file.path, Path) else file.path for file in files]
    each = [replace(options, path=path, part_of_table=True) for path in paths]
    for own in each:
        if not can_be_read_again(own.path):
            raise own.error("is a pipe or device, which several processes cannot read: give regular files")
    name = same_format(each)
    reader = readers()[name]
    if reader.layout is None:
        for own in each[1:]:
            head_of(own.path, 1)  # an error for a file that cannot be opened
        return FileParts([FilePart(own, name, file.size) for own, file in zip(each, files, strict=True)], name, None)
    columns, n_groups, types = reader.layout(each)
    together = -(-sum(n_groups) // MOST_PARTS)
    label = options.label if options.label is not None else columns.label
    parts = []
    for own, file, count in zip(each, files, n_groups, strict=True):
        known = replace(
            own,
            label=label,
            weight=columns.weight,
            features=columns.features,
            drop=columns.dropped if name == "jsonl" else (),
        )
        groups = [(first, min(count, first + together), types) for first in range(0, count, max(1, together))]
        parts += [FilePart(known, name, file.size, *group) for group in groups or [(0, 0, {})]]
    return FileParts(parts, name, columns)


def _is_blank(column: Any) -> bool:
    """Whether a column of strings has blanks and words for missing values only: its type is that of other parts."""
    if not pa.types.is_large_string(column.type):
        return False
    head = without_missing_words(column.slice(0, 1000))
    return bool(head.null_count == len(head) and without_missing_words(column).null_count == len(column))
