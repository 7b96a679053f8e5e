"""Means and spreads of columns, and the units in which features are trained on, estimated from the rows seen so far."""

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.column_statistics import csr_statistics, dense_statistics
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.faults import GroupMeans
from sgdone.rows.rows import ENTRIES, LEVEL, Block, Rows, Scaling, check_rows
from sgdone.sums.pieces import pieces_of
from sgdone.sums.row_sum import merged

Array = NDArray[np.float64]

#: A column counts as constant if its spread is below 64 units in the last place of its values.
_ROUNDING = 64 * np.finfo(np.float64).eps


@final
@dataclass(frozen=True)
class ColumnMoments:
    """Total weight of rows, means of columns, and sums of squared deviations (Chan, Golub & LeVeque 1983)."""

    rows: float
    means: Array
    squares: Array

    def merge(self, other: "ColumnMoments") -> "ColumnMoments":
        """The moments of the rows of both."""
        rows = self.rows + other.rows
        apart = other.means - self.means
        means = self.means + apart * (other.rows / rows)
        squares = self.squares + other.squares + apart * apart * (self.rows * other.rows / rows)
        return ColumnMoments(rows, means, squares)

    @property
    def spreads(self) -> Array:
        """Standard deviations; 0 for a column that does not vary beyond rounding."""
        spreads = np.sqrt(self.squares / self.rows)
        return np.asarray(np.where(spreads > _ROUNDING * np.abs(self.means), spreads, 0.0))


@final
@dataclass(frozen=True)
class EntryMoments:
    """Total weight of sparse rows; for each column, the weight and the weighted squares of its nonzero entries."""

    rows: float
    counts: Array
    squares: Array

    def merge(self, other: "EntryMoments") -> "EntryMoments":
        """The moments of the rows of both."""
        return EntryMoments(self.rows + other.rows, self.counts + other.counts, self.squares + other.squares)


def column_moments(block: Block, *, weighted: bool = False) -> ColumnMoments:
    """Moments of the columns over the rows of positive weight of a block's matrix."""
    return merged(moments_of(part, weights if weighted else None) for part, _, weights in pieces_of(block))


def entry_moments(block: Block) -> EntryMoments:
    """Weighted moments of the entries of a sparse matrix that are not 0."""
    return merged(_entries(part, weights) for part, _, weights in pieces_of(block))


def _entries(part: sparse.csr_array, weights: Array) -> EntryMoments:
    width, values = part.shape[1], part.data.astype(np.float64)
    of_rows = np.repeat(weights, np.diff(part.indptr))
    counts, squares = (
        np.asarray(np.bincount(part.indices, of_rows * of_entries, minlength=width), dtype=np.float64)
        for of_entries in (values != 0, values**2)
    )
    return EntryMoments(float(weights.sum()), counts, squares)


def comparable_units(block: Block, *, centred: bool) -> Scaling:
    """Units in which columns have a spread of 1, and a mean of 0 if ``centred``; infinite for constant columns."""
    moments = column_moments(block)
    spreads = moments.spreads if centred else np.sqrt(moments.squares / moments.rows + moments.means**2)
    return Scaling(np.where(spreads > 0, spreads, np.inf), moments.means if centred else None)


def moments_of(
    part: NDArray[np.floating] | sparse.csr_array | MixedMatrix, weights: Array | None = None
) -> ColumnMoments:
    """Moments of the columns of a matrix, its rows weighted if ``weights`` are given.

    Examples
    --------
    >>> moments_of(np.array([[1.0, 5.0], [3.0, 5.0]])).spreads
    array([1., 0.])
    """
    if isinstance(part, MixedMatrix):
        numbers, entries = moments_of(part.dense, weights), moments_of(part.sparse, weights)
        means = np.concatenate([numbers.means, entries.means])
        return ColumnMoments(numbers.rows, means, np.concatenate([numbers.squares, entries.squares]))
    # Equal weights are a common factor.
    own = np.ones(part.shape[0]) if weights is None else weights
    equal = bool(own.min() == own.max())
    unit = float(own[0]) if equal else 1.0
    own = own / unit
    total = float(own.sum())
    if sparse.issparse(part):
        values = part.astype(np.float64)
        means = np.asarray(values.T @ own) / total
        squares = np.asarray(values.multiply(values).T @ own) - total * means * means
        return ColumnMoments(unit * total, means, unit * np.maximum(squares, 0.0))
    dense = np.asarray(part, dtype=np.float64)
    if equal:
        means = dense.mean(axis=0)
        return ColumnMoments(unit * total, means, unit * np.square(dense - means).sum(axis=0))
    means = own @ dense / total
    return ColumnMoments(total, means, own @ np.square(dense - means))


