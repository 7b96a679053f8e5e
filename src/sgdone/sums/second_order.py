"""Objective, gradient and curvature of a loss at a model, in scaled units, added up over blocks of rows.

With z = x̃ᵀw + b for a row x̃ = (x − shift)/scale and a weight v, the sums are Σvℓ(z), Σv·ℓ′(z)·(x̃, 1) and
Σv·(x̃, 1)ℓ″(z)(x̃, 1)ᵀ. Models are those of `sgdone.sums.system.System`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.losses import Logistic, Squared
from sgdone.machine.threads import mapped
from sgdone.sums.pieces import Piece, Pieces, ScaledRows
from sgdone.sums.row_sum import SHARED, ArraySum, ReadableRows, RowSum, merged, message
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]


class Derivatives(NamedTuple):
    """Losses of rows, and their derivatives in the scores (rows × outputs).

    ``shares`` are the probabilities of a softmax: its second derivatives are pₐ(δₐᵦ − pᵦ). For other losses they are
    the second derivatives themselves: no output depends on another.
    """

    losses: Array
    slopes: Array
    shares: Array


def derivatives(objective: Objective, scores: Array, labels: Array) -> Derivatives:
    """Evaluate the loss of scores (rows × outputs).

    NumPy has the formulas of the losses that the default fit uses: compiling others takes longer than a small fit.
    """
    if objective.predicts == "softmax":
        return _softmax(scores, labels.astype(np.intp))
    if objective.predicts == "one_vs_rest":
        parts = [_single(objective, scores[:, k], np.where(labels == k, 1.0, -1.0)) for k in range(scores.shape[1])]
    else:
        found = _single(objective, scores[:, 0], labels)
        return Derivatives(found[0], found[1][:, None], found[2][:, None])
    losses, slopes, curvatures = zip(*parts, strict=True)
    return Derivatives(np.sum(losses, axis=0), np.column_stack(slopes), np.column_stack(curvatures))


def _single(objective: Objective, z: Array, y: Array) -> tuple[Array, Array, Array]:
    loss = objective.loss
    if isinstance(loss, Logistic):
        margins = y * z
        small = np.exp(-np.abs(margins))
        likely = 1.0 / (1.0 + small)
        wrong = np.where(margins > 0, small * likely, likely)
        return np.log1p(small) - np.minimum(margins, 0.0), -y * wrong, small * likely * likely
    if isinstance(loss, Squared):
        return 0.5 * (z - y) ** 2, z - y, np.ones_like(z)
    return loss.value(z, y), loss.slope(z, y), loss.curvature(z, y)


def _softmax(scores: Array, numbers: NDArray[np.intp]) -> Derivatives:
    below, rows = scores - scores.max(axis=1, keepdims=True), np.arange(numbers.size)
    own = below[rows, numbers]
    shares = np.exp(below, out=below)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    slopes = shares.copy(order="K")
    slopes[rows, numbers] -= 1.0
    return Derivatives(np.log(total[:, 0]) - own, slopes, shares)


Curvature = Literal["full", "single", "diagonal", "none"]


@final
@message
@dataclass(frozen=True)
class SecondOrder:
    """Sums over rows at a model."""

    #: Σv.
    weight: float
    #: Σvℓ.
    loss: float
    #: Σ over rows of wrong classes, or of squared errors.
    misses: float
    #: Gradient of Σvℓ, (features + 1) × columns of the model.
    gradient: Array
    #: Second derivatives of Σvℓ, a square matrix: the coefficients of the first column come first, each column followed
    #: by its intercept. Empty if not requested.
    curvature: Array
    #: The diagonal of the curvature, shaped like the model; empty if not requested.
    diagonal: Array

    def dispersion(self, objective: Objective) -> float:
        """The variance of the targets about the model, the unit of decrements of a regression; otherwise 1."""
        if not objective.is_regression:
            return 1.0
        return max(2.0 * self.loss / self.weight, float(np.finfo(np.float64).tiny))

    def merge(self, other: "SecondOrder") -> "SecondOrder":
        """The sums over the rows of both."""
        return SecondOrder(
            self.weight + other.weight,
            self.loss + other.loss,
            self.misses + other.misses,
            self.gradient + other.gradient,
            self.curvature + other.curvature,
            self.diagonal + other.diagonal,
        )


@final
@message
@dataclass(frozen=True)
class SecondOrderAt(RowSum):
    """Loss, gradient and curvature at a model: `SecondOrder`."""

    is_evaluation: ClassVar[bool] = True

    system: System = field(metadata=SHARED)
    model: Array = field(metadata=SHARED)
    curvature: Curvature = "full"

    def of(self, rows: ReadableRows) -> SecondOrder | None:
        """The sums over these rows."""
        pieces = rows.pieces(self.system)
        if not pieces.n_rows:
            return None
        return second_order(self.system.objective, pieces, self.model, curvature=self.curvature)


@final
@message
@dataclass(frozen=True)
class CurvatureProduct(RowSum):
    """The product of the curvature at a model with a direction, or with several of them along a third axis."""

    is_pass: ClassVar[bool] = False

    system: System = field(metadata=SHARED)
    model: Array = field(metadata=SHARED)
    direction: Array

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The product over these rows."""
        objective, pieces = self.system.objective, rows.pieces(self.system)
        if not pieces.n_rows:
            return None
        if not rows.has_cache:
            return merged(pieces.map(self._of_piece))
        product = rows.cached(objective, pieces, self.model, lambda: curvature_products(objective, pieces, self.model))
        return ArraySum(_of_each(product, self.direction))

    def _of_piece(self, piece: Piece) -> ArraySum:
        objective, basis = self.system.objective, contrasts(self.system.objective)
        shares = derivatives(objective, scores(piece.rows, self.model, basis), piece.labels).shares
        return ArraySum(_of_each(lambda direction: _curved(shares, piece, direction, basis), self.direction))


