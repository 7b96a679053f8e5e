"""Places of rows in files: "clicks.csv, line 18". Errors about a row of a table name them."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.readers.locations import Location, shown

#: Maps a row, counted from 0, to its place: "line 18" or "row 17", or with the file before it. Those of tables that are
#: read in parts can be sent to other processes.
Place = Callable[[int], str]
#: Numbers of rows: consecutive, or one a row.
Numbers = range | NDArray[np.int64]


def numbered(unit: str, numbers: Numbers) -> Place:
    """Places of rows by their numbers.

    Examples
    --------
    >>> numbered("line", range(2, 10_000))(1_000)
    'line 1,002'
    """
    return partial(_numbered, unit, numbers)


def in_file(path: Location, place: Place) -> Place:
    """Places with the name of the file."""
    return partial(_in_file, shown(path), place)


def places_among(place: Place, rows: NDArray[Any] | range) -> Place:
    """Places of some of the rows."""
    return partial(_among, place, rows)


def joined_places(places: Sequence[Place | None], sizes: Sequence[int]) -> Place | None:
    """Places of the rows of several tables, one table after the other; None if one has none."""
    known = [place for place in places if place is not None]
    return partial(_joined, known, [0, *accumulate(sizes)]) if len(known) == len(places) else None


def _numbered(unit: str, numbers: Numbers, row: int) -> str:
    return f"{unit} {numbers[row]:,}"


def _in_file(name: str, place: Place, row: int) -> str:
    return f"{name}, {place(row)}"


def _among(place: Place, rows: NDArray[Any] | range, row: int) -> str:
    return place(int(rows[row]))


def _joined(places: Sequence[Place], firsts: Sequence[int], row: int) -> str:
    part = bisect_right(firsts, row) - 1
    return places[part](row - firsts[part])
