"""Sums over rows at a model that only summaries need."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.sample_rows import SampleRows, joined_labels
from sgdone.interfaces.objective import Objective
from sgdone.sums.pieces import PIECE, Piece, ScaledRows
from sgdone.sums.row_sum import ArraySum, ReadableRows, RowSum, merged, message
from sgdone.sums.second_order import assembled, derivatives, scores
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]
GroupLabels = NDArray[Any]

#: Most groups whose sums are computed at once.
_GROUPS = 256
#: Most numbers in the gradients of the groups of a partition that are in others too.
_MOST_NUMBERS = 1 << 26


def slopes_of(objective: Objective, piece: Piece, model: Array) -> Array:
    """First derivatives of the losses of rows in the free scores, one column per output."""
    basis = contrasts(objective)
    slopes = derivatives(objective, scores(piece.rows, model, basis), piece.labels).slopes
    return slopes if basis is None else slopes @ basis


def weighing(piece: Piece, power: int) -> Array:
    """Factor of a row's gradient: the root of a frequency, or a sampling weight."""
    return piece.weights if power == 2 else np.sqrt(piece.weights)


def forms_of_outputs(rows: ScaledRows, matrix: Array, count: int) -> Array:
    """(x̃, 1)ᵀM(x̃, 1) for each pair of ``count`` outputs, M a block of a symmetric matrix: rows × count × count."""
    size = len(matrix) // count
    blocks = matrix.reshape(count, size, count, size).transpose(0, 2, 1, 3).reshape(count * count, size, size)
    # A block off the diagonal is not symmetric; its form is that of its symmetric part.
    return rows.quadratic_forms(0.5 * (blocks + blocks.transpose(0, 2, 1))).reshape(-1, count, count)


def added_up(rows: ReadableRows, system: System, of_piece: Callable[[Piece], Array]) -> ArraySum | None:
    """The sum of an array over pieces, one after the other; None if there are no rows."""
    pieces = rows.pieces(system)
    if not pieces.n_rows:
        return None
    parts = iter(pieces.map(of_piece))
    total = next(parts)
    for found in parts:
        total += found
    return ArraySum(total)


@final
@message
@dataclass(frozen=True)
class ColumnProducts(RowSum):
    """Σv·(x̃, 1)(x̃, 1)ᵀ."""

    system: System

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sum over these rows."""
        return added_up(rows, self.system, lambda piece: piece.rows.products(piece.weights[:, None])[0])


@dataclass(frozen=True)
class SumAt(RowSum):
    """A sum over rows at a model: (features + 1) × free outputs, in the units of ``system``."""

    system: System
    model: Array


@dataclass(frozen=True)
class PieceSumAt(SumAt):
    """A sum of arrays over pieces of rows, one after the other."""

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sum over these rows."""
        return added_up(rows, self.system, self._of_piece)

    @abstractmethod
    def _of_piece(self, piece: Piece) -> Array:
        """The sum over a piece."""


@final
@message
@dataclass(frozen=True)
class InformationAt(PieceSumAt):
    """Σv·p(1 − p) of each class."""

    def _of_piece(self, piece: Piece) -> Array:
        objective, basis = self.system.objective, contrasts(self.system.objective)
        shares = derivatives(objective, scores(piece.rows, self.model, basis), piece.labels).shares
        return np.asarray(piece.weights @ (shares if basis is None else shares * (1.0 - shares)))


@final
@message
@dataclass(frozen=True)
class SlopeSums(PieceSumAt):
    """Σv·ψ² of the slopes ψ of a regression, and the weight of the rows where |ψ| is below its bound."""

    def _of_piece(self, piece: Piece) -> Array:
        slopes = slopes_of(self.system.objective, piece, self.model)[:, 0]
        inside = np.abs(slopes) < self.system.objective.loss.lipschitz
        return np.array([piece.weights @ slopes**2, piece.weights @ inside])


