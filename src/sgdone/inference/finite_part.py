"""Several classes that can be separated in some rows: the finite part of a multinomial model.

The loss of a row i of class y is log(1 + Σₖ exp(−zᵢₖᵀθ)) over the other classes k, with zᵢₖ = (Qᵧ − Qₖ) ⊗ (x̃ᵢ, 1) in
the free coefficients θ. A direction u with zᵢₖᵀu ≥ 0 for all pairs drives the terms with zᵢₖᵀu > 0 to 0: such pairs are
separable. The others determine the finite part: θ is known in the span of their zᵢₖ (Ji & Telgarsky 2018, Theorem 3.1,
applied to pairs).
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sgdone.diagnose import separation
from sgdone.inference.optimum import NoOptimumError
from sgdone.inference.sample import Sample
from sgdone.interfaces.objective import Objective
from sgdone.newton import Problem, SearchResult, minimise, run_search
from sgdone.newton.search import CholeskyDirection
from sgdone.rows.rows import Scaling
from sgdone.sums.second_order import SecondOrder
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]

#: Most entries of all z.
_MOST_ENTRIES = 2e7
#: Singular values below this share of the largest are rounding.
_ROUNDING = 1e-9
#: Squared share of a combination outside the span, from which it is not determined.
_OUTSIDE = 1e-12
#: Longest last step in standard errors.
_STEP = 1e-8


@final
@dataclass(frozen=True)
class FinitePart:
    """The part of a multinomial model that the rows determine.

    ``theta`` has the free coefficients, output by output: those in the span of which ``basis`` is an orthonormal basis.
    ``inverse`` is that of the curvature in the span, and ``middle`` the sum of outer products of gradients, over rows
    or groups. ``loss`` is the infimum of the summed loss. Of ``n_pairs`` pairs of a row and another class
    ``n_separable`` are separable. ``information`` is Σv·p(1 − p) of each class, infinite if it is separated from all
    others; ``coefficients`` is their number for each class that is left, but one.
    """

    theta: Array
    basis: Array
    inverse: Array
    middle: Array
    loss: float
    n_separable: int
    n_pairs: int
    information: Array
    coefficients: int

    def reason(self, better: Any = None) -> str:
        """Why the other coefficients are refused; ``better`` is the reference class with which fewer are."""
        advice = "" if better is None else f", or reference={better!r}: fewer coefficients are infinite then"
        return (
            f"There is no finite optimum: some classes can be separated in {self.n_separable:,} of {self.n_pairs:,} "
            "pairs of a row and another class without error (proved), and these coefficients tend to infinity. Use the "
            f"penalised coefficients of the model{advice}."
        )

    def undetermined(self, combinations: sparse.csr_array) -> NDArray[np.bool_]:
        """Whether each combination of the free coefficients, a row each, is outside the span."""
        dense = combinations.toarray()
        outside = dense - (dense @ self.basis) @ self.basis.T
        return np.asarray((outside**2).sum(axis=1) > _OUTSIDE * (dense**2).sum(axis=1))


def multinomial_finite_part(sample: Sample) -> FinitePart | None:
    """The finite part of a multinomial model without an optimum; None if no pair is separable.

    Raises `NoOptimumError` if there are too many rows and classes, or the question stays undecided.
    """
    count = sample.objective.n_outputs
    size = sample.system.n_coefficients
    if sample.n_used * (count - 1) * size > _MOST_ENTRIES:
        raise NoOptimumError("there are too many rows, columns and classes to find out which coefficients are infinite")
    differences, owners, others = _differences(sample)
    found = separation(differences, np.ones(len(differences)), fit_intercept=False)
    if found.kind == "undecided":
        raise NoOptimumError(f"whether there is an optimum was not decided ({found.reason})")
    if found.kind == "none":
        return None
    held = ~found.separable_rows
    differences, owners, others = differences[held], owners[held], others[held]
    if not len(differences):
        nothing = np.zeros((size, size))
        return FinitePart(
            np.zeros(size), nothing[:, :0], nothing, nothing, 0.0, held.size, held.size, np.full(count, np.inf), 0
        )
    values, basis = linalg.eigh(differences.T @ differences)
    basis = basis[:, values > _ROUNDING * values[-1]]
    rows = _PairLoss(differences @ basis, owners, others, sample)
    inside = _minimum(rows, sample.objective)
    loss, gradients, curvature = rows.evaluate(inside)
    inverse = basis @ linalg.inv(curvature) @ basis.T
    middle = basis @ rows.middle(gradients) @ basis.T
    information = rows.information(inside)
    left = max(1, np.count_nonzero(np.isfinite(information)) - 1)
    return FinitePart(
        basis @ inside,
        basis,
        inverse,
        middle,
        loss,
        int(found.separable_rows.sum()),
        held.size,
        information,
        -(-basis.shape[1] // left),
    )


def _differences(sample: Sample) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """All zᵢₖ, the number i of the row of each among the rows used, and k."""
    basis, count = contrasts(sample.objective), sample.objective.n_outputs
    assert basis is not None
    parts, owners, numbers, first = [], list[NDArray[np.intp]](), list[NDArray[np.intp]](), 0
    fixed = ~np.append(sample.varies, sample.objective.fit_intercept)
    local_rows = sample.local_rows
    assert local_rows is not None
    for rows, labels, _ in local_rows.pieces(sample.system):
        dense = rows.transposed_times(np.eye(labels.size)).T
        dense[:, fixed] = 0.0
        classes = labels.astype(np.intp)
        for k in range(count):
            others = np.flatnonzero(classes != k)
            apart = basis[classes[others]] - basis[k]
            parts.append((apart[:, :, None] * dense[others][:, None, :]).reshape(others.size, -1))
            owners.append(first + others)
            numbers.append(np.full(others.size, k))
        first += labels.size
    return np.concatenate(parts), np.concatenate(owners), np.concatenate(numbers)


@final
class _PairLoss:
    """Σv·log(1 + Σₖ exp(−zᵢₖᵀθ)) over rows i and the classes k that are left."""

    def __init__(self, differences: Array, owners: NDArray[np.intp], others: NDArray[np.intp], sample: Sample) -> None:
        order = np.argsort(owners, kind="stable")
        self._others = others[order]
        self._pairs, owners = differences[order], owners[order]
        self._starts = np.flatnonzero(np.append(True, np.diff(owners) != 0))
        self._lengths = np.diff(np.append(self._starts, owners.size))
        self._rows = owners[self._starts]
        self._sample = sample
        rows = sample.local_rows
        assert rows is not None
        self._groups = None if rows.groups is None else rows.groups[rows.used]
        used = rows.block.all_used()[self._rows]
        self._labels = rows.block.labels[used].astype(np.intp)
        self._weights = rows.block.weights_of(used) * rows.frequency

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._rows.size)

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return int(self._pairs.shape[1])

    def sum(self, request: Any) -> SecondOrder:
        """Sums that Newton's method asks for; its models have one column."""
        loss, gradients, curvature = self.evaluate(request.model[:, 0])
        weight, unknown = float(self._weights.sum()), float("nan")
        return SecondOrder(weight, loss, unknown, (self._weights @ gradients)[:, None], curvature, np.empty(0))

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Loss, gradients of the rows without their weights, and curvature."""
        losses, likely = self._terms(theta)
        gradients = -np.add.reduceat(likely[:, None] * self._pairs, self._starts, axis=0)
        of_pairs = np.repeat(self._weights, self._lengths) * likely
        curvature = self._pairs.T @ (of_pairs[:, None] * self._pairs)
        curvature -= gradients.T @ (self._weights[:, None] * gradients)
        return float(self._weights @ losses), gradients, curvature

    def middle(self, gradients: Array) -> Array:
        """Σ of outer products of gradients, of rows or of groups."""
        if self._groups is not None:
            numbers = np.unique(self._groups[self._rows], return_inverse=True)[1]
            sums = np.zeros((int(numbers.max()) + 1, self.size))
            np.add.at(sums, numbers, self._weights[:, None] * gradients)
            return np.asarray(sums.T @ sums)
        return np.asarray(gradients.T @ (self._weights[:, None] ** self._sample.weight_power * gradients))

    def information(self, theta: Array) -> Array:
        """Σv·p(1 − p) of each class; infinite for classes that are in no pair."""
        likely = self._terms(theta)[1]
        own = 1.0 - np.add.reduceat(likely, self._starts)
        count = self._sample.objective.n_outputs
        weights = np.repeat(self._weights, self._lengths)
        total = np.bincount(self._others, weights * likely * (1.0 - likely), minlength=count)
        total += np.bincount(self._labels, self._weights * own * (1.0 - own), minlength=count)
        return np.where(total > 0, total, np.inf)

    def _terms(self, theta: Array) -> tuple[Array, Array]:
        """Losses of the rows, and the probability of each pair's other class."""
        scores = -(self._pairs @ theta)
        largest = np.maximum(np.maximum.reduceat(scores, self._starts), 0.0)
        grown = np.exp(scores - np.repeat(largest, self._lengths))
        total = np.exp(-largest) + np.add.reduceat(grown, self._starts)
        return largest + np.log(total), grown / np.repeat(total, self._lengths)


def _minimum(rows: _PairLoss, objective: Objective) -> Array:
    """Newton's method; the minimum exists in the span of the pairs."""
    system = System(objective, Scaling(np.ones(rows.size)))
    problem = Problem(system, np.zeros(rows.size), rows.n_rows)
    search = minimise(problem, np.zeros((rows.size, 1)), 0.5 * _STEP**2, CholeskyDirection(system))
    found: SearchResult = run_search(rows, search)
    if found.stalled:
        raise NoOptimumError(f"no minimum for the pairs that are not separated was found in {found.steps} steps")
    return np.asarray(found.model[:, 0])
