"""LIBLINEAR called through scikit-learn: the rows as it takes them, and the intercept, which it would penalise."""

import threading
import warnings
from dataclasses import dataclass
from math import sqrt
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.losses import Hinge, Logistic
from sgdone.losses.loss import Loss
from sgdone.rows.rows import Rows

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
class Solved:
    """Iterations, rounds of iterations, and whether the last round reached the tolerance."""

    iterations: int = 0
    rounds: int = 0
    converged: bool = True


@final
class Caller:
    """min Σ v·ℓ + ½·penalty·‖w‖² over a loss, in one of two ways, to a tolerance."""

    def __init__(self, loss: Loss, by_dual: bool, tol: float, max_iter: int, seed: int) -> None:
        self._loss, self._by_dual = loss, by_dual
        self._options = {"fit_intercept": False, "dual": by_dual, "tol": tol, "max_iter": max_iter}
        self._options["random_state"] = seed
        self._most = max_iter
        self.done = Solved()

    def without_intercept(self, X: Any, labels: Any, weights: Any, penalty: float) -> NDArray[np.float64]:
        """LIBLINEAR itself, with C = 1/penalty; of the squared hinge, which has no ½ there, 1/(2·penalty)."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        if isinstance(self._loss, Logistic):
            model = LogisticRegression(C=1.0 / penalty, solver="liblinear", **self._options)
        else:
            halves = 1.0 if isinstance(self._loss, Hinge) else 2.0
            model = LinearSVC(C=1.0 / (halves * penalty), loss=self._loss.name, **self._options)
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

    def with_intercept(self, X: Any, labels: Any, weights: Any, penalty: float) -> tuple[NDArray[np.float64], float]:
        """The same with an intercept that is not penalised. Dense rows are centred meanwhile, which is easier."""
        mean = X.mean(axis=0) if isinstance(X, np.ndarray) else np.zeros(X.shape[1])
        w, b = self._around(X - mean if np.any(mean) else X, labels, weights, penalty)
        return w, b - float(w @ mean)

    def _around(self, X: Any, labels: Any, weights: Any, penalty: float) -> tuple[NDArray[np.float64], float]:
        root = sqrt(penalty / labels.size)
        size = sqrt(float(np.mean(squares_of(X))))
        if not self._by_dual:
            constant = max(_LARGE * size, _LARGE_BESIDE_PENALTY * root)
            found = self.without_intercept(_with_column(X, constant), labels, weights, penalty)
            return found[:-1], float(found[-1]) * constant
        constant = max(_EVEN * size, _EVEN_BESIDE_PENALTY * root)
        X = _with_column(X, constant)
        found = self.without_intercept(X, labels, weights, penalty)
        settled = False
        while self.done.converged and not settled:
            b = float(found[-1]) * constant
            row, sign, weight = self._against_penalty(b, X.shape[1], constant, penalty)
            longer = _with_row(X, row), np.append(labels, sign), np.append(weights, weight)
            found = self.without_intercept(*longer, penalty)
            settled = abs(found[-1] * constant - b) <= _SETTLED * max(abs(b), _SETTLED)
            self.done.converged = self.done.converged and (settled or self.done.rounds < _ROUNDS)
        return found[:-1], float(found[-1]) * constant

    def _against_penalty(
        self, b: float, n_features: int, constant: float, penalty: float
    ) -> tuple[NDArray[np.float64], float, float]:
        """A row, its label and its weight, whose loss is near b the tangent of −½·penalty·b²/constant².

        What is left of the penalty is the square of the change of b: a proximal step of the intercept alone.
        """
        sign, faint = (1.0 if b >= 0 else -1.0), _FAINT / max(1.0, abs(b))
        slope = abs(float(self._loss.kernel.slope(faint * b, sign, self._loss.parameters)))
        row = np.zeros(n_features)
        row[-1] = faint * constant
        return row, sign, penalty * abs(b) / constant**2 / (faint * slope)


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
