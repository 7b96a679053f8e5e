"""LIBLINEAR, as scikit-learn has it, behind the interface of the other methods."""

from dataclasses import dataclass
from math import inf
from numbers import Integral
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.needs import Needs
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop import Status, Stop
from sgdone.interfaces.stop_rule import Watch
from sgdone.kernels.model import Numbers
from sgdone.kernels.rows import CSR_SHIFTED
from sgdone.losses import Hinge, Logistic, SquaredHinge
from sgdone.losses.loss import Loss, real_or_nan
from sgdone.rows.rows import Rows
from sgdone.rows.source import Block
from sgdone.solvers.liblinear_call import Caller, Solved, matrix_of, squares_of
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.steps import Constant
from sgdone.steps.step_size import StepSize


@final
@dataclass(frozen=True)
class Liblinear(SingleModel):
    """The whole problem at once by LIBLINEAR: Fan et al. (2008), as scikit-learn has it.

    For the hinge, the squared hinge and the logistic loss, all rows being in memory. It ends by itself, whatever the
    stopping rule, and starts from nothing, whatever weights there were. A pass of the verdict is an iteration, and a
    sample a row of it; LIBLINEAR does not tell how many of these changed anything, and in the dual few do.

    Its C is 1/(α·n), n the rows of positive weight; of the squared hinge, which has no ½ there, it is 1/(2α·n). Sample
    weights multiply it row by row.

    LIBLINEAR penalises an intercept; this one is not penalised. To Newton's method the intercept is the weight of a
    constant feature 100 times as large as a row: what is left of its penalty changes the objective by far less than
    ``tol`` does. Coordinate descent, which that would slow down, is called again with one more row, which pulls at the
    intercept as hard as the penalty does, until it stays where it is: some two to six rounds. Dense rows are centred
    meanwhile; sparse rows are not, and want columns whose means are not large beside their spread.

    Parameters
    ----------
    dual : bool or "auto"
        Whether by coordinate descent in the dual (Hsieh et al. 2008), the only way for the hinge, or by Newton's method
        with trust regions (Lin, Weng & Keerthi 2008). "auto" is the latter wherever it can be.
    tol : float
        LIBLINEAR's tolerance: of Newton's method relative to the first gradient, of the dual absolute.
    max_iter : int
        Iterations of each round. Those of the dual are many and cheap.
    seed : int
        Of the order in which the dual's coordinates are taken.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> X, y = [[-1.0], [1.0], [-2.0], [2.0]], [0, 1, 0, 1]
    >>> model = SGDClassifier("hinge", solver="liblinear", alpha=0.1).fit(X, y)
    >>> model.coef_.round(4)
    array([[1.]])
    """

    dual: bool | Literal["auto"] = "auto"
    tol: float = 1e-8
    max_iter: int = 100_000
    seed: int = 0
    name: ClassVar[str] = "liblinear"
    needs: ClassVar[Needs] = Needs(all_rows=True, penalty="its C is 1/(alpha·rows)")
    offers: ClassVar[Needs] = Needs(iterate=True, any_scales=True)
    takes_stop: ClassVar[bool] = False
    losses: ClassVar[tuple[type[Loss], ...]] = (Hinge, SquaredHinge, Logistic)

    def __post_init__(self) -> None:
        dual, tol = self.dual, self.tol
        if dual != "auto" and not isinstance(dual, (bool, np.bool_)):
            raise ValueError(f'dual={dual!r} is neither True, False nor "auto"')
        if not 0 < real_or_nan(tol) < inf:
            raise ValueError(f"tol={tol!r}: give a positive number")
        for name, least, most in (("max_iter", 1, 2**31 - 1), ("seed", 0, 2**32 - 1)):
            number: Any = getattr(self, name)
            whole = isinstance(number, Integral) and not isinstance(number, bool)
            if not whole or not least <= int(number) <= most:
                raise ValueError(f"{name}={number!r}: give a whole number from {least} to {most}")

    @property
    def ends_by_itself(self) -> bool:
        """At LIBLINEAR's tolerance."""
        return True

    @property
    def default_step(self) -> StepSize:
        """None is taken: this stands for that."""
        return Constant(1.0)

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights, to be overwritten."""
        if isinstance(objective.loss, Hinge) and not self._by_dual(objective.loss):
            raise ValueError("liblinear minimises the hinge in the dual alone: use dual=True, or squared_hinge")
        if rows.access is CSR_SHIFTED:
            raise ValueError("center=True would make sparse rows dense for liblinear: use center=False")
        state = State.at(objective, rows, step, "plain", 1, coef, intercept)
        state.extra = Solved()
        return state

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Solve the problem, whatever part of the rows is given."""
        nothing = np.empty(0)
        if watches:
            raise ValueError("liblinear ends by itself: a rule that checks every sample cannot be used with it")
        if not updates or first >= last:
            return Report(first, "used", nothing, nothing, np.nan)
        objective = state.objective
        used = np.flatnonzero(np.broadcast_to(block.sample_weight, block.labels.shape)).astype(np.uint64)
        X, labels, weights = matrix_of(block.rows, used), block.labels[used], block.weights_of(used)
        with np.errstate(over="ignore"):
            squares = squares_of(X)
        bad = np.flatnonzero(~np.isfinite(squares + labels))
        if bad.size:
            return Report(first, "not finite", nothing, nothing, np.nan, bad_row=int(used[bad[0]]))
        _check_labels(labels)
        loss = objective.loss
        call = Caller(loss, self._by_dual(loss), float(self.tol), int(self.max_iter), int(self.seed))
        penalty = objective.penalty * used.size
        if objective.fit_intercept:
            w, b = call.with_intercept(X, labels, weights, penalty)
        else:
            w, b = call.without_intercept(X, labels, weights, penalty), 0.0
        state.extra = done = call.done
        predictions = X @ w + b
        _set_solution(state, w, b)
        _set_sums(state, labels, weights, predictions, done.iterations * used.size)
        return Report(
            first,
            "used",
            predictions,
            loss.slope(predictions, labels),
            np.nan,
            further_reads=done.iterations * block.rows.n_rows,
            finished=self._ended(loss, done),
        )

    def _by_dual(self, loss: Loss) -> bool:
        return isinstance(loss, Hinge) if self.dual == "auto" else bool(self.dual)

    def _ended(self, loss: Loss, done: Solved) -> Stop:
        how = "dual coordinate descent" if self._by_dual(loss) else "Newton's method"
        rounds = f" in {done.rounds} rounds, for the intercept's sake," if done.rounds > 1 else ""
        plural = "" if done.iterations == 1 else "s"
        reason = f"LIBLINEAR made {done.iterations:,} iteration{plural} of {how}{rounds}"
        evidence = {"iterations": done.iterations, "rounds": done.rounds, "tol": float(self.tol)}
        if done.converged:
            return Stop("LIBLINEAR", Status.CONVERGED, f"{reason} and has reached tol = {self.tol:g}", evidence)
        return Stop(
            "LIBLINEAR",
            Status.BUDGET_SPENT,
            f"{reason} and has not reached tol = {self.tol:g}",
            evidence,
            "Raise max_iter or tol, or scale the features.",
        )

    def check_memory(self, state: State) -> None:
        """It keeps nothing that a compiled loop reads."""
        if not isinstance(state.extra, Solved):
            raise ValueError(f"the state of {self!r} is a {type(state.extra).__name__}")


