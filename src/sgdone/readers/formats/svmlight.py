"""Reader for the svmlight (LIBSVM) format: ``label index:value index:value … # comment`` on each line."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sgdone.kernels.decimal_number import power_table
from sgdone.kernels.svmlight_text import make_read_lines
from sgdone.matrices.csr import csr_of
from sgdone.matrices.reused_arrays import ReusedArrays
from sgdone.readers.line_blocks import LineBlock
from sgdone.readers.line_parts import parsed_blocks
from sgdone.readers.occurring_columns import columns_of, names_of, occurring, select
from sgdone.readers.reader import Reader
from sgdone.readers.row_arrays import RowArrays
from sgdone.readers.svmlight_lines import LARGEST_INDEX, rewritten
from sgdone.readers.table import ReadOptions, Table
from sgdone.readers.whole_file import joined


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
    return replace(table, X=_with_index_type(X), feature_names=names)


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
    for block, rows, place in parsed_blocks(files, partial(_parsed, make_read_lines(), power_table(), ReusedArrays())):
        n_rows, n_entries = rows.n_rows, rows.n_entries
        indices = rows.entries["indices"][:n_entries]
        if width is None and n_entries:
            widest = max(widest, int(indices.max()) + 1)
        shape = (n_rows, widest if width is None else width)
        values = rows.entries["values"][:n_entries].view(np.float64)
        X = csr_of(values, indices, rows.indptr[: n_rows + 1], shape)
        yield Table(
            X=_with_index_type(X if columns is None else select(X, columns)),
            y=rows.rows["labels"][:n_rows].view(np.float64),
            feature_names=names,
            label_name=None,
            path=block.options.path,
            zero_based=options.zero_based,
            place=place,
        )


def _parsed(read_lines: Callable[..., int], table: Any, arrays: ReusedArrays, block: LineBlock) -> RowArrays:
    options = block.options
    first, last = _first(options), _last(options)
    mask = LARGEST_INDEX if options.bits is None else (1 << options.bits) - 1
    largest = LARGEST_INDEX if last is None else min(last, LARGEST_INDEX)
    rows = RowArrays(block.end, {"labels": np.uint64}, {"indices": np.int32, "values": np.uint64}, arrays)

    def loop(data: Any, end: Any) -> int:
        filled = rows.rows["labels"], rows.indptr, rows.entries["indices"], rows.entries["values"]
        return read_lines(data, end, rows.progress, table, first, largest, mask, not options.allow_missing, *filled)

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


def _with_index_type(X: Any) -> Any:
    """The matrix with indices of 32 bits, if they suffice."""
    index = np.int32 if max(X.nnz, X.shape[1]) <= LARGEST_INDEX else np.int64
    return csr_of(X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False), X.shape)


READER = Reader("svmlight", (".svm", ".libsvm", ".svmlight"), read_svmlight, parts=read_svmlight_parts)
