"""Scores of rows that are read in parts."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cli.errors import table_errors_named
from sgdone.cli.input_data import InputData, as_classes, for_task, of_table
from sgdone.cli.opened_data import OpenedData
from sgdone.cli.scores import BaseRate, Model, raw_outputs, score
from sgdone.estimators.classification import Classification
from sgdone.losses.learning_task import Task

#: Share of the memory for outputs and labels that are kept, and bytes at least: the scores need some copies of them.
_SHARE_KEPT, _LEAST_KEPT = 1 / 32, 1 << 24


@final
class PartScores:
    """Outputs and labels of rows that come in parts; of the first ones only, if they would take too much memory."""

    def __init__(self, model: Model, max_memory: int) -> None:
        self._model, self._bytes, self._most_bytes = model, 0, max(_LEAST_KEPT, _SHARE_KEPT * max_memory)
        self._outputs, self._labels = list[NDArray[Any]](), list[NDArray[Any]]()
        self._weights = list[NDArray[np.float64]]()
        self._labelled = True

    def add(self, y: NDArray[Any] | None, weights: NDArray[np.float64] | None, outputs: NDArray[Any]) -> None:
        """Add the rows of a part; if one has no labels, there are no scores."""
        self._labelled &= y is not None
        if y is None or not self._labelled or self._bytes > self._most_bytes:
            return
        self._outputs.append(outputs)
        self._labels.append(y)
        self._bytes += outputs.nbytes + y.nbytes
        if weights is not None:
            self._weights.append(weights)

    def scores(self, base_rate: BaseRate | None = None) -> dict[str, Any] | None:
        """Scores of the rows, if they have labels of the kind that the model predicts."""
        if not self._labelled or not self._labels:
            return None
        y, outputs = np.concatenate(self._labels), np.concatenate(self._outputs)
        weights = np.concatenate(self._weights) if self._weights else None
        rows = InputData("", np.empty((y.size, 0)), y, None, weights=weights)
        if isinstance(self._model, Classification):
            rows = replace(rows, y=as_classes(y))
            known = bool(np.isin(rows.labels, self._model.classes_).any())
        else:
            known = rows.labels.dtype.kind in "biuf"
        return score(self._model, rows, base_rate, outputs) if known else None


def score_opened(model: Model, tested: OpenedData, task: Task, base_rate: BaseRate) -> dict[str, Any] | None:
    """Scores of test rows, in memory or not."""
    if tested.others is None:
        with table_errors_named(tested.rows.name, tested.rows.place):
            return score(model, tested.rows, base_rate)
    found = PartScores(model, tested.others.rows.max_memory)
    for part in _parts(tested, task):
        with table_errors_named(part.name, part.place):
            found.add(part.y, part.weights, raw_outputs(model, part.X))
    return found.scores(base_rate)


def _parts(tested: OpenedData, task: Task) -> Iterable[InputData]:
    assert tested.others is not None
    return (for_task(of_table(tested.rows.name, table), task) for table in tested.others.tables())
