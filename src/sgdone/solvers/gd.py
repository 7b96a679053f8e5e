"""Gradient descent on all rows."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.descent import make_descent
from sgdone.rows.rows import Block
from sgdone.solvers.batch import BatchSolver, DescentOutcome
from sgdone.solvers.state import State
from sgdone.solvers.stretch import LARGEST, room_for_sums


@final
@dataclass(frozen=True)
class GD(BatchSolver):
    """w ← (1 − γα)w − (γ/n)·Σ v·ℓ′(z, y)·x over all rows of positive weight, b ← b − (γ/n)·Σ v·ℓ′(z, y).

    Holland (2018), Algorithm 1, with the loss `sgdone.losses.MarginPursuit`; Ji & Telgarsky (2018) with the logistic
    loss. A step reads every row once and counts as a pass; t of a step size counts steps. Its own step size is
    `sgdone.steps.Descent`, with which no step raises the objective of a smooth loss. Many steps are made in one call of
    the compiled loop unless a rule must be called after every pass, as `sgdone.stopping.ProgressiveLoss` does.

    Examples
    --------
    >>> from sgdone import SGDRegressor
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = SGDRegressor(solver="gd", alpha=0, stop=200).fit(X, 3.0 * X[:, 0] + 1.0)
    >>> model.coef_.round(6), model.intercept_.round(6), model.verdict_.step
    (array([3.]), array([1.]), 200)
    """

    name: ClassVar[str] = "gd"

    def descend(self, state: State, block: Block, sizes: NDArray[np.float64]) -> DescentOutcome:
        """Make a step of each size, all of them in the compiled loop."""
        objective = state.objective
        loss, n_features = objective.loss, state.n_features
        used = block.rows.n_rows if block.sample_weight.size == 1 else int(np.count_nonzero(block.sample_weight))
        limits = [float(objective.fit_intercept), LARGEST[state.dtype], objective.known_alpha, used]
        predictions, slopes = np.empty(sizes.size), np.empty(sizes.size)
        loop = make_descent(state.access, loss.kernel.value, loss.kernel.slope, block.rows.types)
        made, outcome, row = loop(
            block.rows.arrays,
            (block.labels, block.sample_weight, block.weight_stride),
            sizes,
            np.array(limits),
            loss.parameters,
            (state.weights, state.offsets, state.numbers),
            (*room_for_sums(state), np.zeros(n_features), np.zeros(n_features)),
            (predictions, slopes),
        )
        return DescentOutcome(made, outcome, int(row), predictions, slopes)
