"""LIBLINEAR, as scikit-learn has it, behind the interface of the other methods."""

import threading
import warnings
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.interfaces.method import Report
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import Needs, Status, Stop, Watch
from sgdone.kernels.rows import CSR_SHIFTED
from sgdone.losses import Hinge, Logistic, SquaredHinge
from sgdone.losses.loss import Loss, is_whole, real_or_nan
from sgdone.rows.rows import Block, Rows
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.steps import Constant
from sgdone.steps.step_size import StepSize

#: LIBLINEAR draws from one generator in all threads.
_ONE_AT_A_TIME = threading.Lock()

#: How much larger than a row, and than √α, the constant feature is whose weight is the intercept.
_LARGE, _LARGE_BESIDE_PENALTY = 100.0, 1e4
#: The same for coordinate descent, which a large one slows down; there, rounds undo what the penalty does to it.
_EVEN, _EVEN_BESIDE_PENALTY = 1.0, 10.0
#: Rounds, at most, and the change of the intercept that ends them, relative to it and, of a small one, to 1/1000.
_ROUNDS, _SETTLED = 20, 1e-3
#: What the row that undoes the penalty has for a prediction.
_FAINT = 1e-3


@dataclass
class LiblinearResult:
    """Iterations, rounds of iterations, and whether the last round reached the tolerance."""

    iterations: int = 0
    rounds: int = 0
    converged: bool = True


