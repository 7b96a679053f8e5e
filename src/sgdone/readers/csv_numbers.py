"""Columns of numbers of CSV files, read by a compiled loop where they are written plainly."""

from collections.abc import Mapping
from typing import Any, final

import numpy as np
import pyarrow as pa

from sgdone.kernels.csv_numbers import NOT_NUMBERS, SKIPPED, make_read_rows
from sgdone.kernels.decimal_number import power_table
from sgdone.kernels.machine_words import PADDING
from sgdone.matrices.reused_arrays import ReusedArrays
from sgdone.readers.csv_records import FirstRecord
from sgdone.readers.text_blocks import TextBlock

#: Types that the loop reads.
NUMBERS = frozenset({pa.float64(), pa.int64()})


@final
class NumberColumns:
    """Reads columns of numbers of blocks of rows."""

    def __init__(self) -> None:
        self._arrays = ReusedArrays()

    def of(self, block: TextBlock, record: FirstRecord, types: Mapping[str, Any]) -> dict[str, Any] | None:
        r"""The columns that are among ``types``; None if a cell is not a number that is written plainly.

        Examples
        --------
        >>> from pathlib import Path
        >>> from sgdone.readers.table import ReadOptions
        >>> record = FirstRecord(",", ["a", "b", "c"], ReadOptions(Path("t.csv")))
        >>> types = {"c": pa.int64(), "a": pa.float64()}
        >>> found = NumberColumns().of(TextBlock(b"1.5,x,3\n,y,4\n", 1, 2), record, types)
        >>> {name: column.to_pylist() for name, column in found.items()}
        {'c': [3, 4], 'a': [1.5, None]}
        >>> NumberColumns().of(TextBlock(b"1.5,x,NA\n", 1, 1), record, types)
        """
        text = block.text
        if not types or not record.separator.isascii() or len(record.separator) != 1:
            return None
        capacity = block.n_lines + 1
        order = {name: place for place, name in enumerate(types)}
        places = np.array([order.get(name, SKIPPED) for name in record.names], dtype=np.int64)
        whole = np.array([kind == pa.int64() for kind in types.values()])
        values = self._arrays.empty(len(types) * capacity, np.uint64).reshape(len(types), capacity)
        data, end = self._padded(text)
        separator = np.uint8(ord(record.separator))
        n_rows = make_read_rows()(data, np.uint64(end), separator, places, whole, power_table(), values)
        if n_rows == NOT_NUMBERS:
            return None
        rows = values.view(np.float64)[:, :n_rows]
        return {name: _column(own, kind) for own, (name, kind) in zip(rows, types.items(), strict=True)}

    def _padded(self, text: bytes) -> tuple[Any, int]:
        """The text as an array, with a newline at its end and zeros behind it; and where it ends."""
        end = len(text) + (not text.endswith(b"\n"))
        data = self._arrays.empty(end + PADDING, np.uint8)
        data[: len(text)] = np.frombuffer(text, dtype=np.uint8)
        data[len(text) : end] = ord("\n")
        data[end:] = 0
        return data, end


def _column(values: Any, kind: Any) -> Any:
    gaps = np.isnan(values)
    mask = gaps if gaps.any() else None
    if kind == pa.int64():
        values = np.where(gaps, 0.0, values).astype(np.int64)
    return pa.chunked_array([pa.array(values, kind, mask=mask)])
