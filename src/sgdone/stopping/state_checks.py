"""Checks of states of rules that were read from a file: the compiled loops do not check anything."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def check_numbers(rule: Any, numbers: Any, count: int) -> None:
    """Raise a ValueError unless it is an array of ``count`` float64 numbers."""
    check_arrays(rule, (numbers,), [(count,)], [("f8",)])


def check_arrays(
    rule: Any, arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]], kinds: Sequence[tuple[str, ...]]
) -> None:
    """Raise a ValueError for arrays of other shapes or types."""
    fits = len(arrays) == len(shapes) and all(
        isinstance(array, np.ndarray) and array.shape == shape and array.dtype.str[1:] in kind
        for array, shape, kind in zip(arrays, shapes, kinds, strict=True)
    )
    if not fits:
        found = [(array.shape, str(array.dtype)) if isinstance(array, np.ndarray) else array for array in arrays]
        raise ValueError(f"the state of {rule!r} is not valid: found {found}, expected shapes {list(shapes)}")
