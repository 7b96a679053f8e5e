"""Checks of states of rules that were read from a file: the compiled loops do not check anything."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgdone.interfaces.stop_rule import NEVER


def check_numbers(rule: Any, numbers: Any, count: int) -> None:
    """Raise a ValueError unless it is an array of ``count`` float64 numbers."""
    check_arrays(rule, (numbers,), [(count,)], [("f8",)])


def check_count(rule: Any, *numbers: Any) -> None:
    """Raise a ValueError unless all are whole numbers of 0 or more."""
    if not all(0 <= number < NEVER and number == int(number) for number in numbers):
        raise ValueError(f"the state of {rule!r} is not valid: found {numbers} in place of counts")


def check_flag(rule: Any, *numbers: Any) -> None:
    """Raise a ValueError unless all are 0 or 1."""
    if not all(number in (0, 1) for number in numbers):
        raise ValueError(f"the state of {rule!r} is not valid: found {numbers} in place of flags")


def check_arrays(
    rule: Any, arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]], kinds: Sequence[tuple[str, ...]]
) -> None:
    """Raise a ValueError for arrays of other shapes or types, in another order or byte order."""
    fits = len(arrays) == len(shapes) and all(
        isinstance(array, np.ndarray)
        and array.shape == shape
        and array.dtype.str[1:] in kind
        and array.dtype.isnative
        and array.flags.c_contiguous
        for array, shape, kind in zip(arrays, shapes, kinds, strict=True)
    )
    if not fits:
        found = [(array.shape, str(array.dtype)) if isinstance(array, np.ndarray) else array for array in arrays]
        raise ValueError(f"the state of {rule!r} is not valid: found {found}, expected shapes {list(shapes)}")
