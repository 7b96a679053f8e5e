"""Masked arrays: NumPy's conversions drop the mask, and what it hides would be trained on."""

from typing import Any

import numpy as np


def refuse_masked(name: str, values: Any) -> None:
    """Raise for an array some of whose values are masked.

    Examples
    --------
    >>> refuse_masked("y", np.ma.masked_values([1.0, -9.0], -9.0))
    Traceback (most recent call last):
        ...
    ValueError: 1 value of y is masked: drop the masked rows, or impute the values and pass y.filled(...)
    """
    if np.ma.is_masked(values):
        count = int(np.sum(np.ma.getmaskarray(values)))
        what = "1 value of {0} is" if count == 1 else "{1:,} values of {0} are"
        advice = f"drop the masked rows, or impute the values and pass {name}.filled(...)"
        raise ValueError(f"{what.format(name, count)} masked: {advice}")
