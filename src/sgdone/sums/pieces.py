"""Fixed numbers of rows at a time, in other units."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.rows import Scaling
from sgdone.data.source import Block

Array = NDArray[np.float64]

#: Rows whose scaled copy is made at once. It is part of the result: sums over other pieces round differently.
PIECE = 4096


def pieces_of(block: Block) -> Iterator[tuple[Any, Array, Array]]:
    """Rows of positive weight in the user's units, labels and weights, `PIECE` rows at a time."""
    used = block.all_used().astype(np.intp)
    matrix = block.rows.whole()
    for first in range(0, used.size, PIECE):
        rows = used[first : first + PIECE]
        together = rows.size == rows[-1] - rows[0] + 1
        part = matrix[rows[0] : rows[-1] + 1] if together else matrix[rows]
        yield part, block.labels[rows], block.weights_of(rows.astype(np.uint64))


class ScaledRows(ABC):
    """Rows (x̃, 1) with x̃ = (x − shift)/scale."""

    @abstractmethod
    def times(self, model: Array) -> Array:
        """The scores of a model, (features + 1) × outputs."""

    @abstractmethod
    def transposed_times(self, values: Array) -> Array:
        """Σ (x̃, 1)·values over the rows: (features + 1) × columns of ``values``."""

    @abstractmethod
    def squared_transposed_times(self, values: Array) -> Array:
        """Σ (x̃², 1)·values, the squares taken of each entry."""

    @abstractmethod
    def copy(self) -> Array:
        """The rows as a dense array."""


@final
class DenseRows(ScaledRows):
    """A scaled copy: columns far from 0 keep their digits."""

    def __init__(self, part: NDArray[np.floating], scaling: Scaling) -> None:
        self._rows = np.ones((part.shape[0], part.shape[1] + 1))
        scaled = self._rows[:, :-1]
        scaled[:] = part
        if scaling.shift is not None:
            scaled -= scaling.shift
        scaled *= 1.0 / scaling.scale

    def times(self, model: Array) -> Array:
        """One product."""
        return np.asarray(self._rows @ model)

    def transposed_times(self, values: Array) -> Array:
        """One product."""
        return np.asarray(self._rows.T @ values)

    def squared_transposed_times(self, values: Array) -> Array:
        """One product of squares."""
        return np.asarray((self._rows * self._rows).T @ values)

    def copy(self) -> Array:
        """It is one."""
        return self._rows


@final
@dataclass(frozen=True)
class SparseRows(ScaledRows):
    """Sparse rows as they are; units and origin are accounted for in the products."""

    part: sparse.csr_array
    scaling: Scaling

    def times(self, model: Array) -> Array:
        """Units divide the model, and the origin moves the intercept."""
        coef = model[:-1] / self.scaling.scale[:, None]
        intercept = model[-1] if self.scaling.shift is None else model[-1] - self.scaling.shift @ coef
        return np.asarray(self.part @ coef + intercept)

    def transposed_times(self, values: Array) -> Array:
        """Units divide the sums, and the origin is taken off as often as there are rows."""
        sums, total = self.part.T @ values, values.sum(axis=0)
        if self.scaling.shift is not None:
            sums = sums - self.scaling.shift[:, None] * total
        return np.vstack([sums / self.scaling.scale[:, None], total])

    def squared_transposed_times(self, values: Array) -> Array:
        """(x − s)² = x² − 2sx + s² in each column."""
        sums, total = self.part.multiply(self.part).T @ values, values.sum(axis=0)
        if self.scaling.shift is not None:
            shift = self.scaling.shift[:, None]
            sums = sums - 2.0 * shift * (self.part.T @ values) + shift**2 * total
        return np.vstack([sums / self.scaling.scale[:, None] ** 2, total])

    def copy(self) -> Array:
        """Dense, for products of all pairs of columns."""
        return DenseRows(self.part.toarray(), self.scaling).copy()


def scaled_pieces(block: Block, scaling: Scaling) -> Iterator[tuple[ScaledRows, Array, Array]]:
    """The pieces of a block in other units."""
    dense = block.rows.access.vectors_first
    for part, labels, weights in pieces_of(block):
        yield DenseRows(part, scaling) if dense else SparseRows(part, scaling), labels, weights
