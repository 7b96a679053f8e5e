"""Samples whose loss has no minimum: a direction that separates rows, verified in all partitions.

Newton's method that does not converge goes to infinity along such a direction: the curvature vanishes along it, because
the separated rows are predicted almost without loss. It is a proof once no row of any partition is on its wrong side.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.inference.coefficient_names import enumerate_names
from sgdone.inference.estimate_result import Estimate
from sgdone.inference.identification import identification
from sgdone.inference.large import LargeOptimum
from sgdone.inference.layout import Layout
from sgdone.inference.optimum import NoOptimumError, Optimum
from sgdone.inference.refusals import Refusal
from sgdone.inference.sample import Sample
from sgdone.inference.sample_rows import SampleRows
from sgdone.inference.separation_margins import margin_signs
from sgdone.inference.undetermined import Infinite, completely_separated
from sgdone.interfaces.objective import Predicts
from sgdone.newton.direction import MOST_SUMMED
from sgdone.sums.row_sum import ArraySum, RowSum, message
from sgdone.sums.second_order import SecondOrderAt

Array = NDArray[np.float64]

#: Share of the largest curvature below which there is none.
_FLAT = 1e-6
#: Share of the largest effect of a coefficient below which it is rounding.
_SMALL = 1e-5
#: Largest whole numbers of rounded directions: of columns with whole numbers their scores are exact.
_WHOLE = (1.0, 2.0, 60.0, 1000.0)
#: Most directions that separate rows which those before them do not separate: each takes a search of its own.
_MOST_DIRECTIONS = 20


@final
@dataclass(frozen=True)
class Direction:
    """A direction without rows on its wrong side.

    Attributes
    ----------
    values : ndarray
        (features + 1) × outputs, in the units of the sample.
    n_separated : int
        Number of rows that it separates.
    """

    values: Array
    n_separated: int


@final
class VerifiedDirections:
    """The search for directions that separate rows, each of which is verified in all partitions.

    Parameters
    ----------
    sample : Sample
        The rows.
    layout : Layout
        The coefficients of the summary.
    """

    def __init__(self, sample: Sample, layout: Layout) -> None:
        self._sample, self._layout = sample, layout
        self._directions: list[Direction] = []

    def rest_of(self, rest: Sample, failure: NoOptimumError) -> Sample | Estimate:
        """The rows that the next direction does not separate."""
        sample, layout = self._sample, self._layout
        possible = sample.objective.loss.fades and len(self._directions) < _MOST_DIRECTIONS
        direction = _find_direction(rest, failure) if possible else None
        if direction is None:
            return Estimate.nothing(layout, _no_direction_refusal(failure))
        if sample.objective.predicts != "two_classes":
            refused = _refusals_of_classes(sample, layout, direction)
            return Estimate(np.full(layout.size, np.nan), refused, attained=False)
        self._directions.append(direction)
        if direction.n_separated == rest.n_used:
            return completely_separated(sample, layout, _Separated(self._directions, sample.n_used, is_only=False))
        return rest.without(direction.values[:, 0])

    def infinite(self, optimum: Optimum | LargeOptimum) -> Infinite | None:
        """The directions that were found."""
        if not self._directions:
            return None
        is_only = isinstance(optimum, Optimum) and self._n_determined() == int(optimum.estimated.sum()) + 1
        return _Separated(self._directions, self._sample.n_used, is_only)

    def _n_determined(self) -> int:
        """Number of coefficients that the columns of all rows determine, whatever the labels are."""
        free = np.append(self._sample.varies, self._layout.has_intercept)
        found = identification(free, self._sample.column_products)
        return int(free.sum()) - (0 if found is None else found.dropped.size)


@final
@message
@dataclass(frozen=True)
class RowsAlong(RowSum):
    """Numbers of rows that each direction separates, and of rows on its wrong side or in doubt.

    Parameters
    ----------
    predicts : {"two_classes", "one_vs_rest", "softmax"}
        Meaning of the outputs.
    directions : ndarray
        Directions × (features + 1) × outputs, in the units of the rows.
    """

    predicts: Predicts
    directions: Array

    def of(self, rows: SampleRows) -> ArraySum | None:
        """Numbers of these rows, directions × 2."""
        if not rows.n_rows:
            return None
        signs = (margin_signs(self.predicts, rows.block, direction) for direction in self.directions)
        counts = [[(own > 0).any(axis=1).sum(), ((own < 0) | (own > 1)).any(axis=1).sum()] for own in signs]
        return ArraySum(np.array(counts, dtype=np.float64))


def _find_direction(sample: Sample, failure: NoOptimumError) -> Direction | None:
    """A direction that separates rows, from where Newton's method ended; None if none could be verified."""
    if failure.model is None:
        return None
    candidates = np.stack(_candidates(sample, failure.model))
    found: ArraySum = sample.sum(RowsAlong(sample.objective.predicts, candidates))
    separated, wrong = found.values.T
    separated[wrong > 0] = 0.0
    best = int(np.argmax(separated))
    return Direction(candidates[best], int(separated[best])) if separated[best] else None


