"""Pegasos: the primal estimated subgradient solver for support vector machines."""

from dataclasses import dataclass, field
from math import inf, isfinite, sqrt
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Needs, Watch
from sgdone.kernels.pegasos import PROJECTIONS, make_pegasos
from sgdone.losses.loss import real_or_nan
from sgdone.rows.rows import Block, Rows
from sgdone.rows.source import Stream
from sgdone.solvers.minibatch import Minibatches, Waiting, check_minibatch
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.steps.bottou import Bottou
from sgdone.steps.step_size import StepSize

#: ‖w‖² is kept by adding up changes. It is computed again after this number of updates, or the number of features.
_RENEWAL = 1 << 16


@dataclass
class Ball:
    """‖w‖² and the projections made, the ball's radius once rows have been seen, and the minibatch under way."""

    kept: NDArray[np.float64]
    radius: float | None = None
    waiting: Waiting = field(default_factory=Waiting)


@final
@dataclass(frozen=True)
class Pegasos(SingleModel):
    """w ← (1 − γα)w − (γ/k)·Σ v·ℓ′(z, y)·x with γ = 1/(αt), then onto a ball: Shalev-Shwartz et al. (2007), figure 1.

    An update takes the next k rows of positive weight and counts as one sample; rows left over at the end wait for
    others. An intercept takes the same steps and is neither penalised nor part of the ball. With an intercept and a
    loss whose slope is not bounded, as the squared hinge, the steps are those of `sgdone.steps.Bottou`, whose first one
    is not larger than rows and loss allow for.

    Parameters
    ----------
    minibatch : int
        k, the rows of an update.
    projection : bool
        Whether to project onto the ball that holds the optimum. Without it (as in the version of 2011) the first
        steps, 1/α and so on, throw losses that are steeper than the hinge out of all bounds.
    radius : float or "auto"
        That of the ball. "auto" is the paper's 1/√α; more, √(F(0)/α), if the targets or weights of the rows first seen
        make the objective at 0, F(0), larger than 1.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> X, y = [[-1.0], [1.0], [-2.0], [2.0]], [0, 1, 0, 1]
    >>> model = SGDClassifier("hinge", solver="pegasos", alpha=0.1, stop=200, random_state=0).fit(X, y)
    >>> model.coef_.round(1), round(model.verdict_.evidence["radius"], 2)
    (array([[1.]]), 3.16)
    """

    minibatch: int = 1
    projection: bool = True
    radius: float | Literal["auto"] = "auto"
    name: ClassVar[str] = "pegasos"
    keeps: ClassVar[type] = Ball
    needs: ClassVar[Needs] = Needs(why_positive_alpha="its steps are 1/(alpha·t), its ball has the radius 1/√alpha")

    def __post_init__(self) -> None:
        check_minibatch(self.minibatch)
        radius: Any = self.radius
        if not isinstance(self.projection, (bool, np.bool_)):
            raise TypeError(f"projection={self.projection!r} is not True or False")
        if radius == "auto":
            return
        if not 0 < real_or_nan(radius) < inf:
            raise ValueError(
                f'radius={radius!r}: give the radius of the ball, a positive number, or "auto" for 1/√alpha; '
                "projection=False does without the ball"
            )
        if not self.projection:
            raise ValueError(f"radius={radius!r} of a ball that projection=False does without: drop one of them")

    @property
    def updates_by_row(self) -> bool:
        """Whether a minibatch is one row."""
        return int(self.minibatch) == 1

    @property
    def default_step(self) -> StepSize:
        """1/(αt)."""
        return Bottou(t0=1.0)

    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> State:
        """The paper's steps are for slopes that are bounded; others throw an intercept, which no ball holds."""
        loss = objective.loss
        known = not (loss.is_open or loss.changes_during_fit)
        if step is None and objective.fit_intercept and not objective.center and known and loss.lipschitz == inf:
            step = Bottou()
        return super().start(objective, stream, start, step)

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights, and its squared norm."""
        state = State.at(objective, rows, step, "plain", 1, coef, intercept)
        weights, _ = state.running()
        state.extra = Ball(np.array([weights @ weights, 0.0]))
        return state

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block."""
        objective = state.objective
        ball: Ball = state.extra
        if ball.radius is None:
            ball.radius = self._radius(objective, block)
        radius_squared, renewal = ball.radius * ball.radius, float(max(_RENEWAL, state.n_features))
        batches = Minibatches(
            make_pegasos,
            int(self.minibatch),
            [objective.known_alpha, radius_squared, renewal],
            lambda part, sizes: (sizes, ball.kept, np.empty(2)),
        )
        return batches.advance(state, ball.waiting, block, first, last, updates, watches)

    def _radius(self, objective: Objective, block: Block) -> float:
        if not self.projection:
            return inf
        if self.radius != "auto":
            return float(self.radius)
        at_zero = _objective_at_zero(objective, block)
        return sqrt((max(1.0, at_zero) if isfinite(at_zero) else 1.0) / objective.known_alpha)

    def check_memory(self, state: State) -> None:
        """Check that the squared norm is the norm of the weights, and that fewer rows wait than a minibatch has."""
        super().check_memory(state)
        ball: Ball = state.extra
        if ball.kept.shape != (2,) or not (0 <= ball.kept.min() <= ball.kept.max() < inf):
            raise ValueError(f"{self!r} keeps two numbers beside one vector of weights")
        if not (ball.radius is None or ball.radius > 0):
            raise ValueError(f"a ball has the radius {ball.radius!r}")
        ball.waiting.check(int(self.minibatch), state.n_features, state.dtype)

    def summary(self, state: State) -> str:
        """Number of times that the weights left the ball."""
        ball: Ball = state.extra
        if ball.radius is None or ball.radius == inf:
            return ""
        times = int(ball.kept[PROJECTIONS])
        return f"{times:,} projection{'' if times == 1 else 's'} onto the ball of radius {ball.radius:.3g}"

    def evidence(self, state: State) -> dict[str, Any]:
        """The same as numbers."""
        ball: Ball = state.extra
        return super().evidence(state) | {"radius": ball.radius, "projections": int(ball.kept[PROJECTIONS])}


def _objective_at_zero(objective: Objective, block: Block) -> float:
    """The mean of v·ℓ at the prediction 0 over the rows of a block's matrix that have a positive weight."""
    rows = np.arange(block.labels.size, dtype=np.uint64)
    weights, labels, loss = block.weights_of(rows), block.labels, objective.loss
    if objective.task == "classification":
        # As plain Python: not worth compiling.
        negative, positive = (loss.kernel.value(0.0, label, loss.parameters) for label in (-1.0, 1.0))
        losses = np.where(labels > 0, positive, negative)
    else:
        losses = loss.value(np.zeros(labels.size), labels)
    return float(weights @ losses) / max(1, int(np.count_nonzero(weights)))
