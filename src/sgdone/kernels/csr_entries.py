"""Entries of CSR rows: placed one source after the other, columns that occur twice, and numbers for columns.

Where rows are filled, ``cursor`` is where the next entry of each row goes. Each loop writes its entries and moves the
cursor on.
"""

from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import compiled_by_types


@compiled_by_types
def place_indicators(features: Any, cursor: Any, indices: Any, values: Any) -> None:
    """A loop that adds an entry 1 to each row whose ``features`` is not negative."""
    for i in range(features.size):
        if features[i] >= 0:
            indices[cursor[i]] = features[i]
            values[cursor[i]] = 1.0
            cursor[i] += 1


@compiled_by_types
def place_rows(
    from_indptr: Any, from_indices: Any, from_values: Any, features: Any, cursor: Any, indices: Any, values: Any
) -> None:
    """A loop that adds the entries of each row of another CSR matrix, whose column j is the feature ``features[j]``."""
    for i in range(cursor.size):
        at = cursor[i]
        for k in range(from_indptr[i], from_indptr[i + 1]):
            indices[at] = features[from_indices[k]]
            values[at] = from_values[k]
            at += 1
        cursor[i] = at


@compiled_by_types
def sort_rows(indptr: Any, indices: Any, values: Any) -> None:
    """A loop that sorts the entries of each row by column: by insertion, because rows are nearly sorted."""
    for row in range(indptr.size - 1):
        for i in range(indptr[row] + 1, indptr[row + 1]):
            column, value, at = indices[i], values[i], i
            while at > indptr[row] and indices[at - 1] > column:
                indices[at], values[at] = indices[at - 1], values[at - 1]
                at -= 1
            indices[at], values[at] = column, value


@compiled_by_types
def join_rows(
    dense: Any, from_indptr: Any, from_indices: Any, from_values: Any, indptr: Any, indices: Any, values: Any
) -> None:
    """A loop that writes the entries of dense rows that are not 0, and after them those of sparse rows, as one CSR."""
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


#: In place of a row's number, if there is none.
NO_ROW: Final = -1


@compiled_by_types
def first_unsorted(indices: Any, indptr: Any) -> int:
    """A loop that returns the first row whose indices do not increase: no other row can have duplicates."""
    for i in range(indptr.size - 1):
        falls = 0
        # Counted to the end of the row: a loop that may break off is not vectorised.
        for k in range(indptr[i] + np.uint64(1), indptr[i + 1]):
            falls += indices[k] <= indices[k - np.uint64(1)]
        if falls > 0:
            return i
    return NO_ROW


@compiled_by_types
def first_duplicate(indices: Any, indptr: Any, first: Any, marks: Any) -> int:
    """A loop that returns the first row, from ``first`` on, that has a column twice.

    ``marks`` is 0 for each column; it is where the last row that has the column is noted. Indices outside the matrix
    are left for the training loop to report.
    """
    n_features = np.uint64(marks.size)
    for i in range(first, indptr.size - 1):
        number = i + 1
        for k in range(indptr[i], indptr[i + 1]):
            j = np.uint64(indices[k])
            if j >= n_features:
                continue
            if marks[j] == number:
                return i
            marks[j] = number
    return NO_ROW


#: In place of a number, of a column that has not appeared.
NO_NUMBER: Final = -1


@compiled_by_types
def number_columns(indices: Any, first: Any, numbers: Any, columns: Any, count: Any, found: Any) -> Any:
    """A loop over unsigned column indices from ``first`` on; ``types`` is their type.

    ``numbers`` has the number of each column, and ``columns`` the column of each number. The loop writes the numbers of
    the indices to ``found``, and returns where it stopped, which is the end unless ``columns`` is full, and how many
    columns have numbers.
    """
    for k in range(np.uint64(first), np.uint64(indices.size)):
        column = np.uint64(indices[k])
        number = numbers[column]
        if number == NO_NUMBER:
            if count == columns.size:
                return np.int64(k), count
            number = count
            numbers[column] = number
            columns[np.uint64(count)] = column
            count += 1
        found[k] = number
    return np.int64(indices.size), count
