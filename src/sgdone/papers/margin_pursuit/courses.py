"""Runs of stochastic margin pursuit and of Pegasos, seen along their course."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.losses import Hinge, MarginPursuit
from sgdone.losses.base import Loss
from sgdone.losses.scales import AdaptiveScale
from sgdone.margin_statistics import MarginStatistics
from sgdone.papers.margin_pursuit.data import Array, Sample
from sgdone.run import run
from sgdone.solvers import Pegasos, State
from sgdone.steps import InverseSqrt, Pursuit, StepSize
from sgdone.stopping import MaxSamples
from sgdone.stopping.base import Progress, StopRule

#: Readings of the step size of section 4, by the name that tables have for them: the one printed, Pegasos' own, and
#: that of the sentence before.
PRINTED, AS_PEGASOS, ROOT = "1/(s√λ(1+t))", "1/(λ(1+t))", "1/√t"
READINGS = (PRINTED, AS_PEGASOS, ROOT)
PEGASOS = "Pegasos"

#: The starting weights are uniform in ± this.
_START = 0.05
#: Numbers of a matrix of scores at a time.
_SCORES = 1 << 23

Points = NDArray[np.int64]


class Method(NamedTuple):
    """A way to learn: the reading of the step size, or Pegasos; λ; and after how many steps s is reset, if ever.

    ``follows`` says whether the s in the step size changes then too.
    """

    steps: str
    alpha: float
    reset: int | None = None
    follows: bool = True

    @property
    def loss(self) -> Loss:
        """The hinge, or margin pursuit at the level 1."""
        if self.steps == PEGASOS:
            return Hinge()
        return MarginPursuit(1.0, 1.0 if self.reset is None else AdaptiveScale(self.reset))

    @property
    def step(self) -> StepSize | None:
        """Nothing for those of Pegasos."""
        if self.steps == ROOT:
            return InverseSqrt(1.0)
        return Pursuit(scale="auto" if self.follows else 1.0) if self.steps == PRINTED else None


def points_of(n_rows: int, passes: int, count: int) -> Points:
    """Steps at which a course is seen, in even ratios from a twentieth of a pass to so many passes."""
    return np.unique(np.round(np.geomspace(max(1, n_rows // 20), passes * n_rows, count)).astype(np.int64))


def course(sample: Sample, method: Method, points: Points, seed: np.random.SeedSequence) -> NDArray[Any]:
    """The weights after so many steps, a row each; of stochastic projected gradients from a random start.

    Parameters
    ----------
    sample, method
        What to learn from, and how.
    points : array of int
        When to look, rising.
    seed : numpy.random.SeedSequence
        Draws the start and the order of the rows: the same for all methods of a trial.
    """
    rng = np.random.default_rng(seed)
    seen = np.empty((points.size, sample.n_features))
    looked = 0

    def look(progress: Progress, state: State) -> str | None:
        nonlocal looked
        if looked < points.size and progress.step == points[looked]:
            seen[looked] = state.iterate()[0]
            looked += 1
        return None

    stop: StopRule = MaxSamples(int(points[-1]))
    for point in points[:-1].tolist():
        # Rules that have fired before the last one make the run look there.
        stop = stop & MaxSamples(point)
    run(
        sample.source,
        method.loss,
        Pegasos(radius=method.alpha**-0.5),
        stop,
        alpha=method.alpha,
        step=method.step,
        fit_intercept=False,
        rng=rng,
        coef=rng.uniform(-_START, _START, sample.n_features),
        hook=look,
    )
    return seen


def errors_of(X: Any, labels: Array, weights: NDArray[Any]) -> Array:
    """The share of rows that each of some weights gets wrong."""
    wrong = np.zeros(len(weights))
    columns = np.ascontiguousarray(weights.T.astype(X.dtype))
    chunk = max(1, _SCORES // len(weights))
    for begin in range(0, labels.size, chunk):
        scores = np.asarray(X[begin : begin + chunk] @ columns)
        wrong += np.count_nonzero((scores > 0) != (labels[begin : begin + chunk, None] > 0), axis=0)
    return wrong / labels.size


def margins_of(sample: Sample, weights: NDArray[Any]) -> list[MarginStatistics]:
    """Statistics of the margins that each of some weights gives the rows learnt from."""
    scores = np.asarray(sample.X @ weights.T.astype(sample.X.dtype), dtype=np.float64)
    return [MarginStatistics.of(sample.labels * column, 1.0) for column in scores.T]
