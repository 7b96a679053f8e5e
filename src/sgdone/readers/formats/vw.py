"""Reader for Vowpal Wabbit's text format: ``label weight 'tag|namespace name:value name | name …`` on each line."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from sgdone.kernels.decimal_number import power_table
from sgdone.kernels.vw_text import make_hash_names, make_read_vw_lines
from sgdone.matrices.csr import csr_of
from sgdone.matrices.reused_arrays import ReusedArrays
from sgdone.readers.line_blocks import LineBlock
from sgdone.readers.line_parts import parsed_blocks
from sgdone.readers.name_columns import NameColumns
from sgdone.readers.reader import Reader
from sgdone.readers.row_arrays import RowArrays
from sgdone.readers.row_places import places_among
from sgdone.readers.table import DataError, ReadOptions, Table
from sgdone.readers.vw_lines import rewritten
from sgdone.readers.whole_file import joined

_ROWS = {"labels": np.uint64, "weights": np.uint64}
_ENTRIES = {"names": np.int32, "name_ends": np.int32, "spaces": np.int32, "values": np.float64}


def read_vw(options: ReadOptions) -> Table:
    """Read a file in Vowpal Wabbit's format into a CSR matrix.

    Features that repeat in a row are added up. A token directly before the first ``|`` is a tag, as in Vowpal Wabbit,
    and tags are ignored. Weights that are all 1 are left out.

    Without ``bits``, each ``namespace^name`` is a column, in the order in which they first appear. With them, columns
    are Vowpal Wabbit's hashes modulo 2**bits (``--hash strings``, without its constant feature).
    """
    table = joined(options, _tables([options]))
    if options.bits is not None:
        table.X.sum_duplicates()
    if table.weights is not None and np.all(table.weights == 1):
        table = replace(table, weights=None)
    table = _with_labels(table, options)
    if table.X.shape[0] == 0:
        raise _without_labels(options)
    return table


def read_vw_parts(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """The rows of files in Vowpal Wabbit's format, a block of lines at a time.

    All tables have weights. ``feature_names`` is one list, which grows. With ``bits``, a row may have a column twice.
    If rows without a label are skipped, ``labelled`` counts from the first row of a part, and a table may have no rows.
    """
    n_rows = 0
    for whole in _tables(files):
        table = _with_labels(whole, files[0])
        n_rows += table.X.shape[0]
        yield table
    if n_rows == 0 and not files[0].part_of_table:
        raise _without_labels(files[0])


def _tables(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """Tables of all rows; the labels of those without one are NaN."""
    options = files[0]
    if options.require_label:
        for name, given, which in [("label", options.label, "first"), ("weight", options.weight, "second")]:
            if given is not None:
                raise options.error(
                    f"Vowpal Wabbit files have no column names, and the {name} is the {which} number of a line: "
                    f"remove {name}="
                )
    columns = NameColumns(options.features) if options.bits is None else None
    parse = partial(_parsed, make_read_vw_lines(), make_hash_names(), power_table(), ReusedArrays())
    for block, rows, place in parsed_blocks(files, parse):
        n_rows = rows.n_rows
        X = _hashed(rows, 1 << (options.bits or 0)) if columns is None else columns.matrix(block, rows)
        if columns is not None and options.width is not None:
            X = _with_width(X, options.width, block.options)
        yield Table(
            X=X,
            y=rows.rows["labels"][:n_rows].view(np.float64),
            feature_names=None if columns is None else columns.names,
            label_name=None,
            path=block.options.path,
            weights=rows.rows["weights"][:n_rows].view(np.float64),
            place=place,
        )


def _parsed(
    read_lines: Callable[..., int],
    hash_names: Callable[..., None],
    table: Any,
    arrays: ReusedArrays,
    block: LineBlock,
) -> RowArrays:
    options = block.options
    entries = _ENTRIES if options.bits is None else {**_ENTRIES, "indices": np.int32}
    rows = RowArrays(block.end, _ROWS, entries, arrays)
    labelled = options.require_label and not options.skip_unlabelled

    def loop(data: Any, end: Any) -> int:
        outputs = *rows.rows.values(), rows.indptr, *(rows.entries[name] for name in _ENTRIES)
        return read_lines(data, end, rows.progress, table, labelled, not options.allow_missing, *outputs)

    rows.fill(block, loop, lambda line: rewritten(line, options))
    if options.bits is not None:
        spans = (rows.entries[name][: rows.n_entries] for name in ("names", "name_ends", "spaces"))
        hash_names(block.data, table, *spans, np.uint64((1 << options.bits) - 1), rows.entries["indices"])
    return rows


def _hashed(rows: RowArrays, width: int) -> sparse.csr_array:
    n_rows, n_entries = rows.n_rows, rows.n_entries
    values, indices = (rows.entries[name][:n_entries] for name in ("values", "indices"))
    return csr_of(values, indices, rows.indptr[: n_rows + 1], (n_rows, width))


def _with_width(X: sparse.csr_array, width: int, options: ReadOptions) -> sparse.csr_array:
    if X.shape[1] > width:
        raise options.error(f"has at least {X.shape[1]:,} features instead of {width:,}: leave out n_features=")
    return csr_of(X.data, X.indices, X.indptr, (X.shape[0], width))


def _with_labels(table: Table, options: ReadOptions) -> Table:
    """The rows with a label, if others are to be skipped; no labels, if some are missing and none is needed."""
    labels = np.asarray(table.y)
    missing = np.isnan(labels)
    if not missing.any():
        return table
    if not options.skip_unlabelled:
        return replace(table, y=None)
    kept = np.flatnonzero(~missing)
    return replace(
        table,
        X=table.X[kept],
        y=labels[kept],
        weights=None if table.weights is None else table.weights[kept],
        labelled=kept,
        unlabelled=missing.size - kept.size,
        place=None if table.place is None else places_among(table.place, kept),
    )


def _without_labels(options: ReadOptions) -> DataError:
    return options.error("has no labels: write a number before the first '|' of each line")


READER = Reader("vw", (".vw",), read_vw, parts=read_vw_parts)
