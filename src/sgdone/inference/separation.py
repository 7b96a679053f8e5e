"""Search for separated rows after Newton's method has failed: they make coefficients infinite.

The rows that are left determine the finite coefficients. If all rows are in this process, linear programs find the
separated ones, with a proof. For partitions, directions are guessed from where Newton's method ended, and verified.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.diagnose import Separation, separation
from sgdone.inference.coefficients import Estimate, Layout
from sgdone.inference.identification import identification
from sgdone.inference.margin_signs import margin_signs
from sgdone.inference.optimum import FactorisedOptimum, NoOptimumError, Optimum
from sgdone.inference.refusals import Refusal, constant_refusals
from sgdone.inference.sample import Sample
from sgdone.inference.sample_rows import SampleRows
from sgdone.interfaces.objective import Predicts
from sgdone.message_text import enumerate_names
from sgdone.newton.search import MOST_SUMMED
from sgdone.sums.row_sum import ArraySum, RowSum, message
from sgdone.sums.second_order import SecondOrderAt

Array = NDArray[np.float64]


#: Share of the largest curvature below which there is none.
_FLAT = 1e-6
#: Share of the largest effect of a coefficient below which it is rounding.
_SMALL = 1e-5
#: Largest whole numbers of rounded directions: of columns with whole numbers their scores are exact.
_WHOLE = (1.0, 2.0, 60.0, 1000.0)
#: Largest number of directions, each of which separates further rows and takes a separate search.
_MOST_DIRECTIONS = 20


class Direction(NamedTuple):
    """A direction without rows on its wrong side: (features + 1) × outputs, in the units of the sample."""

    values: Array
    n_separated: int


class SeparationSearch(ABC):
    """Search for rows of classes that are separated: `rest_of` for each failure of Newton's method, then `infinite`."""

    def __init__(self, sample: Sample, layout: Layout) -> None:
        self._sample, self._layout = sample, layout

    @abstractmethod
    def rest_of(self, rest: Sample, failure: NoOptimumError) -> Sample | Estimate:
        """The rows whose optimum is to be searched for next, after Newton's method has failed for ``rest``."""

    @abstractmethod
    def infinite(self, undetermined: NDArray[np.bool_], optimum: Optimum | None = None) -> dict[int, Refusal]:
        """Refusals of the coefficients that the other rows, whose optimum was found if there are any, leave open."""

    def _all_separated(self) -> Estimate:
        """Refusals of constant columns, and of the other coefficients, which are infinite."""
        refused = constant_refusals(self._sample, self._layout)
        others = ~np.isin(np.arange(self._layout.size), list(refused))
        return Estimate(np.full(self._layout.size, np.nan), refused | self.infinite(others), attained=False)

    def _not_converged(self, reason: str) -> Estimate:
        return Estimate.nothing(self._layout, Refusal("not_converged", reason))


@final
class DirectionSearch(SeparationSearch):
    """Search for directions that separate rows, each of which is verified in all partitions."""

    def __init__(self, sample: Sample, layout: Layout) -> None:
        super().__init__(sample, layout)
        self._directions: list[Direction] = []

    def rest_of(self, rest: Sample, failure: NoOptimumError) -> Sample | Estimate:
        """The rows that the next direction does not separate."""
        sample, layout = self._sample, self._layout
        possible = sample.objective.loss.fades and len(self._directions) < _MOST_DIRECTIONS
        direction = _find_direction(rest, failure) if possible else None
        if direction is None:
            return self._not_converged(
                f"No optimum was found, and no direction that separates the classes could be verified: {failure}. Use "
                "the penalised coefficients of the model.",
            )
        if sample.objective.predicts != "two_classes":
            refused = _refusals_of_classes(sample, layout, direction)
            return Estimate(np.full(layout.size, np.nan), refused, attained=False)
        self._directions.append(direction)
        if direction.n_separated == rest.n_used:
            return self._all_separated()
        return rest.without(direction.values[:, 0])

    def infinite(self, undetermined: NDArray[np.bool_], optimum: Optimum | None = None) -> dict[int, Refusal]:
        """Refusals of infinite coefficients, with their signs if there is no other direction."""
        layout, used = self._layout, self._sample.n_used
        positions = np.flatnonzero(undetermined).tolist()
        signs = np.zeros(self._sample.n_features + 1)
        if isinstance(optimum, FactorisedOptimum) and self._n_determined() == int(optimum.estimated.sum()) + 1:
            signs = np.sign(self._directions[0].values[:, 0]) * layout.outputs[0, 0]
        count = sum(own.n_separated for own in self._directions)
        reason = (
            f"There is no finite optimum: {'complete' if count == used else 'quasi-complete'} separation, a direction "
            f"predicts {count:,} of {used:,} rows without error (verified in all partitions), and along it these "
            f"coefficients tend to infinity: {enumerate_names([layout.features[k] for k in positions])}. Use the "
            "penalised coefficients of the model, or more rows."
        )
        return {k: Refusal("infinite", reason, int(signs[layout.feature_numbers[k]])) for k in positions}

    def _n_determined(self) -> int:
        """Number of coefficients that the columns of all rows determine, whatever the labels are."""
        free = np.append(self._sample.varies, self._layout.has_intercept)
        found = identification(free, self._sample.column_products)
        return int(free.sum()) - (0 if found is None else found.dropped.size)


