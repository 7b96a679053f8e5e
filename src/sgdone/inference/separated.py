"""Estimates, and those that are refused in part: coefficients that the rows do not determine, or that are infinite."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.diagnose import Separation, separation
from sgdone.inference.coefficient_names import enumerate_names
from sgdone.inference.covariance import Covariance
from sgdone.inference.identification import Identification, identification
from sgdone.inference.large import LargeOptimum
from sgdone.inference.layout import Layout
from sgdone.inference.optimum import NoOptimumError, Optimum
from sgdone.inference.prediction import Predictor
from sgdone.inference.refusals import Refusal
from sgdone.inference.sample import Sample
from sgdone.inference.sample_rows import SampleRows, margin_signs
from sgdone.interfaces.objective import Predicts
from sgdone.newton.search import MOST_SUMMED
from sgdone.sums.row_sum import ArraySum, RowSum, message
from sgdone.sums.second_order import SecondOrderAt

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Estimate:
    """Result of an estimation.

    Attributes
    ----------
    coef : ndarray
        Coefficients of the summary.
    refused : dict
        Refusals by position.
    coefficients : int
        Number of coefficients estimated.
    loss : float
        Summed loss at these coefficients.
    covariance : Covariance or None
        Covariance of the coefficients; None if all of them are refused.
    predictor : Predictor or None
        For intervals of predictions; None if there are none.
    monte_carlo_error : float
        Relative error of the standard errors that comes from random numbers.
    attained : bool
        Whether the likelihood has a maximum; otherwise some coefficients are infinite.
    """

    coef: Array
    refused: dict[int, Refusal]
    coefficients: int = 0
    loss: float = np.nan
    covariance: Covariance | None = None
    predictor: Predictor | None = None
    monte_carlo_error: float = 0.0
    attained: bool = True

    @classmethod
    def nothing(cls, layout: Layout, refusal: Refusal) -> "Estimate":
        """All coefficients refused, for one reason."""
        return cls(np.full(layout.size, np.nan), dict.fromkeys(range(layout.size), refusal))


class Infinite(Protocol):
    """Rows that are separated, which makes some coefficients infinite."""

    def refusals(self, layout: Layout, sample: Sample, undetermined: NDArray[np.bool_]) -> dict[int, Refusal]:
        """The infinite coefficients: those that the other rows do not determine."""


def structural_refusals(
    sample: Sample,
    rest: Sample,
    optimum: Optimum | LargeOptimum,
    layout: Layout,
    infinite: Infinite | None,
) -> dict[int, Refusal]:
    """Refusals of constant, collinear and infinite coefficients."""
    refused = constant_refusals(sample, layout)
    found = optimum.identification
    if infinite is None:
        return collinear_refusals(sample, layout, found) | refused
    undetermined = np.zeros(layout.size, dtype=bool)
    undetermined[layout.positions(np.flatnonzero(~rest.varies).tolist())] = True
    if found is not None:
        undetermined |= found.undetermined(layout.combinations(rest, np.ones((1, 1))))
    if layout.has_intercept and _moves_intercept(rest, sample):
        undetermined[0] = True
    if isinstance(optimum, Optimum):
        # Columns that are collinear in all rows are not infinite.
        free = np.append(sample.varies, layout.has_intercept)
        found = identification(free, sample.column_products)
        refused = collinear_refusals(sample, layout, found) | refused
    undetermined[list(refused)] = False
    return refused | infinite.refusals(layout, sample, undetermined)


class SeparatedRows(Protocol):
    """The search for separated rows after Newton's method has failed."""

    def rest_of(self, rest: Sample, failure: NoOptimumError) -> Sample | Estimate:
        """The rows whose optimum is to be searched for next; or an estimate, if there are none or nothing is known."""

    def infinite(self, optimum: Optimum | LargeOptimum) -> Infinite | None:
        """Infinite coefficients, once the other rows have an optimum; None if Newton's method has not failed."""


def completely_separated(sample: Sample, layout: Layout, infinite: Infinite) -> Estimate:
    """All coefficients refused: those of constant columns, and the others because they are infinite."""
    refused = constant_refusals(sample, layout)
    others = ~np.isin(np.arange(layout.size), list(refused))
    refused |= infinite.refusals(layout, sample, others)
    return Estimate(np.full(layout.size, np.nan), refused, attained=False)


def constant_refusals(sample: Sample, layout: Layout) -> dict[int, Refusal]:
    """Refusals of columns that have no coefficient of their own."""
    refused: dict[int, Refusal] = {}
    for j in np.flatnonzero(~sample.varies).tolist():
        same = "cannot be told from the intercept" if layout.has_intercept else "has no effect"
        text = f"{layout.feature_names[j]} has one value in all rows: its coefficient {same}. Drop the column."
        refused |= dict.fromkeys(layout.positions([j]), Refusal("constant", text))
    return refused


def collinear_refusals(sample: Sample, layout: Layout, found: Identification | None) -> dict[int, Refusal]:
    """Refusals of coefficients that linearly dependent columns share."""
    if found is None:
        return {}
    names, refused = [*layout.feature_names, "the intercept"], dict[int, Refusal]()
    undetermined = np.tile(found.undetermined(layout.combinations(sample, np.ones((1, 1)))), len(layout.outputs))
    for group in found.groups():
        dropped = ", ".join(names[j] for j in np.intersect1d(group, found.dropped).tolist())
        own_names = enumerate_names([names[j] for j in group.tolist()])
        reason = Refusal(
            "collinear",
            f"{group.size} columns are linearly dependent ({own_names}): the rows do not determine their coefficients. "
            f"Drop {dropped}.",
        )
        own = layout.positions(group.tolist(), intercept=bool(group[-1] == sample.n_features))
        refused |= {k: reason for k in own if undetermined[k]}
    dropped = ", ".join(names[j] for j in found.dropped.tolist())
    for k in np.flatnonzero(undetermined).tolist():
        # The intercept of centred columns depends on all of them.
        text = f"The intercept depends on columns that are linearly dependent. Drop {dropped}."
        refused.setdefault(k, Refusal("collinear", text))
    return refused