def _check_labels(labels: NDArray[np.float64]) -> None:
    found = np.unique(labels)
    if not np.array_equal(found, [-1.0, 1.0]):
        shown = ", ".join(f"{label:g}" for label in found[:5])
        raise ValueError(f"liblinear needs rows of both classes, labelled -1 and 1: found {shown}")


def _set_solution(state: State, w: NDArray[np.float64], b: float) -> None:
    """Make weights in the units of the rows the state's iterate."""
    weights = np.empty_like(state.weights)
    weights[:] = w if state.access.vectors_first else w[:, np.newaxis]
    state.set_iterate(weights, np.zeros_like(state.offsets), 1.0, 0.0, b)


def _set_sums(
    state: State,
    labels: NDArray[np.float64],
    weights: NDArray[np.float64],
    predictions: NDArray[np.float64],
    steps: int,
) -> None:
    """Count rows times iterations as updates, and measure the solution on all rows as if they were a stretch."""
    sums = {
        "steps": steps,
        "stretch_loss": weights @ state.objective.loss.value(predictions, labels),
        "stretch_weight": np.sum(weights),
        "stretch_wrong": np.count_nonzero(labels * predictions <= 0.0),
        "stretch_squares": np.sum((labels - predictions) ** 2),
    }
    for name, value in sums.items():
        state.numbers[Numbers._fields.index(name)] = value
