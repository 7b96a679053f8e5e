"""Samples whose loss has no minimum: which coefficients are infinite, and what determines the others."""

from contextlib import suppress
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose import Separation, separation
from sgdone.inference.layout import Layout
from sgdone.inference.optimum import NoOptimumError
from sgdone.inference.refusals import Refusal
from sgdone.inference.sample import Sample
from sgdone.inference.sample_sums import SampleSums

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

    def refusals(self, layout: Layout, sample: SampleSums, undetermined: NDArray[np.bool_]) -> dict[int, Refusal]:
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
        used = count if self.rest is None else count + self.rest.block.n_used
        kind = "complete" if self.rest is None else "quasi-complete"
        proof = self.found.certificate
        proved = "proved in exact arithmetic" if proof is not None and proof.exact else "proved"
        return (
            f"There is no finite optimum: {kind} separation, a direction predicts {count:,} of {used:,} rows without "
            f"error ({proved}; sgdone.diagnose.separation(X, y).certificate is the proof), and along it coefficients "
            "tend to infinity. Use the penalised coefficients of the model, or more rows."
        )


def separated(sample: Sample, failure: NoOptimumError) -> Separated | Refusal:
    """Find the separated rows of two classes after Newton's method has failed; otherwise refuse all coefficients."""
    objective = sample.objective
    if not objective.loss.fades:
        return Refusal(
            "not_converged", f"No optimum was found: {failure}. Check the columns with sgdone.diagnose.shape."
        )
    if objective.n_outputs > 1:
        return _several_classes(sample, failure)
    weight = np.broadcast_to(sample.block.sample_weight, (sample.block.rows.n_rows,))
    found = separation(sample.block.rows.whole(), sample.block.labels, objective.fit_intercept, weight)
    if found.kind == "undecided":
        return Refusal(
            "not_converged",
            f"No optimum was found, and whether there is one was not decided ({found.reason}): {failure}. Use the "
            "penalised coefficients of the model.",
        )
    if found.kind == "none":
        return Refusal("not_converged", f"There is an optimum, but it was not reached: {failure}. Rescale the columns.")
    return Separated(found, None if found.kind == "complete" else sample.without(found.separable_rows))


def _several_classes(sample: Sample, failure: NoOptimumError) -> Refusal:
    """Refuse the coefficients of classes that were trained against the rest each."""
    weight = np.broadcast_to(sample.block.sample_weight, (sample.block.rows.n_rows,))
    found = separation(sample.block.rows.whole(), sample.block.labels, sample.objective.fit_intercept, weight)
    apart = [label for label, one in found.items() if one.kind in ("complete", "quasi-complete")]
    if apart:
        return Refusal(
            "infinite",
            f"There is no finite optimum: {len(apart)} of {len(found)} classes can be separated from the rest in some "
            "rows (proved), and their coefficients tend to infinity. sgdone.diagnose.separation(X, y) names them. Use "
            "the penalised coefficients of the model, or fewer classes.",
        )
    return Refusal("not_converged", f"No optimum was found: {failure}. Use the penalised coefficients of the model.")
