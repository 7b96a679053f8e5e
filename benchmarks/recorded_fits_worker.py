"""Fits of `recorded_fits` with the version of the package that this process imports."""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import dump_svmlight_file

import sgdone
from recorded_fits_data import PROBLEMS, Problem, problem

#: Bytes with which files are read block by block, and the most columns whose standard errors are recorded.
MEMORY, MOST_COLUMNS = 1 << 20, 150


def default(given: Problem) -> Any:
    """The estimator without knobs."""
    kind = sgdone.LinearRegressor if given.is_regression else sgdone.LinearClassifier
    return kind(random_state=0, **given.options)


def in_memory(given: Problem) -> Any:
    """Fit arrays or a data frame."""
    return default(given).fit(given.X, given.y, sample_weight=given.weight)


def newton(given: Problem) -> Any:
    """Fit by the named method."""
    kind = sgdone.SGDRegressor if given.is_regression else sgdone.SGDClassifier
    return kind(solver="newton", **given.options).fit(given.X, given.y, sample_weight=given.weight)


def csv(given: Problem) -> Any:
    """Fit a CSV file block by block."""
    return _from_file(given, "rows.csv", lambda path: _frame(given).to_csv(path, index=False))


def parquet(given: Problem) -> Any:
    """Fit a Parquet file block by block."""
    return _from_file(given, "rows.parquet", lambda path: _frame(given).to_parquet(path, row_group_size=1000))


def svmlight(given: Problem) -> Any:
    """Fit a svmlight file block by block."""
    return _from_file(given, "rows.svm", lambda path: dump_svmlight_file(given.X, given.y, path, zero_based=False))


