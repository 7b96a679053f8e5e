"""A trace as columns, and back."""

import math
from typing import Any

import numpy as np

from sgdone.interfaces.margin_statistics import MarginStatistics
from sgdone.run.trace import MARGINS, MEASURES, Trace, TraceRow


def to_columns(trace: Trace) -> dict[str, Any]:
    """Columns of numbers, and the number of each row's class in a list of classes; the verdict is kept elsewhere."""
    labels = trace.labels()
    numbers = {label: k for k, label in enumerate(labels)}
    names = (*MEASURES, *MARGINS) if trace.has_margins else MEASURES
    columns: dict[str, Any] = {name: trace.column(name) for name in names}
    columns["task"] = trace.task
    return columns | {"class": np.array([numbers[row.label] for row in trace], dtype=np.int64), "classes": labels}


def from_columns(columns: dict[str, Any]) -> Trace:
    """The trace again, of plain Python numbers as before."""
    labels = [columns["classes"][k] for k in columns["class"].tolist()]
    measures = (columns[name].tolist() for name in MEASURES)
    rows = [TraceRow(*row) for row in zip(*measures, labels, _margins(columns, len(labels)), strict=True)]
    return Trace(rows, task=columns["task"])


def _margins(columns: dict[str, Any], n_rows: int) -> list[MarginStatistics | None]:
    """Those of each row; one without any has NaN for their mean."""
    if MARGINS[0] not in columns:
        return [None] * n_rows
    table = zip(*(columns[name].tolist() for name in MARGINS), strict=True)
    return [None if math.isnan(numbers[0]) else MarginStatistics(*numbers) for numbers in table]
