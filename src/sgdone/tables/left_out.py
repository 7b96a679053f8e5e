"""Columns that add nothing to a linear model: constant ones, and those that repeat another."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sgdone.tables.date_values import DateValues
from sgdone.tables.kinds import Column, Kind
from sgdone.tables.level_values import LevelValues


def redundant(columns: Mapping[str, Column]) -> dict[str, str]:
    """Names of columns to leave out, each with the reason; of equal columns the first one stays.

    Numbers and dates repeat another column if they are equal in every row. Categories also do so under other names: one
    level for each level of the other column, as the code of an airline and its name.

    Examples
    --------
    >>> x = Column(Kind.NUMBER, "number", "", np.array([1.0, 2.0]))
    >>> redundant({"x": x, "copy": x, "one": Column(Kind.NUMBER, "number", "", np.ones(2))})
    {'copy': "repeats 'x'", 'one': 'constant'}
    """
    found: dict[str, str] = {}
    alike: dict[Any, list[str]] = {}
    for name, column in columns.items():
        if column.kind is Kind.DROP:
            found[name] = column.reason
            continue
        if _is_constant(column.values):
            found[name] = "constant"
            continue
        others = alike.setdefault(_sketch(column.values), [])
        first = next((other for other in others if _equal(columns[other].values, column.values)), None)
        if first is None:
            others.append(name)
        else:
            found[name] = f"repeats {first!r}"
    return found


def _is_constant(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return bool(values.size) and bool(values.min() == values.max())  # NaN is equal to nothing
    if isinstance(values, LevelValues):
        return len(values.levels) + values.has_gaps < 2
    if isinstance(values, DateValues):
        return not values.missing.any() and _is_constant(values.utc) and _is_constant(values.wall)
    return False


def _sketch(values: Any) -> Any:
    """A few values that are the same for equal columns, to compare few pairs of columns in full."""
    if isinstance(values, np.ndarray):
        few = values[:: max(1, values.size // 64)]
        return "numbers", (few + 0.0).tobytes()
    if isinstance(values, LevelValues):
        return "levels", len(values.levels), values.codes[:: max(1, values.codes.size // 64)].tobytes()
    if isinstance(values, DateValues):
        return "dates", values.has_days, values.utc[:: max(1, values.utc.size // 64)].tobytes()
    return "text", values.nbytes


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second, equal_nan=True)
    if isinstance(first, LevelValues):
        return np.array_equal(first.codes, second.codes)
    if isinstance(first, DateValues):
        names = ("utc", "wall", "missing")
        return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
    return bool(first.equals(second))
