"""Kinds of columns, inferred from their values, and columns that are left out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgdone.kernels.words import count_words
from sgdone.message_text import did_you_mean, listed
from sgdone.tables.cell_values import LevelValues, characters_between_spaces, level_values, number_values, text_values
from sgdone.tables.date_values import DateValues, date_values, parsed_dates
from sgdone.tables.frames import column_name
from sgdone.tables.string_cells import (
    Misprints,
    look_like_codes,
    looks_unread,
    numbers_and_misprints,
    utf8,
    without_blanks,
    without_misprints,
)

#: Words of a cell, on average, and distinct values for each cell, from which on strings may be text. Categories repeat;
#: two words are names of places and occupations, unless hardly one repeats.
SENTENCES = 3.0, 0.1
NAMES = 2.0, 0.5
#: Why a column is named in a warning: its cells are neither dates nor numbers as they are read here.
UNREAD = "looks like numbers or dates in another format"
#: One cell in this many that is no number makes a column a category that is worth a warning.
ALMOST = 100
#: Distinct values of a text at least, unless no value repeats: a few rows say little about repetition.
FEW_LEVELS = 20


class Kind(StrEnum):
    """The kinds of columns."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    TEXT = "text"
    DATE = "date"
    DROP = "drop"


#: Kinds that a user can ask for.
CHOICES = (Kind.NUMBER, Kind.CATEGORY, Kind.TEXT, Kind.DATE, Kind.DROP)


@final
@dataclass(frozen=True)
class Column:
    """The values of a column, read as a kind."""

    kind: Kind
    #: The family of its type, as `family_of` names it.
    family: str
    #: Why it is that kind, where its type does not say so; empty otherwise.
    reason: str
    #: An array, `LevelValues`, `DateValues`, Arrow strings or None.
    values: Any
    #: Cells that are missing values of a column of numbers; or those for which it is a category, if they are few.
    misprints: Misprints | None = None


#: The function that reads each kind, and the type of a column of nulls that is read as one.
_READERS: dict[Kind, tuple[Callable[[str, Any], Any], Any]] = {
    Kind.NUMBER: (number_values, pa.float64()),
    Kind.BOOLEAN: (number_values, pa.float64()),
    Kind.CATEGORY: (level_values, pa.large_string()),
    Kind.TEXT: (text_values, pa.large_string()),
    Kind.DATE: (date_values, pa.timestamp("us")),
}


def check_choices(choices: Mapping[str, str] | None, names: list[str]) -> dict[str, Kind]:
    """The kinds that a user asked for; an unknown name or kind is an error."""
    if choices is None:
        return {}
    if not isinstance(choices, Mapping):
        raise TypeError(f"columns must map names of columns to kinds; got {type(choices).__name__}")
    choices = {column_name(name): kind for name, kind in choices.items()}
    for name, kind in choices.items():
        if name not in names:
            raise ValueError(
                f"columns names {name!r}, which the table does not have.{did_you_mean(name, names)} "
                f"Columns: {listed(names)}"
            )
        if kind not in CHOICES:
            raise ValueError(
                f"unknown kind {kind!r} of column {name!r}.{did_you_mean(str(kind), map(str, CHOICES))} "
                f"Known: {', '.join(sorted(CHOICES))}"
            )
    return {name: Kind(kind) for name, kind in choices.items()}


def read_as(kind: Kind, name: str, column: Any, reason: str = "", *, misprints: int = 0) -> Column:
    """Read a column as a given kind; a cell that does not fit is an error that names it.

    Of strings that are to be numbers, one in a thousand may be none, or as many as ``misprints``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_as(Kind.CATEGORY, "zip", pa.chunked_array([[94110, 2134]])).values.levels.to_pylist()
    ['94110', '2134']
    """
    if kind is Kind.DROP:
        return Column(kind, "empty", reason, None)
    read, empty_type = _READERS[kind]
    family = family_of(name, column)
    column = column.cast(empty_type) if family == "empty" else column
    if kind is Kind.NUMBER and pa.types.is_large_string(column.type):
        numbers, found = numbers_and_misprints(column) or (column, None)
        if found is not None and (found.are_few or found.rows.size <= misprints):
            return Column(kind, family, reason, number_values(name, numbers), found)
    return Column(kind, family, reason, read(name, column))


def settle(name: str, column: Any) -> Column:
    """Decide what a column is, by its type and all of its values, and read it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> def strings(*values):
    ...     return pa.chunked_array([pa.array(values, pa.large_string())])
    >>> [settle("x", strings(*v)).kind.value for v in (["1", "?"], ["2011-07-13", ""], ["a", "b"], ["02134", "94110"])]
    ['number', 'date', 'category', 'category']
    """
    family = family_of(name, column)
    if family == "empty" or column.null_count == len(column):
        return Column(Kind.DROP, family, "no values", None)
    if family == "string" and not pa.types.is_dictionary(column.type):
        return _settle_strings(name, column)
    if family in ("date", "time"):
        return read_as(Kind.DATE, name, column)
    kind = {"number": Kind.NUMBER, "boolean": Kind.BOOLEAN}.get(family, Kind.CATEGORY)
    return _or_empty(read_as(kind, name, column))


_FAMILIES: dict[str, tuple[Callable[[Any], bool], ...]] = {
    "empty": (pa.types.is_null,),
    "boolean": (pa.types.is_boolean,),
    "string": (pa.types.is_large_string,),
    "time": (pa.types.is_time,),
    "number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_duration),
    "date": (pa.types.is_date, pa.types.is_timestamp),
}