#: Rows whose columns are measured before they are trained on; a data set with no more of them is small.
WINDOW = 4096
#: Squares of values below the first number underflow: such a column is measured times the second, a power of two, until
#: its sum of squares exceeds the third.
_TINY, LIFT, _GROWN = 2.0**-460, 2.0**600, 2.0**600
#: Mean squared norm of the cells of a text. A number, in its units, has 1, and so has a level. A text says more than a
#: level, but has very many words: on eight sets of texts, alone or with other columns, 16 and 4 are up to 20 % better
#: on some and 20 % worse on others, and 1 is worse for texts alone, with the penalties that are tried.
TEXT_NORM = 8.0
#: Sparse columns that are examined at a time: temporary arrays of all of them would take much memory.
_PIECE = 1 << 16
#: Columns from which they are not examined after each window, and the growth of the number of rows between two times.
_MANY_COLUMNS, _SOME_MORE = 1 << 18, 1.1
#: Units are estimated again once the number of rows, or the spread of a column, has grown by this factor.
_GROWTH = 2.0


@final
@dataclass
class Units:
    """Column statistics: dense columns are centred and scaled by their spread, sparse ones by the size of entries.

    Columns of sparse rows are divided by the root mean square of their entries that are not 0, and multiplied by
    1 + log((1 + rows)/(1 + rows that have the entry)), the inverse document frequency. The columns of
    an encoded table have roles (`sgdone.rows.rows.ENTRIES`). Levels of categories are not weighted by their rarity: a
    rare word says more than a frequent one, a rare level does not, and is the first to be overfitted. The words of a
    text are weighted so, and have one unit in common, in which the mean squared norm of a cell is `TEXT_NORM`, so that
    text does not outweigh the other columns of the table. Everything is equivariant: a
    column in other units (the words of a text: all of them), or a dense column with another origin, gives the same
    scaled rows.
    """

    #: Number of dense columns: they come first.
    n_dense: int
    #: Whether dense columns are centred: they are, unless there is no intercept.
    centred: bool
    n_features: int
    rows: int = 0
    #: Dense: the first row, and the sums of differences from it. Sparse: no pivot, and how many entries are not 0.
    pivot: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    firsts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    squares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: Factors of the columns in these sums: 1, but large for columns whose squares would underflow.
    lift: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: The units in use, and the number of rows they were estimated from. Sparse columns have the shift 0.
    scale: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    shift: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    made_from: int = 0
    #: How often the units have changed.
    version: int = 0
    #: Number of rows when the columns were examined last.
    examined_at: int = field(default=0, init=False, repr=False, compare=False)
    #: Whether the rows keep the user's order: then groups of them are compared (dense columns only).
    ordered: bool = False
    groups: GroupMeans = field(default_factory=GroupMeans)
    #: Role of each column.
    roles: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def __post_init__(self) -> None:
        if not self.roles.size:
            self.roles = np.zeros(self.n_features, dtype=np.int32)

    @classmethod
    def of_all_rows(
        cls,
        block: Block,
        *,
        centred: bool,
        frequency: float = 1.0,
        means: Array | None = None,
        squares: Array | None = None,
    ) -> "Units":
        """Units of all rows of a block's matrix, a weight being a frequency; raise for rows that are not finite.

        ``frequency`` is the number of rows that a weight of 1 stands for. ``means`` and ``squares``, weighted sums of
        squared deviations from them, are those of dense columns if known.
        """
        n_dense, n_features, rows = block.rows.n_dense, block.rows.n_features, block.n_used
        units = cls(n_dense, centred and n_dense > 0, n_features, roles=roles_of(block.rows))
        units.pivot, units.firsts, units.squares = np.zeros(n_dense), np.zeros(n_features), np.zeros(n_features)
        weight = frequency * block.total_weight
        with np.errstate(over="ignore", invalid="ignore"):
            for columns, part in block.parts:
                if part.rows.is_sparse:
                    entries = entry_moments(part)
                    units.firsts[columns], units.squares[columns] = entries.counts, entries.squares
                    units.firsts[columns] *= frequency
                else:
                    if means is None or squares is None:
                        means, squares = _deviations(part, centred=centred)
                    units.pivot[:] = means if units.centred else 0.0
                    units.squares[columns] = squares
            units.squares *= frequency
        if not np.isfinite(units.squares.sum()) or _any_tiny(block, units.squares, units.firsts):
            # The sums above cannot tell such columns from constant ones; or there are rows that cannot be used.
            units = cls(n_dense, units.centred, n_features, roles=units.roles)
            units.observe(block, block.all_used())
            units.renew()
            return units
        return cls.of_sums(n_dense, units.centred, units.roles, rows, weight, units.pivot, units.squares, units.firsts)

    @classmethod
    def of_sums(
        cls,
        n_dense: int,
        centred: bool,
        roles: NDArray[np.int32],
        rows: int,
        weight: float,
        means: Array,
        squares: Array,
        counts: Array,
    ) -> "Units":
        """Units of rows, from sums over them.

        ``means`` are those of dense columns, zeros if they are not centred; ``squares`` are weighted sums of squares of
        all columns, of dense ones from the means; ``counts`` are weighted numbers of entries that are not 0 of sparse
        columns, and zeros for dense ones.
        """
        units = cls(n_dense, centred, roles.size, roles=roles, pivot=means, squares=squares, firsts=counts)
        units.lift = np.ones(units.n_features)
        units.scale, units.shift = units._of_rows(weight)
        # Further rows count one each.
        units.squares, units.firsts = squares * (rows / weight), counts * (rows / weight)
        units.rows = units.made_from = rows
        units.version = 1
        return units

    def copy(self) -> "Units":
        """A copy that shares nothing that changes."""
        arrays = {name: getattr(self, name).copy() for name in ("firsts", "squares", "lift", "groups")}
        made = replace(self, **arrays)
        made.examined_at = self.examined_at
        return made

    def append_features(self, roles: NDArray[np.int32]) -> None:
        """Add sparse columns that no row has had so far."""
        count = roles.size
        self.n_features += count
        self.roles = np.append(self.roles, roles)
        for name, value in (("firsts", 0.0), ("squares", 0.0), ("lift", 1.0), ("scale", 0.0)):
            setattr(self, name, np.append(getattr(self, name), np.full(count, value)))
        if self.centred:
            self.shift = np.append(self.shift, np.zeros(count))
        self.version += 1

    def at_columns(self, columns: NDArray[np.int64], n_features: int) -> "Units":
        """Units of ``n_features`` columns, some of which are the given sparse ones; no row has the others."""

        def spread(values: NDArray[Any], other: float) -> NDArray[Any]:
            made = np.full(n_features, other, dtype=values.dtype)
            made[columns] = values[: columns.size]
            return made

        others = {"firsts": 0.0, "squares": 0.0, "lift": 1.0, "scale": 0.0, "roles": ENTRIES}
        arrays: dict[str, Any] = {name: spread(getattr(self, name), other) for name, other in others.items()}
        made = replace(self, n_features=n_features, **arrays)
        made.examined_at = self.examined_at
        return made

    def observe(self, block: Block, rows: NDArray[np.uint64]) -> None:
        """Add rows before they are trained on; raise for rows that are not finite."""
        if not self.firsts.size:
            self._start(block, rows)
        if self.ordered and self.n_dense > 0:  # groups of rows that are compared have the size of a window
            for first in range(0, rows.size, WINDOW):
                self._add(block, rows[first : first + WINDOW])
        else:
            self._add(block, np.sort(rows))  # as they lie in memory
        if not np.isfinite(self.squares.sum()):
            check_rows(block, rows)

    def _add(self, block: Block, rows: NDArray[np.uint64]) -> None:
        weights, stride, dense = block.sample_weight, block.weight_stride, self._dense
        compare = self.ordered and self.n_dense > 0
        firsts, squares = (self.firsts[dense].copy(), self.squares[dense].copy()) if compare else (None, None)
        used = 0
        for columns, part in block.rows.parts:
            sums = self.lift[columns], self.firsts[columns], self.squares[columns]
            if part.is_dense:
                used = dense_statistics(part.types)(part.arrays, weights, stride, rows, self.pivot, *sums)
            else:
                shape = np.empty((part.n_features, 0))
                used = csr_statistics(part.types)(part.arrays, weights, stride, rows, shape, *sums)
        self.rows += used
        if self._is_due:
            self._measure_tiny_columns(block, rows)
        if used and firsts is not None and squares is not None:
            self.groups.add(self.firsts[dense] - firsts, self.squares[dense] - squares, used)

    def renew(self) -> bool:
        """Estimate the units again if there are many more rows, or a column has grown; returns whether they changed.

        With very many columns a look at all of them takes longer than training on a window of rows: then the number of
        rows must have grown by a tenth.
        """
        if not self._is_due:
            return False
        self.examined_at = self.rows
        scale, shift = self._of_rows_seen()
        if self.made_from and self.rows < _GROWTH * self.made_from:
            have = self.scale > 0
            if not np.any(scale[have] > _GROWTH * self.scale[have]):
                self._add_columns(np.flatnonzero(~have & (scale > 0)), scale, shift)
                return False
        # Keep a scale that weights depend on, even if the spread has vanished next to a larger mean.
        if self.scale.size:
            np.copyto(scale, self.scale, where=~(scale > 0))
        self.scale, self.shift, self.made_from = scale, shift, self.rows
        self.version += 1
        return True

    def _add_columns(self, new: NDArray[np.intp], scale: NDArray[np.float64], shift: NDArray[np.float64]) -> None:
        """Set units for columns that had none, and so no weight: nothing else changes."""
        if new.size:
            self.scale, self.version = self.scale.copy(), self.version + 1
            self.scale[new] = scale[new]
            if self.centred:
                self.shift = self.shift.copy()
                self.shift[new] = shift[new]

    @property
    def scaling(self) -> Scaling:
        """The units in use, as the loops need them: constant columns have infinite scale."""
        return self.scaling_of(self.scale, self.shift)

    def scaling_of(self, scale: Array, shift: Array) -> Scaling:
        """Other units, as the loops need them."""
        return Scaling(np.where(scale > 0, scale, np.inf), shift if self.centred else None)

    @property
    def _is_due(self) -> bool:
        """Whether all columns are examined after a window."""
        few = self.n_features <= _MANY_COLUMNS or not self.made_from
        return few or self.rows >= _SOME_MORE * self.examined_at

    @property
    def spreads(self) -> NDArray[np.float64]:
        """Standard deviations of the columns over the rows seen; of sparse ones, the root mean square."""
        spreads = np.sqrt(self.squares / max(1, self.rows)) / self.lift
        if self.centred:
            spreads[self._dense] = self._of_rows_seen()[0][self._dense]
        return np.asarray(spreads)

    @property
    def _dense(self) -> slice:
        return slice(0, self.n_dense)

    def _start(self, block: Block, rows: NDArray[np.uint64]) -> None:
        self.firsts, self.squares, self.lift = (np.full(self.n_features, value) for value in (0.0, 0.0, 1.0))
        self.pivot = np.zeros(self.n_dense)
        if self.centred:
            self.pivot = np.array(block.rows.parts[0][1].arrays[0][rows[0]], dtype=np.float64)

    def _measure_tiny_columns(self, block: Block, rows: NDArray[np.uint64]) -> None:
        """Measure columns again whose squares underflow, or overflow because the values have grown.

        These rows are the first in which such a column is not constant, or the first that are not negligible.
        """
        # A column that differs from its first value has a sum, unless that is not subtracted.
        varies = self.firsts != 0
        varies[self._dense] |= not self.centred
        tiny = (self.lift == 1.0) & (self.squares < _TINY * _TINY) & varies
        grown = (self.lift > 1.0) & ~(self.squares < _GROWN)
        if not np.any(tiny | grown):
            return
        for of_part, part in block.rows.parts:
            columns = of_part.start + np.flatnonzero((tiny | grown)[of_part])
            if not columns.size:
                continue
            if part.is_dense:
                values = part.arrays[0][rows[:, None], columns] - self.pivot[columns]
            else:
                values = part.matrix(rows)[:, columns - of_part.start].toarray().astype(np.float64)
            varies = values.any(axis=0)
            columns, values = columns[varies], values[:, varies]
            self.lift[columns] = np.where(tiny[columns], LIFT, 1.0)
            values *= self.lift[columns]
            with np.errstate(over="ignore", invalid="ignore"):
                self.squares[columns] = (values * values).sum(axis=0)
            if part.is_dense:
                self.firsts[columns] = values.sum(axis=0)

    def _of_rows_seen(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._of_rows(max(1, self.rows))

    def _of_rows(self, rows: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scale and shift from sums over ``rows`` rows."""
        scale, shift = np.empty(self.n_features), np.zeros(self.n_features if self.centred else 0)
        dense = self._dense
        for first in range(self.n_dense, self.n_features, _PIECE):
            _, size, rarity = self._entries(slice(first, first + _PIECE), rows)
            scale[first : first + _PIECE] = size / rarity
        words = self.n_dense + np.flatnonzero(self.roles[self.n_dense :] > LEVEL)
        words = words[scale[words] > 0]
        if words.size:
            roles, (counts, size, rarity) = self.roles[words], self._entries(words, rows)
            norms = np.bincount(roles, counts * (size * rarity) ** 2) / rows
            scale[words] = np.sqrt(norms / TEXT_NORM)[roles] / rarity
        if not self.centred:
            scale[dense] = np.sqrt(self.squares[dense] / rows) / self.lift[dense]
            return scale, shift
        mean = self.firsts[dense] / rows
        spread = np.sqrt(np.maximum(self.squares[dense] / rows - mean * mean, 0.0)) / self.lift[dense]
        centre = self.pivot + mean / self.lift[dense]
        scale[dense] = np.where(spread > _ROUNDING * np.abs(centre), spread, 0.0)
        shift[dense] = centre
        return scale, shift

    def _entries(self, columns: slice | NDArray[np.intp], rows: float) -> tuple[Array, Array, Array]:
        """Numbers of entries of sparse columns, their root mean squares, and the inverse document frequencies."""
        firsts = self.firsts[columns]
        counts = np.where(firsts > 0, firsts, 1.0)
        size = np.sqrt(self.squares[columns] / counts) / self.lift[columns]
        rarity = 1.0 + np.log((1.0 + rows) / (1.0 + firsts))
        rarity[self.roles[columns] == LEVEL] = 1.0
        return counts, size, rarity


def roles_of(rows: Rows) -> NDArray[np.int32]:
    """Role of each column."""
    return np.full(rows.n_features, ENTRIES, dtype=np.int32) if rows.roles is None else rows.roles


def _deviations(block: Block, *, centred: bool) -> tuple[Array, Array]:
    """Weighted means of dense columns, and sums of squared deviations from them, or from 0."""
    moments = column_moments(block, weighted=True)
    return moments.means, moments.squares if centred else moments.squares + moments.rows * moments.means**2


def _any_tiny(block: Block, squares: Array, counts: Array) -> bool:
    """Whether the squares of a column that is not constant underflow."""
    for of_part, part in block.rows.parts:
        columns = np.flatnonzero(squares[of_part] < _TINY * _TINY)
        if columns.size and part.is_sparse and np.any(counts[of_part][columns] > 0):
            return True
        if columns.size and part.is_dense:
            values = part.whole()[:, columns][block.all_used()]
            if np.any(values != values[0]):
                return True
    return False
