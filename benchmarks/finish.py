"""The exact phase of the default fit: distances to other exact solvers, changes with the seed, and seconds.

Run as ``python benchmarks/finish.py``. Its tables: the decrement of the default fit and the distance of its
coefficients to those of ``LogisticRegression(solver="newton-cholesky", tol=1e-12)`` on the same scaled features with
the same penalty; the largest change of a coefficient over ten seeds on collinear columns; and the seconds of least
squares beside ``Ridge``, and of small data beside five fits of ``LogisticRegression``, from alternating pairs, each at
its faster number of BLAS threads.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import expit
from sklearn import datasets
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sgdone import LinearClassifier, LinearRegressor

_CONSOLE = Console(width=150)
_SETS = {
    "breast-cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "digits": datasets.load_digits,
}
#: Smallest time worth measuring once.
_SHORT = 0.05


def distances() -> Table:
    """Decrements, and the largest distance of a coefficient to that of scikit-learn's exact solver."""
    table = Table("set", "decrement", "distance, standard errors", title="Exact optima")
    for name, load in _SETS.items():
        X, y = load(return_X_y=True)
        model = LinearClassifier().fit(X, y)
        scaler = StandardScaler().fit(X)
        Z = scaler.transform(X)
        exact = LogisticRegression(C=1.0 / (model.alpha_ * len(y)), solver="newton-cholesky", tol=1e-12, max_iter=1000)
        exact.fit(Z, y)
        apart = model.coef_ * scaler.scale_ - exact.coef_
        errors = _standard_errors(Z, exact, model.alpha_ * len(y))
        table.add_row(name, f"{model.verdict_.evidence['decrement']:.1e}", f"{np.abs(apart / errors).max():.1e}")
    return table


def _standard_errors(Z: NDArray[np.float64], exact: LogisticRegression, strength: float) -> NDArray[np.float64]:
    """Square roots of the diagonal of the inverse curvature of each class against the rest."""
    probabilities = exact.predict_proba(Z)
    if len(exact.coef_) == 1:
        probabilities = probabilities[:, 1:]
    rows = np.column_stack([Z, np.ones(len(Z))])
    penalty = strength * np.diag(np.append(np.ones(Z.shape[1]), 0.0))
    found = []
    for p in probabilities.T:
        curvature = (rows * (p * (1.0 - p))[:, None]).T @ rows + penalty
        found.append(np.sqrt(np.diag(np.linalg.inv(curvature)))[:-1])
    return np.array(found)


def collinear() -> Table:
    """30,000 rows of 20 columns that three factors determine but for a little noise: ten seeds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 3)) @ rng.standard_normal((3, 20)) + 0.05 * rng.standard_normal((30_000, 20))
    y = rng.random(30_000) < expit(X @ rng.standard_normal(20))
    models = [LinearClassifier(random_state=seed).fit(X, y) for seed in range(10)]
    coefficients = np.array([model.coef_[0] for model in models])
    p = models[0].predict_proba(X)[:, 1]
    rows = np.column_stack([X, np.ones(len(X))])
    errors = np.sqrt(np.diag(np.linalg.inv((rows * (p * (1.0 - p))[:, None]).T @ rows)))[:-1]
    change = np.abs(coefficients - coefficients.mean(axis=0)).max(axis=0) / errors
    table = Table("rows × columns", "largest change, standard errors", "alphas", "status", title="Ten seeds, collinear")
    alphas = {f"{model.alpha_:.3g}" for model in models}
    table.add_row("30,000 × 20", f"{change.max():.1e}", ", ".join(sorted(alphas)), str(models[0].verdict_.status))
    return table


def least_squares() -> Table:
    """The default fit beside one fit of Ridge."""
    table = Table("rows × columns", "ours, ms", "Ridge, ms", "ratio", title="Least squares")
    rng = np.random.default_rng(0)
    for n_rows, n_columns in ((442, 10), (10_000, 20), (100_000, 50), (1_000_000, 20)):
        X = rng.standard_normal((n_rows, n_columns))
        y = X @ rng.standard_normal(n_columns) + rng.standard_normal(n_rows)
        ours, ridge = _pair(lambda X=X, y=y: LinearRegressor().fit(X, y), lambda X=X, y=y: Ridge().fit(X, y))
        shape = f"{n_rows:,} × {n_columns}"
        table.add_row(shape, f"{1e3 * ours:.2f}", f"{1e3 * ridge:.2f}", f"{ours / ridge:.2f}")
    return table


def small() -> Table:
    """Small data beside five fits of LogisticRegression."""
    table = Table("set", "ours, ms", "five fits, ms", "ratio", title="Small data")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20))
    sets: dict[str, Any] = {"500 × 20": (X, X[:, 0] + rng.logistic(size=500) > 0)}
    sets |= {name: load(return_X_y=True) for name, load in _SETS.items()}
    for name, (X, y) in sets.items():
        Z = StandardScaler().fit_transform(X)

        def five(Z: Any = Z, y: Any = y) -> None:
            for C in (0.01, 0.1, 1.0, 10.0, 100.0):
                LogisticRegression(C=C, max_iter=1000).fit(Z, y)

        ours, peers = _pair(lambda X=X, y=y: LinearClassifier().fit(X, y), five)
        table.add_row(name, f"{1e3 * ours:.1f}", f"{1e3 * peers:.1f}", f"{ours / peers:.2f}")
    return table


def _pair(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[float, float]:
    """Least seconds of two calls, from alternating pairs, each at its faster number of BLAS threads."""
    best = [np.inf, np.inf]
    for threads in (1, None):
        with threadpool_limits(threads):
            first()
            second()
            for _ in range(9):
                for k, call in enumerate((first, second)):
                    begin = time.perf_counter()
                    call()
                    best[k] = min(best[k], time.perf_counter() - begin)
                if min(best) > _SHORT * 10:
                    break
    return best[0], best[1]


if __name__ == "__main__":
    for show in (distances, collinear, least_squares, small):
        _CONSOLE.print(show())
