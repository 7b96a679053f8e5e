"""Runs of SGD that end by the margin test or by its rival, as in section 5 of Baghal et al. (2021)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone import losses
from sgdone.data.source import Source
from sgdone.interfaces.registry import by_name
from sgdone.losses.loss import Loss
from sgdone.papers.experiment import Row
from sgdone.papers.runs import Result, fired, fit, updates, weights
from sgdone.solvers import SGD
from sgdone.steps import ClassScale
from sgdone.stopping import MarginTest, SmallValidationSet, StopRule

#: Fraction correct of a classifier's weights and intercept.
Accuracy = Callable[[NDArray[Any], float], float]

LOSSES = ("logistic", "hinge")
#: What the CSV file calls the tests; `svs` names the others.
MARGIN, LONGER = "margin", "margin, 1.5k"
#: The marker of the margin test: six rays.
ASTERISK = (6, 2, 0)


def svs(size: int) -> str:
    """What the CSV file calls the small validation set of that size.

    Examples
    --------
    >>> svs(32)
    'SVS, p = 32'
    """
    return f"SVS, p = {size}"


def homogeneous_run(source: Source, loss: str, step: float, stop: StopRule, seed: np.random.SeedSequence) -> Result:
    """SGD without penalty on centred rows, with the step size α̃/σ̃² ("Measuring the accuracy" and "Parameter settings").

    Parameters
    ----------
    source : Source
        The rows.
    loss : str
        Its name.
    step : float
        α̃.
    stop : StopRule
        When to end.
    seed : numpy.random.SeedSequence
        The same seed gives the same rows in the same order.
    """
    objective = by_name(loss, Loss, losses, "loss")
    return fit(source, objective, SGD(), stop, seed, step=ClassScale(alpha=step), center=True)


def five_tests(
    source: Source,
    loss: str,
    step: float,
    sizes: tuple[int, ...],
    limit: StopRule,
    accuracy: Accuracy,
    seed: np.random.SeedSequence,
) -> list[Row]:
    """One random run ended by each of the tests: SVS at the given sizes, the margin test, and 1.5 times its samples.

    Parameters
    ----------
    source, loss, step, seed
        As in `homogeneous_run`: all tests see the same rows in the same order, without those that SVS holds out.
    sizes : tuple of int
        Rows in the small validation sets.
    limit : StopRule
        What ends a run whose test does not: then ``fired`` is 0.
    accuracy : callable
        The fraction correct of weights and intercept.
    """
    tests: dict[str, StopRule] = {svs(size): SmallValidationSet(size) for size in sizes}
    tests |= {MARGIN: MarginTest(), LONGER: MarginTest().then(1.5)}
    results = {name: homogeneous_run(source, loss, step, test | limit, seed) for name, test in tests.items()}
    return [
        {
            "test": name,
            "fired": int(fired(result)),
            "iterations": updates(result),
            "accuracy": accuracy(*weights(result.model)),
        }
        for name, result in results.items()
    ]
