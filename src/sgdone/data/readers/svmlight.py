"""Reader for the svmlight (LIBSVM) format: ``label index:value index:value … # comment`` on each line."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from sgdone.data.compressed_files import opened
from sgdone.data.reader import Reader
from sgdone.data.table import DataError, ReadOptions, Table, all_finite, counted

_LARGEST = np.iinfo(np.int32).max


def read_svmlight(options: ReadOptions) -> Table:
    """Read a svmlight file into a CSR matrix.

    Indices start at 1, as in LIBSVM, unless ``zero_based``. This is never inferred: a training file may contain the
    index 0 when its test file does not, and all features would shift by one.
    """
    if options.label is not None and options.require_label:
        raise options.error("svmlight files have no column names, and the label comes first: remove label=")
    try:
        with opened(options.path) as stream:
            X, y = load_svmlight_file(stream, n_features=options.width, zero_based=options.zero_based)
    except DataError:
        raise
    except (ValueError, OverflowError) as error:
        raise _first_fault(options, str(error)) from error
    if y.size == 0:
        raise options.error("contains no rows")
    if not ((options.allow_missing or all_finite(X.data)) and all_finite(y)):
        raise _first_fault(options, "contains NaN or infinity")
    index = np.int32 if max(X.nnz, X.shape[1]) <= _LARGEST else np.int64
    parts = (X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False))
    names = None if options.features is None else list(options.features)
    return Table(
        X=sparse.csr_array(parts, shape=X.shape),
        y=y,
        feature_names=names,
        label_name=None,
        path=options.path,
        zero_based=options.zero_based,
    )


def _first_fault(options: ReadOptions, otherwise: str) -> DataError:
    """Find the first invalid line; scikit-learn's parser does not report it."""
    with opened(options.path) as stream:
        for number, line in enumerate(stream, start=1):
            for problem in _problems(line.decode("utf-8", "backslashreplace"), options):
                return options.error(problem, place=f"line {number:,}")
    return options.error(otherwise)


def _problems(line: str, options: ReadOptions) -> Iterator[str]:
    label, *rest = line.split("#", 1)[0].split() or [""]
    if label:
        yield from _label_problems(label)
        yield from _feature_problems(rest[1:] if rest and rest[0].startswith("qid:") else rest, options)


def _label_problems(label: str) -> Iterator[str]:
    value = _number(label)
    if ":" in label:
        yield f"starts with {label!r} instead of a label: put a number first (0 if unknown)"
    elif value is None and all(_number(part) is not None for part in label.split(",")):
        yield f"has several labels ({label}): keep one per row"
    elif value is None:
        yield f"the label {label!r} is not a number: encode the classes as numbers"
    elif not np.isfinite(value):
        yield f"the label is {label!r}: drop the row"


def _feature_problems(entries: list[str], options: ReadOptions) -> Iterator[str]:
    first = 0 if options.zero_based else 1
    last = _LARGEST - 1 if options.width is None else options.width - 1 + first
    previous = -1
    for entry in entries:
        left, _, right = entry.partition(":")
        if not left.lstrip("+-").isdecimal() or not right:
            yield f"{entry!r} does not have the form index:value"
            return
        index, value = int(left), _number(right)
        if index == 0 and first == 1:
            yield "index 0: indices start at 0 in this file; read it and its test files with zero_based=True"
        elif index < 0:
            yield f"index {index} is negative"
        elif index > last and options.width is None:
            yield f"index {index} is too large: at most {_LARGEST:,} features are supported"
        elif index > last:
            yield (
                f"index {index} is too large: the last of {counted(options.width or 0, 'feature')}, starting at "
                f"{first}, is {last}. Read training and test files with the same n_features and zero_based"
            )
        elif index == previous:
            yield f"index {index} appears twice: keep one value per feature"
        elif index < previous:
            yield f"index {index} comes after {previous}: sort the indices of each line"
        if value is None:
            yield f"index {index}: {right!r} is not a number"
        elif options.allow_missing:
            pass
        elif np.isnan(value):
            yield f"index {index}: missing value ({right}): impute or drop it"
        elif np.isinf(value):
            yield f"index {index}: infinite value ({right}): clip or drop it"
        previous = index


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


READER = Reader("svmlight", (".svm", ".libsvm", ".svmlight"), read_svmlight)
