"""A trace as columns, and back.

`sgdone.run.trace` is imported by name when it is needed: the driver, which keeps traces, may use this package.
"""

import importlib
import math
from typing import Any

import numpy as np

from sgdone.interfaces.margin_statistics import MarginStatistics


def trace_module() -> Any:
    """The module of traces."""
    return importlib.import_module("sgdone.run.trace")


def to_columns(trace: Any) -> dict[str, Any]:
    """Columns of numbers, and the number of each row's class in a list of classes; the verdict is kept elsewhere."""
    labels = trace.labels()
    numbers = {label: k for k, label in enumerate(labels)}
    names = _column_names(margins=trace.has_margins)
    columns: dict[str, Any] = {name: trace.column(name) for name in names}
    columns["task"] = trace.task
    if trace.has_traffic:
        columns["traffic"] = {name: trace.column(name).tolist() for name in trace_module().TRAFFIC}
    return columns | {"class": np.array([numbers[row.label] for row in trace], dtype=np.int64), "classes": labels}


def from_columns(columns: dict[str, Any]) -> Any:
    """The trace again, of plain Python numbers as before; raise a ValueError for columns that are none of a trace."""
    numbers, classes, task = columns.pop("class"), columns.pop("classes"), columns.pop("task")
    traffic = columns.pop("traffic", None)
    module = trace_module()
    names = _column_names(margins=len(columns) > len(module.MEASURES))
    if sorted(columns) != sorted(names):
        raise ValueError(f"a trace has the columns {', '.join(columns)}")
    if task not in ("classification", "regression") or not isinstance(classes, list):
        raise ValueError(f"a trace is of the task {task!r}")
    _check_column("class", numbers, numbers, whole=True)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(classes):
        raise ValueError(f"a trace of {len(classes)} classes has rows of others")
    for name, column in columns.items():
        _check_column(name, column, numbers, whole=name == "step")
    labels = [classes[k] for k in numbers.tolist()]
    measures = (columns[name].tolist() for name in module.MEASURES)
    margins = _margins(columns, names[len(module.MEASURES) :], len(labels))
    rows = [
        module.TraceRow(*row) for row in zip(*measures, labels, margins, _traffic(traffic, len(labels)), strict=True)
    ]
    return module.Trace(rows, task=task)


def _column_names(*, margins: bool) -> tuple[str, ...]:
    module = trace_module()
    names: tuple[str, ...] = module.MEASURES
    return (*names, *module.MARGINS) if margins else names


def _check_column(name: str, column: Any, numbers: Any, *, whole: bool) -> None:
    """Raise unless it is a column of a trace; what was not measured is NaN, so that NaN is valid."""
    # A trace without rows has columns of the type that NumPy gives to nothing.
    expected = np.dtype(np.int64 if whole and numbers.size else np.float64)
    if name == "class":
        expected = np.dtype(np.int64)
    fits = isinstance(column, np.ndarray) and column.ndim == 1 and column.shape == numbers.shape
    if not fits or column.dtype != expected or (whole and column.min(initial=0) < 0):
        raise ValueError(f"the column {name} of a trace is not valid")


def _margins(columns: dict[str, Any], names: tuple[str, ...], n_rows: int) -> list[MarginStatistics | None]:
    """Those of each row; one without any has NaN for their mean."""
    if not names:
        return [None] * n_rows
    table = zip(*(columns[name].tolist() for name in names), strict=True)
    return [None if math.isnan(numbers[0]) else MarginStatistics(*numbers) for numbers in table]


def _traffic(columns: Any, n_rows: int) -> list[Any]:
    """That of each round; None for each row of a fit on one machine."""
    if columns is None:
        return [None] * n_rows
    module = trace_module()
    if sorted(columns) != sorted(module.TRAFFIC) or any(len(values) != n_rows for values in columns.values()):
        raise ValueError("the traffic of a trace is not valid")
    found = [module.Traffic(*row) for row in zip(*(columns[name] for name in module.TRAFFIC), strict=True)]
    if not all(
        type(row.request) is str and min(_whole(row.bytes_sent), _whole(row.bytes_received)) >= 0 for row in found
    ):
        raise ValueError("the traffic of a trace is not valid")
    return found


def _whole(value: Any) -> int:
    return value if type(value) is int else -1
