"""Files for `files`: sparse rows as text of two formats, tables as CSV and Parquet, made in pieces.

Every row is another one, and all are functions of their number: a smaller file is the beginning of a larger one.
"""

import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]

#: Rows made at a time, of text and of tables.
PIECE, TABLE_PIECE = 5_000, 100_000
#: The shape of RCV1: features, and draws of features a row, of which about 72 are different.
FEATURES, DRAWS = 47_236, 74
#: Features have frequencies like rank^(1/POWER − 1).
POWER = 3.0
#: Standard deviation of the scores that decide labels: the log loss of the true model is about 0.35.
SCORE_STD = 3.0
#: Pieces of test rows are numbered from here.
TEST_PIECES = 1_000_000
COLUMNS = 40
#: Bytes of a row of a table, about, for the check of free space.
CSV_ROW_BYTES, PARQUET_ROW_BYTES = 365, 300


@final
@dataclass(frozen=True)
class Made:
    """Files with the same rows, by format, their labels, and the log loss of the true model."""

    paths: dict[str, Path]
    n_rows: int
    labels: Path
    true_loss: float


def kept(folder: Path, name: str, make: Callable[[], Made]) -> Made:
    """Files of that name that are there, or new ones."""
    about = folder / f"{name}.json"
    if about.exists():
        paths, n_rows, labels, true_loss = json.loads(about.read_text())
        found = Made({kind: Path(path) for kind, path in paths.items()}, n_rows, Path(labels), true_loss)
        if all(path.exists() for path in (*found.paths.values(), found.labels)):
            return found
    made = make()
    paths = {kind: str(path) for kind, path in made.paths.items()}
    about.write_text(json.dumps([paths, made.n_rows, str(made.labels), made.true_loss]))
    return made


def check_space(folder: Path, n_bytes: float) -> None:
    """Exit if the files do not fit on the disk."""
    free = shutil.disk_usage(folder).free
    if n_bytes > 0.95 * free:
        raise SystemExit(
            f"about {n_bytes / 1e9:.1f} GB are needed in {folder}, where {free / 1e9:.1f} GB are free: "
            "give another --folder, or smaller sizes"
        )


def sparse_files(folder: Path, name: str, *, n_bytes: float = np.inf, n_rows: float = np.inf, first: int = 0) -> Made:
    """The rows of pieces ``first`` and after, until the svmlight file has its size or its rows, in both formats."""
    paths = {"svmlight": folder / f"{name}.svm", "vw": folder / f"{name}.vw"}
    written, rows, labels, losses = 0, 0, list[Array](), list[float]()
    with paths["svmlight"].open("wb") as svmlight, paths["vw"].open("wb") as vowpal:
        number = first
        while written < n_bytes and rows < n_rows:
            y, p, entries = _sparse_piece(number)
            most = int(min(PIECE, n_rows - rows))
            y, p, entries = y[:most], p[:most], entries[:most]
            signs = pa.array(np.where(y == 1, "1", "-1"))
            written += svmlight.write(_lines(signs, " ", entries))
            vowpal.write(_lines(signs, " | ", entries))
            rows, number = rows + y.size, number + 1
            labels.append(y)
            losses.append(log_loss(y, p) * y.size)
    np.save(folder / f"{name}.npy", np.concatenate(labels))
    return Made(paths, rows, folder / f"{name}.npy", sum(losses) / rows)


def table_files(folder: Path, name: str, n_rows: int, first: int = 0) -> Made:
    """A table of numbers with very different units, and its labels, as CSV and as Parquet."""
    paths = {"csv": folder / f"{name}.csv", "parquet": folder / f"{name}.parquet"}
    rows, labels, losses = 0, list[Array](), list[float]()
    schema = pa.schema([*((f"x{j}", pa.float64()) for j in range(COLUMNS)), ("y", pa.int8())])
    with ExitStack() as stack:
        text = stack.enter_context(paths["csv"].open("wb"))
        text.write(",".join(schema.names).encode() + b"\n")  # LightGBM does not take names in quotes
        options = pyarrow.csv.WriteOptions(include_header=False)
        csv = stack.enter_context(pyarrow.csv.CSVWriter(text, schema, write_options=options))
        parquet = stack.enter_context(pyarrow.parquet.ParquetWriter(paths["parquet"], schema))
        number = first
        while rows < n_rows:
            X, y, p = _table_piece(number, min(TABLE_PIECE, n_rows - rows))
            table = pa.table([*(pa.array(column) for column in X.T), pa.array(y.astype(np.int8))], schema=schema)
            csv.write(table)
            parquet.write_table(table)
            rows, number = rows + y.size, number + 1
            labels.append(y)
            losses.append(log_loss(y, p) * y.size)
    np.save(folder / f"{name}.npy", np.concatenate(labels))
    return Made(paths, rows, folder / f"{name}.npy", sum(losses) / rows)


