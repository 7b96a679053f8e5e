"""Labels, weights and feature columns from an Arrow table, checked, with errors that say where."""

import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.readers.column_choice import Columns, LabelCondition, cast_columns
from sgdone.readers.locations import Place, in_file, numbered, places_among, shown
from sgdone.readers.table import DataError, ReadOptions, Table, shortened
from sgdone.tables import arrow_table
from sgdone.tables.frames import is_string
from sgdone.tables.kinds import family_of
from sgdone.tables.string_cells import CELLS_PER_MISPRINT, arrow_of, is_number, numpy_of


def assemble(table: Any, columns: Columns, options: ReadOptions, place: Place, *, whole: bool = True) -> Table:
    """Build a :class:`Table` from the columns of an Arrow table; ``place`` locates a row in the file.

    If rows without labels are skipped, these can be all rows of a part of a file, but not of a whole one.
    """
    if table.num_rows == 0:
        raise options.error("has column names but no rows")
    features = arrow_table(table.select(columns.features))
    for name, column in zip(features.column_names, features.columns, strict=True):
        _check_feature(column, _ColumnErrors(name, options, place))
    weights = None
    if columns.weight is not None:
        weights = _weights(table.column(columns.weight), _ColumnErrors(columns.weight, options, place))
    labels, labelled, where = None, None, place
    if columns.label is not None:
        column = table.column(columns.label)
        missing = _missing_labels(column)
        if options.skip_unlabelled and missing.any() and not (whole and missing.all()):
            labelled = np.flatnonzero(~missing)
            column, features = (part.take(arrow_of(labelled)) for part in (column, features))
            weights = None if weights is None else weights[labelled]
            where = places_among(place, labelled)
        if labelled is not None and not labelled.size:
            labels = np.empty(0)  # whatever their type would be
        elif options.require_label or not missing.any():
            labels = _labels(column, columns.condition, _ColumnErrors(columns.label, options, where))
    return Table(
        X=features,
        y=labels,
        feature_names=columns.features,
        label_name=columns.label_name,
        name=shown(options.path),
        weights=weights,
        dropped=columns.dropped,
        labelled=labelled,
        unlabelled=0 if labelled is None else table.num_rows - labelled.size,
        place=in_file(options.path, where),
    )


def row_place(before: int) -> Place:
    """Places of rows that are numbered from 1, with some rows before them."""
    return numbered("row", range(before + 1, sys.maxsize))


