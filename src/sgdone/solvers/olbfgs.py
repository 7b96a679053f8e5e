"""Online L-BFGS: quasi-Newton steps on minibatches."""

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import Watch
from sgdone.kernels.olbfgs import COUNT, NEXT, make_olbfgs
from sgdone.losses.loss import is_whole, real_or_nan
from sgdone.rows.rows import Block, Rows, squared_norms
from sgdone.solvers.minibatch import Minibatches, Waiting, check_minibatch
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.steps.bottou import Bottou
from sgdone.steps.step_size import PRELIMINARY_ROWS, StepSize

#: The least value of a parameter, as a number and as text.
_LEAST = {
    "eta0": (np.finfo(float).tiny, "above 0"),
    "epsilon": (np.finfo(float).tiny, "above 0"),
    "tau": (1.0, "1 or more"),
    "damping": (0.0, "0 or more"),
}

#: The first update whose step is scaled by a curvature: there is no pair before it.
_FIRST_THAT_MOVES = 2
#: The automatic damping, of smooth losses and of others: this part of a row's size.
_PART_IF_SMOOTH, _PART = 1e-2, 1e-1


@dataclass
class Pairs:
    """The last steps and changes of the gradient, the numbers of each pair, their ring, and the minibatch under way."""

    steps: NDArray[np.float64]
    changes: NDArray[np.float64]
    curvatures: NDArray[np.float64]
    ring: NDArray[np.int64]
    #: λ, once rows have been seen.
    damping: float | None = None
    waiting: Waiting = field(default_factory=Waiting)


