"""Runs of the compiled methods: the only place where figures call the driver and read a method's state."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Progress, Status, StopRule
from sgdone.losses.learning_task import Task
from sgdone.losses.loss import Loss
from sgdone.papers.tables import Array, Points
from sgdone.rows.source import Source
from sgdone.run import Hook, Result, RunOptions, run
from sgdone.solvers import SingleModel
from sgdone.steps import StepSize
from sgdone.stopping import MaxPasses, MaxSamples

__all__ = ["Quantity", "Result", "Trajectory", "fired", "fit", "iterates", "trajectory", "updates", "weights"]

#: A measurement of weights and intercept: a number or a tuple of numbers.
Quantity = Callable[[NDArray[Any], float], ArrayLike]


def fit(
    source: Source,
    loss: Loss,
    solver: SingleModel,
    stop: StopRule,
    seed: np.random.SeedSequence | np.random.Generator | None = None,
    *,
    step: StepSize | None = None,
    alpha: float = 0.0,
    task: Task = "classification",
    fit_intercept: bool = True,
    center: bool = False,
    start: NDArray[Any] | None = None,
    block_size: int | None = None,
    hook: Hook | None = None,
) -> Result:
    """Run a method until a rule stops it; the same seed gives the same order of rows.

    Parameters
    ----------
    source, loss, solver, stop, step, alpha, task, fit_intercept, center, block_size, hook
        As in `sgdone.run.run`.
    seed : numpy.random.SeedSequence or Generator, optional
        Draws the rows, or their order.
    start : array, optional
        Weights to start from; zero if not given.
    """
    predicts = "target" if task == "regression" else "two_classes"
    return run(
        source,
        Objective(loss, alpha, fit_intercept=fit_intercept, center=center, predicts=predicts),  # type: ignore[arg-type]
        solver,
        stop,
        RunOptions(
            step=step,
            rng=None if seed is None else np.random.default_rng(seed),
            start=None if start is None else Model(np.atleast_2d(start), np.zeros(1)),
            block_size=block_size,
            hooks=() if hook is None else (hook,),
        ),
    )


def weights(model: Model) -> tuple[NDArray[Any], float]:
    """Coefficients and intercept of a model with one score."""
    return model.coef[0], float(model.intercept[0])


def fired(result: Result) -> bool:
    """Whether a stopping test ended the run, not a limit or a failure; the model may be a bad one."""
    return result.verdict.status in (Status.CONVERGED, Status.STALLED)


def updates(result: Result) -> int:
    """Number of updates that the run made."""
    return result.verdict.step


class Trajectory(NamedTuple):
    """Measurements along a run."""

    #: Rows read over rows, when a quantity was measured.
    passes: Array
    #: Processor seconds of the method until then, without the measuring.
    seconds: Array
    #: One line per point, one column per number of the quantity; infinite once the run has diverged.
    values: Array


def trajectory(
    source: Source,
    loss: Loss,
    solver: SingleModel,
    quantity: Quantity,
    passes: Array,
    seed: np.random.SeedSequence,
    *,
    block_size: int,
    **settings: Any,
) -> Trajectory:
    """Measure a quantity of the solution at numbers of passes; an SVRG pass counts the rows read for its anchor.

    A run that ends before the last point (the step of ISGD½ has become too small) stays where it is.

    Parameters
    ----------
    source, loss, solver
        Rows, loss and method of the fit; all runs start from zero.
    quantity : callable
        Measurement of weights and intercept; not finite if the run has diverged.
    passes : array
        When to measure, in rising order and after the start.
    seed : numpy.random.SeedSequence
        The same seed gives the same order of rows.
    block_size : int
        The quantity is measured at the first multiple of this number of rows that reaches a point.
    **settings
        Other arguments of `fit`.
    """
    at_start = np.atleast_1d(np.asarray(quantity(np.zeros(source.n_features), 0.0), dtype=np.float64))
    reached_at, seconds = passes.copy(), np.zeros(passes.size)
    values = np.full((passes.size, at_start.size), np.inf)
    filled, spent, resumed = 0, 0.0, time.thread_time()

    def measure(progress: Progress) -> str | None:
        nonlocal filled, spent, resumed
        spent += time.thread_time() - resumed
        reached = int(np.searchsorted(passes, progress.passes + 1e-9, side="right"))
        if reached > filled:
            with np.errstate(over="ignore", invalid="ignore"):
                value = np.asarray(quantity(*weights(progress.solution())), dtype=np.float64)
            if not np.isfinite(value).all():
                return "not finite"
            reached_at[filled:reached], seconds[filled:reached], values[filled:reached] = progress.passes, spent, value
            filled = reached
        resumed = time.thread_time()
        return "the last point is reached" if filled == passes.size else None

    stop = MaxPasses(float(passes[-1]) + 1.0)
    result = fit(source, loss, solver, stop, seed, block_size=max(1, block_size), hook=measure, **settings)
    seconds[filled:] = spent
    if fired(result):
        values[filled:] = quantity(*weights(result.model))
    return Trajectory(reached_at, seconds, values)


def iterates(
    source: Source,
    loss: Loss,
    solver: SingleModel,
    points: Points,
    seed: np.random.SeedSequence | np.random.Generator,
    **settings: Any,
) -> Array:
    """The weights after each number of updates, one line each.

    Parameters
    ----------
    source, loss, solver, seed
        As in `fit`.
    points : array of int
        Numbers of updates, rising.
    **settings
        Other arguments of `fit`.
    """
    found = np.empty((points.size, source.n_features))
    places = {int(point): k for k, point in enumerate(points)}

    def keep(progress: Progress) -> None:
        if progress.step in places:
            found[places[progress.step]] = progress.solution().coef[0]

    stop: StopRule = MaxSamples(int(points[-1]))
    for point in points[:-1].tolist():
        # Rules that fire before the last one make the run pause there.
        stop = stop & MaxSamples(point)
    fit(source, loss, solver, stop, seed, hook=keep, **settings)
    return found
