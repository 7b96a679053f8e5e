"""Problems for `recorded_fits`: real ones of SGDONE_DATA, and synthetic ones with fixed seeds."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from sgdone import datasets


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels (real numbers for a regression), weights, and parameters of the estimator."""

    X: Any
    y: Any
    weight: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_regression(self) -> bool:
        """Whether the labels are real numbers."""
        return bool(self.y.dtype.kind == "f")


@cache
def problem(name: str) -> Problem:
    """A problem by name."""
    return PROBLEMS[name]()


def _real(name: str, rows: int | None = None, **options: Any) -> Problem:
    """A data set, or a random sample of its rows."""
    data = datasets.load(name)
    if rows is None:
        return Problem(data.X, data.y, options=options)
    chosen = np.sort(np.random.default_rng(0).choice(data.y.size, rows, replace=False))
    return Problem(data.X[chosen], data.y[chosen], options=options)


def _made(
    rows: int,
    columns: int,
    *,
    classes: int = 2,
    scales: Any = 1.0,
    signal: float = 1.0,
    noise: float = 1.0,
    weighted: bool = False,
    dtype: Any = np.float64,
    **options: Any,
) -> Problem:
    """Correlated columns and labels that they explain in part; 0 classes are a regression."""
    rng = np.random.default_rng(rows + columns)
    X = rng.standard_normal((rows, columns))
    X[:, 1:] += 0.5 * X[:, :-1]
    outputs = max(classes - 1, 1)
    scores = signal * X @ rng.standard_normal((columns, outputs)) / np.sqrt(columns)
    X = (X * scales + 0.3 * np.asarray(scales)).astype(dtype)
    return Problem(X, _labels(scores, classes, noise, rng), _weights(rows, rng) if weighted else None, options)


def _sparse(
    rows: int,
    columns: int,
    *,
    classes: int = 2,
    signal: float = 1.0,
    unit_norms: bool = False,
    weighted: bool = False,
    **options: Any,
) -> Problem:
    """Like texts: about thirty entries a row, in columns of very different frequency."""
    rng = np.random.default_rng(rows + columns)
    places = (columns * rng.random((rows, 30)) ** 3).astype(np.int32).ravel()
    entries = rng.exponential(size=places.size), (np.repeat(np.arange(rows, dtype=np.int32), 30), places)
    X = sparse.csr_array(entries, shape=(rows, columns))
    if unit_norms:
        X.data /= np.repeat(np.sqrt(X.power(2).sum(axis=1)), np.diff(X.indptr))
    scores = X @ rng.standard_normal((columns, max(classes - 1, 1)))
    scores *= signal / scores.std()
    return Problem(X, _labels(scores, classes, 1.0, rng), _weights(rows, rng) if weighted else None, options)


def _labels(scores: Any, classes: int, noise: float, rng: np.random.Generator) -> Any:
    if classes == 0:
        return scores[:, 0] + noise * rng.standard_normal(len(scores))
    scores = np.column_stack([np.zeros(len(scores)), scores])
    return (scores + noise * rng.gumbel(size=scores.shape)).argmax(axis=1)


def _weights(rows: int, rng: np.random.Generator) -> Any:
    return rng.integers(0, 4, rows) * rng.choice([0.5, 1.0], rows)


def _constant_and_repeated() -> Problem:
    made = _made(1500, 6)
    X = np.column_stack([made.X, np.full(1500, 7.0), made.X[:, 2], made.X[:, 3] - 2 * made.X[:, 4]])
    return Problem(X, made.y)


def _distant_rows() -> Problem:
    """Five rows so far from the others that Newton's method stalls."""
    made = _made(500, 5, loss="squared_hinge", alpha=0.0)
    made.X[:5] *= 1e12
    return made


def _heavy_tails() -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy((400, 6))
    return Problem(X, X[:, 0] + rng.standard_cauchy(400), options={"loss": "huber"})


def _table(rows: int, classes: int, **options: Any) -> Problem:
    """Numbers with missing values, categories, a date and a text."""
    rng = np.random.default_rng(rows)
    number, city = rng.standard_normal((rows, 3)), rng.integers(0, 12, rows)
    scores = number[:, :1] @ rng.standard_normal((1, max(classes - 1, 1))) + 0.3 * (city[:, None] % 3)
    frame = pd.DataFrame(number, columns=["height", "weight", "age"])
    frame.loc[rng.random(rows) < 0.1, "weight"] = np.nan
    frame["city"] = np.array([f"city {k}" for k in range(12)])[city]
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D")
    words = np.array(["red", "green", "blue", "large", "small", "round", "long", "warm", "cold"])
    frame["note"] = [" ".join(chosen) + f" {k % 97}" for k, chosen in enumerate(rng.choice(words, (rows, 5)))]
    return Problem(frame, _labels(scores, classes, 1.0, rng), options=options)


