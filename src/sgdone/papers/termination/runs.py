"""Runs of SGD that end by the margin test or by its rival, as in section 5 of Baghal et al. (2021)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone import losses
from sgdone.interfaces.method import by_name
from sgdone.losses.loss import Loss
from sgdone.papers.experiment import Row
from sgdone.papers.runs import fired, fit, updates, weights
from sgdone.papers.termination.reference import centre, class_scale
from sgdone.rows.rows import Block, Rows
from sgdone.rows.source import Source
from sgdone.run.result import Result
from sgdone.solvers import SGD
from sgdone.steps import ClassScale, Constant
from sgdone.stopping import MarginTest, SmallValidationSet, StopRule

#: Fraction correct of a classifier's weights and intercept.
Accuracy = Callable[[NDArray[Any], float], float]

LOSSES = ("logistic", "hinge")
#: Names of the tests in the CSV file; `svs` names the others.
MARGIN, LONGER = "margin", "margin, 1.5k"
#: Rows of the first block among which the preliminary ones are: more than 100 if these are of one class.
_FIRST_BLOCK = 1000
#: The marker of the margin test: six rays.
ASTERISK = (6, 2, 0)


def svs(size: int) -> str:
    """Name of the small validation set of that size in the CSV file.

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


class PreliminaryRows(NamedTuple):
    """Values from the first 100 rows of a run, for all of its tests: the centre and σ̃²."""

    centre: NDArray[np.float64]
    scale: float


def preliminary_phase(source: Source, seed: np.random.SeedSequence) -> PreliminaryRows:
    """Estimate the centre of the two class means and σ̃² from the first 100 rows that the seed draws.

    Examples
    --------
    >>> from sgdone.papers.termination.two_classes import two_classes
    >>> preliminary_phase(two_classes(1, 0.01), np.random.SeedSequence(0)).centre.round(2)
    array([0.5])
    """
    block = next(iter(source.blocks(np.random.default_rng(seed))))
    first = block.order.rows[:_FIRST_BLOCK]
    X, y = block.rows.arrays[0][first].astype(np.float64), block.labels[first]
    weights = np.ones(y.size)
    return PreliminaryRows(centre(X, y, weights), class_scale(X, y, weights))


@final
class Centred(Source):
    """The rows of a dense source less a centre, in the order that a seed gives; kept, so that they are drawn once.

    Parameters
    ----------
    source : Source
        One pass over its rows, which may have no end.
    centre : array
        Subtracted from every row.
    seed : numpy.random.SeedSequence
        Draws the rows, or their order, for all runs.
    """

    def __init__(self, source: Source, centre: NDArray[np.float64], seed: np.random.SeedSequence) -> None:
        self._source, self._centre = source, centre
        self._drawn: list[Block] = []
        self._others = source.blocks(np.random.default_rng(seed))
        self.in_memory, self.endless, self.shuffle = source.in_memory, source.endless, source.shuffle

    @property
    def n_features(self) -> int:
        """Entries of a row."""
        return self._source.n_features

    @property
    def n_rows(self) -> int | None:
        """Rows of a pass."""
        return self._source.n_rows

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """One pass, the same for every generator."""
        yield from self._drawn
        for block in self._others:
            X = block.rows.arrays[0]
            self._drawn.append(replace(block, rows=Rows.of(X - self._centre.astype(X.dtype))))
            yield self._drawn[-1]


def five_tests(
    rows: Centred,
    first: PreliminaryRows,
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
    rows : Centred
        All tests see the same rows in the same order, without those that SVS holds out.
    loss, step, seed
        As in `homogeneous_run`.
    first : PreliminaryRows
        Centre and scale: the same for all tests.
    sizes : tuple of int
        Rows in the small validation sets.
    limit : StopRule
        Limit of a run whose test does not fire: then ``fired`` is 0.
    accuracy : callable
        The fraction correct of weights and intercept.
    """
    tests: dict[str, StopRule] = {svs(size): SmallValidationSet(size) for size in sizes}
    tests |= {MARGIN: MarginTest(), LONGER: MarginTest().then(1.5)}
    objective = by_name(loss, Loss, losses, "loss")
    constant = Constant(step / first.scale)
    found = []
    for name, test in tests.items():
        result = fit(rows, objective, SGD(), test | limit, seed, step=constant, fit_intercept=False)
        coef, _ = weights(result.model)
        found.append(
            {
                "test": name,
                "fired": int(fired(result)),
                "iterations": updates(result),
                "accuracy": accuracy(coef, -float(coef @ first.centre)),
            }
        )
    return found
