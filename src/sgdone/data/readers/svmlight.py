"""Reader for the svmlight (LIBSVM) format: ``label index:value index:value … # comment`` on each line."""

from io import BytesIO
from itertools import chain

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from sgdone.data.compressed_files import opened
from sgdone.data.occurring_columns import columns_of, names_of, occurring, select
from sgdone.data.reader import Reader
from sgdone.data.svmlight_lines import LARGEST_INDEX, Lines, problems
from sgdone.data.table import DataError, ReadOptions, Table, all_finite


def read_svmlight(options: ReadOptions) -> Table:
    """Read a svmlight file into a CSR matrix.

    Indices start at 1, as in LIBSVM, unless ``zero_based``. This is never inferred: a training file may contain the
    index 0 when its test file does not, and all features would shift by one.

    If the largest index is far beyond the number of indices that occur, only the columns that occur are kept, and
    named by their indices. Given as ``features``, these names choose the columns of another file; other indices in it
    are ignored.
    """
    if options.label is not None and options.require_label:
        if options.features is not None:
            raise options.error(
                f"svmlight files have no column names, such as the label {options.label!r}: use a file with the "
                "columns of the training data"
            )
        raise options.error("svmlight files have no column names, and the label comes first: remove label=")
    first = 0 if options.zero_based else 1
    columns = None if options.features is None else columns_of(options.features, first)
    width = options.width if columns is None else None
    last = None if width is None else width - 1 + first
    try:
        with opened(options.path) as stream:
            X, y = load_svmlight_file(Lines(stream, options.budget()), n_features=width, zero_based=options.zero_based)
    except DataError:
        raise
    except (ValueError, OverflowError) as error:
        raise _first_fault(options, last, str(error)) from error
    if y.size == 0:
        raise options.error("contains no rows")
    if not ((options.allow_missing or all_finite(X.data)) and all_finite(y)):
        raise _first_fault(options, last, "contains NaN or infinity")
    names = None if options.features is None else list(options.features)
    if columns is None and width is None:
        columns = occurring(X)
        names = None if columns is None else names_of(columns, first)
    if columns is not None:
        X = select(X, columns)
    index = np.int32 if max(X.nnz, X.shape[1]) <= LARGEST_INDEX else np.int64
    parts = (X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False))
    return Table(
        X=sparse.csr_array(parts, shape=X.shape),
        y=y,
        feature_names=names,
        label_name=None,
        path=options.path,
        zero_based=options.zero_based,
    )


def _first_fault(options: ReadOptions, last: int | None, otherwise: str) -> DataError:
    """Find the first invalid line; scikit-learn's parser does not report it."""
    with opened(options.path) as stream:
        blocks = Lines(stream, options.budget()).blocks()
        for number, line in enumerate(chain.from_iterable(map(BytesIO, blocks)), start=1):
            for problem in problems(line.decode("utf-8", "backslashreplace"), options, last):
                return options.error(problem, place=f"line {number:,}")
    return options.error(otherwise)


READER = Reader("svmlight", (".svm", ".libsvm", ".svmlight"), read_svmlight)
