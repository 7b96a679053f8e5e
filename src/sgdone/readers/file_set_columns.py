"""Columns of several files that are one table: their names, and the types that all files have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import pyarrow as pa

from sgdone.readers.column_choice import Columns, choose_columns, named_columns
from sgdone.readers.locations import Location, shown
from sgdone.readers.table import ReadOptions, listed
from sgdone.tables.frames import is_string


@final
@dataclass(frozen=True)
class FileSetColumns:
    """What the columns are for, which the first file decides; others have the same ones, in any order."""

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


Schemas = Sequence[tuple[ReadOptions, Any]]


def common_types(schemas: Schemas, chosen: FileSetColumns) -> dict[str, Any]:
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
                    f"the type is {kind}, but {first_type(schemas, name)} in {shown(first[name].path)}: write the "
                    "files with the same types, or leave the column out with drop=",
                    place=f"column {name!r}",
                )
            found[name] = common
            first.setdefault(name, options)
    return found


def first_type(schemas: Schemas, name: str) -> Any:
    """The type of a column in the first file."""
    return schemas[0][1].field(name).type


def cast_columns(table: Any, types: Mapping[str, Any], options: ReadOptions, place: str) -> Any:
    """A table with columns of given types, in their order; ``place`` says where it is in the file."""
    return pa.table(
        [_cast(table.column(name), kind, name, options, place) for name, kind in types.items()], names=list(types)
    )


def _cast(column: Any, kind: Any, name: str, options: ReadOptions, place: str) -> Any:
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowInvalid as error:
        raise options.error(
            f"the type is {column.type} here and {kind} with the other files, and a value would change ({error}): "
            "write the files with the same types",
            place=f"{place}, column {name!r}",
        ) from error


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
