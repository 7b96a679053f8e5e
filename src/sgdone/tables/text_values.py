"""Columns of text as lower-case strings, in pieces that fit a core's cache."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.tables.string_cells import utf8

#: Bytes and rows of a piece of text.
_PIECE_BYTES, _PIECE_ROWS = 2**22, 2**16
#: Planes of Unicode with letters, digits and marks: the first four, and variation selectors.
_PLANES = (range(0x34000), range(0xE0100, 0xE01F0))


def text_values(name: str, column: Any) -> Any:
    """Strings as one array without nulls; a gap is a text without words.

    Examples
    --------
    >>> import pyarrow as pa
    >>> text_values("t", pa.chunked_array([pa.array(["Free entry", None], pa.large_string())])).to_pylist()
    ['Free entry', '']
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_large_string(column.type):
        raise TypeError(f"column {name!r} of type {column.type} cannot be text: it holds no strings")
    return pa.concat_arrays(column.chunks).fill_null("") if column.num_chunks else pa.array([], pa.large_string())


def lower_case_pieces(texts: Any) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Consecutive pieces of an array of strings, lower-cased: their bytes, and where each string begins.

    Strings with characters beyond ASCII are brought to Unicode's normal form C first: an accent is part of its letter
    whether it was typed as one character or two.
    """
    _, offsets = utf8(texts)
    first = 0
    while first < len(texts):
        last = int(np.searchsorted(offsets, offsets[first] + _PIECE_BYTES, side="right")) - 1
        last = min(max(last, first + 1), first + _PIECE_ROWS, len(texts))
        piece = texts.slice(first, last - first)
        if not pc.all(pc.string_is_ascii(piece)).as_py():
            piece = pc.utf8_normalize(piece, form="NFC")
        yield utf8(pc.utf8_lower(piece))
        first = last


@lru_cache(maxsize=1)
def characters_between_spaces() -> NDArray[np.uint8]:
    """0 for each Unicode character that is white space, 1 for others.

    Examples
    --------
    >>> characters_between_spaces()[[ord("a"), ord("-"), ord(" "), 0x2003]]
    array([1, 1, 0, 0], dtype=uint8)
    """
    table = np.ones(0x110000, dtype=np.uint8)
    table[[code for code in range(0x3001) if chr(code).isspace()]] = 0
    return table


@lru_cache(maxsize=1)
def characters_in_words() -> NDArray[np.uint8]:
    """1 for each Unicode character that is a letter or a digit, 2 for marks that combine with them, 0 for others.

    Examples
    --------
    >>> characters_in_words()[[ord("a"), ord("7"), 0x301, ord(" "), ord("_")]]
    array([1, 1, 2, 0, 0], dtype=uint8)
    """
    table = np.zeros(0x110000, dtype=np.uint8)
    places = {"L": 1, "N": 1, "M": 2}
    for plane in _PLANES:
        for code in plane:
            table[code] = places.get(unicodedata.category(chr(code))[0], 0)
    return table
