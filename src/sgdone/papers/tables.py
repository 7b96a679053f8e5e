"""The rows of an experiment's CSV file as arrays."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.papers.experiment import Row

Array = NDArray[np.float64]
#: Numbers of samples, steps or rows, rising.
Points = NDArray[np.int64]


def checkpoints(first: int, last: int) -> Points:
    """Numbers of samples at equal ratios, ten per decade, powers of ten among them.

    Examples
    --------
    >>> checkpoints(10, 100)
    array([ 10,  13,  16,  20,  25,  32,  40,  50,  63,  79, 100])
    """
    exponents = np.arange(0, np.log10(last) * 10 + 1e-9) / 10
    points = np.unique(np.append(np.rint(10.0**exponents), last)).astype(np.int64)
    return points[points >= first]


def where(rows: Iterable[Row], **values: Any) -> list[Row]:
    """The rows that have these values.

    Examples
    --------
    >>> where([{"loss": "hinge", "k": 1}, {"loss": "logistic", "k": 2}], loss="hinge")
    [{'loss': 'hinge', 'k': 1}]
    """
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def distinct(rows: Iterable[Row], *names: str) -> list[Any]:
    """The values of a column, or tuples of several columns, each once and in the order of the rows.

    Examples
    --------
    >>> distinct([{"a": 2, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 1}], "a", "b")
    [(2, 1), (1, 1)]
    """
    if len(names) == 1:
        return list(dict.fromkeys(row[names[0]] for row in rows))
    return list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    """The rows by the value of a column, or by the tuple of the values of several columns.

    Examples
    --------
    >>> grouped([{"a": 2, "b": 1}, {"a": 1, "b": 3}, {"a": 2, "b": 5}], "a")
    {2: [{'a': 2, 'b': 1}, {'a': 2, 'b': 5}], 1: [{'a': 1, 'b': 3}]}
    """
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        key = row[names[0]] if len(names) == 1 else tuple(row[name] for name in names)
        groups.setdefault(key, []).append(row)
    return groups


def column(rows: Iterable[Row], name: str, **values: Any) -> Array:
    """A column of the rows that have these values; ``None`` becomes NaN.

    Examples
    --------
    >>> column([{"loss": "hinge", "k": 1}, {"loss": "logistic", "k": 2}], "k", loss="hinge")
    array([1.])
    """
    return np.array([row[name] for row in where(rows, **values)], dtype=np.float64)


def by_run(rows: Sequence[Row], run: str, name: str) -> Array:
    """A column as a matrix of one line per run; all runs have as many rows.

    Examples
    --------
    >>> by_run([{"trial": 0, "k": 1}, {"trial": 0, "k": 2}, {"trial": 1, "k": 5}, {"trial": 1, "k": 6}], "trial", "k")
    array([[1., 2.],
           [5., 6.]])
    """
    return np.array([column(own, name) for own in grouped(rows, run).values()])