@final
@dataclass(frozen=True)
class OLBFGS(SingleModel):
    """θ ← θ − γB∇ on minibatches, B from the last m pairs of steps and changes: Schraudolph et al. (2007).

    An update takes the next k rows of positive weight and counts as one sample; rows left over at the end wait for
    others. A pair is a step s and y = ∇(θ + s) − ∇(θ) + λs, both gradients on the same minibatch: algorithms 2 and 3
    with c = 1. Its own steps are γ_t = η₀τ/(τ + t), t counted from 0; others can be given as ``step``. The rows are
    read in as many operations as they have entries, but an update costs 4m + 10 vectors of all features.

    Parameters
    ----------
    minibatch : int
        k, the rows of an update.
    memory : int
        m, the pairs kept.
    eta0, tau : float
        The first step size, and after how many updates it has halved. Minibatches of ten rows or fewer want a smaller
        ``eta0``, 0.3 say.
    epsilon : float
        The step along the first gradient, when there is no pair yet.
    damping : float or "auto"
        λ, how much curvature is added to that seen, lest a minibatch with no row inside the margin be taken for a flat
        place and a huge step follow. "auto" is 1/100 of the mean v‖x‖² of the first rows; of a loss that is not smooth,
        two gradients often do not differ at all, and it is 1/10.

    Examples
    --------
    >>> from sgdone import SGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 2)) * [1.0, 10.0]
    >>> model = SGDRegressor(solver="olbfgs", stop=5, random_state=0).fit(X, X @ [1.0, 2.0])
    >>> model.coef_.round(2)
    array([1., 2.])
    """

    minibatch: int = 100
    memory: int = 10
    eta0: float = 1.0
    tau: float = 100.0
    epsilon: float = 1e-10
    damping: float | Literal["auto"] = "auto"
    name: ClassVar[str] = "olbfgs"
    keeps: ClassVar[type] = Pairs

    def __post_init__(self) -> None:
        check_minibatch(self.minibatch)
        if not is_whole(self.memory, 1):
            raise ValueError(f"memory={self.memory!r}: give the pairs to keep, 1 or more")
        for name, (low, words) in _LEAST.items():
            number: Any = getattr(self, name)
            if name == "damping" and isinstance(number, str) and number == "auto":
                continue
            if not low <= real_or_nan(number) < inf:
                raise ValueError(f"{name}={number!r}: give a finite number, {words}")

    @property
    def updates_by_row(self) -> bool:
        """Whether a minibatch is one row."""
        return int(self.minibatch) == 1

    @property
    def n_vectors(self) -> int:
        """Number of vectors: the pairs, a copy of the state, and the room of an update."""
        return 4 * int(self.memory) + 5

    @property
    def default_step(self) -> StepSize:
        """η₀τ/(τ + t)."""
        return Bottou(t0=float(self.tau), alpha=1.0 / (float(self.eta0) * float(self.tau)))

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights, and no pairs."""
        state = State.at(objective, rows, step, "plain", 1, coef, intercept)
        shape = (int(self.memory), rows.n_features + 1)
        state.extra = Pairs(np.zeros(shape), np.zeros(shape), np.zeros((shape[0], 2)), np.zeros(2, dtype=np.int64))
        return state

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block."""
        objective = state.objective
        pairs: Pairs = state.extra
        if pairs.damping is None:
            pairs.damping = _automatic(state, block) if self.damping == "auto" else float(self.damping)

        def own(part: Block, sizes: NDArray[np.float64]) -> tuple[Any, ...]:
            rows = part.labels, part.sample_weight, part.weight_stride
            kept = pairs.steps, pairs.changes, pairs.curvatures, pairs.ring
            return sizes, *rows, kept, _room(state, int(self.memory))

        settings = [objective.known_alpha, float(self.epsilon), pairs.damping]
        batches = Minibatches(make_olbfgs, int(self.minibatch), settings, own)
        return batches.advance(state, pairs.waiting, block, first, last, updates, watches)

    def advance(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block."""
        report = super().advance(state, block, first, last, updates, watches)
        # The first update moves by epsilon alone: a pass without another one says nothing about convergence.
        return replace(report, pass_loss=np.nan) if state.steps < _FIRST_THAT_MOVES else report

    def check_memory(self, state: State) -> None:
        """The pairs must fit the weights, and the ring the pairs."""
        super().check_memory(state)
        pairs, memory = state.extra, int(self.memory)
        vectors = (memory, state.n_features + 1)
        shapes = {"steps": vectors, "changes": vectors, "curvatures": (memory, 2)}
        fits = all(
            (array := getattr(pairs, name)).shape == shape and bool(np.isfinite(array).all())
            for name, shape in shapes.items()
        )
        fits = fits and pairs.ring.shape == (2,)
        if not fits or not 0 <= pairs.ring[NEXT] < memory or not 0 <= pairs.ring[COUNT] <= memory:
            raise ValueError(f"the pairs are not {memory} of {state.n_features} features and an intercept")
        if not (pairs.damping is None or 0 <= pairs.damping < inf):
            raise ValueError(f"the damping is {pairs.damping!r}")
        pairs.waiting.check(int(self.minibatch), state.n_features, state.dtype)

    def evidence(self, state: State) -> dict[str, Any]:
        """Number of pairs, and their damping."""
        pairs: Pairs = state.extra
        return super().evidence(state) | {"pairs": int(pairs.ring[COUNT]), "damping": pairs.damping}


def _automatic(state: State, block: Block) -> float:
    """A part of the mean size of the first rows."""
    objective = state.objective
    rows = block.used(0, block.order.size)[:PRELIMINARY_ROWS]
    sizes = block.weights_of(rows) * squared_norms(block.rows, rows)
    part = _PART_IF_SMOOTH if np.isfinite(objective.loss.smoothness) else _PART
    # Rows that cannot be used are found by the loop.
    finite = sizes[np.isfinite(sizes)]
    return part * float(np.mean(finite)) if finite.size else 0.0


def _room(state: State, memory: int) -> tuple[NDArray[Any], ...]:
    """Sums of gradients as the rows are added to them, four vectors, and the numbers of the recursion."""
    vectors = (np.zeros(state.n_features + 1) for _ in range(4))
    return np.zeros_like(state.weights), np.zeros((1, 2)), *vectors, np.zeros(memory)
