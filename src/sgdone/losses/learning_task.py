"""The learning task: classification or regression."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Task = Literal["classification", "regression"]

#: Integer labels are classes if there are at most 100 distinct values, with at least 5 rows each on average.
_MOST_CLASSES, _FEWEST_ROWS = 100, 5


def task_of(y: NDArray[Any]) -> Task:
    """Infer the task from the labels: strings, booleans and few distinct integers are classes.

    Examples
    --------
    >>> task_of(np.array([1.0, -1.0, 1.0])), task_of(np.array([0.5, 1.5])), task_of(np.arange(1000))
    ('classification', 'regression', 'regression')
    """
    return "classification" if y.dtype.kind not in "iuf" else task_of_values(np.unique(y), y.size)


def task_of_values(values: NDArray[Any], n_rows: int) -> Task:
    """Infer the task from the distinct labels of a number of rows.

    Examples
    --------
    >>> task_of_values(np.arange(10), 1000), task_of_values(np.arange(10), 20)
    ('classification', 'regression')
    """
    if values.dtype.kind not in "iuf":
        return "classification"
    whole = bool(np.all(values == np.rint(values)))
    few = values.size <= 2 or values.size <= min(_MOST_CLASSES, n_rows / _FEWEST_ROWS)
    return "classification" if whole and few else "regression"
