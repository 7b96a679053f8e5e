"""Choice of the feature columns, the label column and others: of a file, and of several with the same columns."""

import difflib
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.message_text import counted, listed
from sgdone.readers.locations import Location, shown
from sgdone.readers.table import ReadOptions
from sgdone.tables.frames import is_string

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(r"(?P<column>.+?)\s*(?P<comparison>>=|<=|>|<)\s*(?P<value>[+-]?[\d.]+(?:[eE][+-]?\d+)?)")


@final
@dataclass(frozen=True)
class LabelCondition:
    """A comparison of the numbers of a column with one number."""

    column: str
    comparison: str
    value: float

    @classmethod
    def parse(cls, text: str, names: Sequence[str]) -> "LabelCondition | None":
        """The condition that a text states about one of some columns; None if it states none.

        Examples
        --------
        >>> LabelCondition.parse("delay > 15", ["delay", "origin"])
        LabelCondition(column='delay', comparison='>', value=15.0)
        """
        found = _CONDITION.fullmatch(text.strip())
        if text in names or found is None or found["column"] not in names:
            return None
        try:
            return cls(found["column"], found["comparison"], float(found["value"]))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.column} {self.comparison} {self.value:g}"

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each number satisfies the condition."""
        result: NDArray[np.bool_] = _COMPARISONS[self.comparison](values, self.value)
        return result


#: Column names taken as the label by default, in upper or lower case.
LABEL_NAMES = ("label", "target", "y", "class")


@final
@dataclass(frozen=True)
class Columns:
    """Names of the columns of a file by their use."""

    features: list[str]
    label: str | None
    weight: str | None
    dropped: list[str]
    #: What the label says about its column, if it is a condition.
    condition: LabelCondition | None = None

    @property
    def label_name(self) -> str | None:
        """The label as the user writes it."""
        return self.label if self.condition is None else str(self.condition)

    def read(self) -> list[str]:
        """The columns to read."""
        return [*self.features, *(name for name in (self.label, self.weight) if name is not None)]


def choose_columns(names: list[str], options: ReadOptions) -> Columns:
    """Decide what each column is for; raise an error that lists the columns."""
    _check_names(names, options)
    dropped = named_columns(options.drop, names, options)
    condition = None if options.label is None else LabelCondition.parse(options.label, names)
    label = _choose_label(names, {*dropped, *(options.features or ())}, options) if condition is None else None
    label = label if condition is None else condition.column
    weight = _choose_weight(names, label, options)
    for name, use in ((label, "label"), (weight, "weight")):
        if name in dropped:
            raise options.error(f"the {use} {name!r} is also listed in drop=: remove it there")
    features = _choose_features(names, {label, weight, *dropped}, options)
    if not features:
        raise options.error(f"there is no feature column besides the label {label!r}: add one")
    if options.n_features not in (None, len(features)):
        raise options.error(
            f"found {counted(len(features), 'feature column')} ({listed(features)}), expected {options.n_features:,}: "
            "name the label with label=, or the columns with features="
        )
    return Columns(features, label, weight, dropped, condition)


def _check_names(names: list[str], options: ReadOptions) -> None:
    if "" in names:
        raise options.error(f"column {names.index('') + 1} has no name: name it, or drop it (pandas: index=False)")
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise options.error(f"two columns are named {name!r}: rename or drop one")


def _choose_features(names: list[str], others: set[str | None], options: ReadOptions) -> list[str]:
    if options.features is None:
        return [name for name in names if name not in others]
    present = set(names)
    absent = [name for name in options.features if name not in present]
    if absent:
        problem = f"{counted(len(absent), 'feature')} not found ({listed(absent)})"
        raise options.error(_no_column(absent[0], names, problem, options))
    if len(set(options.features)) < len(options.features):
        raise options.error(f"features= names a column twice: {listed(options.features)}")
    return list(options.features)


def _choose_weight(names: list[str], label: str | None, options: ReadOptions) -> str | None:
    weight = options.weight
    if weight is None or (weight not in names and not options.require_label):
        return None
    if weight == label or weight in (options.features or ()):
        what = "label" if weight == label else "feature"
        raise options.error(f"the column of weights {weight!r} is the {what}: name another one with weight=")
    if weight not in names:
        raise options.error(_no_column(weight, names, f"no column is named {weight!r}", options))
    return weight


def named_columns(texts: Iterable[str], names: list[str], options: ReadOptions) -> list[str]:
    """Columns by their names, separated by commas or not; a name may itself contain commas."""
    found: dict[str, None] = {}
    for text in texts:
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        found |= dict.fromkeys(part for part in parts if part)
    for name in found:
        if name not in names:
            raise options.error(_no_column(name, names, f"no column is named {name!r}", options))
    return list(found)


def _choose_label(names: list[str], taken: set[str], options: ReadOptions) -> str | None:
    if options.label is not None:
        if options.label in (options.features or ()):
            raise options.error(f"the label {options.label!r} is also listed in features=: remove it there")
        if options.label in names:
            return options.label
        if options.require_label:
            raise options.error(_no_column(options.label, names, f"no column is named {options.label!r}", options))
        return None
    likely = [name for name in names if name.casefold() in LABEL_NAMES and name not in taken]
    if len(likely) == 1:
        return likely[0]
    if likely:
        raise options.error(f"several columns may be the label ({listed(likely)}): choose one with label=")
    if options.require_label:
        raise options.error(
            f"no column is named {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}: "
            f"choose the label with label=, one of {listed(names)}"
        )
    return None


def _no_column(name: str, names: list[str], problem: str, options: ReadOptions) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near and options.header else ""
    order = "" if options.header else ", by their order: it must be that of the training file"
    return f"{problem}{hint}: the columns are {listed(names)}{order}"


@final
@dataclass(frozen=True)
class FileSetColumns:
    """Uses of the columns of several files: the first file decides, and others have the same columns in any order."""

    columns: Columns
    names: frozenset[str]
    first: Location

    @classmethod
    def choose(cls, headers: Sequence[tuple[ReadOptions, Sequence[str]]]) -> "FileSetColumns":
        """Decide from the options of each file and the names of its columns; raise if a file has other columns."""
        options, names = headers[0][0], list(headers[0][1])
        everywhere = list(dict.fromkeys(name for _, found in headers for name in found))
        dropped = named_columns(options.drop, everywhere, options)
        here = [name for name in dropped if name in names]
        columns = choose_columns(names, replace(options, drop=here))
        chosen = cls(replace(columns, dropped=dropped), frozenset(names), options.path)
        for other, found in headers[1:]:
            chosen.check(found, other)
        return chosen

    def check(self, names: Sequence[str], options: ReadOptions) -> None:
        """Raise if a file lacks a column, or has one that the first file does not have."""
        present = set(names)
        missing = [name for name in self.columns.read() if name not in present]
        if missing:
            raise options.error(
                f"has no column {listed(missing)}, which {shown(self.first)} has; all files need the same columns: the "
                f"columns here are {listed(list(names))}"
            )
        if options.features is not None:
            return
        others = [name for name in names if name not in self.names and name not in self.columns.dropped]
        if others:
            raise options.error(
                f"has the column {listed(others)}, which {shown(self.first)} does not have: leave it out with drop=, "
                "or name the columns to use with features="
            )


def common_types(schemas: Sequence[tuple[ReadOptions, Any]], chosen: FileSetColumns) -> dict[str, Any]:
    """The type of each column to read: that of all files, or one to which theirs are cast without changing a value.

    Integers of different sizes become the larger ones, integers and floats floats, dictionaries and strings strings.
    Other differences raise an error that names two files.
    """
    found: dict[str, Any] = {}
    first: dict[str, ReadOptions] = {}
    for options, schema in schemas:
        for name in chosen.columns.read():
            kind = schema.field(name).type
            common = _common(found.get(name, kind), kind)
            if common is None:
                raise options.error(
                    f"the type is {kind}, but {schemas[0][1].field(name).type} in {shown(first[name].path)}: write the "
                    "files with the same types, or leave the column out with drop=",
                    place=f"column {name!r}",
                )
            found[name] = common
            first.setdefault(name, options)
    return found


def cast_columns(table: Any, types: Mapping[str, Any], options: ReadOptions, place: str) -> Any:
    """A table with columns of given types, in their order; ``place`` says where it is in the file."""
    made = {}
    for name, kind in types.items():
        column = table.column(name)
        try:
            made[name] = column if column.type == kind else column.cast(kind)
        except pa.ArrowInvalid as error:
            raise options.error(
                f"the type is {column.type} here and {kind} with the other files, and a value would change ({error}): "
                "write the files with the same types",
                place=f"{place}, column {name!r}",
            ) from error
    return pa.table(made)


def _common(one: Any, other: Any) -> Any | None:
    if one == other:
        return one
    one, other = (_plain(kind) for kind in (one, other))
    if one == other:
        return one
    try:
        schemas = [pa.schema([("column", kind)]) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _plain(kind: Any) -> Any:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.large_string() if is_string(kind) else kind
