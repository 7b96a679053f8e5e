"""The six methods of Xu (2011), section 6.3, watched while they learn."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.losses import Hinge, Logistic, SquaredHinge
from sgdone.losses.base import Loss
from sgdone.papers.averaging.benchmark_data import Benchmark
from sgdone.run import run
from sgdone.solvers import OLBFGS, SGD, SGD2, SGDQN, Averaged, Liblinear, Pegasos, Solver, State
from sgdone.steps import StepSize, Xu
from sgdone.stopping import MaxPasses
from sgdone.stopping.base import Progress

ASGD, LIBLINEAR, ONLINE_LBFGS, PEGASOS = "ASGD", "LIBLINEAR", "oLBFGS", "Pegasos"
#: ASGD with the step size as the paper prints it, γ₀ = 1/M: beside the six, not among them.
AS_PRINTED = "ASGD, γ₀ = 1/M"
METHODS = (ASGD, "SGD2", "SGDQN", ONLINE_LBFGS, PEGASOS, LIBLINEAR)

L2SVM, LOGISTIC, SVM = "L2-SVM", "logistic", "SVM"
#: As the paper calls them.
LOSSES: dict[str, Loss] = {L2SVM: SquaredHinge(), LOGISTIC: Logistic(), SVM: Hinge()}

_SOLVERS: dict[str, Callable[[], Solver]] = {
    ASGD: Averaged,
    AS_PRINTED: Averaged,
    "SGD2": SGD2,
    "SGDQN": SGDQN,
    ONLINE_LBFGS: OLBFGS,
    PEGASOS: Pegasos,
}
#: Rows that code is compiled on.
_WARM = 64


class Point(NamedTuple):
    """Where a method is after so many passes and seconds of work: error and cost on the test rows."""

    passes: float
    seconds: float
    error: float
    cost: float


def methods_for(loss: str) -> tuple[str, ...]:
    """Those of the paper's figures: LIBLINEAR is not among them for logistic regression."""
    return tuple(method for method in (*METHODS, AS_PRINTED) if (method, loss) != (LIBLINEAR, LOGISTIC))


def compile_on(data: Benchmark, loss: Loss, methods: Sequence[str]) -> None:
    """Compile all loops that methods may enter on such rows; ASGD has one for each side of its t₀."""
    few = data.few(_WARM)
    for method in methods:
        course(few, loss, method, 1, 1, np.random.SeedSequence(0))
    run(few.source, loss, Averaged(SGD(), after=0), MaxPasses(1), alpha=few.alpha)


def course(
    data: Benchmark, loss: Loss, method: str, passes: int, points: int, seed: np.random.SeedSequence
) -> list[Point]:
    """A method's course; the same seed gives all methods the rows in the same order.

    Seconds are those that the processor worked for this method, its choice of step sizes and LIBLINEAR's copy of the
    rows included, the judging not. Once a run has diverged its error and cost are infinite.

    Parameters
    ----------
    data, loss, method
        What is learnt, and how.
    passes, points : int
        How long, and how often in a pass it is looked at. LIBLINEAR's pass is an outer iteration, which cannot be
        looked into.
    seed : numpy.random.SeedSequence
        Of the orders.
    """
    if method == LIBLINEAR:
        return [_iterations(data, loss, k, seed) for k in range(1, passes + 1)]
    return _along_rows(data, loss, method, passes, points, seed)


def _iterations(data: Benchmark, loss: Loss, count: int, seed: np.random.SeedSequence) -> Point:
    solver = Liblinear(dual=True, max_iter=count, tol=1e-12, seed=int(seed.generate_state(1)[0] >> 1))
    began = time.thread_time()
    result = run(data.source, loss, solver, MaxPasses(count), alpha=data.alpha)
    seconds = time.thread_time() - began
    return Point(float(count), seconds, *data.judge(loss, np.asarray(result.coef, float), result.intercept))


def _along_rows(
    data: Benchmark, loss: Loss, method: str, passes: int, points: int, seed: np.random.SeedSequence
) -> list[Point]:
    # Its steps, 1/(αt), would throw an intercept outside of the ball out of all bounds: it gets a feature instead.
    constant = method == PEGASOS
    source = data.source_with_constant if constant else data.source
    step: StepSize | None = Xu.as_printed() if method == AS_PRINTED else None
    grid = np.arange(1, passes * points + 1) / points
    found: list[Point] = []
    seconds, resumed = 0.0, 0.0

    def look(progress: Progress, state: State) -> str | None:
        nonlocal seconds, resumed
        seconds += time.thread_time() - resumed
        if progress.passes >= grid[len(found)] - 1e-9:
            with np.errstate(over="ignore", invalid="ignore"):
                error, cost = data.judge(loss, *_parts(*state.solution(), constant))
            if not np.isfinite(cost):
                return "not finite"
            found.append(Point(progress.passes, seconds, error, cost))
        resumed = time.thread_time()
        return "as far as wanted" if len(found) == grid.size else None

    resumed = time.thread_time()
    run(
        source,
        loss,
        _SOLVERS[method](),
        MaxPasses(passes + 1),
        alpha=data.alpha,
        step=step,
        fit_intercept=not constant,
        rng=np.random.default_rng(seed),
        block_size=max(1, data.labels.size // (2 * points)),
        hook=look,
    )
    return found + [Point(float(at), seconds, np.inf, np.inf) for at in grid[len(found) :]]


def _parts(coef: NDArray[Any], intercept: float, constant: bool) -> tuple[NDArray[np.float64], float]:
    """Weights and intercept, wherever the latter is kept."""
    weights = np.asarray(coef, np.float64)
    return (weights[:-1], float(weights[-1])) if constant else (weights, intercept)