def _missing_labels(column: Any) -> NDArray[np.bool_]:
    """Whether each row has no label: null, NaN or blank."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    missing = pc.is_null(column, nan_is_null=True)
    if is_string(column.type):
        missing = pc.or_kleene(missing, pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0))
    found: NDArray[np.bool_] = numpy_of(missing)
    return found


class _ColumnErrors(NamedTuple):
    """A column of a file, for errors about it or one of its cells."""

    name: str
    options: ReadOptions
    place: Place

    def error(self, problem: str, row: int | None = None) -> DataError:
        """An error about a row, or the whole column."""
        where = f"column {self.name!r}"
        return self.options.error(problem, place=where if row is None else f"{self.place(row)}, {where}")

    def infinite(self, value: float, row: int) -> DataError:
        """The error for an infinite value."""
        return self.error(f"infinite value ({value}): clip or drop it", row)

    def refuse_nulls(self, column: Any, what: str) -> None:
        """Raise for the first missing value."""
        if column.null_count:
            raise self.error(f"missing {what}: drop the row", pc.index(column.is_null(), True).as_py())


def _check_feature(column: Any, errors: _ColumnErrors) -> None:
    """Raise for a type that cannot be encoded, and for infinite values."""
    try:
        family_of(errors.name, column)
    except TypeError:
        row = 0 if column.null_count == len(column) else pc.index(column.is_valid(), True).as_py()
        problem = f"{_shown(column[row])} ({column.type}) is neither number, text nor date"
        raise errors.error(f"{problem}: convert the column, or leave it out with drop=", row) from None
    if errors.options.allow_missing or not (pa.types.is_float32(column.type) or pa.types.is_float64(column.type)):
        return
    infinite = pc.is_inf(column)
    if pc.any(infinite).as_py():
        row = pc.index(infinite, True).as_py()
        raise errors.infinite(column[row].as_py(), row)


def _weights(column: Any, errors: _ColumnErrors) -> NDArray[np.float64]:
    if not _is_numeric(column.type):
        raise errors.error(f"weights must be numbers, and the type of this column is {column.type}")
    errors.refuse_nulls(column, "weight")
    weights: NDArray[np.float64] = numpy_of(column.cast(pa.float64()))
    wrong = ~((weights >= 0) & (weights < math.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise errors.error(f"the weight {weights[row]} is not a number of 0 or more", row)
    return weights


def _labels(column: Any, condition: LabelCondition | None, errors: _ColumnErrors) -> NDArray[Any]:
    if condition is None:
        return _labels_as_written(column, errors)
    if not _is_numeric(column.type):
        raise errors.error(f"{condition} compares numbers, and the type of the column is {column.type}")
    return condition.holds(_labels_as_written(column.cast(pa.float64()), errors))


def _labels_as_written(column: Any, errors: _ColumnErrors) -> NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    errors.refuse_nulls(column, "label")
    if is_string(column.type):
        return _text_labels(column, errors)
    if pa.types.is_decimal(column.type) and not _exact_as_floats(column):
        return _text_labels(column.cast(pa.string()), errors)
    if not _is_numeric(column.type):
        advice = "text must be UTF-8" if pa.types.is_binary(column.type) else "write classes as text or numbers"
        raise errors.error(
            f"the label {_shown(column[0])} ({column.type}) is neither a class nor a number: {advice}", 0
        )
    if pa.types.is_decimal(column.type):  # NumPy would make Python objects of them
        column = column.cast(pa.float64())
    values: NDArray[Any] = numpy_of(column)
    _check_finite(values, errors)
    return values


def _text_labels(column: Any, errors: _ColumnErrors) -> NDArray[Any]:
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    classes = encoded.dictionary.to_pylist()
    codes = numpy_of(encoded.indices)
    for code, text in enumerate(classes):
        if text.strip() and "\n" not in text:
            continue
        problem = 'the label contains a line break: is a quote (") not closed?'
        raise errors.error(problem if text.strip() else "missing label: drop the row", int(np.argmax(codes == code)))
    _refuse_misprints(classes, codes, errors)
    result: NDArray[Any] = np.array(classes, dtype=np.str_)[codes]
    return result


def _refuse_misprints(classes: list[str], codes: NDArray[Any], errors: _ColumnErrors) -> None:
    """Raise for few labels that are no numbers among numbers, and for the name of the column: one row is no class."""
    counts = np.bincount(codes, minlength=len(classes))
    words = [code for code, text in enumerate(classes) if not is_number(text.strip())]
    numbers = len(words) < len(classes) and CELLS_PER_MISPRINT * counts[words].sum() <= codes.size
    for code in words:
        header = classes[code].strip() == errors.name and CELLS_PER_MISPRINT * counts[code] <= codes.size
        if not (numbers or header):
            continue
        found = f"the label is {shortened(classes[code])!r}, "
        problem = "the name of the column: is the header repeated?" if header else "and almost all others are numbers."
        row = int(np.argmax(codes == code))
        raise errors.error(f"{found}{problem} Correct the line, or remove it", row)


def _check_finite(values: NDArray[Any], errors: _ColumnErrors) -> None:
    if np.isfinite(values).all():
        return
    row = int(np.argmin(np.isfinite(values)))
    if not math.isnan(values[row]):
        raise errors.infinite(values[row], row)
    count = int(np.isnan(values).sum())
    others = f" ({count:,} in this column)" if count > 1 else ""
    raise errors.error(f"missing value{others}: impute or drop it", row)


def _shown(value: Any) -> str:
    """A value for a message; times and dates in a file may be ones that Python does not have."""
    try:
        return shortened(str(value.as_py()))
    except (ArithmeticError, ImportError, LookupError, TypeError, ValueError):
        return "a value"


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _exact_as_floats(column: Any) -> bool:
    """Whether decimals that are whole numbers are the same as floats; others are measurements, not classes."""
    distinct = column.unique().to_pylist()
    whole = all(value == value.to_integral_value() for value in distinct)
    return not whole or all(int(value) == int(float(value)) for value in distinct)


#: No machine has as many bytes: a file that asks for them is damaged.
_MOST_MEMORY = 2**48
#: Rows, and bytes of Arrow memory, of a part at most.
PART_ROWS, PART_BYTES = 2**16, 2**24


def part_rows(n_rows: int, n_bytes: int) -> int:
    """Rows of a part of a table of given size."""
    return max(1, min(PART_ROWS, PART_BYTES * n_rows // n_bytes if n_bytes else PART_ROWS))


@contextmanager
def damage_explained(kind: str, options: ReadOptions, place: str = "") -> Iterator[None]:
    """Convert errors of Arrow about a file of some kind to errors that name the file."""
    try:
        yield
    except (pa.ArrowException, MemoryError, OSError, UnicodeDecodeError) as error:  # names need not be UTF-8
        asked = re.search(r"size ([0-9]+)", str(error))
        if isinstance(error, MemoryError) and (asked is None or int(asked[1]) < _MOST_MEMORY):
            raise
        reason = str(error).splitlines()[0]
        raise options.error(f"cannot be read as {kind} ({reason}): write the file again", place=place) from error


def typed_parts(
    batch: Any, before: int, columns: Columns, types: Mapping[str, Any], options: ReadOptions
) -> Iterator[Table]:
    """The rows of a record batch in parts, with columns of given types; ``before`` rows of the file are before them."""
    made = cast_columns(batch, types, options, f"row {before + 1:,} and later")
    for first, part in parts_of(made):
        yield assemble(part, columns, options, row_place(before + first), whole=False)


def parts_of(table: Any) -> Iterator[tuple[int, Any]]:
    """Cut an Arrow table or record batch; yield the number of the first row of each part, and the part."""
    size = part_rows(table.num_rows, table.nbytes)
    for first in range(0, table.num_rows, size):
        yield first, table.slice(first, size)
