"""Raw tables for `tables`, as pandas frames, and their random splits."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

#: Share of the rows that are test rows.
SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows of a table; ``seed`` identifies the split."""

    X: pd.DataFrame
    y: NDArray[Any]
    X_test: pd.DataFrame
    y_test: NDArray[Any]
    seed: int

    @property
    def is_regression(self) -> bool:
        """Whether the labels are real numbers."""
        return bool(np.issubdtype(self.y.dtype, np.floating))


def load(name: str, n_rows: int | None = None) -> tuple[pd.DataFrame, NDArray[Any]]:
    """A table and its labels: numbers of classes, or real numbers; ``n_rows`` takes a random sample of the rows."""
    frame, labels = ALL_TABLES[name]()
    if n_rows is not None and n_rows < len(frame):
        chosen = np.sort(np.random.default_rng(0).choice(len(frame), n_rows, replace=False))
        frame, labels = frame.iloc[chosen], labels[chosen]
    return frame.reset_index(drop=True), labels


def splits(frame: pd.DataFrame, y: NDArray[Any], count: int) -> Iterator[Split]:
    """Random splits, stratified by class."""
    classes = None if np.issubdtype(y.dtype, np.floating) else y
    for seed in range(count):
        rows = train_test_split(np.arange(y.size), test_size=SHARE, stratify=classes, random_state=seed)
        (X, X_test), (y_train, y_test) = (frame.iloc[part] for part in rows), (y[part] for part in rows)
        yield Split(X.reset_index(drop=True), y_train, X_test.reset_index(drop=True), y_test, seed)


def path_of(file: str) -> Path:
    """A file of the folder of data sets."""
    folder = os.environ.get("SGDONE_DATA")
    if folder is None:
        raise SystemExit("set the environment variable SGDONE_DATA to the folder of data sets")
    return Path(folder) / file


def _adult() -> tuple[pd.DataFrame, NDArray[Any]]:
    frame = pd.read_csv(path_of("adult/adult.csv.gz"))
    return frame.drop(columns="income"), (frame["income"] == ">50K").to_numpy(np.int64)


def _flights() -> tuple[pd.DataFrame, NDArray[Any]]:
    """Flights that arrived, with what is known when they depart, and the minutes that they were late."""
    frame = pd.read_parquet(path_of("flights/flights.parquet"))
    frame = frame[frame["arr_delay"].notna()]
    known = frame.drop(columns=["arr_delay", "dep_delay", "arr_time", "air_time"])
    return known, frame["arr_delay"].to_numpy(np.float64)


def _late_flights() -> tuple[pd.DataFrame, NDArray[Any]]:
    frame, minutes = _flights()
    return frame, (minutes > 15).astype(np.int64)


def _bikes() -> tuple[pd.DataFrame, NDArray[Any]]:
    frame = pd.read_csv(path_of("bike-sharing/hour.csv.gz"))
    return frame.drop(columns=["cnt", "casual", "registered", "instant"]), frame["cnt"].to_numpy(np.float64)


def _sms() -> tuple[pd.DataFrame, NDArray[Any]]:
    frame = pd.read_csv(path_of("sms-spam/sms.csv.gz"))
    return frame[["text"]], (frame["label"] == "spam").to_numpy(np.int64)


def _raw(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """A table of the folder ``tables``, as its ``meta.json`` says; texts of amounts and shares are made labels."""
    folder = path_of(f"tables/{name}")
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    file = next(path for path in sorted(folder.iterdir()) if path.name != "meta.json")
    frame = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file, **meta.get("read", {}))
    label = frame[meta["label"]]
    known = label.notna() & (label != meta.get("label_missing"))
    frame, label = frame[known].drop(columns=[meta["label"], *meta["drop"]]), label[known]
    if meta["task"] == "classification":
        return frame, np.unique(label.to_numpy(), return_inverse=True)[1].astype(np.int64)
    if not pd.api.types.is_numeric_dtype(label):
        label = label.str.replace(r"[$,%]", "", regex=True)
    return frame, label.to_numpy(np.float64)


#: Tables of the folder ``tables``, the cheapest first.
RAW = (
    "kickstarter",
    "midwest_survey",
    "loans_percent",
    "home_equity",
    "ames",
    "seoul_bikes",
    "air_quality_it",
    "employee_salaries",
    "melbourne",
    "german_autos",
    "metro_traffic",
    "diamonds",
    "hotel_bookings",
    "fremtpl2",
)

#: The tables by name, the cheapest first.
TABLES: dict[str, Callable[[], tuple[pd.DataFrame, NDArray[Any]]]] = {
    "sms-spam": _sms,
    "bike-sharing": _bikes,
    "adult": _adult,
    "flights": _late_flights,
    "flights-minutes": _flights,
}

#: All tables, those of `RAW` included: these have several classes too, which Vowpal Wabbit's column does not take.
ALL_TABLES = TABLES | {name: partial(_raw, name) for name in RAW}
