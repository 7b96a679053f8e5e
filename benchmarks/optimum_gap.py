"""How near each solver gets to the exact optimum of the training objective, within a budget of passes.

Run as ``python benchmarks/optimum_gap.py``. The objective is mean loss + ½·alpha·‖w‖², the intercept not penalised; the
optimum is LIBLINEAR's, through ``solver="liblinear"`` run to 1e-10, or scikit-learn's own if that is less.
"""

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import problems
from sgdone import SGDClassifier
from sgdone.solvers import ISGD, Averaged, Liblinear
from sgdone.steps import Root

SOLVERS: dict[str, dict[str, Any]] = {
    **{name: {"solver": name} for name in ("sgd", "asgd", "isgd", "aisgd")},
    "aisgd, decay, root": {"solver": Averaged(ISGD(), after=0, decay=3), "step": Root()},
    **{name: {"solver": name} for name in ("sgd-half", "isgd-half", "svrg", "sgd2", "sgdqn", "pegasos", "olbfgs")},
    "liblinear": {"solver": "liblinear"},
}
LOSSES = ("logistic", "squared_hinge", "hinge")


def objective(model: Any, X: NDArray[Any], signs: NDArray[Any], loss: str, alpha: float) -> float:
    """The training objective of a linear model."""
    weights = model.coef_.ravel()
    margins = signs * (X @ weights + model.intercept_[0])
    short = np.maximum(0.0, 1.0 - margins)
    mean = {"logistic": np.logaddexp(0.0, -margins), "hinge": short, "squared_hinge": 0.5 * short**2}[loss].mean()
    return float(mean + 0.5 * alpha * weights @ weights)


def optimum(X: NDArray[Any], y: NDArray[Any], signs: NDArray[Any], loss: str, alpha: float) -> float:
    """The least objective that exact solvers find."""
    exact: list[Any] = [SGDClassifier(loss, solver=Liblinear(tol=1e-10), alpha=alpha).fit(X, y)]
    if loss == "logistic":
        exact.append(LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, max_iter=10_000).fit(X, y))
    return min(objective(model, X, signs, loss, alpha) for model in exact)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passes", type=int, default=100)
    passes = parser.parse_args().passes
    warnings.simplefilter("ignore", ConvergenceWarning)
    cancer, malignant = load_breast_cancer(return_X_y=True)
    sets = {
        "breast-cancer": (StandardScaler().fit_transform(cancer), malignant),
        "dense 2000×20": problems.dense(np.float64, 2000, 20),
    }
    table = Table(title=f"Relative gap of the training objective after {passes} passes")
    table.add_column("solver")
    columns = [(name, alpha, loss) for name in sets for alpha in (0.01, 0.001) for loss in LOSSES]
    for name, alpha, loss in columns:
        table.add_column(f"{name}\nα {alpha:g}\n{loss}", justify="right")
    best = {}
    for name, alpha, loss in columns:
        X, y = sets[name]
        best[name, alpha, loss] = optimum(X, y, np.where(y, 1.0, -1.0), loss, alpha)
    for solver, options in SOLVERS.items():
        gaps = []
        for name, alpha, loss in columns:
            X, y = sets[name]
            # liblinear ends by itself.
            stop = "auto" if options["solver"] == "liblinear" else passes
            model = SGDClassifier(loss, alpha=alpha, stop=stop, random_state=0, **options).fit(X, y)
            least = best[name, alpha, loss]
            gap = (objective(model, X, np.where(y, 1.0, -1.0), loss, alpha) - least) / least
            gaps.append(f"[{'bold' if gap < 1e-3 else 'red'}]{gap:.0e}[/]")
        table.add_row(solver, *gaps)
    Console(width=190).print(table)


if __name__ == "__main__":
    main()