#: All families of types; a dictionary of other values than strings has levels.
FAMILIES = (*_FAMILIES, "level")


def family_of(name: str, column: Any) -> str:
    """The family of a column's type; a type that cannot be encoded is an error."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        inner = family_of(name, pa.chunked_array([], kind.value_type))
        return inner if inner in ("string", "empty") else "level"
    for family, tests in _FAMILIES.items():
        if any(test(kind) for test in tests):
            return family
    raise TypeError(
        f"column {name!r} has the type {kind}, which cannot be encoded: convert it, or drop it with "
        f"columns={{{name!r}: 'drop'}}"
    )


def _settle_strings(name: str, column: Any) -> Column:
    column = without_blanks(column)
    if column.null_count == len(column):
        return Column(Kind.DROP, "string", "blank", None)
    dates = parsed_dates(column)
    if dates is not None and not dates.missing.all():
        return Column(Kind.DATE, "string", "ISO dates in strings", dates)
    numbers, misprints = numbers_and_misprints(column) or (None, None)
    codes = False
    if numbers is not None and numbers.null_count < len(numbers):
        codes = look_like_codes(without_misprints(column, misprints))
        if not codes and (misprints is None or misprints.are_few):
            return Column(Kind.NUMBER, "string", "numbers in strings", number_values(name, numbers), misprints)
    unread = not codes and looks_unread(column)
    if not unread and _is_text(column):
        return read_as(Kind.TEXT, name, column, "several words a cell, hardly repeated")
    if codes or (misprints is not None and ALMOST * misprints.rows.size > misprints.cells):
        misprints = None
    found = read_as(Kind.CATEGORY, name, column, "numbers with leading zeros" if codes else "")
    found = replace(found, misprints=misprints)
    levels = found.values.levels
    if unread and len(levels) > FEW_LEVELS:
        return replace(found, reason=f"{UNREAD}, as {levels[0].as_py()!r}")
    return found


def _or_empty(column: Column) -> Column:
    """The column, or one to drop if it has no value after all (blanks, or NaN)."""
    values = column.values
    empty = np.isnan(values).all() if isinstance(values, np.ndarray) else len(values.levels) == 0
    return Column(Kind.DROP, column.family, "no values", None) if empty else column


def _is_text(column: Any) -> bool:
    cells = len(column) - column.null_count
    size = pc.sum(pc.binary_length(column)).as_py()
    if size < (2 * NAMES[0] - 1) * cells:  # words of one letter, and a space between them
        return False
    whole = [utf8(chunk.fill_null("")) for chunk in column.chunks]
    words = sum(count_words(*texts, characters_between_spaces(), SENTENCES[0] * cells) for texts in whole)
    if words < NAMES[0] * cells:
        return False
    needed = (SENTENCES if words >= SENTENCES[0] * cells else NAMES)[1] * cells
    # The first fifth of the rows often has enough of them already.
    for rows in (column.slice(0, len(column) // 5), column):
        distinct = pc.count_distinct(rows).as_py()
        if distinct >= needed and distinct > FEW_LEVELS:
            return True
    return bool(distinct == cells)


def redundant(columns: Mapping[str, Column]) -> dict[str, str]:
    """Names of columns to leave out, each with the reason; of equal columns the first one stays.

    Numbers and dates repeat another column if they are equal in every row. Categories also do so under other names: one
    level for each level of the other column, as the code of an airline and its name.

    Examples
    --------
    >>> x = Column(Kind.NUMBER, "number", "", np.array([1.0, 2.0]))
    >>> redundant({"x": x, "copy": x, "one": Column(Kind.NUMBER, "number", "", np.ones(2))})
    {'copy': "repeats 'x'", 'one': 'constant'}
    """
    found: dict[str, str] = {}
    alike: dict[Any, list[str]] = {}
    for name, column in columns.items():
        if column.kind is Kind.DROP:
            found[name] = column.reason
            continue
        if _is_constant(column.values):
            found[name] = "constant"
            continue
        others = alike.setdefault(_sketch(column.values), [])
        first = next((other for other in others if _equal(columns[other].values, column.values)), None)
        if first is None:
            others.append(name)
        else:
            found[name] = f"repeats {first!r}"
    return found


def _is_constant(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return bool(values.size) and bool(values.min() == values.max())  # NaN is equal to nothing
    if isinstance(values, LevelValues):
        return len(values.levels) + values.has_missing < 2
    if isinstance(values, DateValues):
        return not values.missing.any() and _is_constant(values.utc) and _is_constant(values.wall)
    return False


def _sketch(values: Any) -> Any:
    """A few values that are the same for equal columns, to compare few pairs of columns in full."""
    if isinstance(values, np.ndarray):
        few = values[:: max(1, values.size // 64)]
        return "numbers", (few + 0.0).tobytes()
    if isinstance(values, LevelValues):
        return "levels", len(values.levels), values.codes[:: max(1, values.codes.size // 64)].tobytes()
    if isinstance(values, DateValues):
        return "dates", values.has_days, values.utc[:: max(1, values.utc.size // 64)].tobytes()
    return "text", values.nbytes


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second, equal_nan=True)
    if isinstance(first, LevelValues):
        return np.array_equal(first.codes, second.codes)
    if isinstance(first, DateValues):
        names = ("utc", "wall", "missing")
        return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
    return bool(first.equals(second))
