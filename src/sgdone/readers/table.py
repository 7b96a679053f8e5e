"""The result of reading a file, the options of the readers, and their error."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.losses.learning_task import Task
from sgdone.machine.memory import MemoryBudget
from sgdone.matrices.stacking import ReusedArrays, rows_together
from sgdone.message_text import RowError, rows_from
from sgdone.readers.locations import STANDARD_INPUT, Location, Place, joined_places, places_among, shown
from sgdone.tables.string_cells import arrow_of


class DataError(ValueError):
    """Raised for a file that cannot be used; the message says what was found, where, and what to do."""


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Rows with labels and weights, and where they are from: a file, a part of one, a batch or a data set."""

    #: An Arrow table with nulls for missing values, or numbers in an array, a CSR array or a `MixedMatrix`. Those of
    #: files are finite, unless others are allowed.
    X: Any
    #: Labels: numbers, booleans or strings, as in the file. None for a file without labels.
    y: NDArray[Any] | None
    #: Names of the columns; None if the format has none. A svmlight file whose largest index is far beyond the number
    #: of indices that occur has columns for these only: ``feature 7``, ``feature 2000000000``. Read its test file with
    #: ``features=table.feature_names``.
    feature_names: list[str] | None = None
    label_name: str | None = None
    #: Name of the file or data set in messages.
    name: str = ""
    #: For svmlight, whether indices start at 0. A test file must be read like its training file.
    zero_based: bool | None = None
    weights: NDArray[np.float64] | None = None
    #: Columns that were left out on request.
    dropped: list[str] = field(default_factory=list)
    #: The rows of the file that have a label, if others were skipped, and the number of those.
    labelled: NDArray[np.int64] | None = None
    unlabelled: int = 0
    #: Maps a row of the table to its place: "clicks.csv, line 18".
    place: Place | None = None
    #: For data sets by name: the names of the classes, the task, and which rows these are.
    class_names: list[str] | None = None
    task: Task | None = None
    subset: Literal["train", "test"] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, which must be present."""
        assert self.y is not None
        return self.y

    @property
    def weights_of_scores(self) -> NDArray[np.float64] | None:
        """The weights, unless all are 0."""
        return self.weights if self.weights is not None and self.weights.any() else None

    def place_of(self, row: int) -> str:
        """A row in messages: its place in a file, or the name of the data."""
        return self.name if self.place is None else self.place(row)

    def at(self, rows: NDArray[Any] | slice) -> "Table":
        """Some of the rows: by their numbers, a mask, or a slice without a step."""
        if isinstance(rows, slice):
            numbers: Any = range(self.n_rows)[rows]
            X = self.X.slice(numbers.start, len(numbers)) if isinstance(self.X, pa.Table) else self.X[rows]
        else:
            numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
            # `pa.array` of NumPy values would import pandas.
            X = self.X.take(arrow_of(numbers)) if isinstance(self.X, pa.Table) else self.X[numbers]
        return replace(
            self,
            X=X,
            y=None if self.y is None else self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
            place=None if self.place is None else places_among(self.place, numbers),
        )


#: Bytes that the buffers of a fit may take.
MAX_MEMORY = 1_000_000_000
#: A megabyte is a million bytes to people, and a little more to the buffers.
_LEAST_MEMORY = 1 << 20
#: Bits of a hash of features at most.
_MOST_BITS = 31


@final
@dataclass(frozen=True)
class ReadOptions:
    """Options of reading files, for all readers and the command; defaults and checks are here."""

    #: The file; of several, the one that is read at present.
    path: Location = STANDARD_INPUT
    #: Name of the label column, or a condition on a column of numbers, such as ``"delay > 15"``, whose labels are True
    #: and False. By default the column named label, target, y or class.
    label: str | None = None
    #: Whether to raise an error for a file without labels. If False, ``y`` of a file in which labels are missing is
    #: None.
    require_label: bool = True
    #: Whether rows without a label are skipped, if others have one; ``labelled`` of the table then has the numbers of
    #: the others. If False, a missing label raises an error.
    skip_unlabelled: bool = False
    #: The feature columns to read, in this order; others are ignored. By default all but the label. For svmlight,
    #: ``feature 7`` is the column of index 7; for Vowpal Wabbit, ``f^age`` is the feature ``age`` of the namespace
    #: ``f``.
    features: Sequence[str] | None = None
    #: Expected number of features. For svmlight, the largest number of features allowed and the number of columns of
    #: ``X``.
    n_features: int | None = None
    #: Whether the indices of a svmlight file start at 0. This is not inferred, because a training file and its test
    #: file must agree.
    zero_based: bool = False
    #: Whether features may be infinite, and those of a svmlight file NaN. If False, such a value raises an error.
    #: Missing values in the columns of CSV and Parquet files are always allowed.
    allow_missing: bool = False
    #: Columns to leave out. Each is a name, or several names with commas between them.
    drop: Sequence[str] = ()
    #: Name of the column with the weights of the rows, which is not a feature. It may be absent from a file that needs
    #: no labels.
    weight: str | None = None
    #: Columns of a CSV file that stay strings, whatever their cells are.
    as_strings: Collection[str] = ()
    #: Separator of the cells of a CSV file. By default a comma, tab or semicolon, whichever is in the first line.
    separator: str | None = None
    #: Whether the first line of a CSV file names the columns. If not, they are named x1, x2, …, and their numbers are
    #: names too.
    header: bool = True
    #: For Vowpal Wabbit, features are hashed to 2**bits columns, as Vowpal Wabbit does; for svmlight, columns are taken
    #: modulo 2**bits. By default each feature has a column.
    bits: int | None = None
    #: "arrow", "csv", "jsonl", "parquet", "svmlight" or "vw"; by default inferred from the file extension or, failing
    #: that, from the first lines.
    format: str | None = None
    #: Bytes that the buffers of a fit may take: rows that need more than a quarter are read in parts.
    max_memory: int = MAX_MEMORY
    #: Folder for the encoded rows of a fit that reads them several times. By default the user's cache folder.
    cache: Path | None = None
    #: Whether further rows of the same table are elsewhere: a file may have no rows, no labels, and none of the keys.
    part_of_table: bool = False
    #: Called with the number of bytes of the file (compressed, if it is) read since the last call.
    on_bytes: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        lists = {"the columns are": self.features, "drop is": self.drop, "as_strings is": self.as_strings}
        for what, names in lists.items():
            if isinstance(names, str):
                raise TypeError(f"{what} given as a string, {names!r}: give a list of names")
        label: Any = self.label
        if label is not None and not isinstance(label, str):
            raise TypeError(f"label must be the name of a column; got {label!r}")
        bits: Any = self.bits
        if bits is not None and not (isinstance(bits, Integral) and 1 <= int(bits) <= _MOST_BITS):
            raise ValueError(f"bits must be between 1 and {_MOST_BITS}; got {bits!r}")
        n_features: Any = self.n_features
        if n_features is not None and not (isinstance(n_features, Integral) and int(n_features) >= 0):
            raise ValueError(f"n_features must be a whole number, 0 or more; got {n_features!r}")
        object.__setattr__(self, "max_memory", checked_memory(self.max_memory))

    @property
    def width(self) -> int | None:
        """Expected number of features, if given."""
        return self.n_features if self.features is None else len(self.features)

    def budget(self) -> MemoryBudget:
        """The memory available for the file, and an error that names the file."""
        return MemoryBudget(
            lambda needed, available, what: self.error(
                f"is too large: {what} need about {needed} of memory, but {available} are available. Use fewer rows or "
                "columns, or a machine with more memory"
            )
        )

    def error(self, problem: str, *, place: str = "") -> DataError:
        """Build an error that names the file, and the place in it, before the problem."""
        return DataError(f"{shown(self.path)}{', ' if place else ''}{place}: {problem}")


def checked_memory(max_memory: Any) -> int:
    """A number of bytes."""
    number = isinstance(max_memory, (int, float, np.integer, np.floating)) and not isinstance(max_memory, bool)
    if not number or not 1_000_000 <= max_memory < float("inf"):
        raise ValueError(f"max_memory must be a number of bytes, a million or more; got {max_memory!r}")
    return max(int(max_memory), _LEAST_MEMORY)


@contextmanager
def errors_located(place: Place | None) -> Iterator[None]:
    """Convert errors about a row of a table to errors that name its place in the file; warnings name it too."""
    try:
        with rows_from(place):
            yield
    except RowError as error:
        if place is None:
            raise
        raise DataError(error.at(place(error.row))) from error


def shortened(text: str, limit: int = 60) -> str:
    """The text, or its beginning and its length if it is long."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def reads_as_number(text: str) -> bool:
    """Whether a text is a number as files have it; Python allows ``1_000`` too."""
    try:
        float(text.replace("_", "?"))
    except ValueError:
        return False
    return True