def log_loss(y: Array, p: Any) -> float:
    """Mean log loss of probabilities of class 1."""
    p_true = np.where(y == 1, p, 1.0 - np.asarray(p, dtype=np.float64))
    return float(-np.log(np.maximum(p_true, np.finfo(np.float64).tiny)).mean())


def read_whole(path: Path) -> None:
    """Read a file so that it is in the page cache."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def _sparse_piece(number: int) -> tuple[Array, Array, pa.Array]:
    """Labels, their probabilities, and rows as text, of piece ``number``."""
    starts, columns, values, rng = _sparse_rows(number)
    coefficients, mean, scale = _true_model()
    p = expit(scale * (np.add.reduceat(values * coefficients[columns], starts) - mean))
    y = (rng.random(p.size) < p).astype(np.float64)
    names = pc.cast(pa.array(columns + 1), pa.string())
    entries = pc.binary_join_element_wise(names, pc.cast(pa.array(values), pa.string()), ":")
    ends = np.append(starts, columns.size).astype(np.int32)
    return y, p, pc.binary_join(pa.ListArray.from_arrays(pa.array(ends), entries), " ")


def _sparse_rows(number: int) -> tuple[NDArray[np.intp], NDArray[np.int64], Array, np.random.Generator]:
    """Where rows start, columns and values of unit norm."""
    rng = np.random.default_rng([1, number])
    lengths = np.maximum(5, rng.poisson(DRAWS, PIECE))
    rows = np.repeat(np.arange(PIECE), lengths)
    drawn = (FEATURES * rng.random(rows.size) ** POWER).astype(np.int64)
    keys = np.sort(rows * FEATURES + drawn)  # faster than np.unique, which hashes integers
    keys = keys[np.diff(keys, prepend=-1) > 0]
    rows, columns = keys // FEATURES, keys % FEATURES
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    values = rng.exponential(size=keys.size) + 0.1
    values /= np.sqrt(np.add.reduceat(values**2, starts))[rows]
    return starts, columns, values, rng


@lru_cache(maxsize=1)
def _true_model() -> tuple[Array, float, float]:
    """Coefficients, three in ten of which are not 0, and the mean and the scale that balance the scores."""
    rng = np.random.default_rng(2)
    coefficients = rng.standard_normal(FEATURES) * (rng.random(FEATURES) < 0.3)
    starts, columns, values, _ = _sparse_rows(TEST_PIECES - 1)
    scores = np.add.reduceat(values * coefficients[columns], starts)
    return coefficients, float(scores.mean()), SCORE_STD / float(scores.std())


def _table_piece(number: int, n_rows: int) -> tuple[Array, Array, Array]:
    """Rows of a table, their labels, and the probabilities of these."""
    model = np.random.default_rng(3)
    units, centres = 10.0 ** model.integers(-2, 4, COLUMNS), model.standard_normal(COLUMNS)
    coefficients = model.standard_normal(COLUMNS)
    rng = np.random.default_rng([4, number])
    standard = rng.standard_normal((n_rows, COLUMNS))
    standard[:, 1:] += 0.5 * standard[:, :-1]
    p = expit(SCORE_STD * (standard @ coefficients) / (np.linalg.norm(coefficients) * 1.1))
    y = (rng.random(n_rows) < p).astype(np.float64)
    return np.round((standard + centres) * units, 5), y, p


def _lines(signs: pa.Array, between: str, entries: pa.Array) -> pa.Buffer:
    """One line a row; the buffer of an array of strings has them one after the other."""
    rows = pc.binary_join_element_wise(signs, entries, between)
    return pc.binary_join_element_wise(rows, "", "\n").buffers()[2]
