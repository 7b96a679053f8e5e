"""What an encoder has learnt, as plain values, NumPy arrays and one Arrow array of strings: no pickle, no code.

The columns of a table are kept together: a value that each of them has is one array, and their arrays follow each other
in one. A table of ten thousand columns has as few arrays as one of ten.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

#: Rows that may have been counted: far more than anyone has, and sums of two such numbers are exact.
MOST_ROWS = 2**53


@final
@dataclass(frozen=True)
class StateFields:
    """What the state of a kind of column consists of.

    Attributes
    ----------
    values, arrays : dict
        Names and types.
    has_levels : bool
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict)
    has_levels: bool = False


@final
@dataclass(frozen=True)
class ColumnState:
    """State of one column.

    Attributes
    ----------
    values : dict
        Numbers and booleans.
    arrays : dict of ndarray
        Each with one dimension.
    levels : pyarrow.LargeStringArray or None
    """

    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    levels: Any = None

    def integer(self, name: str, least: int = 0, most: int = MOST_ROWS) -> int:
        """One integer; one that is smaller or larger is an error."""
        found = int(self.values[name])
        if not least <= found <= most:
            raise ValueError(f"{name!r} must be an integer from {least} to {most}; got {found}")
        return found

    def number(self, name: str) -> float:
        """One finite float."""
        found = float(self.values[name])
        if not math.isfinite(found):
            raise ValueError(f"{name!r} must be finite; got {found}")
        return found

    def counts(self, name: str) -> NDArray[np.int64]:
        """An array of numbers of rows."""
        found = self.arrays[name]
        if found.size and not 0 <= found.min() <= found.max() <= MOST_ROWS:
            raise ValueError(f"{name!r} holds numbers of rows that are negative or too large")
        return found


@final
@dataclass(frozen=True)
class EncoderState:
    """State of an encoder.

    Attributes
    ----------
    header : dict
        What JSON can hold: parameters, names of columns, and what the columns are.
    arrays : dict of ndarray
        Values and arrays of columns by name; ``"<name>.sizes"`` says how many entries each column has.
    levels : pyarrow.LargeStringArray or None
        Levels of all categories, column after column; None if there are none.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    levels: Any

    @classmethod
    def of(
        cls,
        header: dict[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        fields: Sequence[StateFields],
        columns: Sequence[ColumnState],
    ) -> "EncoderState":
        """Put the states of columns together; ``arrays`` are those of the encoder itself."""
        found = dict(arrays)
        for name, (kind, owners) in _owners([own.values for own in fields]).items():
            found[name] = np.array([columns[k].values[name] for k in owners], dtype=kind)
        for name, (_, owners) in _owners([own.arrays for own in fields]).items():
            parts = [columns[k].arrays[name] for k in owners]
            found[name] = np.concatenate(parts)
            found[f"{name}.sizes"] = np.array([part.size for part in parts], dtype=np.int64)
        levels = [column.levels for column in columns if column.levels is not None]
        if levels:
            found["levels.sizes"] = np.array([len(own) for own in levels], dtype=np.int64)
        return cls(header, found, pa.concat_arrays(levels) if levels else None)

    def columns(self, own: Sequence[str], fields: Sequence[StateFields]) -> list[ColumnState]:
        """The states of the columns, given the names of the encoder's own arrays; what does not fit is a ValueError."""
        states = [ColumnState() for _ in fields]
        used = set(own)
        for name, (kind, owners) in _owners([of_column.values for of_column in fields]).items():
            values = self.array(name, kind)
            if values.size != len(owners):
                raise ValueError(f"{name!r} has {values.size} values for {len(owners)} columns")
            for k, value in zip(owners, values.tolist(), strict=True):
                states[k].values[name] = value
            used.add(name)
        for name, (kind, owners) in _owners([of_column.arrays for of_column in fields]).items():
            array = self.array(name, kind)
            for k, part in zip(owners, self._ranges(name, array.size, len(owners)), strict=True):
                states[k].arrays[name] = array[part].copy()
            used |= {name, f"{name}.sizes"}
        with_levels = [k for k, of_column in enumerate(fields) if of_column.has_levels]
        if with_levels:
            used.add("levels.sizes")
            ranges = self._ranges("levels", len(self.levels), len(with_levels))
            for k, part in zip(with_levels, ranges, strict=True):
                levels = self.levels.slice(part.start, part.stop - part.start)
                states[k] = ColumnState(states[k].values, states[k].arrays, levels)
        elif self.levels is not None:
            raise ValueError("there are levels, and no column has any")
        if set(self.arrays) != used:
            raise ValueError(f"the arrays {sorted(set(self.arrays) ^ used)[:3]} do not belong to the columns")
        return states

    def array(self, name: str, kind: Any) -> NDArray[Any]:
        """One array with one dimension; another type or shape is an error."""
        found = np.asarray(self.arrays[name])
        if found.dtype != kind or found.ndim != 1:
            raise ValueError(f"{name!r} must be an array of {np.dtype(kind)} with one dimension")
        return found

    def _ranges(self, name: str, size: int, n_columns: int) -> list[slice]:
        """Which entries of an array are whose."""
        sizes = self.array(f"{name}.sizes", np.int64).tolist()
        if len(sizes) != n_columns or min(sizes, default=0) < 0 or sum(sizes) != size:
            raise ValueError(f"the {size} entries of {name!r} are not divided among {n_columns} columns")
        ends = np.cumsum([0, *sizes]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]


def _owners(names: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, list[int]]]:
    """The type of each name, and the numbers of the columns that have it."""
    found: dict[str, tuple[Any, list[int]]] = {}
    for k, of_column in enumerate(names):
        for name, kind in of_column.items():
            found.setdefault(name, (kind, []))[1].append(k)
    return found
