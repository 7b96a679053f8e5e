"""Fits on Dask and on Spark, with one worker and with two, beside a plain fit, dask-ml and Spark MLlib.

Run as ``python benchmarks/cluster_engines.py`` on an idle machine (Java is needed for Spark). Generated logistic data,
dense, in partitions of the same size, are kept by the workers before the clock starts: only fits are measured. Each
contender is fitted once to warm up and then in turn with the others; the best time counts. Peers get the penalty that
sgdone chose, their own scaling or scaled columns, and their own stopping rules. "Excess" is that of their training
objective over the least one found, in units of the estimation noise p/(2n): less than 0.1 is as good as exact.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sgdone
from sgdone.cluster import LocalEngine, Partition, fit_partitions

Fit = Callable[[], tuple[np.ndarray, float]]


def data(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of standard deviation 1, so that all contenders minimise the same objective."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = X @ (rng.standard_normal(n_features) / 4)
    return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-scores))).astype(np.int64)


def objective(X: np.ndarray, y: np.ndarray, alpha: float, coef: np.ndarray, intercept: float) -> float:
    margins = np.where(y == 1, 1.0, -1.0) * (X @ coef + intercept)
    return float(np.logaddexp(0.0, -margins).mean() + 0.5 * alpha * coef @ coef)


@contextmanager
def dask_cluster(n_workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def dask_fits(X: np.ndarray, y: np.ndarray, n_partitions: int, alpha: float, peers: bool) -> dict[str, Fit]:
    """Fits on the cluster in use."""
    import dask
    import dask.array as da

    from sgdone.dask import LinearClassifier

    size = -(-len(y) // n_partitions)
    rows, labels = dask.persist(da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size))

    def ours(**options: Any) -> Fit:
        def fit() -> tuple[np.ndarray, float]:
            model = LinearClassifier(random_state=0, **options).fit(rows, labels)
            return model.coef_[0], float(model.intercept_[0])

        return fit

    found = {"sgdone.dask": ours(), "sgdone.dask, alpha given": ours(alpha=alpha)}
    if peers:
        from dask_ml.linear_model import LogisticRegression

        def theirs(solver: str) -> Fit:
            def fit() -> tuple[np.ndarray, float]:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    # Its penalty is lamduh/2·‖w‖² beside the sum of losses, the intercept included.
                    model = LogisticRegression(solver=solver, C=1.0 / (alpha * len(y)), max_iter=100).fit(rows, labels)
                return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])

            return fit

        found |= {f"dask-ml, {solver}": theirs(solver) for solver in ("lbfgs", "newton")}
    return found


@contextmanager
def spark_session(n_cores: int) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(f"local[{n_cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "6g")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def spark_fits(session: Any, X: np.ndarray, y: np.ndarray, n_partitions: int, alpha: float) -> dict[str, Fit]:
    import pandas as pd
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    from sgdone.spark import LinearClassifier

    names = [f"x{j}" for j in range(X.shape[1])]
    frame = session.createDataFrame(pd.DataFrame(X, columns=names).assign(label=y.astype(float)))
    rows = VectorAssembler(inputCols=names, outputCol="features").transform(frame).select("features", "label")
    rows = rows.repartition(n_partitions).cache()
    rows.count()

    def ours(**options: Any) -> Fit:
        def fit() -> tuple[np.ndarray, float]:
            model = LinearClassifier(**options).fit(rows).to_sklearn()
            return model.coef_[0], float(model.intercept_[0])

        return fit

    def theirs(tol: float) -> Fit:
        def fit() -> tuple[np.ndarray, float]:
            model = LogisticRegression(regParam=alpha, elasticNetParam=0.0, tol=tol, maxIter=200).fit(rows)
            return np.array(model.coefficients.toArray()), float(model.intercept)

        return fit

    return {
        "sgdone.spark": ours(),
        "sgdone.spark, alpha given": ours(alpha=alpha),
        "Spark MLlib": theirs(1e-6),
        "Spark MLlib, tol=1e-9": theirs(1e-9),
    }


def measured(fits: dict[str, Fit], repeats: int, console: Console) -> dict[str, tuple[float, float, Any]]:
    """Of each contender the seconds of the first fit, those of the best later one, and its model."""
    found: dict[str, tuple[float, float, Any]] = {}
    for turn in range(repeats + 1):
        for name, fit in fits.items():
            began = time.perf_counter()
            try:
                model = fit()
            except Exception as error:  # a peer that fails is a result
                console.print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
                model = None
            seconds = time.perf_counter() - began
            if model is None:
                continue
            cold, best, _ = found.get(name, (seconds, np.inf, None))
            found[name] = cold, min(best, seconds) if turn else np.inf, model
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", nargs="+", choices=("dask", "spark"), default=["dask", "spark"])
    given = parser.parse_args()
    console = Console(width=120)
    X, y = data(given.rows, given.features)

    def plain() -> tuple[np.ndarray, float]:
        model = sgdone.LinearClassifier(random_state=0).fit(X, y)
        return model.coef_[0], float(model.intercept_[0])

    pieces = zip(np.array_split(X, given.partitions), np.array_split(y, given.partitions), strict=True)
    engine = LocalEngine([Partition(number, *rows) for number, rows in enumerate(pieces)])
    alpha = fit_partitions(engine).objective.known_alpha

    def without_engine() -> tuple[np.ndarray, float]:
        model = fit_partitions(engine).model
        return model.coef[0], float(model.intercept[0])

    here = {"one machine, plain fit": plain, "partitions here, no engine": without_engine}
    results = measured(here, given.repeats, console)
    if "dask" in given.engines:
        for workers in (1, 2):
            with dask_cluster(workers):
                fits = dask_fits(X, y, given.partitions, alpha, peers=workers == 2)
                own = measured(fits, given.repeats, console)
            results |= {f"{name}, {workers} workers": found for name, found in own.items()}
    if "spark" in given.engines:
        for cores in (1, 2):
            with spark_session(cores) as session:
                own = measured(spark_fits(session, X, y, given.partitions, alpha), given.repeats, console)
            results |= {f"{name}, {cores} cores": found for name, found in own.items()}
    values = {name: objective(X, y, alpha, *model) for name, (_, _, model) in results.items()}
    least, noise = min(values.values()), given.features / (2.0 * given.rows)
    table = Table(
        "", "first fit, s", "later, s", "excess", title=f"{given.rows:,} × {given.features}, penalty {alpha:.3g}"
    )
    for name, (cold, best, _) in results.items():
        table.add_row(name, f"{cold:.2f}", f"{best:.2f}", f"{(values[name] - least) / noise:.1e}")
    console.print(table)


if __name__ == "__main__":
    main()