@final
@message
@dataclass(frozen=True)
class LossesAt(RowSum):
    """Summed losses of several models (the first axis), and the weight of the rows, which comes last."""

    system: System = field(metadata=SHARED)
    models: Array

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The losses of these rows."""
        pieces = rows.pieces(self.system)
        return merged(pieces.map(self._of_piece)) if pieces.n_rows else None

    def _of_piece(self, piece: Piece) -> ArraySum:
        objective, basis = self.system.objective, contrasts(self.system.objective)
        found = [derivatives(objective, scores(piece.rows, model, basis), piece.labels) for model in self.models]
        sums = [float(piece.weights @ own.losses) for own in found]
        return ArraySum(np.array([*sums, float(piece.weights.sum())]))


def second_order(objective: Objective, pieces: Pieces, model: Array, *, curvature: Curvature = "full") -> SecondOrder:
    """Sums over all rows of positive weight, without the penalty, at a model in the units of the pieces.

    ``curvature`` says which second derivatives to add up; "single": all of them, in single precision where that is
    faster.
    """
    found: SecondOrder = merged(pieces.map(lambda piece: _piece(objective, piece, model, curvature)))
    if curvature not in ("full", "single"):
        return found
    return replace(found, curvature=_of_products(objective, found.curvature))


def curvature_products(objective: Objective, pieces: Pieces, model: Array) -> Callable[[Array], Array]:
    """The function u ↦ Hu, H the curvature of Σvℓ at a model; u and Hu are shaped like the model.

    Scores are computed once; each product reads all rows once. Where there is one output, u may have any number of
    columns: several directions.
    """
    basis = contrasts(objective)
    known = list(
        pieces.map(lambda piece: derivatives(objective, scores(piece.rows, model, basis), piece.labels).shares)
    )

    def product(direction: Array) -> Array:
        total = np.zeros_like(direction)
        pairs = zip(known, pieces, strict=True)
        for part in mapped(lambda pair: _curved(*pair, direction, basis), pairs, pieces.threads):
            total += part
        return total

    return product


def _of_each(product: Callable[[Array], Array], directions: Array) -> Array:
    """Products with one direction, or with several along a third axis: at once if there is one output."""
    if directions.ndim == 2:
        return product(directions)
    if directions.shape[1] == 1:
        return product(directions[:, 0, :])[:, None, :]
    return np.stack([product(directions[:, :, k]) for k in range(directions.shape[2])], axis=2)


def _curved(shares: Array, piece: Piece, direction: Array, basis: Array | None) -> Array:
    """The product of the curvature of a piece with a direction, given the derivatives of its losses."""
    change = scores(piece.rows, direction, basis)
    change *= shares
    if basis is not None:
        change -= shares * change.sum(axis=1, keepdims=True)
    change *= piece.weights[:, None]
    found = piece.rows.transposed_times(change)
    return found if basis is None else found @ basis


def scores(rows: ScaledRows, model: Array, basis: Array | None) -> Array:
    """Scores of rows, one column per output."""
    return rows.times(model if basis is None else model @ basis.T)


def own_curvatures(objective: Objective, found: Derivatives) -> Array:
    """Second derivatives in each column of a model, one value per row and column.

    For a softmax with probabilities p they are the diagonal of Qᵀ(diag p − ppᵀ)Q.
    """
    basis = contrasts(objective)
    return found.shares if basis is None else found.shares @ basis**2 - (found.shares @ basis) ** 2


@lru_cache(maxsize=16)
def pairs_of_classes(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The numbers of both classes of each pair."""
    return np.tril_indices(n_classes, -1)


