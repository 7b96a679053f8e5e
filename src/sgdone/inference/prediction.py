"""Intervals of means and probabilities, by the delta method on the score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, logsumexp

from sgdone.inference.covariance import Covariance
from sgdone.inference.identification import Identification
from sgdone.inference.optimum import Optimum
from sgdone.inference.sample import Sample
from sgdone.interfaces.objective import Objective
from sgdone.machine.threads import single_thread
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import DenseRows, rows_in_units
from sgdone.sums.system import contrasts

Array = NDArray[np.float64]

#: Rows whose intervals are computed at once.
_ROWS = 4096


class Intervals(NamedTuple):
    """Estimates of rows and their intervals.

    Attributes
    ----------
    estimate, low, high : ndarray
        Means of a regression, or probabilities: of ``classes_[1]`` if there are two classes, else a column per class.
        NaN for rows whose prediction depends on a coefficient that is refused.
    """

    estimate: Array
    low: Array
    high: Array


@final
@dataclass(frozen=True)
class Predictor:
    """The optimum of a summary, for predictions.

    ``model`` is (features + 1) × free outputs, in units of ``scaling``, which are relative to the user's. ``pinned``
    are columns without an estimate: rows in which they are not at their ``usual`` values have no interval. ``origin``
    is added to the means of a regression.
    """

    objective: Objective
    model: Array
    scaling: Scaling
    covariance: Covariance
    identification: Identification | None
    pinned: NDArray[np.intp]
    usual: Array
    origin: float
    features: Sequence[str]
    classes: Sequence[Any] | None

    @classmethod
    def of(
        cls,
        sample: Sample,
        optimum: Optimum,
        covariance: Covariance,
        features: Sequence[str],
        classes: Sequence[Any] | None,
    ) -> "Predictor":
        """Predictor for the optimum of a sample; columns that are constant there keep their values."""
        pinned = np.flatnonzero(~sample.varies)
        shift, units = sample.scaling.shift, sample.units
        scaling = Scaling(sample.scaling.scale * units, None if shift is None else shift * units)
        return cls(
            sample.objective,
            optimum.model,
            scaling,
            covariance,
            optimum.identification,
            pinned,
            sample.facts.first[pinned] * units[pinned],
            sample.origin,
            features,
            classes,
        )

    def intervals(self, X: Any, quantile: float) -> Intervals:
        """Intervals of the rows of an array or CSR matrix of float64."""
        parts = []
        with single_thread(), np.errstate(over="ignore"):
            for first in range(0, X.shape[0], _ROWS):
                part = X[first : first + _ROWS]
                found = np.stack(self._of_part(part, quantile))
                found[:, self._is_unknown(part)] = np.nan
                parts.append(found)
        return Intervals(*np.concatenate(parts, axis=1))

    def _of_part(self, part: Any, quantile: float) -> Intervals:
        rows = rows_in_units(part, self.scaling)
        free, covariances = rows.times(self.model), self.covariance.of_scores(rows)
        basis = contrasts(self.objective)
        if basis is None:
            scores, errors = free[:, 0], quantile * np.sqrt(covariances[:, 0, 0])
            if self.objective.is_regression:
                means = scores + self.origin
                return Intervals(means, means - errors, means + errors)
            return Intervals(expit(scores), expit(scores - errors), expit(scores + errors))
        logs = log_softmax(free @ basis.T, axis=1)
        found = np.empty((3, *logs.shape))
        for k in range(logs.shape[1]):
            # The log odds of a class: log p_k − log Σ p_l over the others, whose slope in score l is −p_l/(1 − p_k).
            others = np.delete(np.arange(logs.shape[1]), k)
            rest = logsumexp(logs[:, others], axis=1)
            slopes = np.zeros_like(logs)
            slopes[:, k] = 1.0
            slopes[:, others] = -np.exp(logs[:, others] - rest[:, None])
            own = slopes @ basis
            errors = quantile * np.sqrt(np.einsum("ia,iab,ib->i", own, covariances, own))
            odds = logs[:, k] - rest
            found[:, :, k] = expit(odds), expit(odds - errors), expit(odds + errors)
        return Intervals(*found)

    def _is_unknown(self, part: Any) -> NDArray[np.bool_]:
        """Whether the prediction of a row depends on something that was not estimated."""
        unknown = np.zeros(part.shape[0], dtype=bool)
        if self.pinned.size:
            unknown |= (_dense(part[:, self.pinned]) != self.usual).any(axis=1)
        if self.identification is not None:
            dense = DenseRows(_dense(part), self.scaling)
            unknown |= self.identification.undetermined(dense.times(np.eye(self.model.shape[0])))
        return unknown


def _dense(part: Any) -> Array:
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part)
