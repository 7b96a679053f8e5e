"""Means and products of columns and targets about them: the sums for least squares, in one pass."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.csr_gram import make_add_products
from sgdone.machine.threads import mapped
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Scaling
from sgdone.rows.source import Block
from sgdone.sums.merging import merged
from sgdone.sums.pieces import PIECE, pieces_of

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Gram:
    """Σv, weighted means and Σv(x − means)(x − means)ᵀ of the columns and, last, the targets.

    Without centring the means are 0. Merging is that of Chan, Golub & LeVeque (1983).
    """

    weight: float
    means: Array
    products: Array

    def merge(self, other: "Gram") -> "Gram":
        """The sums over the rows of both."""
        weight = self.weight + other.weight
        apart = other.means - self.means
        products = self.products + other.products
        products += np.outer(apart, apart * (self.weight * other.weight / weight))
        return Gram(weight, self.means + apart * (other.weight / weight), products)


def gram(block: Block, *, centred: bool, frequency: float = 1.0, threads: int = 1) -> Gram:
    """The sums over all rows of positive weight of a block's matrix.

    Examples
    --------
    >>> from sgdone.rows import ArraySource
    >>> X, y = np.array([[1.0], [3.0]]), np.array([5.0, 9.0])
    >>> block = next(ArraySource(X, y).blocks(np.random.default_rng(0)))
    >>> gram(block, centred=True).products
    array([[2., 4.],
           [4., 8.]])
    """

    def one(piece: tuple[Any, Array, Array]) -> Gram:
        part, labels, weights = piece
        return _piece(part, labels, frequency * weights, centred)

    return merged(mapped(one, pieces_of(block), threads if block.n_used > PIECE else 1))


def _piece(part: Any, labels: Array, weights: Array, centred: bool) -> Gram:
    total = float(weights.sum())
    if isinstance(part, MixedMatrix):
        return _mixed_piece(part, labels, weights, centred)
    if not isinstance(part, np.ndarray):
        return _sparse_piece(part, labels, weights, total, centred)
    rows = np.empty((part.shape[0], part.shape[1] + 1))
    rows[:, :-1], rows[:, -1] = part, labels
    means = np.zeros(rows.shape[1])
    if centred:
        means = weights @ rows / total
        rows -= means
    if np.any(weights != 1.0):
        rows *= np.sqrt(weights)[:, None]
    return Gram(total, means, rows.T @ rows)


def _mixed_piece(part: MixedMatrix, labels: Array, weights: Array, centred: bool) -> Gram:
    """Products of dense columns and targets, of sparse columns, and of both; columns in the order of ``part``."""
    numbers, entries = (_piece(of_columns, labels, weights, centred) for of_columns in (part.dense, part.sparse))
    d, width = part.n_dense, part.shape[1]
    apart = weights[:, None] * (part.dense - numbers.means[:d])
    products = np.empty((width + 1, width + 1))
    dense, others = np.append(np.arange(d), width), np.arange(d, width + 1)
    products[np.ix_(others, others)], products[np.ix_(dense, dense)] = entries.products, numbers.products
    # Deviations sum to 0: those of the sparse columns from their means need not be taken.
    products[d:width, :d] = part.sparse.T @ apart
    products[:d, d:width] = products[d:width, :d].T
    return Gram(numbers.weight, np.append(numbers.means[:d], entries.means), products)


def _sparse_piece(part: sparse.csr_array, labels: Array, weights: Array, total: float, centred: bool) -> Gram:
    """Products of the rows as they are; the means are subtracted afterwards."""
    width = part.shape[1]
    types = " ".join(str(array.dtype) for array in (part.data, part.indices, part.indptr))
    found = np.zeros((width + 1, width + 1, 1))
    make_add_products(types)(part.data, part.indices, part.indptr, weights[:, None].copy(), found)
    products = found[:, :, 0]
    sums = np.append(products[width, :width], weights @ labels)
    products[width, :width] = products[:width, width] = part.T @ (weights * labels)
    products[width, width] = weights @ (labels * labels)
    if not centred:
        return Gram(total, np.zeros(width + 1), products)
    means = sums / total
    return Gram(total, means, products - np.outer(sums, means))


def in_units(found: Gram, scaling: Scaling) -> tuple[Array, Array, float]:
    """Products of the scaled columns, with the target, and of the target with itself."""
    inverse = 1.0 / scaling.scale
    columns = found.products[:-1, :-1] * inverse[:, None] * inverse
    return columns, found.products[:-1, -1] * inverse, float(found.products[-1, -1])
