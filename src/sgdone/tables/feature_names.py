"""Names of all features, dense ones first."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sgdone.tables.column_encoder import ColumnEncoder


def all_names(encoders: Sequence[ColumnEncoder]) -> list[str]:
    """Names in the order of the features; a name that occurs again gets a number."""
    dense = [name for encoder in encoders for name in encoder.dense_names()]
    pairs = [pair for encoder in encoders for pair in encoder.sparse_names()]
    order = np.argsort([number for number, _ in pairs], kind="stable")
    names = dense + [pairs[k][1] for k in order.tolist()]
    return names if len(set(names)) == len(names) else _numbered(names)


def check_numbers(encoders: Sequence[ColumnEncoder], n_sparse: int) -> None:
    """Raise a ValueError unless the sparse features of the columns are 0, 1, …, n_sparse − 1, each once."""
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(encoder.sparse_numbers() for encoder in encoders)])
    if numbers.size != n_sparse or not np.array_equal(np.sort(numbers), np.arange(numbers.size)):
        raise ValueError(f"the columns do not number their sparse features from 0 to {n_sparse - 1}, each once")


def _numbered(names: list[str]) -> list[str]:
    """Tell features of the same name apart.

    Examples
    --------
    >>> _numbered(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: Counter[str] = Counter()
    taken, found = set(names), []
    for name in names:
        seen[name] += 1
        shown = name
        while seen[name] > 1 and shown in taken:
            shown = f"{name} ({seen[name]})"
            seen[name] += shown in taken
        taken.add(shown)
        found.append(shown)
    return found
