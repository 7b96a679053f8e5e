"""Rows of dense, CSR and mixed matrices as compiled loops read them, and blocks: rows, labels, weights and order."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels import rows as access
from sgdone.kernels.column_statistics import make_scan
from sgdone.kernels.rows import RowAccess
from sgdone.matrices.csr import as_unsigned, check_csr, check_indptr, has_duplicates, without_duplicates
from sgdone.matrices.mixed_matrix import MixedMatrix, with_dense_columns
from sgdone.rows.faults import BadRowError, column_text, label_fault

#: Largest number of entries of a sparse row to prefetch.
_LONGEST_REACH = 256
#: Largest coefficient of a scaled feature that is still finite in the user's units.
_SPARE = 1024.0
#: Smallest unit of a feature with such coefficients.
SMALLEST_SCALE = _SPARE / float(np.finfo(np.float64).max)
#: How the entries of rows are stored.
Storage = Literal["dense", "sparse", "mixed"]
#: Roles of sparse columns, which decide the units in which they are trained on. `ENTRIES` are columns of which nothing
#: more is known. `LEVEL` are columns that mark the rows with a level of a category, a part of a date or a missing
#: value. Greater numbers are words of a text: the same number for the words of one column.
ENTRIES, LEVEL = 0, 1


def roles_of_features(n_dense: int, texts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Roles of the features of an encoder: dense ones come first, and ``texts`` numbers those that are words.

    Examples
    --------
    >>> roles_of_features(1, np.array([-1, -1, 0, 0, 1]))
    array([0, 1, 2, 2, 3], dtype=int32)
    """
    roles = np.where(texts >= 0, texts + LEVEL + 1, LEVEL).astype(np.int32)
    roles[:n_dense] = ENTRIES
    return roles


