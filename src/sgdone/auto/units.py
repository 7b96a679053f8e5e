"""The units in which features are trained on, estimated from the rows seen so far."""

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.label_order import GroupMeans
from sgdone.data.bad_rows import check_rows
from sgdone.data.rows import Scaling
from sgdone.data.source import Block
from sgdone.kernels.column_statistics import make_csr_statistics, make_dense_statistics
from sgdone.sums.columns import column_moments, entry_moments

Array = NDArray[np.float64]

#: A column counts as constant if its spread is below 64 units in the last place of its values.
_ROUNDING = 64 * np.finfo(np.float64).eps
#: Squares of values below the first number underflow: such a column is measured times the second, a power of two, until
#: its sum of squares exceeds the third.
_TINY, LIFT, _GROWN = 2.0**-460, 2.0**600, 2.0**600
#: Units are estimated again once the number of rows, or the spread of a column, has grown by this factor.
_GROWTH = 2.0


@final
@dataclass
class Units:
    """Column statistics: dense columns are centred and scaled by their spread, sparse ones by the size of entries.

    Columns of sparse rows are divided by the root mean square of their entries that are not 0, and multiplied by
    1 + log((1 + rows)/(1 + rows that have the entry)), the inverse document frequency. Everything is
    equivariant: a column in other units, or a dense column with another origin, gives the same scaled rows.
    """

    dense: bool
    #: Whether columns are centred: dense ones are, unless there is no intercept.
    centred: bool
    n_features: int
    rows: int = 0
    #: Dense: the first row, and the sums of differences from it. Sparse: how many entries are not 0.
    pivot: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    firsts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    squares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: Factors of the columns in these sums: 1, but large for columns whose squares would underflow.
    lift: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: The units in use, and the number of rows they were estimated from.
    scale: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    shift: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    made_from: int = 0
    #: How often they have changed.
    version: int = 0
    #: Whether the rows keep the user's order: then groups of them are compared (dense columns only).
    ordered: bool = False
    groups: GroupMeans = field(default_factory=GroupMeans)

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

        ``frequency`` is what a weight of 1 stands for. ``means`` and ``squares``, weighted sums of squared deviations
        from them, are those of dense columns if known.
        """
        dense, rows = block.rows.access.vectors_first, block.n_used
        units = cls(dense, dense and centred, block.rows.n_features)
        with np.errstate(over="ignore", invalid="ignore"):
            if not dense:
                entries = entry_moments(block)
                weight, units.firsts = frequency * entries.rows, frequency * entries.counts
                squares = frequency * entries.squares
            elif means is None or squares is None:
                moments = column_moments(block, weighted=True)
                weight, means, squares = moments.rows, moments.means, moments.squares
                if not centred:
                    squares = squares + weight * means * means
            else:
                weight = block.total_weight
        if not np.isfinite(squares.sum()) or _any_tiny(block, squares, units.firsts):
            # The sums above cannot tell such columns from constant ones; or there are rows that cannot be used.
            units = cls(dense, dense and centred, block.rows.n_features)
            units.observe(block, block.all_used())
            units.renew()
            return units
        none = np.zeros(units.n_features)
        units.squares, units.lift = squares, none + 1.0
        units.firsts = none if dense else units.firsts
        units.pivot = np.asarray(means).copy() if units.centred else none[: units.n_features if dense else 0]
        units.scale, units.shift = units._of_rows(weight)
        # Further rows count one each.
        units.squares, units.firsts = squares * (rows / weight), units.firsts * (rows / weight)
        units.rows = units.made_from = rows
        units.version = 1
        return units

    def copy(self) -> "Units":
        """A copy that shares nothing that changes."""
        arrays = {name: getattr(self, name).copy() for name in ("firsts", "squares", "lift", "groups")}
        return replace(self, **arrays)

    def observe(self, block: Block, rows: NDArray[np.uint64]) -> None:
        """Add rows before they are trained on; raise for rows that are not finite."""
        if not self.firsts.size:
            self._start(block, rows)
        weights, stride = block.sample_weight, block.weight_stride
        arrays, types = block.rows.arrays, block.rows.types
        firsts, squares = (self.firsts.copy(), self.squares.copy()) if self.ordered and self.dense else (None, None)
        sums = self.lift, self.firsts, self.squares
        if self.dense:
            used = make_dense_statistics(types)(arrays, weights, stride, rows, self.pivot, *sums)
        else:
            shape = np.empty((self.n_features, 0))
            used = make_csr_statistics(types)(arrays, weights, stride, rows, shape, *sums)
        self.rows += used
        self._measure_tiny_columns(block, rows)
        if used and firsts is not None and squares is not None:
            self.groups.add(self.firsts - firsts, self.squares - squares, used)
        if not np.isfinite(self.squares.sum()):
            check_rows(block, rows)

    def renew(self) -> bool:
        """Estimate the units again if there are many more rows, or a column has grown; returns whether they changed."""
        scale, shift = self._of_rows_seen()
        if self.made_from and self.rows < _GROWTH * self.made_from:
            have = self.scale > 0
            if not np.any(scale[have] > _GROWTH * self.scale[have]):
                self._add_columns(np.flatnonzero(~have & (scale > 0)), scale, shift)
                return False
        # Keep a scale that weights depend on, even if the spread has vanished beside a larger mean.
        known = self.scale if self.scale.size else scale
        self.scale, self.shift, self.made_from = np.where(scale > 0, scale, known), shift, self.rows
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
        scale = np.where(self.scale > 0, self.scale, np.inf)
        return Scaling(scale, self.shift if self.centred else None)

    @property
    def spreads(self) -> NDArray[np.float64]:
        """Standard deviations of the columns over the rows seen; of sparse ones, the root mean square."""
        return self._of_rows_seen()[0] if self.centred else np.sqrt(self.squares / max(1, self.rows)) / self.lift

    def _start(self, block: Block, rows: NDArray[np.uint64]) -> None:
        self.firsts, self.squares, self.lift = (value * np.ones(self.n_features) for value in (0.0, 0.0, 1.0))
        self.pivot = np.zeros(self.n_features if self.dense else 0)
        if self.centred:
            self.pivot = np.array(block.rows.arrays[0][rows[0]], dtype=np.float64)

    def _measure_tiny_columns(self, block: Block, rows: NDArray[np.uint64]) -> None:
        """Measure columns again whose squares underflow, or overflow because the values have grown.

        These rows are the first in which such a column is not constant, or the first that are not negligible.
        """
        # A column that differs from its first value has a sum, unless that is not subtracted.
        varies = np.ones(self.n_features, dtype=bool) if self.dense and not self.centred else self.firsts != 0
        tiny = (self.lift == 1.0) & (self.squares < _TINY * _TINY) & varies
        grown = (self.lift > 1.0) & ~(self.squares < _GROWN)
        columns = np.flatnonzero(tiny | grown)
        if not columns.size:
            return
        if self.dense:
            values = block.rows.arrays[0][rows[:, None], columns] - self.pivot[columns]
        else:
            values = block.rows.matrix(rows)[:, columns].toarray().astype(np.float64)
        varies = values.any(axis=0)
        columns, values = columns[varies], values[:, varies]
        self.lift[columns] = np.where(tiny[columns], LIFT, 1.0)
        values *= self.lift[columns]
        with np.errstate(over="ignore", invalid="ignore"):
            self.squares[columns] = (values * values).sum(axis=0)
        if self.dense:
            self.firsts[columns] = values.sum(axis=0)

    def _of_rows_seen(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._of_rows(max(1, self.rows))

    def _of_rows(self, rows: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scale and shift if the sums are those of ``rows`` rows."""
        if not self.dense:
            count = np.where(self.firsts > 0, self.firsts, 1.0)
            size = np.sqrt(self.squares / count) / self.lift
            return size / (1.0 + np.log((1.0 + rows) / (1.0 + self.firsts))), np.empty(0)
        if not self.centred:
            return np.sqrt(self.squares / rows) / self.lift, np.empty(0)
        mean = self.firsts / rows
        spread = np.sqrt(np.maximum(self.squares / rows - mean * mean, 0.0)) / self.lift
        centre = self.pivot + mean / self.lift
        return np.where(spread > _ROUNDING * np.abs(centre), spread, 0.0), centre


def _any_tiny(block: Block, squares: Array, counts: Array) -> bool:
    """Whether the squares of a column that is not constant underflow."""
    columns = np.flatnonzero(squares < _TINY * _TINY)
    if not columns.size or not block.rows.access.vectors_first:
        return bool(np.any(counts[columns] > 0)) if columns.size else False
    values = block.rows.whole()[:, columns][block.all_used()]
    return bool(np.any(values != values[0]))
