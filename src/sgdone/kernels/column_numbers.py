"""Numbers for columns in the order in which they first appear."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled

#: In place of a number, of a column that has not appeared.
NO_NUMBER: Final = -1


@lru_cache(maxsize=4)
def make_number_columns(types: str) -> Callable[..., tuple[int, int]]:
    """A loop over unsigned column indices from ``first`` on; ``types`` is their type.

    ``numbers`` has the number of each column, and ``columns`` the column of each number. The loop writes the numbers of
    the indices to ``found``, and returns where it stopped, which is the end unless ``columns`` is full, and how many
    columns have numbers.
    """
    mark = fingerprint(types)

    @compiled(mark)
    def number_columns(indices: Any, first: Any, numbers: Any, columns: Any, count: Any, found: Any) -> Any:
        _ = mark
        for k in range(np.uint64(first), np.uint64(indices.size)):
            column = np.uint64(indices[k])
            number = numbers[column]
            if number == NO_NUMBER:
                if count == columns.size:
                    return np.int64(k), count
                number = count
                numbers[column] = number
                columns[np.uint64(count)] = column
                count += 1
            found[k] = number
        return np.int64(indices.size), count

    return number_columns