def _piece(objective: Objective, piece: Piece, model: Array, curvature: Curvature) -> SecondOrder:
    """Sums over a piece; ``curvature`` are the products of `_of_products`."""
    rows, labels, weights = piece
    basis = contrasts(objective)
    of_rows = scores(rows, model, basis)
    found = derivatives(objective, of_rows, labels)
    full, diagonal = np.empty(0), np.empty(0)
    if curvature in ("full", "single"):
        full = _products(piece, found.shares, model, is_softmax=basis is not None, single=curvature == "single")
    elif curvature == "diagonal":
        diagonal = rows.squared_transposed_times(weights[:, None] * own_curvatures(objective, found))
    gradient = rows.transposed_times(weights[:, None] * found.slopes)
    return SecondOrder(
        float(weights.sum()),
        float(weights @ found.losses),
        _misses(objective, of_rows, labels),
        gradient if basis is None else gradient @ basis,
        full,
        diagonal,
    )


def _products(piece: Piece, shares: Array, model: Array, *, is_softmax: bool, single: bool) -> Array:
    """Σv·(x̃, 1)(x̃, 1)ᵀ, times pₐpᵦ of each pair of classes, or times the second derivative of each output."""
    rows, _, weights = piece
    same = is_softmax and not model[:-1].any()
    if same:
        shares = shares[:1]
    if is_softmax:
        first, second = pairs_of_classes(shares.shape[1])
        shares = (shares.T[first] * shares.T[second]).T
    if same:
        # All rows have the same second derivatives: one product is enough.
        return np.asarray(shares[0][:, None, None] * rows.products(weights[:, None], single=single))
    return rows.products(weights[:, None] * shares, single=single)


def _of_products(objective: Objective, products: Array) -> Array:
    """The curvature of Σvℓ: a square matrix.

    A softmax has the second derivatives diag p − ppᵀ = Σpₐpᵦ(eₐ − eᵦ)(eₐ − eᵦ)ᵀ over the pairs of classes: its blocks
    off the diagonal are products with a minus, and those on the diagonal have the sum of the others.
    """
    basis, width = contrasts(objective), products.shape[1]
    if basis is None:
        return assembled([(k, k) for k in range(len(products))], products, (width, len(products)))
    count = len(basis)
    first, second = pairs_of_classes(count)
    blocks = np.zeros((count, width, count, width))
    blocks[first, :, second] = blocks[second, :, first] = -products
    every = np.arange(count)
    blocks[every, :, every] = -blocks.sum(axis=2)
    turned = (basis.T @ blocks.reshape(count, -1)).reshape(-1, count, width)
    size = basis.shape[1] * width
    return np.ascontiguousarray(np.matmul(basis.T, turned)).reshape(size, size)


def assembled(pairs: list[tuple[int, int]], blocks: Array, shape: tuple[int, ...]) -> Array:
    """Symmetric matrix of blocks, one per pair of columns."""
    width, columns = shape
    if columns == 1:
        return np.asarray(blocks[0])
    total = np.zeros((columns * width, columns * width))
    for (a, b), found in zip(pairs, blocks, strict=True):
        here, there = slice(a * width, (a + 1) * width), slice(b * width, (b + 1) * width)
        total[here, there] = total[there, here] = found
    return total


def _misses(objective: Objective, scored: Array, labels: Array) -> float:
    if objective.is_regression:
        return float(((scored[:, 0] - labels) ** 2).sum())
    if objective.predicts == "two_classes":
        return float(np.count_nonzero(scored[:, 0] * labels <= 0))
    return float(np.count_nonzero(scored.argmax(axis=1) != labels))
