"""What others do with tables that are read in parts: scikit-learn a chunk at a time, LightGBM and XGBoost from disk."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from files_job import Contender, Fitted, Job, MissingError

CHUNK, TREES = 100_000, 50


def _sklearn(job: Job, *, parquet: bool) -> Callable[[], Fitted]:
    """Standardised by what has been read so far, one pass of SGD."""
    try:
        import pandas
    except ImportError as error:
        raise MissingError("pip install pandas") from error
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    def chunks() -> Iterable[tuple[Any, Any]]:
        if parquet:
            yield from _batches(job.train)
            return
        for frame in pandas.read_csv(job.train, chunksize=CHUNK):
            yield frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()

    def run() -> Fitted:
        scaler, model = StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)
        for X, y in chunks():
            model.partial_fit(scaler.partial_fit(X).transform(X), y, classes=[0, 1])
        return Fitted(lambda: model.predict_proba(scaler.transform(_test_rows(job)))[:, 1], "1 pass")

    return run


def _lightgbm(job: Job) -> Callable[[], Fitted]:
    try:
        import lightgbm
    except ImportError as error:
        raise MissingError("pip install lightgbm") from error

    def run() -> Fitted:
        reading = {"two_round": True, "header": True, "label_column": "name:y", "verbosity": -1}
        rows = lightgbm.Dataset(job.train, params=reading)
        model = lightgbm.train({"objective": "binary", **reading}, rows, TREES)
        return Fitted(lambda: model.predict(_test_rows(job)), f"{TREES} trees")

    return run


def _xgboost(job: Job) -> Callable[[], Fitted]:
    try:
        import xgboost
    except ImportError as error:
        raise MissingError("pip install xgboost") from error

    class Batches(xgboost.DataIter):
        def __init__(self) -> None:
            super().__init__(cache_prefix=str(Path(job.folder) / "xgboost"))
            self.reset()

        def reset(self) -> None:
            self._left = iter(_batches(job.train))

        def next(self, input_data: Callable[..., None]) -> bool:
            for X, y in self._left:
                input_data(data=X, label=y)
                return True
            return False

    def run() -> Fitted:
        rows = xgboost.ExtMemQuantileDMatrix(Batches())
        model = xgboost.train({"objective": "binary:logistic", "tree_method": "hist"}, rows, TREES)
        return Fitted(lambda: model.predict(xgboost.DMatrix(_test_rows(job))), f"{TREES} trees")

    return run


def _batches(path: str) -> Iterable[tuple[Any, Any]]:
    """Features and labels of a Parquet file, a chunk at a time."""
    import pyarrow.parquet

    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(CHUNK):
        *columns, labels = batch.columns
        yield np.column_stack([column.to_numpy() for column in columns]), labels.to_numpy()


def _test_rows(job: Job) -> Any:
    return np.vstack([X for X, _ in _batches(str(Path(job.test).with_suffix(".parquet")))])


PEERS: dict[str, Contender] = {
    "pandas + scikit-learn, CSV": partial(_sklearn, parquet=False),
    "pyarrow + scikit-learn, Parquet": partial(_sklearn, parquet=True),
    "LightGBM, CSV": _lightgbm,
    "XGBoost, Parquet": _xgboost,
}
