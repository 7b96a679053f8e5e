"""The regression of section 6.2 of Xu (2011): rows, methods and their expectations."""

from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.base import Block, Source
from sgdone.data.rows import Rows, frozen
from sgdone.losses import Squared
from sgdone.papers.averaging.curves import BATCH, Array, Points
from sgdone.papers.averaging.theory import Schedule, expected_regression_errors
from sgdone.run import run
from sgdone.solvers import SGD, Averaged, Solver, State
from sgdone.steps import Xu
from sgdone.stopping import MaxPasses
from sgdone.stopping.base import Progress

AVERAGED, PLAIN = "ASGD", "SGD"
EIGENVALUES = np.linspace(0.01, 1.0, 100)
OPTIMUM = np.ones(EIGENVALUES.size)
_FIRST_STEP = 1.0 / float(EIGENVALUES.sum())
SCHEDULES = {AVERAGED: Schedule(_FIRST_STEP, 0.01, 2 / 3), PLAIN: Schedule(_FIRST_STEP, 0.01, 1.0)}
SOLVERS: dict[str, Solver] = {AVERAGED: Averaged(SGD(), 0), PLAIN: SGD()}
_ROWS_IN_BLOCK = 1024


@final
class RegressionStream(Source):
    """Independent rows y = xᵀθ* + ε, x ~ N(0, A), ε ~ N(0, 1), in blocks that end at given numbers of rows.

    Examples
    --------
    >>> stream = RegressionStream(np.array([2, 5]))
    >>> [block.labels.size for block in stream.blocks(np.random.default_rng(0))]
    [2, 3]
    """

    def __init__(self, ends: Points) -> None:
        self.ends = ends

    @property
    def n_features(self) -> int:
        """Entries of a row."""
        return EIGENVALUES.size

    @property
    def n_rows(self) -> int:
        """Rows until the last of the ends."""
        return int(self.ends[-1])

    def draw(self, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
        """Rows and responses, block by block."""
        drawn, spread = 0, np.sqrt(EIGENVALUES)
        for end in self.ends:
            while drawn < end:
                X = rng.standard_normal((min(_ROWS_IN_BLOCK, end - drawn), self.n_features))
                X *= spread
                yield X, X @ OPTIMUM + rng.standard_normal(len(X))
                drawn += len(X)

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """One pass."""
        weight = frozen(np.ones(1))
        for X, y in self.draw(rng):
            order = np.arange(len(X), dtype=np.uint64)
            yield Block(Rows.of(X), frozen(y), weight, order, order)


def expected_risks(method: str, points: Points) -> Array:
    """Expected excess risk at the points."""
    if method == BATCH:
        # E[(XᵀX)⁻¹] = A⁻¹/(t − d − 1): the mean of an inverse Wishart matrix.
        return np.asarray(0.5 * EIGENVALUES.size / (points - EIGENVALUES.size - 1.0))
    errors = expected_regression_errors(
        points, A=np.diag(EIGENVALUES), noise=1.0, start_error=-OPTIMUM, **SCHEDULES[method]._asdict()
    )
    return 0.5 * (errors.averaged if method == AVERAGED else errors.last)


def course(method: str, points: Points, seed: np.random.SeedSequence) -> list[float]:
    """Excess risk at the points, in one pass over the stream."""
    risks = []
    wanted = set(points.tolist())

    def measure(progress: Progress, state: State) -> None:
        if progress.step in wanted:
            risks.append(_excess_risk(state.solution()[0]))

    run(
        RegressionStream(points),
        Squared(),
        SOLVERS[method],
        MaxPasses(1),
        alpha=0.0,
        step=Xu(*SCHEDULES[method]),
        fit_intercept=False,
        task="regression",
        rng=np.random.default_rng(seed),
        hook=measure,
    )
    return risks


def least_squares_course(points: Points, seed: np.random.SeedSequence) -> list[float]:
    """Excess risk of least squares at the points, by the normal equations."""
    gram, moments = np.zeros((EIGENVALUES.size, EIGENVALUES.size)), np.zeros(EIGENVALUES.size)
    risks, used, wanted = [], 0, set(points.tolist())
    for X, y in RegressionStream(points).draw(np.random.default_rng(seed)):
        gram += X.T @ X
        moments += X.T @ y
        used += len(y)
        if used in wanted:
            risks.append(_excess_risk(np.linalg.solve(gram, moments)))
    return risks


def _excess_risk(coef: NDArray[Any]) -> float:
    return float(0.5 * (coef - OPTIMUM) ** 2 @ EIGENVALUES)
