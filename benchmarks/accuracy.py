"""How far the default fit ends from the exact optimum of the same objective.

Run as ``python benchmarks/accuracy.py``. For each set, standardised: the mean log loss on the training data of
``LinearClassifier()`` with its default settings, of scikit-learn's ``LogisticRegression`` at the same penalty
(C = 1/(alpha·rows)) run to 1e-8, and the excess of the one over the other; both objectives; both test errors.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sgdone import LinearClassifier, datasets

SETS = ("breast-cancer", "a9a", "mnist-7-vs-9", "covertype-2-vs-rest")


def standardised(train: Any, test: Any) -> tuple[Any, Any]:
    """Unit variance, and zero mean where that keeps zeros zero."""
    scaler = StandardScaler(with_mean=not sparse.issparse(train)).fit(train)
    return scaler.transform(train), scaler.transform(test)


def log_loss(model: Any, X: Any, signs: NDArray[Any]) -> float:
    """Mean log loss of a linear model."""
    return float(np.mean(np.logaddexp(0.0, -signs * (X @ model.coef_[0] + model.intercept_[0]))))


def main() -> None:
    table = Table(title="Default fit beside the exact optimum at the same alpha")
    headings = ("data", "rows", "log loss", "optimum", "excess", "excess objective", "test error", "exact's", "passes")
    for heading in (*headings, "seconds", "exact's"):
        table.add_column(heading, justify="left" if heading == "data" else "right")
    verdicts = []
    for name in SETS:
        try:
            train, test = (datasets.load(name, subset=subset) for subset in ("train", "test"))
        except datasets.DatasetNotFound as missing:
            verdicts.append(f"{name}: skipped, {missing}")
            continue
        X, X_test = standardised(train.X, test.X)
        n_rows = X.shape[0]
        alpha = 1.0 / n_rows
        LinearClassifier(random_state=0, stop=1).fit(X, train.y)  # compiled outside the clock
        start = time.perf_counter()
        ours = LinearClassifier(random_state=0).fit(X, train.y)
        middle = time.perf_counter()
        exact = LogisticRegression(C=1.0 / (alpha * n_rows), tol=1e-8, max_iter=10_000).fit(X, train.y)
        end = time.perf_counter()
        signs = np.where(train.y == ours.classes_[1], 1.0, -1.0)
        losses = [log_loss(model, X, signs) for model in (ours, exact)]
        objectives = [
            loss + 0.5 * alpha * float(model.coef_[0] @ model.coef_[0])
            for loss, model in zip(losses, (ours, exact), strict=True)
        ]
        table.add_row(
            name,
            f"{n_rows:,}",
            f"{losses[0]:.5f}",
            f"{losses[1]:.5f}",
            f"{losses[0] - losses[1]:+.5f}",
            f"{objectives[0] - objectives[1]:.5f}",
            f"{1 - ours.score(X_test, test.y):.2%}",
            f"{1 - exact.score(X_test, test.y):.2%}",
            f"{ours.verdict_.passes:g}",
            f"{middle - start:.3f}",
            f"{end - middle:.3f}",
        )
        verdicts.append(f"{name}: {ours.verdict_}")
    console = Console(width=130)
    console.print(table)
    for verdict in verdicts:
        console.print(verdict)


if __name__ == "__main__":
    main()
