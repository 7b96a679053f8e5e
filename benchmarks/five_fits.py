"""The default fit beside five exact fits of scikit-learn, on data where it used to take long.

Run as ``SGDONE_DATA=FOLDER python benchmarks/five_fits.py``. The five fits are a scaler and ``LogisticRegression`` with
C from 0.01 to 100, or ``Ridge`` with alpha from 0.01 to 100 on columns that `sgdone.TableEncoder` has encoded. The test
rows choose their best test loss. Seconds are those of the processor, in one thread, medians of alternating fits;
compiled code is warm. ``--csv ROWS`` also fits that many separable rows of 40 columns from a CSV file by the command.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from threadpoolctl import threadpool_limits

import tables_data
from sgdone import LinearClassifier, LinearRegressor, TableEncoder

_CONSOLE = Console(width=140)
_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)


def problems() -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Names, training rows and labels, test rows and labels."""
    letter = np.load(tables_data.path_of("letter/letter.npz"))
    yield "letter", *_split(letter["X"].astype(float), letter["y"])
    yield "digits", *_split(*load_digits(return_X_y=True))
    split = next(tables_data.splits(*tables_data.load("employee_salaries"), 1))
    yield "employee_salaries", split.X, split.y, split.X_test, split.y_test
    rng = np.random.default_rng(0)
    X, coef = rng.standard_normal((150_000, 20)), rng.standard_normal(20)
    apart = np.abs(X @ coef) > 0.3
    X, y = X[apart], (X[apart] @ coef > 0).astype(int)
    yield "separable 100,000 x 20", X[:100_000], y[:100_000], X[100_000:], y[100_000:]


def _split(X: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    return X, y, X_test, y_test


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and what was returned."""
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


def five(X: Any, y: Any, *, regression: bool) -> list[Any]:
    """Exact fits with five penalties."""
    if regression:
        return [
            make_pipeline(MaxAbsScaler(), Ridge(alpha, solver="sparse_cg", tol=1e-8)).fit(X, y) for alpha in _STRENGTHS
        ]
    return [make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=1000)).fit(X, y) for C in _STRENGTHS]


def compare(name: str, X: Any, y: Any, X_test: Any, y_test: Any, repeats: int) -> None:
    """Print one line."""
    regression = np.issubdtype(y.dtype, np.floating)
    kind: Any = LinearRegressor if regression else LinearClassifier
    theirs, theirs_test = X, X_test
    if hasattr(X, "columns"):
        encoder = TableEncoder()
        theirs, theirs_test = encoder.fit_transform(X), encoder.transform(X_test)
    kind(random_state=0).fit(X, y)
    pairs = [
        (seconds(lambda: kind(random_state=0).fit(X, y)), seconds(lambda: five(theirs, y, regression=regression)))
        for _ in range(repeats)
    ]
    mine, other = (float(np.median([pair[k][0] for pair in pairs])) for k in (0, 1))
    model, models = pairs[-1][0][1], pairs[-1][1][1]

    def loss(fitted: Any, rows: Any) -> float:
        if regression:
            return float(np.mean((fitted.predict(rows) - y_test) ** 2))
        return float(log_loss(y_test, fitted.predict_proba(rows), labels=fitted.classes_))

    best = min(loss(fitted, theirs_test) for fitted in models)
    times = f"CPU {mine:6.3f} s, five {other:6.3f} s, ratio {mine / other:.2f}"
    losses = f"loss {loss(model, X_test):.4g}, best of five {best:.4g}"
    _CONSOLE.print(f"{name:24} passes {model.verdict_.passes:6.3g}  {times}  {losses}", highlight=False)


def csv(n_rows: int) -> None:
    """Fit separable rows from a file by the command, in a process of its own."""
    rng, coef = np.random.default_rng(0), np.random.default_rng(1).standard_normal(40)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        with path.open("w") as file:
            file.write(",".join(f"x{j}" for j in range(40)) + ",y\n")
            for _ in range(0, n_rows, 20_000):
                X = rng.standard_normal((20_000, 40))
                np.savetxt(file, np.column_stack([X, X @ coef > 0]), fmt="%.4g", delimiter=",")
        began = time.perf_counter()
        command = [sys.executable, "-m", "sgdone.cli", "fit", str(path), "--label", "y", "--no-holdout"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        _CONSOLE.print(
            f"CSV, {n_rows:,} x 40: {time.perf_counter() - began:.0f} s in all\n{done.stdout}", highlight=False
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--csv", type=int, metavar="ROWS", help="rows of a CSV file, a multiple of 20,000")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for problem in problems():
            compare(*problem, arguments.repeats)
    if arguments.csv:
        csv(arguments.csv)


if __name__ == "__main__":
    main()