@final
@message
@dataclass(frozen=True)
class BiasSums(PieceSumAt):
    """Σv·(x̃, 1) ⊗ t, shaped like the model, with t as in `sgdone.inference.estimate.first_order_bias`."""

    inverse: Array

    def _of_piece(self, piece: Piece) -> Array:
        objective, model, inverse = self.system.objective, self.model, self.inverse
        basis, count = contrasts(objective), model.shape[1]
        scored = scores(piece.rows, model, basis)
        if basis is None:
            found = derivatives(objective, scored, piece.labels)
            width = model.shape[0]
            own = np.stack([inverse[a * width : (a + 1) * width, a * width : (a + 1) * width] for a in range(count)])
            # p(1 − p)(1 − 2p), of σ(z).
            cumulants = -found.shares * np.tanh(0.5 * scored)
            return piece.rows.transposed_times(piece.weights[:, None] * cumulants * piece.rows.quadratic_forms(own))
        shares = derivatives(objective, scored, piece.labels).shares
        spread = np.einsum("ka,iab,lb->ikl", basis, forms_of_outputs(piece.rows, inverse, count), basis)
        own = np.einsum("ikk->ik", spread)
        along = np.einsum("ikl,il->ik", spread, shares)
        middle = np.einsum("ik,ik->i", along, shares)
        cumulants = shares * (own - 2.0 * along - (shares * own).sum(axis=1, keepdims=True) + 2.0 * middle[:, None])
        return piece.rows.transposed_times(piece.weights[:, None] * (cumulants @ basis))


@final
@message
@dataclass(frozen=True)
class ScoreProductsAt(SumAt):
    """Σv^power·ggᵀ over rows, g the gradient of a row's loss, in the order of a curvature.

    ``power`` is 1 if weights are frequencies, 2 if they are sampling weights.
    """

    power: int

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sum over these rows."""
        pieces = rows.pieces(self.system)
        return merged(pieces.map(self._of_piece)) if pieces.n_rows else None

    def _of_piece(self, piece: Piece) -> ArraySum:
        slopes = slopes_of(self.system.objective, piece, self.model)
        pairs = [(a, b) for a in range(slopes.shape[1]) for b in range(a + 1)]
        values = np.column_stack([slopes[:, a] * slopes[:, b] for a, b in pairs])
        products = piece.rows.products(piece.weights[:, None] ** self.power * values)
        return ArraySum(assembled(pairs, products, self.model.shape))


@final
@message
@dataclass(frozen=True)
class GroupProducts:
    """Σ over groups of ssᵀ, s a sum over the rows of a group, which may be in several partitions.

    ``products`` is the sum over groups whose rows are all known; ``groups`` are the labels of the others, sorted, and
    ``sums`` has their s so far, a row each.
    """

    products: Array
    groups: GroupLabels
    sums: Array

    def merge(self, other: "GroupProducts") -> "GroupProducts":
        """The sums over the rows of both."""
        groups = joined_labels(self.groups, other.groups)
        sums = np.zeros((groups.size, self.sums.shape[1]))
        for own in (self, other):
            sums[np.searchsorted(groups, own.groups)] += own.sums
        return GroupProducts(self.products + other.products, groups, sums)

    @property
    def matrix(self) -> Array:
        """The sum over all groups, once all rows are known."""
        return self.products + self.sums.T @ self.sums if self.groups.size else self.products


@final
@message
@dataclass(frozen=True)
class GroupScoresAt(SumAt):
    """Σ over groups of (Σvg)(Σvg)ᵀ, the inner sums over the rows of a group: `GroupProducts`.

    Rows are read in the order of their groups, so that few sums are kept at a time. ``divided`` are labels of groups
    whose rows are in several partitions.
    """

    divided: GroupLabels

    def of(self, rows: SampleRows) -> GroupProducts | None:
        """The sums over these rows."""
        if not rows.n_rows:
            return None
        assert rows.groups is not None
        labels, numbers = np.unique(rows.groups, return_inverse=True)
        divided = np.isin(labels, self.divided)
        count, size = int(divided.sum()), self.model.size
        if count * size > _MOST_NUMBERS:
            raise ValueError(
                f"{count:,} groups of its rows are in other partitions too, and have {size:,} coefficients each: too "
                "many to sum by group. Use cov='robust' if rows are independent, larger groups, or partitions that "
                "hold whole groups"
            )
        places, sums = np.cumsum(divided) - 1, np.zeros((count, size))
        total = np.zeros((size, size))
        for groups, own in self._sums(rows, numbers.reshape(-1)):
            known = ~divided[groups]
            total += own.T @ own if known.all() else own[known].T @ own[known]
            sums[places[groups[~known]]] = own[~known]
        return GroupProducts(total, labels[divided], sums)

    def _sums(self, rows: SampleRows, numbers: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Numbers of some groups, and the sums Σvg of all of their rows."""
        carried, last = np.zeros((0, self.model.size)), np.zeros(0, np.intp)
        chunks = list(_by_group(rows, numbers))
        for chosen, piece in zip(chunks, rows.pieces(self.system).of_rows(chunks), strict=True):
            groups, places = np.unique(numbers[chosen], return_inverse=True)
            slopes = piece.weights[:, None] * slopes_of(self.system.objective, piece, self.model)
            members = np.zeros((chosen.size, groups.size))
            members[np.arange(chosen.size), places.reshape(-1)] = 1.0
            sums = np.concatenate(
                [piece.rows.transposed_times(members * slopes[:, [a]]) for a in range(slopes.shape[1])]
            ).T.copy()
            if last.size and groups[0] == last[0]:
                sums[0] += carried[0]
            elif last.size:
                yield last, carried
            if groups.size > 1:
                yield groups[:-1], sums[:-1]
            carried, last = sums[-1:], groups[-1:]
        yield last, carried


