"""The columns of several files that are read as one table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from sgdone.readers.column_choice import Columns, choose_columns, named_columns
from sgdone.readers.locations import Location, shown
from sgdone.readers.table import ReadOptions, listed


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
