"""Rows of a CSR matrix, filled one source of entries after the other.

``cursor`` is where the next entry of each row goes. Each loop writes its entries and moves the cursor on.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled


@lru_cache(maxsize=4)
def make_place_indicators(types: str) -> Callable[..., None]:
    """A loop that adds an entry 1 to each row whose ``features`` is not negative."""
    mark = fingerprint(types, "place_indicators")

    @compiled(mark)
    def place_indicators(features: Any, cursor: Any, indices: Any, values: Any) -> None:
        _ = mark
        for i in range(features.size):
            if features[i] >= 0:
                indices[cursor[i]] = features[i]
                values[cursor[i]] = 1.0
                cursor[i] += 1

    return place_indicators


@lru_cache(maxsize=4)
def make_place_rows(types: str) -> Callable[..., None]:
    """A loop that adds the entries of each row of another CSR matrix, whose column j is the feature ``features[j]``."""
    mark = fingerprint(types, "place_rows")

    @compiled(mark)
    def place_rows(
        from_indptr: Any, from_indices: Any, from_values: Any, features: Any, cursor: Any, indices: Any, values: Any
    ) -> None:
        _ = mark
        for i in range(cursor.size):
            at = cursor[i]
            for k in range(from_indptr[i], from_indptr[i + 1]):
                indices[at] = features[from_indices[k]]
                values[at] = from_values[k]
                at += 1
            cursor[i] = at

    return place_rows


@lru_cache(maxsize=4)
def make_sort_rows(types: str) -> Callable[..., None]:
    """A loop that sorts the entries of each row by column: by insertion, because rows are nearly sorted."""
    mark = fingerprint(types, "sort_rows")

    @compiled(mark)
    def sort_rows(indptr: Any, indices: Any, values: Any) -> None:
        _ = mark
        for row in range(indptr.size - 1):
            for i in range(indptr[row] + 1, indptr[row + 1]):
                column, value, at = indices[i], values[i], i
                while at > indptr[row] and indices[at - 1] > column:
                    indices[at], values[at] = indices[at - 1], values[at - 1]
                    at -= 1
                indices[at], values[at] = column, value

    return sort_rows


@lru_cache(maxsize=4)
def make_join_rows(types: str) -> Callable[..., None]:
    """A loop that writes the entries of dense rows that are not 0, and after them those of sparse rows, as one CSR."""
    mark = fingerprint(types, "join_rows")

    @compiled(mark)
    def join_rows(
        dense: Any, from_indptr: Any, from_indices: Any, from_values: Any, indptr: Any, indices: Any, values: Any
    ) -> None:
        _ = mark
        width = dense.shape[1]
        at = 0
        for i in range(dense.shape[0]):
            for j in range(width):
                if dense[i, j] != 0.0:
                    indices[at] = j
                    values[at] = dense[i, j]
                    at += 1
            for k in range(from_indptr[i], from_indptr[i + 1]):
                indices[at] = width + from_indices[k]
                values[at] = from_values[k]
                at += 1
            indptr[i + 1] = at

    return join_rows