def _by_group(rows: SampleRows, groups: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Rows of positive weight, sorted by group, in parts of at most `PIECE` rows and `_GROUPS` groups."""
    used = rows.used
    ordered = used[np.argsort(groups[used], kind="stable")]
    starts = np.flatnonzero(np.append(True, np.diff(groups[ordered]) != 0))
    first = 0
    while first < ordered.size:
        group = int(np.searchsorted(starts, first, side="right"))
        end = int(starts[group + _GROUPS - 1]) if group + _GROUPS - 1 < starts.size else ordered.size
        last = min(first + PIECE, end)
        yield ordered[first:last]
        first = last


@final
@message
@dataclass(frozen=True)
class ScoresAlong(PieceSumAt):
    """Σv^power·(Uᵀg)(Uᵀg)ᵀ of the gradients g of rows; U: ``vectors``, (features + 1) × free outputs × vectors."""

    vectors: Array
    power: int

    def _of_piece(self, piece: Piece) -> Array:
        own = _along(self.system, piece, self.model, self.vectors)
        own *= weighing(piece, self.power)[:, None]
        return np.asarray(own.T @ own)


@final
@message
@dataclass(frozen=True)
class GroupScoresAlong(SumAt):
    """Σ over groups of (ΣvUᵀg)(ΣvUᵀg)ᵀ: `GroupProducts`. ``divided`` are labels of groups in several partitions."""

    vectors: Array
    divided: NDArray[Any]

    def of(self, rows: SampleRows) -> GroupProducts | None:
        """The sums over these rows."""
        if not rows.n_rows:
            return None
        assert rows.groups is not None
        groups, numbers = np.unique(rows.groups[rows.used], return_inverse=True)
        sums = np.zeros((groups.size, self.vectors.shape[2]))
        for places, piece in rows.numbered_pieces(self.system):
            along = _along(self.system, piece, self.model, self.vectors)
            np.add.at(sums, numbers.reshape(-1)[places], piece.weights[:, None] * along)
        divided = np.isin(groups, self.divided)
        known = sums[~divided]
        return GroupProducts(known.T @ known, groups[divided], sums[divided])


def _along(system: System, piece: Piece, model: Array, vectors: Array) -> Array:
    """Uᵀg of each row."""
    slopes = slopes_of(system.objective, piece, model)
    return np.asarray(sum(slopes[:, [a]] * piece.rows.times(vectors[:, a, :]) for a in range(slopes.shape[1])))


@final
@message
@dataclass(frozen=True)
class Largest:
    """The largest of several numbers."""

    value: float

    def merge(self, other: "Largest") -> "Largest":
        """The larger of both."""
        return Largest(max(self.value, other.value))


@final
@message
@dataclass(frozen=True)
class LargestChange(RowSum):
    """Largest change of a score by a step."""

    system: System
    step: Array

    def of(self, rows: ReadableRows) -> Largest | None:
        """The largest change in these rows."""
        basis, pieces = contrasts(self.system.objective), rows.pieces(self.system)
        changes = pieces.map(lambda piece: float(np.abs(scores(piece.rows, self.step, basis)).max()))
        return Largest(max(changes)) if pieces.n_rows else None