def tables_of_rows(tables: Iterable[Table], size: int, arrays: ReusedArrays | None = None) -> Iterator[Table]:
    """The rows of tables in tables of ``size`` rows, in ``arrays`` if given; only the last has fewer."""
    waiting: list[Table] = []
    count = 0
    for table in tables:
        first, n_rows = 0, table.X.shape[0]
        while n_rows - first > 0:
            taken = min(size - count, n_rows - first)
            # Rows without a label count as skipped before the first row.
            unlabelled = table.unlabelled if first == 0 else 0
            part = table if taken == n_rows else table.at(slice(first, first + taken))
            waiting.append(replace(part, unlabelled=unlabelled))
            first, count = first + taken, count + taken
            if count == size:
                yield concatenated(waiting, arrays)
                waiting, count = [], 0
    if waiting:
        yield concatenated(waiting, arrays)


def concatenated(tables: Sequence[Table], arrays: ReusedArrays | None = None) -> Table:
    """The rows of several tables, in ``arrays`` if given."""
    if len(tables) == 1:
        return tables[0]
    X: Any
    if isinstance(tables[0].X, pa.Table):
        X = pa.concat_tables([table.X for table in tables])
    else:
        X = rows_together([table.X for table in tables], arrays)
    labels = None if tables[0].y is None else np.concatenate([table.y for table in tables if table.y is not None])
    weights = None
    if tables[0].weights is not None:
        weights = np.concatenate([table.weights for table in tables if table.weights is not None])
    return replace(
        tables[-1],
        X=X,
        y=labels,
        weights=weights,
        labelled=None,
        unlabelled=sum(table.unlabelled for table in tables),
        place=joined_places([table.place for table in tables], [table.X.shape[0] for table in tables]),
    )
