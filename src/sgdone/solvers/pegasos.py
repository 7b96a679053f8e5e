"""Pegasos: the primal estimated subgradient solver for support vector machines."""

from dataclasses import dataclass, field
from math import inf, isfinite, sqrt
from numbers import Real
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.kernels.pegasos import PROJECTIONS, make_projected_loop
from sgdone.solvers.base import BlockReport, Solver
from sgdone.solvers.minibatch import Stretch, Waiting, advance_in_minibatches, check_minibatch
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.solvers.stretch import LARGEST, held_by
from sgdone.steps.bottou import Bottou
from sgdone.steps.step_size import StepSize
from sgdone.steps.step_table import step_sizes
from sgdone.stopping.base import Watch

#: ‖w‖² is kept by adding up changes and computed anew after so many updates, or as many as there are features.
_RENEWAL = 1 << 16


@dataclass
class Ball:
    """‖w‖² and the projections made, the ball's radius once rows have been seen, and the minibatch under way."""

    kept: NDArray[np.float64]
    radius: float | None = None
    waiting: Waiting = field(default_factory=Waiting)


@final
@dataclass(frozen=True)
class Pegasos(Solver):
    """w ← (1 − γα)w − (γ/k)·Σ v·ℓ′(z, y)·x with γ = 1/(αt), then onto a ball: Shalev-Shwartz et al. (2007), figure 1.

    An update takes the next k rows of positive weight and counts as one sample; rows left over at the end wait for
    others. An intercept takes the same steps and is neither penalised nor part of the ball.

    Parameters
    ----------
    minibatch : int
        k, the rows of an update.
    projection : bool
        Whether to project onto the ball that holds the optimum. Without it (as in the version of 2011) the first
        steps, 1/α and so on, throw losses that are steeper than the hinge out of all bounds; the intercept, outside of
        the ball, they can throw there with it: leave it out or give other steps, as `sgdone.steps.Bottou()`.
    radius : float or "auto"
        That of the ball. "auto" is the paper's 1/√α; more, √(F(0)/α), if the targets or weights of the rows first seen
        make the objective at 0, F(0), larger than 1.

    Examples
    --------
    >>> from sgdone import LinearClassifier
    >>> X, y = [[-1.0], [1.0], [-2.0], [2.0]], [0, 1, 0, 1]
    >>> model = LinearClassifier("hinge", solver="pegasos", alpha=0.1, stop=200, random_state=0).fit(X, y)
    >>> model.coef_.round(1), round(model.verdict_.evidence["radius"], 2)
    (array([[1.]]), 3.16)
    """

    minibatch: int = 1
    projection: bool = True
    radius: float | Literal["auto"] = "auto"
    name: ClassVar[str] = "pegasos"

    def __post_init__(self) -> None:
        check_minibatch(self.minibatch)
        radius: Any = self.radius
        if not isinstance(self.projection, (bool, np.bool_)):
            raise TypeError(f"projection={self.projection!r} is not True or False")
        if radius == "auto":
            return
        if isinstance(radius, bool) or not isinstance(radius, Real) or not 0 < float(radius) < inf:
            raise ValueError(
                f'radius={radius!r}: give the radius of the ball, a positive number, or "auto" for 1/√alpha; '
                "projection=False does without the ball"
            )
        if not self.projection:
            raise ValueError(f"radius={radius!r} of a ball that projection=False does without: drop one of them")

    @property
    def default_step(self) -> StepSize:
        """1/(αt)."""
        return Bottou(t0=1.0)

    def start(self, problem: Problem, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights, and its squared norm."""
        if not problem.alpha > 0:
            raise ValueError(
                "pegasos needs a positive alpha: its steps are 1/(alpha·t), its ball has the radius 1/√alpha"
            )
        state = State.at(problem, step, "plain", 1, coef, intercept)
        weights, _ = state.running()
        state.extra = Ball(np.array([weights @ weights, 0.0]))
        return state

    def advance(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> BlockReport:
        """Use rows of a block."""
        size, problem = int(self.minibatch), state.problem
        loss = problem.loss
        ball: Ball = state.extra
        if ball.radius is None:
            ball.radius = self._radius(problem, block)
        renewal = max(_RENEWAL, problem.n_features)
        limits = [
            float(problem.fit_intercept),
            LARGEST[problem.dtype],
            inf,
            problem.alpha,
            ball.radius * ball.radius,
            renewal,
        ]
        settings = np.array(limits)
        members, amounts = np.empty(size, dtype=np.uint64), np.empty(size)
        makers = tuple(watch.make for watch in watches)

        def loop(part: Block, begin: int, end: int, count: int) -> Stretch:
            count = min(count, (end - begin) // size + 1)
            sizes = step_sizes(state.step, state.steps + 1, count)
            predictions, slopes = np.empty(count), np.empty(count)
            run = make_projected_loop(problem.access, loss.kernel.value, loss.kernel.slope, part.rows.types, makers)
            position, used, outcome, left = run(
                part.rows.arrays,
                part.labels,
                part.sample_weight,
                part.weight_stride,
                part.order,
                part.upcoming,
                begin,
                end,
                sizes,
                settings,
                loss.parameters,
                state.weights,
                state.offsets,
                state.numbers,
                ball.kept,
                members,
                amounts,
                predictions,
                slopes,
                held_by(watches),
            )
            step_size = float(sizes[used - 1]) if used else np.nan
            return Stretch(position, outcome, predictions[:used], slopes[:used], step_size, members[:left].copy())

        return advance_in_minibatches(ball.waiting, size, block, first, last, updates, watches, loop)

    def _radius(self, problem: Problem, block: Block) -> float:
        if not self.projection:
            return inf
        if self.radius != "auto":
            return float(self.radius)
        at_zero = _objective_at_zero(problem, block)
        return sqrt((max(1.0, at_zero) if isfinite(at_zero) else 1.0) / problem.alpha)

    def check(self, state: State) -> None:
        """The squared norm must be that of the weights, and the rows that wait some of a minibatch."""
        ball, problem = state.extra, state.problem
        if not isinstance(ball, Ball) or not isinstance(ball.waiting, Waiting):
            raise ValueError(f"what {self!r} remembers is {type(ball).__name__}")
        if ball.kept.shape != (2,) or ball.kept.dtype != np.float64 or len(state.offsets) != 1:
            raise ValueError(f"{self!r} keeps two numbers beside one vector of weights")
        if not (ball.radius is None or ball.radius > 0):
            raise ValueError(f"a ball has the radius {ball.radius!r}")
        ball.waiting.check(int(self.minibatch), problem.n_features, problem.dtype)

    def says(self, state: State) -> str:
        """How often the weights left the ball."""
        ball: Ball = state.extra
        if ball.radius is None or ball.radius == inf:
            return ""
        times = int(ball.kept[PROJECTIONS])
        return f"{times:,} projection{'' if times == 1 else 's'} onto the ball of radius {ball.radius:.3g}"

    def evidence(self, state: State) -> dict[str, Any]:
        """The same as numbers."""
        ball: Ball = state.extra
        return {"radius": ball.radius, "projections": int(ball.kept[PROJECTIONS])}


def _objective_at_zero(problem: Problem, block: Block) -> float:
    """The mean of v·ℓ at the prediction 0 over the rows of a block's matrix that have a positive weight."""
    rows = np.arange(block.labels.size, dtype=np.uint64)
    weights, labels, loss = block.weights_of(rows), block.labels, problem.loss
    if problem.task == "classification":
        # As plain Python: not worth compiling.
        negative, positive = (loss.kernel.value(0.0, label, loss.parameters) for label in (-1.0, 1.0))
        losses = np.where(labels > 0, positive, negative)
    else:
        losses = loss.value(np.zeros(labels.size), labels)
    return float(weights @ losses) / max(1, int(np.count_nonzero(weights)))