def _adult(rows: int) -> Problem:
    frame = pd.read_csv(Path(os.environ["SGDONE_DATA"]) / "adult/adult.csv.gz").head(rows)
    return Problem(frame.drop(columns="income"), (frame["income"] == ">50K").to_numpy(np.int64))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "a9a": partial(_real, "a9a"),
    "a9a, 100 passes": partial(_real, "a9a", tol=0.0),
    "breast-cancer": partial(_real, "breast-cancer"),
    "digits": partial(_real, "digits"),
    "pendigits": partial(_real, "pendigits"),
    "diabetes": partial(_real, "diabetes"),
    "bike-sharing": partial(_real, "bike-sharing"),
    "covertype": partial(_real, "covertype-2-vs-rest", 30_000),
    "mnist-7-vs-9": partial(_real, "mnist-7-vs-9", 4000),
    "colon": partial(_real, "colon"),
    "endometrial": partial(_real, "endometrial"),
    "reuters": partial(_real, "reuters-money-fx"),
    "reuters, 100 passes": partial(_real, "reuters-money-fx", tol=0.0),
    "reuters, 100 passes, alpha": partial(_real, "reuters-money-fx", tol=0.0, alpha=1e-5),
    "sms-spam": partial(_real, "sms-spam"),
    "adult table": partial(_adult, 10_000),
    "weights": partial(_made, 2000, 8, weighted=True),
    "float32": partial(_made, 3000, 10, dtype=np.float32),
    "one feature": partial(_made, 400, 1),
    "constant and repeated columns": _constant_and_repeated,
    "fewer rows than columns": partial(_made, 150, 400),
    "fewer rows than columns, regression": partial(_made, 100, 250, classes=0),
    "huge and tiny scales": partial(_made, 1200, 7, scales=10.0 ** np.arange(-9, 12, 3)),
    "five classes": partial(_made, 3000, 6, classes=5),
    "five classes, squared hinge": partial(_made, 3000, 6, classes=5, loss="squared_hinge"),
    "squared hinge": partial(_made, 2500, 9, loss="squared_hinge"),
    "huber": partial(_made, 2500, 9, classes=0, loss="huber"),
    "no intercept": partial(_made, 2000, 5, fit_intercept=False),
    "separable": partial(_made, 300, 5, signal=100.0, noise=0.0),
    "separable, no penalty": partial(_made, 300, 5, signal=100.0, noise=0.0, alpha=0.0),
    "distant rows": _distant_rows,
    "heavy tails": _heavy_tails,
    "given alpha": partial(_made, 2000, 12, alpha=1e-3),
    "given alpha, regression": partial(_made, 2000, 12, classes=0, alpha=1e-2),
    "no penalty": partial(_made, 5000, 12, alpha=0.0),
    "balanced classes": partial(_made, 2000, 7, classes=3, class_weight="balanced"),
    "regression": partial(_made, 3000, 10, classes=0, weighted=True),
    "hinge": partial(_made, 8000, 10, loss="hinge"),
    "exponential": partial(_made, 3000, 10, loss="exponential"),
    "quantile": partial(_made, 6000, 8, classes=0, loss="quantile"),
    "two passes": partial(_made, 20_000, 10, stop=2),
    "two passes, weights": partial(_made, 9000, 10, weighted=True, stop=2),
    "two passes, five classes": partial(_made, 12_000, 8, classes=5, stop=2),
    "two passes, huber": partial(_made, 9000, 9, classes=0, loss="huber", stop=2),
    "many rows": partial(_made, 60_000, 8),
    "many rows, three classes": partial(_made, 30_000, 8, classes=3),
    "many rows, regression": partial(_made, 40_000, 8, classes=0),
    "many rows, given alpha": partial(_made, 20_000, 12, alpha=1e-3),
    "many rows, weights": partial(_made, 30_000, 8, weighted=True),
    "wide": partial(_made, 3000, 500),
    "sparse": partial(_sparse, 6000, 5000, signal=10.0),
    "sparse, unit norms": partial(_sparse, 6000, 5500, signal=10.0, unit_norms=True),
    "sparse, three classes": partial(_sparse, 4503, 4600, signal=10.0, classes=3, unit_norms=True),
    "sparse, regression": partial(_sparse, 5000, 5200, classes=0),
    "sparse, 100 passes": partial(_sparse, 6000, 5000, signal=30.0, tol=0.0),
    "sparse, 100 passes, unit norms": partial(_sparse, 5000, 5500, unit_norms=True, tol=0.0),
    "sparse, 100 passes, three classes": partial(_sparse, 4501, 2500, signal=10.0, classes=3, unit_norms=True, tol=0.0),
    "sparse, 100 passes, regression": partial(_sparse, 5000, 5200, classes=0, tol=0.0),
    "sparse, 100 passes, weights": partial(_sparse, 8003, 5000, signal=30.0, weighted=True, unit_norms=True, tol=0.0),
    "sparse, many rows": partial(_sparse, 60_000, 4200, alpha=1e-4),
    "sparse, many rows, regression": partial(_sparse, 60_001, 4200, classes=0, alpha=1e-4),
    "sparse, 1,500 columns": partial(_sparse, 8000, 1500),
    "sparse, 2,000 columns, regression": partial(_sparse, 8000, 2000, classes=0),
    "sparse, few columns": partial(_sparse, 12_000, 60),
    "table": partial(_table, 3000, 2),
    "table, three classes": partial(_table, 3001, 3),
    "table, regression": partial(_table, 3002, 0),
    "table without text": partial(_table, 3003, 2, columns={"note": "drop"}),
    "table without text, three classes": partial(_table, 3004, 3, columns={"note": "drop"}),
    "long table": partial(_table, 20_000, 2),
    "long table, three classes": partial(_table, 20_001, 3),
    "long table, regression": partial(_table, 20_002, 0),
}