@final
@message
@dataclass(frozen=True)
class SeparationCounts(RowSum):
    """Numbers of rows that each direction separates, and of rows on its wrong side or in doubt.

    ``directions``: directions × (features + 1) × outputs, in the units of the rows.
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
    found: ArraySum = sample.sum(SeparationCounts(sample.objective.predicts, candidates))
    separated, wrong = found.values.T
    separated[wrong > 0] = 0.0
    best = int(np.argmax(separated))
    return Direction(candidates[best], int(separated[best])) if separated[best] else None


def _candidates(sample: Sample, model: Array) -> list[Array]:
    """The model itself, and its part without curvature, unrounded and rounded."""
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
    """A direction, the same without negligible coefficients, and rounded to whole numbers."""
    sizes = np.append(sample.facts.largest, 1.0)[:, None]
    effects = np.abs(direction) * sizes
    kept = np.where(effects > _SMALL * effects.max(), direction, 0.0)
    if not kept.any():
        return [direction]
    largest, least = np.abs(kept).max(), np.abs(kept[kept != 0]).min()
    found = [kept * (whole / largest) for whole in _WHOLE] + [kept / least]
    return [direction, kept, *(np.rint(own) for own in found if np.rint(own).any())]


def _refusals_of_classes(sample: Sample, layout: Layout, found: Direction) -> dict[int, Refusal]:
    """Refuse the coefficients of several classes: they are infinite along a direction, the others were not found."""
    effects = np.abs(layout.outputs @ (found.values * np.append(sample.facts.largest, 1.0)[:, None]).T)
    infinite = np.flatnonzero(effects[:, layout.feature_numbers].ravel() > _SMALL * effects.max()).tolist()
    names = enumerate_names([layout.names[k] for k in infinite])
    reason = Refusal(
        "infinite",
        f"There is no finite optimum: some classes can be separated in {found.n_separated:,} of "
        f"{sample.n_used:,} rows without error (verified in all partitions), and these coefficients tend to "
        f"infinity: {names}. Use the penalised coefficients of the model, or fewer classes.",
    )
    other = Refusal(
        "not_converged",
        "There is no finite optimum, because some classes can be separated. A summary of partitions does not find the "
        "finite coefficients: use model.summary(X, y) on one machine, or the penalised coefficients of the model.",
    )
    return dict.fromkeys(range(layout.size), other) | dict.fromkeys(infinite, reason)


#: Signs take a linear program each: largest number that are found.
_MOST_SIGNS = 200


@final
class LinearProgramSearch(SeparationSearch):
    """Search for the separated rows of two classes by linear programs, which need all rows in this process."""

    def __init__(self, sample: Sample, layout: Layout) -> None:
        super().__init__(sample, layout)
        self._found: Separation | None = None

    def rest_of(self, rest: Sample, failure: NoOptimumError) -> Sample | Estimate:
        """The rows that are not separated: all others are found at once."""
        if self._found is not None:
            return self._not_converged(f"No optimum of the rows that are not separated was found: {failure}.")
        sample, objective = self._sample, self._sample.objective
        if not objective.loss.fades:
            return self._not_converged(
                f"No optimum was found: {failure}. Check the columns with sgdone.diagnose.shape."
            )
        found = _separation(sample)
        if objective.n_outputs > 1:
            return self._of_several_classes(found, failure)
        if found.kind == "undecided":
            return self._not_converged(
                f"No optimum was found, and whether there is one was not decided ({found.reason}): {failure}. Use the "
                "penalised coefficients of the model."
            )
        if found.kind == "none":
            return self._not_converged(f"There is an optimum, but it was not reached: {failure}. Rescale the columns.")
        self._found = found
        return self._all_separated() if found.kind == "complete" else sample.without_rows(found.separable_rows)

    def infinite(self, undetermined: NDArray[np.bool_], optimum: Optimum | None = None) -> dict[int, Refusal]:
        """Refusals of infinite coefficients, with their signs if they are few."""
        found, layout = self._found, self._layout
        assert found is not None
        positions = np.flatnonzero(undetermined)
        signs = np.zeros(positions.size, dtype=np.intp)
        if positions.size <= _MOST_SIGNS:
            with suppress(ValueError, RuntimeError):
                features = layout.feature_numbers[positions]
                signs = found.infinite_of(features).astype(np.intp) * int(layout.outputs[0, 0])
        signs[np.abs(signs) > 1] = 0
        exactly = " in exact arithmetic" if found.certificate is not None and found.certificate.exact else ""
        reason = (
            f"There is no finite optimum: {found.kind} separation, a direction predicts "
            f"{int(found.separable_rows.sum()):,} of {self._sample.n_used:,} rows without error (proved{exactly}; "
            "sgdone.diagnose.separation(X, y).certificate is the proof), and along it coefficients tend to infinity. "
            "Use the penalised coefficients of the model, or more rows."
        )
        pairs = zip(positions.tolist(), signs.tolist(), strict=True)
        return {k: Refusal("infinite", reason, sign) for k, sign in pairs}

    def _of_several_classes(self, found: Any, failure: NoOptimumError) -> Estimate:
        """Refuse the coefficients of classes that were trained against the rest each."""
        apart = [label for label, one in found.items() if one.kind in ("complete", "quasi-complete")]
        if not apart:
            return self._not_converged(f"No optimum was found: {failure}. Use the penalised coefficients of the model.")
        reason = (
            f"There is no finite optimum: {len(apart)} of {len(found)} classes can be separated from the rest in some "
            "rows (proved), and their coefficients tend to infinity. sgdone.diagnose.separation(X, y) names them. Use "
            "the penalised coefficients of the model, or fewer classes."
        )
        return Estimate.nothing(self._layout, Refusal("infinite", reason))


def _separation(sample: Sample) -> Any:
    """Result of the linear programs; for several classes, by class."""
    rows = sample.local_rows
    assert rows is not None
    block = rows.block
    weight = np.broadcast_to(block.sample_weight, (block.rows.n_rows,))
    return separation(block.rows.whole(), block.labels, sample.objective.fit_intercept, weight)
