"""What a file held, what was asked of it, and the error that says where it is broken."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray


class DataError(ValueError):
    """A file that cannot be used as it is: the message says what was found, where, and what to do."""


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers, with their labels and names.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
        C-contiguous; float32 if every feature column is, float64 otherwise. Finite, unless missing values were allowed:
        these are NaN.
    y : ndarray of shape (n_rows,) or None
        Labels as the file has them: numbers, booleans or strings. None for a file without labels.
    feature_names, label_name
        Names of the columns; None where the format has none.
    path : Path
        The file.
    zero_based : bool or None
        Whether indices count from 0, for svmlight; a test file must be read as its training file was.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: list[str] | None
    label_name: str | None
    path: Path
    zero_based: bool | None = None


@final
@dataclass(frozen=True)
class ReadOptions:
    """What the caller of :func:`sgdone.data.files.read` asked for."""

    path: Path
    label: str | None = None
    require_label: bool = True
    features: Sequence[str] | None = None
    n_features: int | None = None
    zero_based: bool = False
    allow_missing: bool = False

    @property
    def width(self) -> int | None:
        """Number of features the caller counts on, if any."""
        return self.n_features if self.features is None else len(self.features)

    def error(self, problem: str, *, place: str = "") -> DataError:
        """Name the file, and the place in it, before the problem."""
        return DataError(f"{self.path}{', ' if place else ''}{place}: {problem}")


def all_finite(values: NDArray[Any]) -> bool:
    """Whether no value is NaN or infinite."""
    return bool(np.isfinite(values).all())


def listed(names: Sequence[str], limit: int = 20) -> str:
    """Names for a message, shortened.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], limit=2)
    "'a', 'b' and 2 more"
    """
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit:,} more"


def counted(number: int, noun: str) -> str:
    """Write a number and its noun, ``1 field`` or ``3 fields``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
