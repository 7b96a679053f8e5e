"""Columns for names of features: one a name, in the order in which they first appear."""

import re
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from scipy import sparse

from sgdone.kernels.name_numbers import (
    ALL_ROWS,
    DONE_ENTRIES,
    DONE_ROWS,
    KNOWN,
    KNOWN_BEFORE,
    PLACED,
    SLOT,
    make_number_names,
)
from sgdone.kernels.vw_text import NO_NAME
from sgdone.readers.line_blocks import LineBlock
from sgdone.readers.row_arrays import RowArrays

_FIRST_SIZE = 1 << 10
_NAME = re.compile(rb"[^ \t\r\n|:]*")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


@final
class NameColumns:
    """Columns of features by their names.

    Parameters
    ----------
    names : sequence of str, optional
        Names of all columns; features with others are left out. By default a new name adds a column.
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        #: ``namespace^name``, or the name alone in the namespace without one. Grows with each block.
        self.names: list[str] = []
        self._state = np.zeros(6, dtype=np.int64)
        self._hashes = np.empty(_FIRST_SIZE, dtype=np.uint64)
        self._slots = np.zeros(2 * SLOT * _FIRST_SIZE, dtype=np.uint64)
        self._fixed = False
        if names is not None:
            self._add(names)
            self._fixed = True

    def matrix(self, block: LineBlock, rows: RowArrays) -> sparse.csr_array:
        """The rows of a block as a matrix; features that repeat in a row are added up."""
        n_entries = rows.n_entries
        starts, ends, spaces, values = (array[:n_entries] for array in rows.entries.values())
        result = self._numbered(block.data, rows.indptr[: rows.n_rows + 1], starts, ends, spaces, values)
        known = self._state[KNOWN_BEFORE]
        for entry in self._new[: self._state[KNOWN] - known].tolist():
            name = block.data[starts[entry] : ends[entry]].tobytes()
            space = int(spaces[entry])
            whole = name if space == NO_NAME else _name_at(block.data, space) + b"^" + name
            self.names.append(whole.decode("utf-8", "backslashreplace"))
        return result

    def _add(self, names: Sequence[str]) -> None:
        """Give numbers to names, in their order."""
        encoded = [_bytes_of(name) for name in names]
        ends = np.cumsum([len(name) + 1 for name in encoded], dtype=np.int32)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int32)
        data = np.frombuffer(b"\n".join(encoded) + b"\n", dtype=np.uint8)
        spaces = np.full(len(encoded), NO_NAME, dtype=np.int32)
        indptr = np.array([0, len(encoded)], dtype=np.int32)
        self._numbered(data, indptr, starts, ends - np.int32(1), spaces, np.zeros(len(encoded)))
        self.names += names

    def _numbered(self, data: Any, indptr: Any, starts: Any, ends: Any, spaces: Any, values: Any) -> sparse.csr_array:
        state = self._state
        state[KNOWN_BEFORE], state[DONE_ROWS], state[DONE_ENTRIES] = state[KNOWN], 0, 0
        self._new = np.empty(0 if self._fixed else values.size, dtype=np.int32)
        sum_indptr, indices, sums = np.zeros_like(indptr), np.empty(values.size, np.int32), np.empty(values.size)
        out = sum_indptr, indices, sums
        number_names = make_number_names()
        arrays = data, indptr, starts, ends, spaces, values, self._fixed, state
        while not number_names(*arrays, self._hashes, self._slots, self._new, *out):
            self._grow(int(indptr[state[DONE_ROWS] + 1] - indptr[state[DONE_ROWS]]))
        state[ALL_ROWS] += indptr.size - 1
        n_entries = int(state[DONE_ENTRIES])
        shape = (indptr.size - 1, max(1, int(state[KNOWN])))
        return sparse.csr_array((sums[:n_entries], indices[:n_entries], sum_indptr), shape=shape)

    def _grow(self, more: int) -> None:
        """Make room for twice as many names, and for those of a row."""
        known = int(self._state[KNOWN])
        size = 1 << (2 * known + more).bit_length()
        hashes = np.empty(size, dtype=np.uint64)
        hashes[:known] = self._hashes[:known]
        self._hashes, self._slots = hashes, np.zeros(2 * SLOT * size, dtype=np.uint64)
        self._state[PLACED] = 0


def _name_at(data: Any, at: int) -> bytes:
    size = 1 << 8
    while True:
        match = _NAME.match(piece := data[at : at + size].tobytes())
        if match is None or match.end() < len(piece):
            return b"" if match is None else match[0]
        size *= 8


def _bytes_of(name: str) -> bytes:
    r"""The bytes in a file whose name this is: those that are not UTF-8 were written as ``\xe9``.

    Examples
    --------
    >>> _bytes_of("café"), _bytes_of(r"caf\xe9"), _bytes_of(r"caf\x41")
    (b'caf\xc3\xa9', b'caf\xe9', b'caf\\x41')
    """
    encoded = name.encode()
    plain = _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), encoded)
    try:
        plain.decode()
    except UnicodeDecodeError:
        return plain
    return encoded