def _candidates(sample: Sample, model: Array) -> list[Array]:
    """The model itself, and its part without curvature: as it is, and rounded."""
    if model.size > MOST_SUMMED:
        return _rounded(sample, _in_units(sample, model))
    free = np.append(sample.varies, sample.objective.fit_intercept)
    places = np.flatnonzero(np.tile(free, model.shape[1]))
    curvature = sample.sum(SecondOrderAt(sample.system, model)).curvature[np.ix_(places, places)]
    values, vectors = linalg.eigh(curvature, check_finite=False)
    flat = vectors[:, values <= _FLAT * values[-1]]
    found = [_in_units(sample, model)]
    if flat.shape[1]:
        part = np.zeros(model.size)
        part[places] = flat @ (flat.T @ model.T.ravel()[places])
        found += _rounded(sample, _in_units(sample, part.reshape(model.shape[::-1]).T))
    return found


def _in_units(sample: Sample, model: Array) -> Array:
    """A model as a direction in the units of the sample, all outputs; scores of several classes less the first."""
    coef, intercept = sample.system.to_user(model)
    whole = np.vstack([coef.T, intercept])
    return whole if sample.objective.predicts != "softmax" else whole - whole[:, :1]


def _rounded(sample: Sample, direction: Array) -> list[Array]:
    """A direction, the same without coefficients that hardly matter, and in whole numbers."""
    sizes = np.append(sample.facts.largest, 1.0)[:, None]
    effects = np.abs(direction) * sizes
    kept = np.where(effects > _SMALL * effects.max(), direction, 0.0)
    if not kept.any():
        return [direction]
    largest, least = np.abs(kept).max(), np.abs(kept[kept != 0]).min()
    found = [kept * (whole / largest) for whole in _WHOLE] + [kept / least]
    return [direction, kept, *(np.rint(own) for own in found if np.rint(own).any())]


@final
@dataclass(frozen=True)
class _Separated:
    """Two classes that are separated in some rows.

    Attributes
    ----------
    directions : list of Direction
        Each separates rows that those before it do not.
    n_rows : int
        Number of rows.
    is_only : bool
        Whether there is no other direction: then the signs of the coefficients are known.
    """

    directions: list[Direction]
    n_rows: int
    is_only: bool

    def refusals(self, layout: Layout, sample: Sample, undetermined: NDArray[np.bool_]) -> dict[int, Refusal]:
        """The infinite coefficients: those that the other rows do not determine."""
        positions = np.flatnonzero(undetermined).tolist()
        columns = [*([sample.n_features] if layout.has_intercept else []), *layout.columns.tolist()]
        signs = np.zeros(sample.n_features + 1)
        if self.is_only:
            signs = np.sign(self.directions[0].values[:, 0]) * layout.outputs[0, 0]
        reason = self._reason(enumerate_names([layout.features[k] for k in positions]))
        return {k: Refusal("infinite", reason, int(signs[columns[k]])) for k in positions}

    def _reason(self, names: str) -> str:
        count = sum(own.n_separated for own in self.directions)
        kind = "complete" if count == self.n_rows else "quasi-complete"
        return (
            f"There is no finite optimum: {kind} separation, a direction predicts {count:,} of {self.n_rows:,} rows "
            f"without error (verified in all partitions), and along it these coefficients tend to infinity: {names}. "
            "Use the penalised coefficients of the model, or more rows."
        )


def _refusals_of_classes(sample: Sample, layout: Layout, found: Direction) -> dict[int, Refusal]:
    """Refuse the coefficients of several classes: they are infinite along a direction, the others were not found."""
    effects = layout.outputs @ (found.values * np.append(sample.facts.largest, 1.0)[:, None]).T
    order = [*([sample.n_features] if layout.has_intercept else []), *layout.columns.tolist()]
    infinite = np.flatnonzero(np.abs(effects[:, order]).ravel() > _SMALL * np.abs(effects).max()).tolist()
    names = (
        list(layout.features)
        if layout.classes is None
        else [f"{label}: {name}" for label, name in zip(layout.classes, layout.features, strict=True)]
    )
    reason = Refusal(
        "infinite",
        f"There is no finite optimum: some classes can be separated in {found.n_separated:,} of "
        f"{sample.n_used:,} rows without error (verified in all partitions), and these coefficients tend to "
        f"infinity: {enumerate_names([names[k] for k in infinite])}. Use the penalised coefficients of the model, or "
        "fewer classes.",
    )
    other = Refusal(
        "not_converged",
        "There is no finite optimum, because some classes can be separated. A summary of partitions does not find the "
        "finite coefficients: use model.summary(X, y) on one machine, or the penalised coefficients of the model.",
    )
    return dict.fromkeys(range(layout.size), other) | dict.fromkeys(infinite, reason)


def _no_direction_refusal(failure: NoOptimumError) -> Refusal:
    """Refuse all coefficients."""
    return Refusal(
        "not_converged",
        f"No optimum was found, and no direction that separates the classes could be verified: {failure}. Use the "
        "penalised coefficients of the model.",
    )
