"""Methods whose parameters are chosen from a grid, then measured: Figures 2 and 3 of Chee & Toulis (2018)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sgdone.losses.loss import Loss
from sgdone.papers.experiment import Row
from sgdone.papers.runs import Quantity, trajectory
from sgdone.papers.tables import Array, by_run, column, grouped, where
from sgdone.rows import ArraySource
from sgdone.solvers import ISGD, SVRG, Averaged, Halving, SingleModel
from sgdone.steps import Constant, InverseTime, StepSize, Xu
from sgdone.stopping import Pflug

HALF, VARIANCE_REDUCED, CLASSICAL, AVERAGED = "ISGD½", "SVRG", "ISGD", "averaged ISGD"
COLOURS = {HALF: "tab:red", VARIANCE_REDUCED: "tab:blue", CLASSICAL: "tab:green", AVERAGED: "tab:purple"}


@final
@dataclass(frozen=True)
class Setting:
    """A method with its learning parameters."""

    #: The parameters, as the CSV file has them.
    label: str
    solver: SingleModel
    step: StepSize
    #: Passes between two anchors of SVRG, the reading of the anchors not counted.
    stage: float | None = None


def settings_of(
    method: str, steps: Iterable[float], svrg_steps: Iterable[float], decays: Iterable[float], n_rows: int
) -> list[Setting]:
    """The grid that a method's parameters are chosen from.

    ISGD½ has a first step size γ and the burn-in of Pflug's diagnostic, a hundredth and a tenth of the rows; SVRG a
    step size and the number of steps between two anchors. Classical implicit SGD has γ_n = γ₀/(1 + aγ₀n), and averaged
    implicit SGD γ_n = γ₀(1 + aγ₀n)^−¾ and the mean of all iterates.

    Parameters
    ----------
    method : str
        One of the four.
    steps, svrg_steps : iterable of float
        First step sizes, and those of SVRG.
    decays : iterable of float
        Values of a.
    n_rows : int
        Number of training rows.
    """
    first = list(svrg_steps if method == VARIANCE_REDUCED else steps)
    if method == HALF:
        return [
            Setting(f"γ = {gamma:.3g}, burn-in {burn_in}", Halving(ISGD(), Pflug(burn_in)), Constant(gamma))
            for burn_in in (n_rows // 100, n_rows // 10)
            for gamma in first
        ]
    if method == VARIANCE_REDUCED:
        return [
            Setting(f"γ = {gamma:.3g}, m = {length}", SVRG(length), Constant(gamma), stage=length / n_rows)
            for length in (n_rows, 2 * n_rows)
            for gamma in first
        ]
    return [
        Setting(f"γ₀ = {gamma:.3g}, a = {decay:.3g}", ISGD(), InverseTime(gamma, decay))
        if method == CLASSICAL
        else Setting(f"γ₀ = {gamma:.3g}, a = {decay:.3g}", Averaged(ISGD(), 0), Xu(gamma, decay, 0.75))
        for decay in decays
        for gamma in first
    ]


def follow(
    source: ArraySource,
    loss: Loss,
    setting: Setting,
    quantity: Quantity,
    passes: Array,
    seed: np.random.SeedSequence,
    *,
    count_anchors: bool,
    **settings: Any,
) -> Array:
    """The quantity at numbers of passes, the first of which is 0; infinite once a run has diverged.

    Parameters
    ----------
    source, loss, setting
        Rows, loss and method of the fit, which has no penalty.
    quantity : callable
        A number that is measured of weights and intercept.
    passes : array
        When to measure, at equal distances.
    seed : numpy.random.SeedSequence
        The same seed gives the same order of rows.
    count_anchors : bool
        Whether the rows that SVRG reads for an anchor count as a pass.
    **settings
        Other arguments of `sgdone.papers.runs.fit`.
    """
    assert source.n_rows is not None
    block_size = int(0.5 * float(np.diff(passes).min()) * source.n_rows)
    at = passes[1:]
    if setting.stage is not None and not count_anchors:
        # An anchor is read before each stage of this many passes.
        at = at + np.ceil(at / setting.stage - 1e-9)
    later = trajectory(
        source, loss, setting.solver, quantity, at, seed, step=setting.step, block_size=block_size, **settings
    )
    return np.append(np.asarray(quantity(np.zeros(source.n_features), 0.0)), later.values[:, 0])


def best(scores: Array) -> int:
    """The setting with the lowest mean score over its runs and their points, without the start, the same for all.

    Parameters
    ----------
    scores : array, (settings, runs, passes)
        Smaller is better.

    Examples
    --------
    >>> best(np.array([[[1.0, 0.1, 0.1]], [[1.0, 0.01, np.inf]], [[1.0, 0.1, 0.01]]]))
    2
    """
    return int(np.argmin(np.mean(scores[:, :, 1:], axis=(1, 2))))


#: The errors of a setting, runs × passes.
Curves = Callable[[Setting], Array]


def tune_and_measure(
    head: Row,
    names: tuple[str, str],
    passes: Array,
    candidates: Sequence[Setting],
    tuning: Curves,
    settings: Sequence[Setting],
    measuring: Curves,
    score: Callable[[Array], Array] = lambda errors: errors,
) -> list[Row]:
    """Choose one of the candidates, then measure it; rows for the CSV file with every candidate's error at the end.

    Parameters
    ----------
    head : dict
        The first columns of all rows.
    names : (str, str)
        Names of the columns of runs and of errors.
    passes : array
        Where errors are measured.
    candidates, settings : sequence of Setting
        The grid for the rows that parameters are chosen on, and the same grid for the training rows.
    tuning, measuring : callable
        Errors of a setting in either stage.
    score : callable
        Score of the errors of a run, averaged for the choice.
    """

    def row(stage: str, setting: Setting, is_chosen: bool, run: int, at: float, error: float) -> Row:
        return head | {
            "stage": stage,
            "parameters": setting.label,
            "chosen": int(is_chosen),
            names[0]: run,
            "passes": round(float(at), 6),
            names[1]: float(error),
        }

    tried = np.array([tuning(setting) for setting in candidates])
    chosen = best(score(tried))
    rows = [
        row("tuning", setting, i == chosen, k, passes[-1], errors[-1])
        for i, setting in enumerate(candidates)
        for k, errors in enumerate(tried[i])
    ]
    for k, errors in enumerate(measuring(settings[chosen])):
        rows += [
            row("measured", settings[chosen], True, k, at, error) for at, error in zip(passes, errors, strict=True)
        ]
    return rows


def measured_curves(rows: Sequence[Row], names: tuple[str, str], *keys: str) -> dict[Any, tuple[Array, Array]]:
    """Passes, and the errors at them (runs × passes), by the values of the keys."""
    found = {}
    for key, own in grouped(where(rows, stage="measured"), *keys).items():
        found[key] = column(own, "passes", **{names[0]: 0}), by_run(own, *names)
    return found