def _from_file(given: Problem, name: str, write: Callable[[str], Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(str(path))
        columns = {} if name.endswith("svm") else {"label": "y", "weight": None if given.weight is None else "w"}
        return default(given).fit(sgdone.files(path, max_memory=MEMORY, **columns))


def _frame(given: Problem) -> pd.DataFrame:
    frame = given.X if isinstance(given.X, pd.DataFrame) else pd.DataFrame(given.X).add_prefix("x")
    return frame.assign(y=given.y) if given.weight is None else frame.assign(y=given.y, w=given.weight)


def partitions(given: Problem, groups: Any = None) -> Any:
    """The engine of this process, with the rows in four partitions."""
    # Imported here, so that a version without these names still records the other ways.
    from sgdone.cluster import Partition, engine

    local = engine.LocalEngine if hasattr(engine, "LocalEngine") else engine.Here
    parts = np.array_split(np.arange(len(given.y)), 4)
    X = given.X.iloc if isinstance(given.X, pd.DataFrame) else given.X

    def of_rows(values: Any, rows: Any) -> Any:
        return None if values is None else values[rows]

    return local(
        Partition(number, X[rows], given.y[rows], of_rows(given.weight, rows), groups=of_rows(groups, rows))
        for number, rows in enumerate(parts)
    )


def cluster(given: Problem) -> Any:
    """Fit partitions."""
    from sgdone.cluster import PartitionedRows
    from sgdone.estimators import estimator_of
    from sgdone.fit.fit import fit
    from sgdone.fit.options import FitOptions

    model = default(given)
    options = FitOptions.of(type(model).__name__, **model.get_params())
    return estimator_of(fit(PartitionedRows(partitions(given)), options))


def summary(cov: str = "robust", columns: Any = None) -> Callable[[Problem], Any]:
    """A summary of rows in memory."""

    def summarise(given: Problem) -> Any:
        groups = _groups(given) if cov == "cluster" else None
        options: dict[str, Any] = {"cov": cov, "groups": groups, "columns": columns}
        return in_memory(given).summary(given.X, given.y, sample_weight=given.weight, **options)

    return summarise


def cluster_summary(cov: Any = "robust") -> Callable[[Problem], Any]:
    """A summary of partitions."""

    def summarise(given: Problem) -> Any:
        from sgdone.cluster.rounds import Rounds
        from sgdone.cluster.summary import summarise_partitions
        from sgdone.estimators import fitted_model

        return summarise_partitions(Rounds(partitions(given, _groups(given))), fitted_model(in_memory(given)), cov=cov)

    return summarise


def _groups(given: Problem) -> Any:
    return np.arange(len(given.y)) // 20


#: Function and problems of each way; what stands before a colon is the way that `compare` counts them to.
WAYS: dict[str, tuple[Callable[[Problem], Any], list[str]]] = {
    "exact": (
        in_memory,
        [
            *("breast-cancer", "diabetes", "digits", "pendigits", "bike-sharing", "covertype", "colon", "endometrial"),
            *("weights", "float32", "one feature", "constant and repeated columns", "fewer rows than columns", "wide"),
            *("fewer rows than columns, regression", "huge and tiny scales", "five classes", "squared hinge", "huber"),
            *("five classes, squared hinge", "no intercept", "separable", "separable, no penalty", "heavy tails"),
            *("given alpha", "given alpha, regression", "no penalty", "balanced classes", "regression", "exponential"),
            *("many rows", "adult table", "table without text", "table without text, three classes"),
            "a9a, 100 passes",
        ],
    ),
    "bank": (
        in_memory,
        [
            *("a9a", "mnist-7-vs-9", "hinge", "quantile", "two passes", "two passes, weights", "two passes, huber"),
            *("two passes, five classes", "sparse, 1,500 columns", "sparse, 2,000 columns, regression"),
            *("sparse, few columns", "sms-spam", "reuters", "table", "table, three classes", "table, regression"),
            "distant rows",
        ],
    ),
    "folds": (
        in_memory,
        [
            *("reuters, 100 passes", "sparse", "sparse, unit norms", "sparse, three classes", "sparse, regression"),
            *("sparse, 100 passes", "sparse, 100 passes, unit norms", "sparse, 100 passes, three classes"),
            *("sparse, 100 passes, regression", "sparse, 100 passes, weights", "reuters, 100 passes, alpha"),
        ],
    ),
    "files: csv": (
        csv,
        [
            *("many rows", "many rows, regression", "many rows, given alpha", "two passes", "hinge", "long table"),
            "long table, regression",
        ],
    ),
    "files: parquet": (
        parquet,
        ["many rows, three classes", "many rows, weights", "covertype", "long table, three classes", "adult table"],
    ),
    "files: svmlight": (svmlight, ["a9a", "sparse", "sparse, regression"]),
    "cluster": (
        cluster,
        [
            *("a9a", "breast-cancer", "diabetes", "digits", "covertype", "colon", "weights", "float32", "five classes"),
            *("five classes, squared hinge", "squared hinge", "huber", "regression", "huge and tiny scales"),
            *("constant and repeated columns", "no intercept", "separable", "separable, no penalty", "given alpha"),
            *("balanced classes", "reuters", "sparse", "sparse, unit norms", "sparse, three classes"),
            *("sparse, regression", "sparse, 1,500 columns", "table", "table, three classes", "table, regression"),
            *("table without text", "distant rows"),
        ],
    ),
    "newton": (
        newton,
        [
            *("a9a", "breast-cancer", "diabetes", "digits", "weights", "float32", "huge and tiny scales", "huber"),
            *("five classes", "squared hinge", "no intercept", "given alpha", "no penalty", "regression"),
            *("constant and repeated columns", "fewer rows than columns", "reuters", "sparse", "sparse, regression"),
            *("separable, no penalty", "distant rows"),
        ],
    ),
    "summary: robust": (
        summary(),
        [
            *("a9a", "breast-cancer", "diabetes", "endometrial", "separable", "five classes", "weights", "huber"),
            *("constant and repeated columns", "squared hinge", "no intercept", "huge and tiny scales", "pendigits"),
            *("table", "table without text, three classes", "table, regression", "sparse", "sparse, many rows"),
        ],
    ),
    "summary: classical": (summary("classical"), ["covertype", "diabetes", "five classes", "adult table"]),
    "summary: cluster": (summary("cluster"), ["weights", "regression", "five classes"]),
    "summary: two columns": (summary(columns=[3, 40]), ["sparse, many rows", "sparse, many rows, regression"]),
    "summary: partitions": (
        cluster_summary(),
        ["covertype", "five classes", "endometrial", "table without text", "regression"],
    ),
    "summary: partitions, cluster": (cluster_summary("cluster"), ["weights"]),
}


def recorded(found: Any) -> dict[str, Any]:
    """The numbers and texts of a fitted model, or of a summary."""
    if hasattr(found, "std_err"):
        return {"coef": found.coef, "std_err": found.std_err, "text": text_of_summary(found)}
    verdict = found.verdict_
    return {
        "coef": np.atleast_2d(found.coef_),
        "intercept": np.atleast_1d(found.intercept_),
        "alpha": found.alpha_ if hasattr(found, "alpha_") else found.alpha,
        "text": str(verdict),
        "trace rows": len(found.trace_),
        "passes": verdict.passes,
        "step": verdict.step,
    }


def text_of_summary(found: Any) -> str:
    """The head with numbers of eight digits, and the coefficients that each reason refuses."""
    parts = [f"{value:.8g}" if isinstance(value, float) else str(value) for value in vars(found.head).values()]
    refused: dict[str, list[int]] = {}
    for place, refusal in sorted(found.refused.items()):
        refused.setdefault(refusal.reason, []).append(place)
    return " | ".join([*parts, *(f"{places}: {reason}" for reason, places in refused.items())])


def standard_errors(given: Problem) -> Any:
    """Standard errors of intercept and coefficients, a row for each class but the first; None without a summary."""
    if isinstance(given.X, pd.DataFrame) or given.X.shape[1] > MOST_COLUMNS:
        return None
    options = {name: value for name, value in given.options.items() if name != "stop"}
    try:
        found = summary()(Problem(given.X, given.y, given.weight, options))
    except ValueError:
        return None
    columns = given.X.shape[1]
    errors = found.std_err.reshape(-1, columns + given.options.get("fit_intercept", True))
    return errors if errors.shape[1] > columns else np.column_stack([np.full(len(errors), np.nan), errors])


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    kept: dict[str, Any] = {}
    for way, (fit, names) in WAYS.items():
        for name in names:
            start = time.perf_counter()
            try:
                found = recorded(fit(problem(name)))
            except Exception as error:  # a fit that fails is recorded too
                found = {"text": f"{type(error).__name__}: {error}"}
            kept |= {f"{way}|{name}|{what}": value for what, value in found.items()}
            ended = str(found["text"]).split("; ")[0].split(": ")[0]
            print(f"{time.perf_counter() - start:6.2f} s  {way:22} {name:36} {ended[:60]}", flush=True)
    for name in PROBLEMS:
        errors = standard_errors(problem(name))
        if errors is not None:
            kept[f"standard errors|{name}"] = errors
    np.savez_compressed(path, **kept)


if __name__ == "__main__":
    main(sys.argv[1])
