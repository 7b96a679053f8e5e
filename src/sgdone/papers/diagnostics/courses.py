"""How far a method is after so many passes, and which of its settings goes furthest."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data import ArraySource
from sgdone.losses.base import Loss
from sgdone.run import run
from sgdone.solvers import ISGD, SVRG, Averaged, Halving, Solver, State
from sgdone.steps import Constant, InverseTime, StepSize, Xu
from sgdone.stopping import MaxPasses, Pflug
from sgdone.stopping.base import Progress
from sgdone.verdict import Status

HALF, VARIANCE_REDUCED, CLASSICAL, AVERAGED = "ISGD½", "SVRG", "ISGD", "averaged ISGD"

Array = NDArray[np.float64]
#: What is measured of weights and intercept.
Quantity = Callable[[NDArray[Any], float], float]


@final
@dataclass(frozen=True)
class Setting:
    """A method with its learning parameters."""

    method: str
    #: Its parameters in words, for the CSV file.
    words: str
    solver: Solver
    step: StepSize
    #: The first step size, by which settings of a method are ordered.
    gamma: float


def half_settings(gammas: Iterable[float], burn_ins: Iterable[int]) -> list[Setting]:
    """ISGD½: the first step size and the burn-in of Pflug's diagnostic."""
    return [
        Setting(HALF, f"γ = {gamma:.3g}, burn-in {burn_in}", Halving(ISGD(), Pflug(burn_in)), Constant(gamma), gamma)
        for burn_in in burn_ins
        for gamma in gammas
    ]


def svrg_settings(gammas: Iterable[float], lengths: Iterable[int]) -> list[Setting]:
    """SVRG: the step size, and the steps between two anchors."""
    return [
        Setting(VARIANCE_REDUCED, f"γ = {gamma:.3g}, m = {length}", SVRG(length), Constant(gamma), gamma)
        for length in lengths
        for gamma in gammas
    ]


def classical_settings(gammas: Iterable[float], decays: Iterable[float]) -> list[Setting]:
    """Implicit SGD with γ_n = γ₀/(1 + aγ₀n)."""
    return [
        Setting(CLASSICAL, f"γ₀ = {gamma:.3g}, a = {decay:.3g}", ISGD(), InverseTime(gamma, decay), gamma)
        for decay in decays
        for gamma in gammas
    ]


def averaged_settings(gammas: Iterable[float], decays: Iterable[float]) -> list[Setting]:
    """The mean of all iterates of implicit SGD with γ_n = γ₀(1 + aγ₀n)^−¾."""
    return [
        Setting(AVERAGED, f"γ₀ = {gamma:.3g}, a = {decay:.3g}", Averaged(ISGD(), 0), Xu(gamma, decay, 0.75), gamma)
        for decay in decays
        for gamma in gammas
    ]


def course(
    source: ArraySource,
    loss: Loss,
    setting: Setting,
    quantity: Quantity,
    passes: Array,
    seed: np.random.SeedSequence,
    *,
    task: Literal["classification", "regression"],
    fit_intercept: bool,
) -> Array:
    """The quantity after so many passes, the first of which is 0; infinite once a run has diverged.

    A run that ends before (the step of ISGD½ has become too small) stays where it is.

    Parameters
    ----------
    source, loss, setting
        What to learn from, and how; it starts from zero, without penalty.
    quantity : callable
        What is measured of the solution so far.
    passes : array
        Where, in rows read over rows, in rising order; an SVRG pass counts the rows read for its anchor.
    seed : numpy.random.SeedSequence
        The same seed gives the same order of rows.
    task, fit_intercept
        As in `run`.
    """
    assert source.n_rows is not None
    values = np.full(passes.size, np.inf)
    values[0] = quantity(np.zeros(source.n_features), 0.0)
    filled = 1

    def measure(progress: Progress, state: State) -> str | None:
        nonlocal filled
        reached = int(np.searchsorted(passes, progress.passes + 1e-9, side="right"))
        if reached > filled:
            with np.errstate(over="ignore", invalid="ignore"):
                value = quantity(*state.solution())
            if not np.isfinite(value):
                return "not finite"
            values[filled:reached] = value
            filled = reached
        return "as far as wanted" if filled == passes.size else None

    result = run(
        source,
        loss,
        setting.solver,
        MaxPasses(float(passes[-1]) + 1.0),
        alpha=0.0,
        step=setting.step,
        fit_intercept=fit_intercept,
        task=task,
        rng=np.random.default_rng(seed),
        block_size=max(1, int(0.5 * float(np.diff(passes).min()) * source.n_rows)),
        hook=measure,
    )
    if result.verdict.status is Status.CONVERGED:
        values[filled:] = quantity(result.coef, result.intercept)
    return values


def best(scores: Array) -> int:
    """The setting with the lowest mean score over its draws and courses; the start, the same for all, is left out.

    Parameters
    ----------
    scores : array, (settings, draws, passes)
        The smaller, the better.

    Examples
    --------
    >>> best(np.array([[[1.0, 0.1, 0.1]], [[1.0, 0.01, np.inf]], [[1.0, 0.1, 0.01]]]))
    2
    """
    return int(np.argmin(np.mean(scores[:, :, 1:], axis=(1, 2))))
