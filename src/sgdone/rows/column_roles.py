"""What sparse columns are part of, which decides the units in which they are trained on.

`ENTRIES` are columns of which nothing more is known, `LEVEL` those that mark the rows with a level of a category, a
part of a date or a gap. Greater numbers are words of a text: the same number for the words of one column.
"""

import numpy as np
from numpy.typing import NDArray

ENTRIES, LEVEL = 0, 1


def roles_of_features(n_dense: int, texts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Roles of the features of an encoder: dense ones come first, and ``texts`` numbers those that are words.

    Examples
    --------
    >>> roles_of_features(1, np.array([-1, -1, 0, 0, 1]))
    array([0, 1, 2, 2, 3], dtype=int32)
    """
    roles = np.where(texts >= 0, texts + LEVEL + 1, LEVEL).astype(np.int32)
    roles[:n_dense] = ENTRIES
    return roles
