"""Rows that are read in parts, for further training and for predictions."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from sgdone.estimators.opened_input import OpenedInput, explained_memory_errors, row_input
from sgdone.estimators.source_labels import labels_of
from sgdone.machine.background import in_background
from sgdone.readers.table import errors_located, tables_of_rows
from sgdone.rows.blocks import BLOCK_ROWS
from sgdone.tables.warn_user import one_warning_a_topic

#: Tables that are read ahead.
_AHEAD = 2


def partial_fit_rows(model: Any, X: Any, y: Any, sample_weight: Any, **options: Any) -> Any:
    """Train on the rows in their order, a block at a time; labels and weights are those of the rows."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise ValueError(f"{name} is not taken with rows that are read in parts: they have their own")
    rows = row_input(X)
    with explained_memory_errors(rows):
        return _trained(model, OpenedInput.of(rows), options)


def _trained(model: Any, opened: OpenedInput, options: dict[str, Any]) -> Any:
    first = not hasattr(model, "_results")
    if first and "classes" in options and options["classes"] is None:
        options["classes"] = opened.labels()
    tables = in_background(opened.tables(), _AHEAD)
    number = 0
    with closing(tables):
        for table in tables_of_rows(tables, BLOCK_ROWS):
            with errors_located(table.place):
                model.partial_fit(table.X, labels_of(table, number), sample_weight=table.weights, **options)
            number += table.X.shape[0]
    return model


def predicted_in_parts(X: Any, predict: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield the predictions of the rows, a part at a time; labels need not be there."""
    rows = row_input(X)
    with (
        explained_memory_errors(rows),
        closing(in_background(rows.tables(labelled=False), _AHEAD)) as tables,  # a generator
    ):
        topics = set[str]()
        for table in tables:
            with errors_located(table.place), one_warning_a_topic(topics):
                predictions = predict(table.X)
            yield predictions
