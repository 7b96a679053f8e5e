"""Reader for the svmlight (LIBSVM) format: ``label index:value index:value … # comment`` on each line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.kernels.decimal_number import power_table
from sgdone.kernels.svmlight_text import read_lines
from sgdone.matrices.csr import csr_of
from sgdone.matrices.stacking import ReusedArrays
from sgdone.message_text import counted
from sgdone.readers.locations import shown
from sgdone.readers.numeric_lines import LineBlock, RowArrays, joined, parsed_blocks, with_index_type
from sgdone.readers.reader import Reader
from sgdone.readers.table import ReadOptions, Table, reads_as_number, shortened

#: Largest index: that of a signed 32-bit integer.
LARGEST_INDEX = np.iinfo(np.int32).max
#: White space within a line.
_BLANKS = re.compile(r"[ \t\r\v\f\n]+")
#: Name of a column by its index.
_NAME = re.compile(r"feature ([0-9]{1,18})")
#: Columns are left out if there are more than this many, of which less than a quarter occur. The rule depends on the
#: file alone, and a model of the others takes at most four times the memory that it needs.
_NARROW, _SPARSE = 1 << 16, 4


def rewritten(line: bytes, options: ReadOptions, last: int | None) -> bytes:
    """A line as the compiled reader takes it; raises ValueError if something is wrong with it.

    Lines that it does not take are rare: an index with a sign, or a number with more digits than the loop can decide
    on. ``last`` is the largest index allowed.

    Examples
    --------
    >>> from pathlib import Path
    >>> rewritten(b"1e1 qid:7 +1:0.10 # a comment", ReadOptions(Path("t.svm")), last=None)
    b'10.0 1:0.1'
    """
    text = line.decode("utf-8", "backslashreplace")
    label, *entries = _BLANKS.split(text.split("#", 1)[0].strip(" \t\r\v\f\n"))
    if entries and entries[0].startswith("qid:"):
        del entries[0]
    _check_label(label)
    return " ".join([repr(float(label)), *_features(entries, options, last)]).encode()


def _check_label(label: str) -> None:
    value, shown = _number(label), shortened(label)
    digits = label.lstrip("+-")
    if ":" in label:
        raise ValueError(f"starts with {shown!r} instead of a label: put a number first (0 if unknown)")
    if value is None and all(_number(part) is not None for part in label.split(",")):
        raise ValueError(f"has several labels ({shown}): keep one per row")
    if value is None:
        raise ValueError(f"the label {shown!r} is not a number: encode the classes as numbers")
    if digits.isdecimal() and len(digits) > 1 and digits.startswith("0"):
        number = shortened(digits.lstrip("0") or "0")
        raise ValueError(f"the label {shown!r} has leading zeros: write {number}, or keep it as text in a CSV file")
    if not np.isfinite(value) and not digits.isdecimal():
        raise ValueError(f"the label is {shown!r}: drop the row")
    if digits.isdecimal() and not (np.isfinite(value) and int(digits) == abs(value)):
        raise ValueError(f"the label {shown!r} has too many digits for a float: number the classes 0, 1, 2, …")


def _features(entries: list[str], options: ReadOptions, last: int | None) -> Iterator[str]:
    """The entries in the common form."""
    first = 0 if options.zero_based else 1
    previous = -1
    for entry in entries:
        left, _, right = entry.partition(":")
        digits = left.lstrip("+-")
        if not (digits.isascii() and digits.isdecimal()) or len(left) > len(digits) + 1 or not right:
            raise ValueError(f"{shortened(entry)!r} does not have the form index:value")
        # Python does not convert more than 4,300 digits.
        index, value = int(left) if len(digits) < 20 else LARGEST_INDEX + 1, _number(right)
        if index == 0 and first == 1:
            raise ValueError(
                "index 0: indices start at 0 in this file; read it and its test files with zero_based=True"
            )
        if index < 0:
            raise ValueError(f"index {index} is negative")
        if index > LARGEST_INDEX:
            raise ValueError(f"index {shortened(left)} is too large: indices up to {LARGEST_INDEX:,} are supported")
        if last is not None and index > last:
            raise ValueError(
                f"index {index} is too large: the last of {counted(last - first + 1, 'feature')}, starting at "
                f"{first}, is {last}. Read training and test files with the same n_features and zero_based"
            )
        if index == previous:
            raise ValueError(f"index {index} appears twice: keep one value per feature")
        if index < previous:
            raise ValueError(f"index {index} comes after {previous}: sort the indices of each line")
        if value is None:
            raise ValueError(f"index {index}: {shortened(right)!r} is not a number")
        if not (options.allow_missing or np.isfinite(value)):
            problem = "missing value" if np.isnan(value) else "infinite value"
            advice = "impute" if np.isnan(value) else "clip"
            raise ValueError(f"index {index}: {problem} ({shortened(right)}): {advice} or drop it")
        previous = index
        yield f"{index}:{value!r}"


def _number(text: str) -> float | None:
    return float(text) if text.isascii() and reads_as_number(text) else None


def read_svmlight(options: ReadOptions) -> Table:
    """Read a svmlight file into a CSR matrix.

    Indices start at 1, as in LIBSVM, unless ``zero_based``. This is never inferred: a training file may contain the
    index 0 when its test file does not, and all features would shift by one.

    If the largest index is far beyond the number of indices that occur, only the columns that occur are kept, and
    named by their indices. Given as ``features``, these names choose the columns of another file; other indices in it
    are ignored.
    """
    table = joined(options, read_svmlight_parts([options]))
    if options.width is not None or options.bits is not None:
        return table
    columns = occurring(table.X)
    if columns is None:
        return table
    X, names = select(table.X, columns), names_of(columns, _first(options))
    return replace(table, X=with_index_type(X), feature_names=names)


def read_svmlight_parts(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """The rows of svmlight files, a block of lines at a time.

    The width of the matrices is the number of features, if given, and otherwise the largest index so far. With
    ``bits``, columns are taken modulo 2**bits, and a row may have a column twice.
    """
    options = files[0]
    if options.label is not None and options.require_label:
        if options.features is not None:
            raise options.error(
                f"svmlight files have no column names, such as the label {options.label!r}: use a file with the "
                "columns of the training data"
            )
        raise options.error("svmlight files have no column names, and the label comes first: remove label=")
    names = None if options.features is None else list(options.features)
    columns = None if names is None else columns_of(names, _first(options))
    width = options.width if columns is None else None
    if options.bits is not None:
        width = 1 << options.bits
    widest = 1
    for block, rows, place in parsed_blocks(files, partial(_parsed, power_table(), ReusedArrays())):
        n_rows, n_entries = rows.n_rows, rows.n_entries
        indices = rows.entries["indices"][:n_entries]
        if width is None and n_entries:
            widest = max(widest, int(indices.max()) + 1)
        shape = (n_rows, widest if width is None else width)
        values = rows.entries["values"][:n_entries].view(np.float64)
        X = csr_of(values, indices, rows.indptr[: n_rows + 1], shape)
        yield Table(
            X=with_index_type(X if columns is None else select(X, columns)),
            y=rows.rows["labels"][:n_rows].view(np.float64),
            feature_names=names,
            label_name=None,
            name=shown(block.options.path),
            zero_based=options.zero_based,
            place=place,
        )


def _parsed(table: Any, arrays: ReusedArrays, block: LineBlock) -> RowArrays:
    options = block.options
    first, last = _first(options), _last(options)
    mask = LARGEST_INDEX if options.bits is None else (1 << options.bits) - 1
    largest = LARGEST_INDEX if last is None else min(last, LARGEST_INDEX)
    rows = RowArrays(block.end, {"labels": np.uint64}, {"indices": np.int32, "values": np.uint64}, arrays)

    def loop(data: Any, end: Any) -> int:
        filled = rows.rows["labels"], rows.indptr, rows.entries["indices"], rows.entries["values"]
        limits = first, largest, mask
        return read_lines(data, end, rows.progress, table, limits, not options.allow_missing, filled)

    rows.fill(block, loop, lambda line: rewritten(line, options, last))
    return rows


def _first(options: ReadOptions) -> int:
    """The first index."""
    return 0 if options.zero_based else 1


def _last(options: ReadOptions) -> int | None:
    """The largest index allowed, if there is one."""
    of_names = options.features is not None and columns_of(options.features, _first(options)) is not None
    if options.width is None or of_names or options.bits is not None:
        return None
    return options.width - 1 + _first(options)


def occurring(X: Any) -> NDArray[np.int64] | None:
    """The columns of a CSR matrix that have entries, if most have none; else None."""
    width = X.shape[1]
    if width <= _NARROW:
        return None
    # A mark per column would take more memory than the entries if there are many more columns.
    if width > _SPARSE * max(1, X.nnz):
        return np.unique(X.indices).astype(np.int64)
    marks = np.zeros(width, dtype=bool)
    marks[X.indices] = True
    columns = np.flatnonzero(marks)
    return columns if width > _SPARSE * columns.size else None


def names_of(columns: NDArray[np.int64], first: int) -> list[str]:
    """Names for columns by their index in the file, where indices start at ``first``."""
    return [f"feature {index}" for index in (columns + first).tolist()]


def columns_of(names: Sequence[str], first: int) -> NDArray[np.int64] | None:
    """The columns that `names_of` named; None if a name is of another kind, or before the first index."""
    found = [_NAME.fullmatch(name) for name in names]
    columns = np.array([-1 if match is None else int(match[1]) - first for match in found], dtype=np.int64)
    return None if columns.size == 0 or columns.min() < 0 else columns


def select(X: Any, columns: NDArray[np.int64]) -> Any:
    """The given columns of a CSR matrix, in this order; entries of others are left out."""
    order = np.argsort(columns, kind="stable")
    ascending = columns[order]
    places = np.minimum(np.searchsorted(ascending, X.indices), columns.size - 1)
    wanted = ascending[places] == X.indices
    counts = np.concatenate([[0], np.cumsum(wanted)])
    parts = X.data[wanted], order[places[wanted]], counts[X.indptr]
    found = sparse.csr_array(parts, shape=(X.shape[0], columns.size))
    found.sort_indices()
    return found


READER = Reader("svmlight", (".svm", ".libsvm", ".svmlight"), read_svmlight, parts=read_svmlight_parts)