def _moves_intercept(rest: Sample, sample: Sample) -> bool:
    """Whether a column is constant in the other rows only, and not 0: they know its sum with the intercept."""
    columns = np.flatnonzero(~rest.varies & sample.varies)
    return bool(columns.size) and bool(np.any(rest.first_row(columns) != 0))


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


#: Signs take a linear program each: largest number that are found.
_MOST_SIGNS = 200


@final
@dataclass(frozen=True)
class Separated:
    """Two classes that are separated in some rows.

    Attributes
    ----------
    found : Separation
        The rows that are separated, with a certificate.
    rest : Sample or None
        The rows that are not separated: the finite coefficients are estimated from them. None if there are none.
    """

    found: Separation
    rest: Sample | None

    def refusals(self, layout: Layout, sample: Sample, undetermined: NDArray[np.bool_]) -> dict[int, Refusal]:
        """The infinite coefficients: those that the other rows do not determine."""
        positions = np.flatnonzero(undetermined)
        features = np.append(np.full(int(layout.has_intercept), sample.n_features), layout.columns)[positions]
        signs = np.zeros(positions.size, dtype=np.intp)
        if positions.size <= _MOST_SIGNS:
            with suppress(ValueError, RuntimeError):
                signs = self.found.infinite_of(features).astype(np.intp) * int(layout.outputs[0, 0])
        signs[np.abs(signs) > 1] = 0
        pairs = zip(positions.tolist(), signs.tolist(), strict=True)
        return {k: Refusal("infinite", self.reason, sign) for k, sign in pairs}

    @property
    def reason(self) -> str:
        """Why coefficients are refused."""
        count = int(self.found.separable_rows.sum())
        used = count if self.rest is None else count + self.rest.n_used
        kind = "complete" if self.rest is None else "quasi-complete"
        proof = self.found.certificate
        proved = "proved in exact arithmetic" if proof is not None and proof.exact else "proved"
        return (
            f"There is no finite optimum: {kind} separation, a direction predicts {count:,} of {used:,} rows without "
            f"error ({proved}; sgdone.diagnose.separation(X, y).certificate is the proof), and along it coefficients "
            "tend to infinity. Use the penalised coefficients of the model, or more rows."
        )


@final
class ProvedSeparation:
    """The search for the separated rows of two classes by linear programs, which need all rows in this process.

    Parameters
    ----------
    sample : Sample
        The rows.
    layout : Layout
        The coefficients of the summary.
    """

    def __init__(self, sample: Sample, layout: Layout) -> None:
        self._sample, self._layout = sample, layout
        self._found: Separated | None = None

    def rest_of(self, rest: Sample, failure: NoOptimumError) -> Sample | Estimate:
        """The rows that are not separated: all others are found at once."""
        if self._found is not None:
            reason = f"No optimum of the rows that are not separated was found: {failure}."
            return Estimate.nothing(self._layout, Refusal("not_converged", reason))
        found = _separated(self._sample, failure)
        if isinstance(found, Refusal):
            return Estimate.nothing(self._layout, found)
        self._found = found
        return completely_separated(self._sample, self._layout, found) if found.rest is None else found.rest

    def infinite(self, optimum: Optimum | LargeOptimum) -> Infinite | None:
        """The separated rows, if any were found."""
        return self._found


def _separated(sample: Sample, failure: NoOptimumError) -> Separated | Refusal:
    """Find the separated rows of two classes after Newton's method has failed; otherwise refuse all coefficients."""
    objective = sample.objective
    if not objective.loss.fades:
        return Refusal(
            "not_converged", f"No optimum was found: {failure}. Check the columns with sgdone.diagnose.shape."
        )
    if objective.n_outputs > 1:
        return _several_classes(sample, failure)
    found = _separation(sample)
    if found.kind == "undecided":
        return Refusal(
            "not_converged",
            f"No optimum was found, and whether there is one was not decided ({found.reason}): {failure}. Use the "
            "penalised coefficients of the model.",
        )
    if found.kind == "none":
        return Refusal("not_converged", f"There is an optimum, but it was not reached: {failure}. Rescale the columns.")
    return Separated(found, None if found.kind == "complete" else sample.without_rows(found.separable_rows))


def _separation(sample: Sample) -> Any:
    """Result of the linear programs; for several classes, by class."""
    rows = sample.at_hand
    assert rows is not None
    block = rows.block
    weight = np.broadcast_to(block.sample_weight, (block.rows.n_rows,))
    return separation(block.rows.whole(), block.labels, sample.objective.fit_intercept, weight)


def _several_classes(sample: Sample, failure: NoOptimumError) -> Refusal:
    """Refuse the coefficients of classes that were trained against the rest each."""
    found = _separation(sample)
    apart = [label for label, one in found.items() if one.kind in ("complete", "quasi-complete")]
    if apart:
        return Refusal(
            "infinite",
            f"There is no finite optimum: {len(apart)} of {len(found)} classes can be separated from the rest in some "
            "rows (proved), and their coefficients tend to infinity. sgdone.diagnose.separation(X, y) names them. Use "
            "the penalised coefficients of the model, or fewer classes.",
        )
    return Refusal("not_converged", f"No optimum was found: {failure}. Use the penalised coefficients of the model.")
