"""The result of reading a file, the options of the readers, and their error."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.machine.memory import MemoryBudget
from sgdone.matrices.stacking import ReusedArrays, rows_together
from sgdone.message_text import RowError, rows_from
from sgdone.readers.locations import Location, shown
from sgdone.readers.row_places import Place, joined_places, places_among


class DataError(ValueError):
    """Raised for a file that cannot be used; the message says what was found, where, and what to do."""


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Features and labels read from a file.

    Attributes
    ----------
    X : pyarrow.Table or scipy.sparse.csr_array
        The feature columns of a CSV or Parquet file, each of one type, with nulls for gaps; or the features of a
        svmlight file. Values are finite, unless others are allowed.
    y : ndarray of shape (n_rows,) or None
        Labels: numbers, booleans or strings, as in the file. None for a file without labels.
    feature_names, label_name
        Names of the columns; None if the format has none. A svmlight file whose largest index is far beyond the number
        of indices that occur has columns for these only: ``feature 7``, ``feature 2000000000``. Read its test file with
        ``features=table.feature_names``.
    path : Path or RemoteFile
        The file.
    zero_based : bool or None
        For svmlight, whether indices start at 0. A test file must be read like its training file.
    weights : ndarray of shape (n_rows,) or None
        The column of weights.
    dropped : list of str
        Columns that were left out on request.
    labelled : ndarray of int or None
        The rows of the file that have a label, if others were skipped; None if there are no others.
    unlabelled : int
        Number of rows that were skipped.
    place : callable or None
        Maps a row of the table to its place: "clicks.csv, line 18".
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: list[str] | None
    label_name: str | None
    path: Location
    zero_based: bool | None = None
    weights: NDArray[np.float64] | None = None
    dropped: list[str] = field(default_factory=list)
    labelled: NDArray[np.int64] | None = None
    unlabelled: int = 0
    place: Place | None = None


@final
@dataclass(frozen=True)
class ReadOptions:
    """Parameters of :func:`sgdone.readers.reading.read`."""

    path: Location
    label: str | None = None
    require_label: bool = True
    skip_unlabelled: bool = False
    features: Sequence[str] | None = None
    n_features: int | None = None
    zero_based: bool = False
    allow_missing: bool = False
    drop: Sequence[str] = ()
    weight: str | None = None
    as_strings: Collection[str] = ()
    separator: str | None = None
    header: bool = True
    #: Features of svmlight and Vowpal Wabbit files are hashed to 2**bits columns; None keeps one column a feature.
    bits: int | None = None
    #: Whether further rows of the same table are elsewhere: a file may have no rows, no labels, and none of the keys.
    part_of_table: bool = False
    #: Called with the number of bytes of the file (compressed, if it is) read since the last call.
    on_bytes: Callable[[int], None] | None = None

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


def all_finite(values: NDArray[Any]) -> bool:
    """Whether no value is NaN or infinite."""
    return bool(np.isfinite(values).all())


def listed(names: Sequence[str], limit: int = 20) -> str:
    """Format names for a message: the first ``limit`` names and the number of others.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], limit=2)
    "'a', 'b' and 2 more"
    """
    shown = ", ".join(repr(shortened(name)) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit:,} more"


def shortened(text: str, limit: int = 60) -> str:
    """The text, or its beginning and its length if it is long.

    Examples
    --------
    >>> shortened("0123456789" * 500, limit=10)
    '0123456789… (5,000 characters)'
    """
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
            waiting.append(_slice(table, first, taken))
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


def _slice(table: Table, first: int, count: int) -> Table:
    if first == 0 and count == table.X.shape[0]:
        return table
    rows = slice(first, first + count)
    X = table.X.slice(first, count) if isinstance(table.X, pa.Table) else table.X[rows]
    return replace(
        table,
        X=X,
        y=None if table.y is None else table.y[rows],
        weights=None if table.weights is None else table.weights[rows],
        unlabelled=table.unlabelled if first == 0 else 0,
        place=None if table.place is None else places_among(table.place, range(first, first + count)),
    )