@final
@dataclass(frozen=True)
class Scaling:
    """Scaling of the features in the loops: (x − shift)/scale. ``shift=None`` does not centre the features."""

    scale: NDArray[np.float64]
    shift: NDArray[np.float64] | None = None

    def of(self, columns: slice) -> "Scaling":
        """The scaling of some columns; None in place of shifts that are all 0, so that sparse columns stay sparse."""
        shift = None if self.shift is None or not self.shift[columns].any() else self.shift[columns]
        return Scaling(self.scale[columns], shift)

    def as_given(self) -> "Scaling":
        """Units of rows that are scaled already; constant columns stay as they are."""
        return Scaling(np.where(np.isfinite(self.scale), 1.0, np.inf))

    def is_same(self, other: "Scaling") -> bool:
        """Whether the units are the same."""
        if self is other:
            return True
        if (self.shift is None) != (other.shift is None) or not np.array_equal(self.scale, other.scale):
            return False
        return self.shift is None or other.shift is None or np.array_equal(self.shift, other.shift)

    def from_user(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A model of the user's, outputs × features, in these units: coefficients, features × outputs, and intercepts.

        Columns with infinite units have the coefficient 0.
        """
        moved = intercept if self.shift is None else intercept + coef @ self.shift
        return (coef * np.where(np.isfinite(self.scale), self.scale, 0.0)).T, moved

    def to_user(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64], out: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A model in these units, features × outputs, in the user's: coefficients, outputs × features, and intercepts.

        ``out`` is an array for the coefficients, features × outputs.
        """
        own = np.divide(coef, self.scale[:, None], out=out)
        return np.ascontiguousarray(own.T), intercept if self.shift is None else intercept - self.shift @ own


@final
@dataclass(frozen=True)
class Rows:
    """A matrix as compiled loops read it: how its rows are stored, the arrays, and the units of its columns."""

    storage: Storage
    #: Arrays that the functions of `access` take; for mixed rows, the arrays of the dense and of the sparse columns.
    arrays: tuple[Any, ...]
    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    scaling: Scaling | None = None
    #: Names of the columns for messages, if known.
    names: Sequence[Any] | None = None
    #: The dense and the sparse columns of mixed rows.
    mixed: tuple["Rows", "Rows"] | None = None
    #: What each column is part of (`sgdone.rows.rows.ENTRIES`); None if it is not known of any.
    roles: NDArray[np.int32] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        scaling: Scaling | None = None,
        names: Sequence[Any] | None = None,
        roles: NDArray[np.int32] | None = None,
        *,
        unique: bool = False,
    ) -> "Rows":
        """Rows of a C-contiguous array, a CSR matrix or a `MixedMatrix` of float32 or float64, scaled by ``scaling``.

        A `MixedMatrix` without sparse columns is the array, and one without dense columns the CSR matrix. ``unique``
        says that the rows of a CSR matrix are known to have no column twice, and none out of range. Arrays that are not
        `aligned` are copied.
        """
        X = aligned(X)
        if isinstance(X, MixedMatrix):
            if not X.sparse.shape[1] or not X.n_dense:
                return cls.of(X.sparse if not X.n_dense else X.dense, scaling, names, roles, unique=unique)
            parts = cls.of(X.dense), cls.of(X.sparse, unique=unique)
            arrays: tuple[Any, ...] = parts[0].arrays, parts[1].arrays
            found = cls("mixed", arrays, *X.shape, X.dtype, None, names, parts, roles)
        else:
            storage: Storage = "sparse" if sparse.issparse(X) else "dense"
            arrays = (frozen(X),) if storage == "dense" else _sparse(X, unique)
            found = cls(storage, arrays, X.shape[0], X.shape[1], X.dtype, None, names, None, roles)
        return found if scaling is None else found.in_units(scaling)

    @property
    def access(self) -> RowAccess:
        """The compiled functions of methods that train one model, which take one storage."""
        if self.storage == "mixed":
            raise TypeError("rows that are part dense, part sparse are trained on by the default fit only")
        if self.storage == "dense":
            return access.DENSE if self.scaling is None else access.DENSE_SCALED
        if self.scaling is None:
            return access.CSR
        return access.CSR_SCALED if self.scaling.shift is None else access.CSR_SHIFTED

    @property
    def is_dense(self) -> bool:
        """Whether all columns are dense."""
        return self.storage == "dense"

    @property
    def is_sparse(self) -> bool:
        """Whether all columns are sparse."""
        return self.storage == "sparse"

    @property
    def n_dense(self) -> int:
        """Number of dense columns: they are the first."""
        if self.mixed is not None:
            return self.mixed[0].n_features
        return self.n_features if self.is_dense else 0

    @property
    def parts(self) -> tuple[tuple[slice, "Rows"], ...]:
        """The dense and the sparse columns: which they are, and rows of them alone. One part if all are of a kind."""
        if self.mixed is None:
            return ((slice(0, self.n_features), self),)
        return (slice(0, self.n_dense), self.mixed[0]), (slice(self.n_dense, self.n_features), self.mixed[1])

    def matrix(self, rows: NDArray[np.uint64]) -> Any:
        """A copy of the given rows in the user's units, stored like the matrix."""
        if self.mixed is not None:
            return MixedMatrix(*(part.matrix(rows) for part in self.mixed))
        if self.is_dense:
            return self.arrays[0][rows]
        data, indices, indptr = self.arrays[:3]
        starts, ends = indptr[rows].astype(np.int64), indptr[rows + np.uint64(1)].astype(np.int64)
        boundaries = np.concatenate([[0], np.cumsum(ends - starts)])
        entries = np.arange(boundaries[-1]) + np.repeat(starts - boundaries[:-1], ends - starts)
        columns = indices[entries]
        if columns.size and columns.max() >= self.n_features:
            self.check_indices()
        return sparse.csr_array((data[entries], columns.astype(np.int64), boundaries), (rows.size, self.n_features))

    def whole(self) -> Any:
        """The matrix in the user's units, without copying its values."""
        if self.mixed is not None:
            return MixedMatrix(*(part.whole() for part in self.mixed))
        if self.is_dense:
            return self.arrays[0]
        data, indices, indptr = self.arrays[:3]
        signed = np.int32 if indices.dtype.itemsize == 4 else np.int64
        shape = (self.n_rows, self.n_features)
        return sparse.csr_array((data, indices.view(signed), indptr.astype(np.int64)), shape)

    def in_units(self, scaling: Scaling) -> "Rows":
        """Rows with another scaling."""
        _check_scale(scaling, self.dtype)
        if self.mixed is not None:
            dense, entries = (part.in_units(scaling.of(columns)) for columns, part in self.parts)
            return replace(self, arrays=(dense.arrays, entries.arrays), scaling=scaling, mixed=(dense, entries))
        return replace(self, arrays=_scaled(self.arrays, self.is_dense, self.dtype, scaling), scaling=scaling)

    def like(self, X: Any) -> "Rows":
        """Rows of another matrix, with the storage, dtype and scaling of these rows."""
        return Rows.of(with_dense_columns(X, self.n_dense).astype(self.dtype), self.scaling, self.names, self.roles)

    @cached_property
    def types(self) -> str:
        """The dtypes of the arrays, to identify compiled loops."""
        if self.mixed is not None:
            return " | ".join(part.types for part in self.mixed)
        return " ".join(str(array.dtype) for array in self.arrays if isinstance(array, np.ndarray))

    @property
    def typical_length(self) -> int:
        """Mean number of entries per row."""
        if self.mixed is not None:
            return sum(part.typical_length for part in self.mixed)
        return self.n_features if self.is_dense else self.arrays[0].size // max(1, self.n_rows)

    def find_fault(self, row: int) -> str | None:
        """Describe the fault of a row: a value that is not finite, or a squared norm that overflows. None if valid."""
        values, columns = self._entries(row)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            kind = "NaN" if np.isnan(values[bad[0]]) else "infinity"
            column = column_text(int(columns[bad[0]]), self.names)
            return f"row {row} of X holds {kind} in column {column}: impute or drop it before fit"
        with np.errstate(over="ignore"):
            if not np.isfinite(values @ values):
                return f"row {row} of X is too large: ‖x‖² overflows {self.dtype}. Scale the features"
        return None

    def _entries(self, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The values of a row in the user's units, and their columns."""
        if self.mixed is not None:
            found = [(part._entries(row), columns.start) for columns, part in self.parts]
            return np.concatenate([own[0] for own, _ in found]), np.concatenate([own[1] + by for own, by in found])
        if self.is_dense:
            return self.arrays[0][row], np.arange(self.n_features)
        data, indices, indptr = self.arrays[:3]
        here = slice(int(indptr[row]), int(indptr[row + 1]))
        return data[here], indices[here].astype(np.int64)

    def check_indices(self) -> None:
        """Raise if column indices of sparse columns are outside the matrix, naming the first such row."""
        if self.mixed is not None:
            self.mixed[1].check_indices()
        elif self.is_sparse:
            _, indices, indptr = self.arrays[:3]
            check_csr(indices, indptr, self.n_features)


def aligned(values: Any) -> Any:
    """An array, CSR matrix or `MixedMatrix` as it is, or a copy if an array begins within a number; else the value.

    Parts of messages and of files may begin anywhere. NumPy takes another way through such an array, and rounds its
    sums differently. Alignment to the size of a number is enough: OpenBLAS, NumPy and the compiled loops round alike
    for any multiple of it.

    Examples
    --------
    >>> array = np.ones(3)
    >>> aligned(array) is array
    True
    >>> within = np.zeros(17, dtype=np.uint8)[1:].view(np.float64)
    >>> within.flags.aligned, aligned(within).flags.aligned
    (False, True)
    """
    if isinstance(values, np.ndarray):
        return values if values.flags.aligned else values.copy()
    if isinstance(values, MixedMatrix):
        parts = aligned(values.dense), aligned(values.sparse)
        is_same = parts[0] is values.dense and parts[1] is values.sparse
        return values if is_same else MixedMatrix(*parts)
    if not hasattr(values, "indptr") or all(own.flags.aligned for own in (values.data, values.indices, values.indptr)):
        return values
    made = copy.copy(values)
    made.data, made.indices, made.indptr = aligned(values.data), aligned(values.indices), aligned(values.indptr)
    return made


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view, of a copy if it is not `aligned`: loops are compiled once for writable and read-only arrays."""
    view: NDArray[Any] = aligned(array).view()
    view.flags.writeable = False
    return view


def _sparse(X: Any, unique: bool) -> tuple[Any, ...]:
    check_indptr(X.indptr, min(X.indices.size, X.data.size))
    if not unique and has_duplicates(X.indices, X.indptr, X.shape[1]):
        X = without_duplicates(X)
    typical = min(_LONGEST_REACH, X.nnz // max(1, X.shape[0]) + 8)
    return (
        frozen(np.ascontiguousarray(X.data)),
        as_unsigned(X.indices),
        X.indptr.astype(np.uint64),
        np.uint64(typical),
    )


def _check_scale(scaling: Scaling, dtype: np.dtype[Any]) -> None:
    """Raise for columns too small for their coefficients."""
    with np.errstate(over="ignore"):
        small = np.flatnonzero(~(1.0 / scaling.scale <= np.finfo(dtype).max / _SPARE))
    if small.size:
        raise ValueError(
            f"column {small[0]} of X varies by {scaling.scale[small[0]]:.2g} only: its coefficient could exceed the "
            f"largest {dtype}. Multiply the column by a large number"
        )


def _scaled(arrays: tuple[Any, ...], dense: bool, dtype: np.dtype[Any], scaling: Scaling) -> tuple[Any, ...]:
    """The arrays that access to scaled rows reads: the matrix, shift and inverse scale."""
    matrix, inverse = arrays[: 1 if dense else 4], 1.0 / scaling.scale
    if dense:
        shift = np.zeros(inverse.size) if scaling.shift is None else scaling.shift
        return *matrix, shift.astype(dtype), inverse.astype(dtype)
    if scaling.shift is None:
        return *matrix, inverse.astype(dtype, copy=False)
    centre = scaling.shift * inverse
    return *matrix, inverse.astype(dtype), centre, float(centre @ centre)


def check_row(rows: Rows, row: int) -> None:
    """Raise for a row that cannot be used."""
    fault = rows.find_fault(row)
    if fault is not None:
        raise BadRowError("", row, fault.removeprefix(f"row {row}"))


def squared_norms(rows: Rows, some: NDArray[np.uint64]) -> NDArray[np.float64]:
    """‖x‖² of some rows, in the units of ``rows``."""
    if rows.mixed is not None:
        dense, entries = (squared_norms(part, some) for part in rows.mixed)
        return dense + entries
    shape = (1, rows.n_features) if rows.access.vectors_first else (rows.n_features, 1)
    norms = np.empty(some.size)
    make_scan(rows.access, rows.types)(rows.arrays, some, np.zeros(shape, rows.dtype), np.zeros((1, 2)), norms)
    return norms


def typical(values: NDArray[np.float64]) -> float:
    """Mean of the values, each at most ten times their median."""
    if not values.size:
        return 0.0
    median = float(np.median(values))
    return float(np.mean(np.minimum(values, 10.0 * median) if median > 0 else values))


RowNumbers = NDArray[np.uint64]


@final
class Order:
    """Row numbers in the order of use and, for each of them, the number of a row used later, to prefetch.

    A shuffled order is made when its rows are first needed: a fit that needs sums over all rows only does without.
    """

    def __init__(self, size: int, make: Callable[[], tuple[RowNumbers, RowNumbers]]) -> None:
        self.size, self._make = size, make
        self._made: tuple[RowNumbers, RowNumbers] | None = None

    @classmethod
    def of(cls, rows: RowNumbers, upcoming: RowNumbers | None = None) -> "Order":
        """The given row numbers; ``upcoming`` are rows to prefetch, by default the same."""
        return cls(rows.size, partial(_given, rows, rows if upcoming is None else upcoming))

    @property
    def rows(self) -> RowNumbers:
        """Row numbers in the order of use."""
        return self._all()[0]

    @property
    def upcoming(self) -> RowNumbers:
        """The rows to prefetch, one for each position."""
        return self._all()[1]

    def _all(self) -> tuple[RowNumbers, RowNumbers]:
        if self._made is None:
            self._made = self._make()
        return self._made


def _given(rows: RowNumbers, upcoming: RowNumbers) -> tuple[RowNumbers, RowNumbers]:
    return rows, upcoming


@final
@dataclass(frozen=True)
class Block:
    """`Rows` with their labels and weights, and the order in which some or all of them are used."""

    rows: Rows
    labels: NDArray[np.float64]
    #: One weight per row, or an array with one weight for all rows.
    sample_weight: NDArray[np.float64]
    order: Order
    #: The fold of each row of the matrix, if the source chooses validation rows; `NO_FOLD` for training rows.
    folds: NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, rows: Rows, labels: NDArray[np.float64], weights: NDArray[np.float64] | None) -> "Block":
        """All rows of a matrix, in their order; weights are 1 by default."""
        order = Order.of(np.arange(rows.n_rows, dtype=np.uint64))
        return cls(rows, frozen(labels), frozen(np.ones(1) if weights is None else weights), order)

    @classmethod
    def without_rows(cls, n_features: int) -> "Block":
        """A block of no rows, where other processes have them."""
        return cls.of(Rows.of(np.empty((0, n_features))), np.empty(0), None)

    def ordered(self, rows: RowNumbers) -> "Block":
        """The block with another order: only the given rows are used."""
        return replace(self, order=Order.of(rows))

    @property
    def parts(self) -> "tuple[tuple[slice, Block], ...]":
        """The dense and the sparse columns: which they are, and a block of them alone."""
        return tuple((columns, replace(self, rows=rows)) for columns, rows in self.rows.parts)

    @property
    def weight_stride(self) -> np.uint64:
        """0 if all rows share one weight, 1 otherwise."""
        return np.uint64(0 if self.sample_weight.size == 1 else 1)

    def used(self, first: int, last: int) -> NDArray[np.uint64]:
        """Rows of ``order[first:last]`` with a positive weight."""
        rows = self.order.rows[first:last]
        return rows if self.sample_weight.size == 1 else rows[self.sample_weight[rows] != 0]

    def all_used(self) -> NDArray[np.uint64]:
        """All rows of the matrix with a positive weight, in ascending order."""
        rows = np.arange(self.rows.n_rows, dtype=np.uint64)
        return rows if self.sample_weight.size == 1 else rows[self.sample_weight != 0]

    def position_after(self, first: int, count: int) -> int:
        """Position in the order after ``count`` rows of positive weight, counted from ``first``; at most its end."""
        if self.sample_weight.size == 1:
            return min(first + count, self.order.size)
        used = np.flatnonzero(self.sample_weight[self.order.rows[first:]])
        return first + int(used[count - 1]) + 1 if used.size >= count else self.order.size

    @property
    def has_used_rows(self) -> bool:
        """Whether a row in the order has a positive weight."""
        return self.order.size > 0 if self.sample_weight.size == 1 else self.used(0, self.order.size).size > 0

    @property
    def n_used(self) -> int:
        """Number of rows of the matrix with a positive weight."""
        return self.rows.n_rows if self.sample_weight.size == 1 else int(np.count_nonzero(self.sample_weight))

    def weights_of(self, rows: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Sample weights of the given rows."""
        if self.sample_weight.size == 1:
            return np.full(rows.size, self.sample_weight[0])
        weights: NDArray[np.float64] = self.sample_weight[rows]
        return weights

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows of the matrix."""
        sums = float(self.sample_weight.sum())
        return sums * self.rows.n_rows if self.sample_weight.size == 1 else sums


@final
class BlockScaler:
    """Scale the rows of blocks."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling = scaling
        self._known: tuple[Rows, Rows] | None = None

    def __call__(self, block: Block) -> Block:
        """Return the block with scaled rows. Rows shared by successive blocks are scaled once."""
        if self._known is None or self._known[0] is not block.rows:
            self._known = (block.rows, block.rows.in_units(self.scaling))
        return replace(block, rows=self._known[1])


def check_rows(block: Block, rows: NDArray[np.uint64]) -> None:
    """Raise for the first of some rows that cannot be used."""
    for row in rows.tolist():
        check_row(block.rows, row)
        if not np.isfinite(block.labels[row]):
            raise label_fault(block.labels, row)
