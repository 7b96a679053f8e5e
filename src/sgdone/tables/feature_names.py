"""Names of all features, dense ones first."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sgdone.tables.column_encoder import ColumnEncoder


def all_names(encoders: Sequence[ColumnEncoder], n_sparse: int) -> list[str]:
    """Names in the order of the features; a name that occurs again gets a number.

    Raises a ValueError unless the sparse features of the columns are 0, 1, …, n_sparse − 1, each once.
    """
    dense = [name for encoder in encoders for name in encoder.dense_names()]
    pairs = [pair for encoder in encoders for pair in encoder.sparse_names()]
    numbers = np.array([number for number, _ in pairs], dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    if not np.array_equal(numbers[order], np.arange(n_sparse)):
        raise ValueError(f"the columns do not number their features from 0 to {n_sparse - 1}, each once")
    names = dense + [pairs[k][1] for k in order]
    return names if len(set(names)) == len(names) else _numbered(names)


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