@final
class Caller:
    """min Σ v·ℓ + ½·lam·‖w‖² over a loss, in one of two ways, to a tolerance."""

    def __init__(self, loss: Loss, by_dual: bool, tol: float, max_iter: int, seed: int) -> None:
        self._loss, self._by_dual = loss, by_dual
        self._options = {"fit_intercept": False, "dual": by_dual, "tol": tol, "max_iter": max_iter}
        self._options["random_state"] = seed
        self._most = max_iter
        self.done = LiblinearResult()

    def without_intercept(self, X: Any, labels: Any, weights: Any, lam: float) -> NDArray[np.float64]:
        """LIBLINEAR itself, with C = 1/lam; of the squared hinge, which has no ½ there, 1/(2·lam)."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        if isinstance(self._loss, Logistic):
            model = LogisticRegression(C=1.0 / lam, solver="liblinear", **self._options)
        else:
            halves = 1.0 if isinstance(self._loss, Hinge) else 2.0
            model = LinearSVC(C=1.0 / (halves * lam), loss=self._loss.name, **self._options)
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            # What it says by a warning alone, its iterations tell.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, labels, sample_weight=weights)
        iterations = int(np.max(model.n_iter_))
        self.done.iterations += iterations
        self.done.rounds += 1
        self.done.converged = iterations < self._most
        coef: NDArray[np.float64] = model.coef_[0]
        return coef

    def with_intercept(self, X: Any, labels: Any, weights: Any, lam: float) -> tuple[NDArray[np.float64], float]:
        """The same with an intercept that is not penalised. Dense rows are centred meanwhile, which is easier."""
        mean = X.mean(axis=0) if isinstance(X, np.ndarray) else np.zeros(X.shape[1])
        w, b = self._around(X - mean if np.any(mean) else X, labels, weights, lam)
        return w, b - float(w @ mean)

    def _around(self, X: Any, labels: Any, weights: Any, lam: float) -> tuple[NDArray[np.float64], float]:
        root = sqrt(lam / labels.size)
        size = sqrt(float(np.mean(squares_of(X))))
        if not self._by_dual:
            constant = max(_LARGE * size, _LARGE_BESIDE_PENALTY * root)
            found = self.without_intercept(_with_column(X, constant), labels, weights, lam)
            return found[:-1], float(found[-1]) * constant
        constant = max(_EVEN * size, _EVEN_BESIDE_PENALTY * root)
        X = _with_column(X, constant)
        found = self.without_intercept(X, labels, weights, lam)
        settled = False
        while self.done.converged and not settled:
            b = float(found[-1]) * constant
            row, sign, weight = self._against_penalty(b, X.shape[1], constant, lam)
            longer = _with_row(X, row), np.append(labels, sign), np.append(weights, weight)
            found = self.without_intercept(*longer, lam)
            settled = abs(found[-1] * constant - b) <= _SETTLED * max(abs(b), _SETTLED)
            self.done.converged = self.done.converged and (settled or self.done.rounds < _ROUNDS)
        return found[:-1], float(found[-1]) * constant

    def _against_penalty(
        self, b: float, n_features: int, constant: float, lam: float
    ) -> tuple[NDArray[np.float64], float, float]:
        """A row, its label and its weight, whose loss is near b the tangent of −½·lam·b²/constant².

        What is left of the penalty is the square of the change of b: a proximal step of the intercept alone.
        """
        sign, faint = (1.0 if b >= 0 else -1.0), _FAINT / max(1.0, abs(b))
        slope = abs(float(self._loss.kernel.slope(faint * b, sign, self._loss.parameters)))
        row = np.zeros(n_features)
        row[-1] = faint * constant
        return row, sign, lam * abs(b) / constant**2 / (faint * slope)


def matrix_of(rows: Rows, used: NDArray[np.uint64]) -> Any:
    """Some rows in the units of training, as float64, dense or CSR as they are."""
    scaling = rows.scaling
    if rows.is_dense:
        X = rows.arrays[0][used].astype(np.float64, copy=False)
        if scaling is None:
            return X
        return (X if scaling.shift is None else X - scaling.shift) / scaling.scale
    rows.check_indices()
    data, indices, indptr = rows.arrays[:3]
    if max(data.size + rows.n_rows, rows.n_features) >= np.iinfo(np.int32).max:
        raise ValueError("liblinear cannot take this number of entries: its indices have 32 bits. Use another solver")
    parts = data.astype(np.float64, copy=False), indices.astype(np.int32), indptr.astype(np.int32)
    sparse_rows: Any = sparse.csr_array(parts, (rows.n_rows, rows.n_features))
    if used.size < rows.n_rows:
        sparse_rows = sparse_rows[used.astype(np.int64)]
    if scaling is not None:
        sparse_rows = sparse.csr_array(sparse_rows.multiply(1.0 / scaling.scale[np.newaxis]))
    return sparse_rows


def squares_of(X: Any) -> NDArray[np.float64]:
    """‖x‖² of every row."""
    squares = np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else X.multiply(X).sum(axis=1)
    return np.asarray(squares, dtype=np.float64)


def _with_column(X: Any, value: float) -> Any:
    column = np.full((X.shape[0], 1), value)
    if isinstance(X, np.ndarray):
        return np.hstack([X, column])
    return sparse.hstack([X, sparse.csr_array(column)], format="csr")


def _with_row(X: Any, row: NDArray[np.float64]) -> Any:
    if isinstance(X, np.ndarray):
        return np.vstack([X, row])
    return sparse.vstack([X, sparse.csr_array(row[np.newaxis])], format="csr")


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
    keeps: ClassVar[type] = LiblinearResult
    needs: ClassVar[Needs] = Needs(all_rows=True, why_positive_alpha="its C is 1/(alpha·rows)")
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
            if not is_whole(getattr(self, name), least, most):
                raise ValueError(f"{name}={getattr(self, name)!r}: give a whole number from {least} to {most}")

    @property
    def ends_by_itself(self) -> bool:
        """At LIBLINEAR's tolerance."""
        return True

    @property
    def default_step(self) -> StepSize:
        """Placeholder, because LIBLINEAR has no step size."""
        return Constant(1.0)

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """One vector of weights, to be overwritten."""
        if isinstance(objective.loss, Hinge) and not self._by_dual(objective.loss):
            raise ValueError("liblinear minimises the hinge in the dual alone: use dual=True, or squared_hinge")
        if rows.access is CSR_SHIFTED:
            raise ValueError("center=True would make sparse rows dense for liblinear: use center=False")
        return super().begin(objective, rows, step, coef, intercept)

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Solve the problem, whatever part of the rows is given."""
        if watches:
            raise ValueError("liblinear ends by itself: a rule that checks every sample cannot be used with it")
        if not updates or first >= last:
            return Report(first)
        objective = state.objective
        used = np.flatnonzero(np.broadcast_to(block.sample_weight, block.labels.shape)).astype(np.uint64)
        X, labels, weights = matrix_of(block.rows, used), block.labels[used], block.weights_of(used)
        with np.errstate(over="ignore"):
            squares = squares_of(X)
        bad = np.flatnonzero(~np.isfinite(squares + labels))
        if bad.size:
            return Report(first, "not finite", bad_row=int(used[bad[0]]))
        _check_labels(labels)
        loss = objective.loss
        call = Caller(loss, self._by_dual(loss), float(self.tol), int(self.max_iter), int(self.seed))
        lam = objective.known_alpha * used.size
        if objective.fit_intercept:
            w, b = call.with_intercept(X, labels, weights, lam)
        else:
            w, b = call.without_intercept(X, labels, weights, lam), 0.0
        state.extra = done = call.done
        predictions = X @ w + b
        state.set_running(w, b)
        # Rows times iterations are the updates; the solution is measured on all rows as if they were a stretch.
        state.set_numbers(
            steps=done.iterations * used.size,
            stretch_loss=weights @ loss.value(predictions, labels),
            stretch_weight=np.sum(weights),
            stretch_wrong=float(np.count_nonzero(labels * predictions <= 0.0)),
            stretch_squares=np.sum((labels - predictions) ** 2),
        )
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

    def _ended(self, loss: Loss, done: LiblinearResult) -> Stop:
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


def _check_labels(labels: NDArray[np.float64]) -> None:
    found = np.unique(labels)
    if not np.array_equal(found, [-1.0, 1.0]):
        shown = ", ".join(f"{label:g}" for label in found[:5])
        raise ValueError(f"liblinear needs rows of both classes, labelled -1 and 1: found {shown}")
