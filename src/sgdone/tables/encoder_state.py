"""What an encoder has learnt, as plain values, NumPy arrays and Arrow arrays of strings: no pickle, no code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class ColumnState:
    """State of one column.

    Attributes
    ----------
    values : dict
        Numbers, strings and lists of them, as JSON has them. Floats are written with ``float.hex``: the same bits.
    arrays : dict of ndarray
    levels : pyarrow.LargeStringArray or None
    """

    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    levels: Any = None

    def array(self, name: str, kind: Any) -> NDArray[Any]:
        """A copy of one array with one dimension; another type or shape is an error."""
        found = np.asarray(self.arrays[name])
        if found.dtype != kind or found.ndim != 1:
            raise ValueError(f"{name!r} must be an array of {np.dtype(kind)} with one dimension")
        return found.copy()

    def integer(self, name: str, least: int = 0) -> int:
        """One integer; another type, or a smaller one, is an error."""
        found = self.values[name]
        if type(found) is not int or found < least:
            raise ValueError(f"{name!r} must be an integer of at least {least}; got {found!r}")
        return found

    def number(self, name: str) -> float:
        """One finite float."""
        found = float.fromhex(self.values[name])
        if not np.isfinite(found):
            raise ValueError(f"{name!r} must be finite; got {found}")
        return found


@final
@dataclass(frozen=True)
class EncoderState:
    """State of an encoder.

    Attributes
    ----------
    header : dict
        What JSON can hold: parameters, names and kinds of columns, numbers.
    arrays : dict of ndarray
        Named ``"<number of the column>.<name>"``.
    levels : pyarrow.Table
        Columns ``column`` (int32, number of the column) and ``level`` (large_string), in order.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    levels: Any

    @classmethod
    def of(cls, header: Mapping[str, Any], columns: list[ColumnState]) -> "EncoderState":
        """Put the states of columns together."""
        arrays = {f"{number}.{name}": array for number, s in enumerate(columns) for name, array in s.arrays.items()}
        levels = {number: state.levels for number, state in enumerate(columns) if state.levels is not None}
        owners = [np.full(len(found), number, dtype=np.int32) for number, found in levels.items()]
        table = {
            "column": pa.array(np.concatenate(owners) if owners else [], pa.int32()),
            "level": pa.concat_arrays(levels.values()) if levels else pa.array([], pa.large_string()),
        }
        values = [{**state.values, "has_levels": state.levels is not None} for state in columns]
        return cls({**header, "columns": values}, arrays, pa.table(table))

    def columns(self) -> list[ColumnState]:
        """The states of the columns; what does not belong together is a ValueError."""
        values = self.header["columns"]
        owners, levels = self.levels.column("column").to_numpy(), self.levels.column("level").combine_chunks()
        if isinstance(levels, pa.ChunkedArray):
            levels = pa.concat_arrays(levels.chunks) if levels.num_chunks else pa.array([], pa.large_string())
        if levels.type != pa.large_string() or levels.null_count or np.any(np.diff(owners) < 0):
            raise ValueError("levels must be strings, in the order of their columns")
        found = []
        for number, of_column in enumerate(values):
            prefix = f"{number}."
            arrays = {key[len(prefix) :]: array for key, array in self.arrays.items() if key.startswith(prefix)}
            first, last = np.searchsorted(owners, [number, number + 1])
            own = levels.slice(first, last - first) if of_column["has_levels"] else None
            found.append(ColumnState(of_column, arrays, own))
        return found
