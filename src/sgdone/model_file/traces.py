"""A trace as columns, and back."""

from dataclasses import fields
from typing import Any

import numpy as np

from sgdone.trace import Trace, TraceRow

#: The label is the last of a row's fields.
_MEASURES = tuple(field.name for field in fields(TraceRow))[:-1]


def to_columns(trace: Trace) -> dict[str, Any]:
    """Columns of numbers, and the number of each row's class in a list of classes; the verdict is kept elsewhere."""
    labels = trace.labels()
    numbers = {label: k for k, label in enumerate(labels)}
    columns: dict[str, Any] = {name: trace.column(name) for name in _MEASURES}
    columns["task"] = trace.task
    return columns | {"class": np.array([numbers[row.label] for row in trace], dtype=np.int64), "classes": labels}


def from_columns(columns: dict[str, Any]) -> Trace:
    """The trace again, of plain Python numbers as before."""
    labels = [columns["classes"][k] for k in columns["class"].tolist()]
    measures = (columns[name].tolist() for name in _MEASURES)
    return Trace([TraceRow(*row) for row in zip(*measures, labels, strict=True)], task=columns["task"])
