"""Samples whose loss has no minimum: which coefficients are infinite, and what determines the others."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose import Separation, separation
from sgdone.inference.estimate_result import Estimate
from sgdone.inference.large import LargeOptimum
from sgdone.inference.layout import Layout
from sgdone.inference.optimum import NoOptimumError, Optimum
from sgdone.inference.refusals import Refusal
from sgdone.inference.sample import Sample
from sgdone.inference.undetermined import Infinite, completely_separated

Array = NDArray[np.float64]

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
