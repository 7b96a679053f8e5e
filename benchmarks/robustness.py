"""Test error of margin pursuit and its rivals when training labels are flipped or rows are wild.

Run as ``python benchmarks/robustness.py [--sets breast-cancer a9a mnist] [--rows 2000] [--seeds 5] [--methods hinge]``.
Training rows are drawn anew for each seed; of a part of them the labels are flipped, or 1 % of the rows are multiplied
by 1000. Test rows are clean. The penalty is the best of four on a fifth of the training rows, spoilt like the others.

Losses of a row are minimised by averaged implicit SGD with steps that one wild row does not make small (`Root`), in 20
passes; the one that is not convex by averaged SGD. Catoni-hinge and the median of means start from the hinge's fit and
make 200 steps of 1/√t over the median ‖x‖² + 1; the moments of margins make 500 of their own, which wild rows do make
small. Printed: mean test error in %, its standard error over the seeds, and a star for each of these whose fit
diverged and kept its last finite weights.
"""

import argparse
import csv
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from sgdone import SGDClassifier, datasets
from sgdone.interfaces.stop_rule import Status
from sgdone.losses import Hinge, Loss, MarginDistribution, MarginPursuit, OptimalMarginDistribution
from sgdone.solvers import ISGD, Averaged, Catoni, MarginMoments, MedianOfMeans, RowSolver
from sgdone.steps import InverseSqrt, Root

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1)
LARGEST_TEST = 5000
CONDITIONS: dict[str, tuple[float, float]] = {
    "clean": (0.0, 0.0),
    "5 % flipped": (0.05, 0.0),
    "10 % flipped": (0.10, 0.0),
    "20 % flipped": (0.20, 0.0),
    "1 % × 1000": (0.0, 0.01),
}

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Features and labels −1 and 1."""

    X: Any
    y: Array

    def take(self, rows: NDArray[np.int64]) -> "Rows":
        """Some of them."""
        return Rows(self.X[rows], self.y[rows])


Fit = Callable[[Rows, float, int], SGDClassifier]


def by_rows(loss: str | Loss) -> Fit:
    """Averaged implicit SGD, or averaged SGD if the loss is not convex."""

    def fit(rows: Rows, alpha: float, seed: int) -> SGDClassifier:
        convex = not isinstance(loss, MarginDistribution)
        solver: RowSolver = Averaged(ISGD(), after=0, decay=3) if convex else Averaged(after=0, decay=3)
        step = Root() if convex else "auto"
        return SGDClassifier(loss, solver=solver, step=step, alpha=alpha, stop=20, random_state=seed).fit(
            rows.X, rows.y
        )

    return fit


def on_all_rows(
    make: Callable[[Rows, int], RowSolver], steps: int, *, own_step: bool = False, start: bool = False
) -> Fit:
    """The hinge by a method whose steps read all rows twice."""

    def fit(rows: Rows, alpha: float, seed: int) -> SGDClassifier:
        step = "auto" if own_step else InverseSqrt(1.0 / float(np.median(squares(rows.X) + 1.0)))
        solver = make(rows, seed)
        model = SGDClassifier(Hinge(), solver=solver, step=step, alpha=alpha, stop=2 * steps, random_state=seed)
        first = by_rows("hinge")(rows, alpha, seed) if start else None
        given = {} if first is None else {"coef_init": first.coef_, "intercept_init": first.intercept_}
        return model.fit(rows.X, rows.y, **given)

    return fit


def blocks_for(rows: Rows, seed: int) -> RowSolver:
    """Blocks enough for 1 % of wild rows: an odd number, two in a hundred rows and some."""
    return MedianOfMeans(2 * (len(rows.y) // 100) + 3, seed)


METHODS: dict[str, Fit] = {
    "logistic": by_rows("logistic"),
    "hinge": by_rows("hinge"),
    "squared hinge": by_rows("squared_hinge"),
    "margin pursuit, s = 1": by_rows(MarginPursuit()),
    "margin pursuit, auto": by_rows(MarginPursuit(scale="auto")),
    "margin pursuit, adaptive": by_rows(MarginPursuit(scale="adaptive")),
    "margin distribution": by_rows(MarginDistribution()),
    "optimal margin distribution": by_rows(OptimalMarginDistribution()),
    "margin moments": on_all_rows(lambda rows, seed: MarginMoments(), 500, own_step=True),
    "catoni-hinge": on_all_rows(lambda rows, seed: Catoni(), 200, start=True),
    "median of means": on_all_rows(blocks_for, 200, start=True),
}


def squares(X: Any) -> Array:
    """‖x‖² of each row."""
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)


def load(name: str, n_rows: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Training and test rows of a set, drawn without replacement, both sets of one kind."""
    if name == "mnist":
        data = datasets.load("mnist", subset="all", positive="7", negative="9")
        X: Any = data.X / 255.0
    else:
        data = datasets.load(name, subset="all")
        X = data.X
    y = np.where(data.y == np.unique(data.y)[-1], 1.0, -1.0)
    order = rng.permutation(len(y))
    size = min(n_rows, 2 * len(y) // 3)
    every = Rows(X, y)
    train, test = every.take(order[:size]), every.take(order[size : size + LARGEST_TEST])
    if name == "breast-cancer":
        scaler = StandardScaler().fit(train.X)
        train, test = Rows(scaler.transform(train.X), train.y), Rows(scaler.transform(test.X), test.y)
    return train, test


def spoil(rows: Rows, flipped: float, wild: float, rng: np.random.Generator) -> Rows:
    """Flip the labels of a part of the rows, multiply another part by 1000."""
    n = len(rows.y)
    y = rows.y.copy()
    y[rng.permutation(n)[: round(flipped * n)]] *= -1.0
    factors = np.ones(n)
    factors[rng.permutation(n)[: round(wild * n)]] = 1000.0
    X = sparse.csr_array(rows.X.multiply(factors[:, None])) if sparse.issparse(rows.X) else rows.X * factors[:, None]
    return Rows(X, y)


def error(fit: Fit, train: Rows, test: Rows, seed: int) -> tuple[float, bool]:
    """Test error with the penalty that did best on a fifth of the training rows, and whether that fit diverged."""
    held = len(train.y) // 5
    rows = np.random.default_rng(seed).permutation(len(train.y))
    check, rest = train.take(rows[:held]), train.take(rows[held:])
    scores = [fit(rest, alpha, seed).score(check.X, check.y) for alpha in ALPHAS]
    best = ALPHAS[int(np.argmax(scores))]
    model = fit(train, best, seed)
    return 1.0 - float(model.score(test.X, test.y)), model.verdict_.status is Status.DIVERGED


def measure(name: str, methods: dict[str, Fit], n_rows: int, seeds: int) -> dict[str, dict[str, tuple[Array, int]]]:
    """Errors in % by method and condition, one a seed, and how many of the fits diverged."""
    errors: dict[str, dict[str, tuple[Array, int]]] = {method: {} for method in methods}
    for condition, (flipped, wild) in CONDITIONS.items():
        for method, fit in methods.items():
            found = []
            for seed in range(seeds):
                train, test = load(name, n_rows, np.random.default_rng(seed))
                found.append(error(fit, spoil(train, flipped, wild, np.random.default_rng(seed + 1000)), test, seed))
            wrong, diverged = zip(*found, strict=True)
            errors[method][condition] = 100.0 * np.array(wrong), sum(diverged)
    return errors


def main() -> None:
    """Print a table a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["breast-cancer", "a9a", "mnist"])
    parser.add_argument("--methods", nargs="+", default=[""], help="parts of the names of those to run")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    # Told by a star.
    warnings.simplefilter("ignore", ConvergenceWarning)
    methods = {name: fit for name, fit in METHODS.items() if any(part in name for part in arguments.methods)}
    lines = [["set", "method", "condition", "error", "standard_error", "seeds", "diverged"]]
    for name in arguments.sets:
        table = Table(title=f"{name}: test error in % ± its standard error, {arguments.seeds} seeds")
        for heading in ("method", *CONDITIONS):
            table.add_column(heading, justify="left" if heading == "method" else "right")
        for method, found in measure(name, methods, arguments.rows, arguments.seeds).items():
            cells = []
            for condition, (errors, diverged) in found.items():
                spread = errors.std(ddof=1) / np.sqrt(errors.size) if errors.size > 1 else np.nan
                cells.append(f"{errors.mean():.2f} ± {spread:.2f}{'*' * diverged}")
                lines.append(
                    [
                        name,
                        method,
                        condition,
                        f"{errors.mean():.4f}",
                        f"{spread:.4f}",
                        str(arguments.seeds),
                        str(diverged),
                    ]
                )
            table.add_row(method, *cells)
        Console(width=130).print(table)
    if arguments.out:
        with Path(arguments.out).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(lines)


if __name__ == "__main__":
    main()
