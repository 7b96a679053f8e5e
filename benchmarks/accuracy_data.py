"""Data sets for `time_to_accuracy`, and the held-out losses of their exact optima.

Alpha is 1 over the rows, the default here, which is scikit-learn's default C = 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import problems
from contenders import Data
from sgdone import datasets

#: The sets and which label is 1; None stands for the larger of two.
SETS: dict[str, Any] = {
    "a9a": None,
    "reuters-money-fx": None,
    "newsgroups20": "sci",
    "mnist-9-vs-rest": None,
    "covertype-2-vs-rest": None,
    "sparse 360k×47k": None,
    "dense 500k×54": None,
}


class AbsentError(Exception):
    """A data set is not to be had here."""


def held_out_loss(predictions: NDArray[Any], y: NDArray[Any], loss: str) -> float:
    """The mean loss of predictions."""
    margins = y * predictions
    if loss == "logistic":
        return float(np.mean(np.logaddexp(0.0, -margins)))
    return float(np.mean(0.5 * np.maximum(0.0, 1.0 - margins) ** 2))


def load(name: str, loss: str) -> tuple[Data, float]:
    """A set, and the loss to come near."""
    X, y, X_test, y_test = _rows(name)
    data = Data(name, X, y, X_test, y_test, 1.0 / X.shape[0])
    return data, held_out_loss(X_test @ optimum(data, loss), y_test, loss)


def optimum(data: Data, loss: str) -> NDArray[Any]:
    """The weights of the exact optimum."""
    X, C = data.X, 1.0 / (data.alpha * data.n_rows)
    model: Any
    if loss == "squared_hinge":
        model = LinearSVC(C=C / 2, dual=False, tol=1e-5, max_iter=10_000, fit_intercept=False)
    elif X.shape[1] < 2000:
        X = X.toarray() if sparse.issparse(X) else X
        model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-8, fit_intercept=False)
    else:
        model = LogisticRegression(C=C, tol=1e-8, max_iter=10_000, fit_intercept=False)
    return np.asarray(model.fit(X, data.y).coef_[0])


def _rows(name: str) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Training and held-out rows with a column of ones, and their signs."""
    rng = np.random.default_rng(0)
    if name.startswith(("sparse", "dense")):
        X, y = problems.rcv1_like(np.float64) if name.startswith("sparse") else problems.dense(np.float64, 500_000, 54)
        order = rng.permutation(X.shape[0])
        part, rest = order[: X.shape[0] * 9 // 10], order[X.shape[0] * 9 // 10 :]
        X, X_test, y, y_test = X[part], X[rest], y[part], y[rest]
        positive: Any = 1
    else:
        try:
            train, test = (datasets.load(name, subset=subset) for subset in ("train", "test"))
        except datasets.DatasetNotFound as missing:
            raise AbsentError(str(missing)) from missing
        order = rng.permutation(train.X.shape[0])
        X, y, X_test, y_test = train.X[order], train.y[order], test.X, test.y
        if SETS[name] is None:
            positive = np.unique(y)[1]
        else:
            names = train.target_names
            y, y_test = (np.array([names[code].startswith(SETS[name]) for code in codes]) for codes in (y, y_test))
            positive = True
        if not sparse.issparse(X):
            scaler = StandardScaler().fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
    signs = (np.where(labels == positive, 1.0, -1.0) for labels in (y, y_test))
    return _with_ones(X), next(signs), _with_ones(X_test), next(signs)


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    if not sparse.issparse(X):
        return np.hstack([np.asarray(X, dtype=np.float64), ones])
    return sparse.csr_matrix(sparse.hstack([X.astype(np.float64), sparse.csr_matrix(ones)], format="csr"))
