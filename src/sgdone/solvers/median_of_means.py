"""Descent on the block of rows whose mean loss is the median."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.loss import is_whole
from sgdone.solvers.batch import StepMeasurements, WeighingSolver
from sgdone.solvers.state import State


@final
@dataclass(frozen=True)
class MedianOfMeans(WeighingSolver):
    """Rows are dealt into K blocks, and a step descends on the block of median mean loss: Lecué et al. (2018).

    The blocks are drawn again at every step; remaining rows, fewer than K, are not used in it. Rows that spoil fewer
    than half of the blocks do not get into the median block. Of an even K, the upper one of the two in the middle is
    taken. With n/K rows a step is as noisy as a minibatch: let the steps fall, as the hinge's own do.

    A step costs a read of all rows for their losses, the shuffling, and a read of n/K rows for the gradient; it counts
    as two passes.

    Parameters
    ----------
    blocks : int
        K: more than twice the rows that are thought to be spoilt, and no more than there are rows.
    seed : int
        Of the blocks.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> X, y = [[-1.0], [1.0], [-2.0], [2.0], [300.0]], [0, 1, 0, 1, 0]  # the last row has the wrong label
    >>> solver = MedianOfMeans(blocks=5)
    >>> SGDClassifier("hinge", solver=solver, alpha=0.01, stop=400, fit_intercept=False).fit(X, y).predict([[1.0]])
    array([1])
    """

    blocks: int = 11
    seed: int = 0
    name: ClassVar[str] = "median_of_means"

    def __post_init__(self) -> None:
        for name, least, what in (
            ("blocks", 1, "the number of blocks, 1 or more"),
            ("seed", 0, "a whole number, 0 or more"),
        ):
            if not is_whole(getattr(self, name), least):
                raise ValueError(f"{name}={getattr(self, name)!r}: give {what}")

    def coefficients(self, state: State, seen: StepMeasurements) -> NDArray[np.float64]:
        """vℓ′ over the size of a block, of the rows in the median block."""
        n, blocks = seen.losses.size, int(self.blocks)
        if blocks > n:
            raise ValueError(f"{blocks} blocks cannot be made of {n} rows of positive weight: give fewer blocks")
        # Seeded by the number of the step, so that a resumed run draws the same blocks.
        dealt = np.random.default_rng([int(self.seed), state.steps]).permutation(n)[: n // blocks * blocks]
        dealt = dealt.reshape(blocks, -1)
        means = (seen.weights * seen.losses)[dealt].mean(axis=1)
        median = dealt[np.argsort(means, kind="stable")[blocks // 2]]
        coefficients = np.zeros(n)
        coefficients[median] = seen.weights[median] * seen.slopes[median] / median.size
        return coefficients
