"""Cells of arrays and data frames that are not numbers or missing, named by row and column."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from sgdone.readers.table import reads_as_number, shortened

#: How the names of types for dates, times and durations begin, in pandas, Polars and Arrow.
_DATES = ("date", "time", "duration", "period")


#: scikit-learn prints an array of the wrong shape whole.
_PRINTED_ARRAY = re.compile(r"\s*array=.*?\]\.\s*", re.DOTALL)


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


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or ``pandas.NA``.

    Examples
    --------
    >>> [is_missing(label) for label in (None, float("nan"), np.datetime64("NaT"), 0, "")]
    [True, True, True, False, False]
    """
    if label is None or type(label).__name__ == "NAType":
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # an array
        return False


@contextmanager
def bad_cells_named(X: Any) -> Iterator[None]:
    """Raise for columns of dates; convert errors about a cell that is not a number to one that says where it is."""
    _check_types(X)
    try:
        yield
    except (OverflowError, TypeError, ValueError) as error:
        place = find_bad_cell(X)
        if place is None and not isinstance(error, OverflowError):
            text = _PRINTED_ARRAY.sub(" ", str(error))
            if text == str(error):
                raise
            raise type(error)(text) from error
        place = place or "X holds an integer that exceeds the largest float: rescale or drop it"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place} ({shortened(str(error), 200)})") from error


def column_text(column: int, names: Sequence[Any] | None) -> str:
    """A column in a message: its name if there is one, else its number; ``names`` may be numbers, too.

    Examples
    --------
    >>> column_text(1, ["age", "income"]), column_text(1, None)
    ("'income'", '1')
    """
    name = column if names is None else names[column]
    return str(name) if isinstance(name, int) else repr(str(name))


def named_column(column: int, names: Sequence[Any] | None) -> str:
    """A column in a sentence: its name if there is one, else the word and its number.

    Examples
    --------
    >>> named_column(1, ["age", "income"]), named_column(1, None), named_column(1, [10, 20])
    ('income', 'column 1', 'column 20')
    """
    name = column if names is None else names[column]
    return f"column {name}" if isinstance(name, int) else str(name)


def _names(X: Any) -> list[Any] | None:
    """Names of the columns of a data frame or an Arrow table."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else list(names)


def _check_types(X: Any) -> None:
    """Raise for complex numbers, and for dates: NumPy refuses them in some tables and makes large numbers of others."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns")
    names = _names(X)
    types = [X.dtype] if kind in ("M", "m") else [] if names is None else _types(X)
    dates = {found for found in set(types) if str(found).lower().startswith(_DATES)}
    for column, found in enumerate(types if dates else ()):
        if found in dates:
            of = "X" if names is None else f"column {column_text(column, names)} of X"
            raise ValueError(
                f"{of} holds dates or times ({found}): replace them by numbers, for example the days since a date, or "
                "the month"
            )


def _types(X: Any) -> list[Any]:
    schema: Any = getattr(X, "schema", None)
    return list(schema.types if hasattr(schema, "types") else getattr(X, "dtypes", []))


def find_bad_cell(X: Any) -> str | None:
    """Describe the first cell that is not a number, and what to do."""
    if sparse.issparse(X) or not hasattr(X, "__len__"):
        return None
    try:
        cells = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
    except (TypeError, ValueError):
        return None
    if cells.ndim != 2 or cells.dtype.kind not in "OSU":
        return None
    names = _names(X)
    for row, values in enumerate(cells):
        for column, value in enumerate(values.tolist()):
            problem = _problem(value)
            if problem is not None:
                return f"row {row}, column {column_text(column, names)} of X holds {problem}"
    return None


def _problem(value: Any) -> str | None:
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode(errors="backslashreplace")
        found = f"the text {shortened(text)!r}: encode it as numbers or drop the column"
        return None if reads_as_number(text) else found
    # NumPy converts None and NaN, which are reported where rows are checked, but not the missing value of pandas.
    if is_missing(value) and value is not None and not isinstance(value, (float, np.floating)):
        return f"a missing value ({value}): impute or drop it"
    try:
        float(value)
    except OverflowError:
        return "an integer that exceeds the largest float: rescale or drop it"
    except (TypeError, ValueError):
        return None if value is None else f"{shortened(repr(value))}: encode it as a number or drop the column"
    return None
