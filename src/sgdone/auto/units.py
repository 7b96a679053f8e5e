"""The units that features are learnt in, made from the rows seen so far."""

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.order import Between
from sgdone.bad_rows import check_rows
from sgdone.data.rows import Scaling
from sgdone.data.source import Block
from sgdone.kernels.column_statistics import make_csr_statistics, make_dense_statistics

#: A column whose spread is below so many units in the last place of its values is constant.
_ROUNDING = 64 * np.finfo(np.float64).eps
#: Units are made anew once there are so many times as many rows, or a column has so many times the spread.
_GROWTH = 2.0


@final
@dataclass
class Units:
    """Sums over columns: dense ones are centred and scaled by their spread, sparse ones by the size of their entries.

    Columns of sparse rows are divided by the root mean square of their entries that are not 0, and multiplied by
    1 + log((1 + rows)/(1 + rows that have the entry)), the inverse document frequency: what is rare says more. Every
    quantity is equivariant: a column in other units, or a dense one moved, gives the same rows to learn from.
    """

    dense: bool
    #: Whether columns are centred: dense ones are, unless there is no intercept to take up what that moves.
    centred: bool
    n_features: int
    rows: int = 0
    #: Dense: the first row, and the sums of differences from it. Sparse: how many entries are not 0.
    pivot: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    firsts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    squares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: Those in use, and the rows that they were made from.
    scale: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    shift: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    made_from: int = 0
    #: How often they have changed.
    version: int = 0
    #: Whether rows come in an order of their own: then groups of them are compared (dense columns alone).
    ordered: bool = False
    groups: Between = field(default_factory=Between)

    def copy(self) -> "Units":
        """A copy that shares nothing that changes."""
        return replace(self, firsts=self.firsts.copy(), squares=self.squares.copy(), groups=self.groups.copy())

    def observe(self, block: Block, rows: NDArray[np.uint64]) -> None:
        """Add rows, which are not learnt from yet; refuse those that no unit could make finite."""
        if not self.firsts.size:
            self._start(block, rows)
        weights, stride = block.sample_weight, block.weight_stride
        arrays, types = block.rows.arrays, block.rows.types
        firsts, squares = (self.firsts.copy(), self.squares.copy()) if self.ordered and self.dense else (None, None)
        if self.dense:
            used = make_dense_statistics(types)(arrays, weights, stride, rows, self.pivot, self.firsts, self.squares)
        else:
            shape = np.empty((self.n_features, 0))
            used = make_csr_statistics(types)(arrays, weights, stride, rows, shape, self.firsts, self.squares)
        self.rows += used
        if used and firsts is not None and squares is not None:
            self.groups.add(self.firsts - firsts, self.squares - squares, used)
        if not np.isfinite(self.squares.sum()):
            check_rows(block, rows)

    def renew(self) -> bool:
        """Make units from all rows seen, if there are many more than before or some column has grown; whether so."""
        scale, shift = self._of_rows_seen()
        if self.made_from and self.rows < _GROWTH * self.made_from:
            have = self.scale > 0
            if not np.any(scale[have] > _GROWTH * self.scale[have]):
                self._take_in(np.flatnonzero(~have & (scale > 0)), scale, shift)
                return False
        # A spread that has vanished beside a mean that has grown was one: weights rest on it.
        known = self.scale if self.scale.size else scale
        self.scale, self.shift, self.made_from = np.where(scale > 0, scale, known), shift, self.rows
        self.version += 1
        return True

    def _take_in(self, new: NDArray[np.intp], scale: NDArray[np.float64], shift: NDArray[np.float64]) -> None:
        """Give units to columns that had none, and so no weight: nothing else has to change."""
        if new.size:
            self.scale, self.version = self.scale.copy(), self.version + 1
            self.scale[new] = scale[new]
            if self.centred:
                self.shift = self.shift.copy()
                self.shift[new] = shift[new]

    @property
    def scaling(self) -> Scaling:
        """The units in use, as the loops take them: columns without spread count for nothing."""
        scale = np.where(self.scale > 0, self.scale, np.inf)
        return Scaling(scale, self.shift if self.centred else None)

    def _start(self, block: Block, rows: NDArray[np.uint64]) -> None:
        self.firsts, self.squares = np.zeros(self.n_features), np.zeros(self.n_features)
        self.pivot = np.zeros(self.n_features if self.dense else 0)
        if self.centred:
            self.pivot = np.array(block.rows.arrays[0][rows[0]], dtype=np.float64)

    def _of_rows_seen(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not self.dense:
            size = np.sqrt(self.squares / np.maximum(self.firsts, 1.0))
            return size / (1.0 + np.log((1.0 + self.rows) / (1.0 + self.firsts))), np.empty(0)
        rows = max(1, self.rows)
        if not self.centred:
            return np.sqrt(self.squares / rows), np.empty(0)
        mean = self.firsts / rows
        spread = np.sqrt(np.maximum(self.squares / rows - mean * mean, 0.0))
        centre = self.pivot + mean
        return np.where(spread > _ROUNDING * np.abs(centre), spread, 0.0), centre
