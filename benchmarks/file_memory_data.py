"""A CSV file of any size for `file_memory`: numbers, categories and a gap here and there, written in pieces."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from scipy.special import expit

#: Rows made at a time.
PIECE = 100_000
NUMBERS, FEW_LEVELS, MANY_LEVELS = 10, 12, 2_000
#: Share of cells of the first column that are empty.
GAPS = 0.02


def write_csv(path: Path, n_bytes: float) -> int:
    """Write a file of at least this size, and return its number of rows; every row is another one."""
    number = 0
    schema = _piece(0, 1).schema
    with path.open("wb") as file, pyarrow.csv.CSVWriter(file, schema) as writer:
        while file.tell() < n_bytes:
            writer.write(_piece(number, PIECE))
            number += 1
    return number * PIECE


def _piece(number: int, n_rows: int) -> pa.Table:
    model = np.random.default_rng(1)
    coefficients, units = model.standard_normal(NUMBERS), 10.0 ** model.integers(-1, 4, NUMBERS)
    few_effects, many_effects = model.standard_normal(FEW_LEVELS), model.standard_normal(MANY_LEVELS)
    few_names = pa.array([f"month {level + 1}" for level in range(FEW_LEVELS)])
    many_names = pa.array([f"shop-{level:04d}" for level in range(MANY_LEVELS)])
    rng = np.random.default_rng([2, number])
    X = rng.standard_normal((n_rows, NUMBERS))
    few = rng.integers(0, FEW_LEVELS, n_rows)
    many = (MANY_LEVELS * rng.random(n_rows) ** 2).astype(np.int64)
    y = rng.random(n_rows) < expit(X @ coefficients / 2 + few_effects[few] + many_effects[many])
    cells = np.round(X * units, 4)
    gaps = rng.random(n_rows) < GAPS
    columns = {f"x{j}": pa.array(cells[:, j], mask=gaps if j == 0 else None) for j in range(NUMBERS)}
    columns |= {"month": few_names.take(pa.array(few)), "shop": many_names.take(pa.array(many))}
    return pa.table({**columns, "y": pa.array(y.astype(np.int8))})
