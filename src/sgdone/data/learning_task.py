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
    if y.dtype.kind not in "iuf":
        return "classification"
    values = np.unique(y)
    whole = bool(np.all(values == np.rint(values)))
    few = values.size <= 2 or values.size <= min(_MOST_CLASSES, y.size / _FEWEST_ROWS)
    return "classification" if whole and few else "regression"
