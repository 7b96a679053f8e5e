"""What has been decided for a column, its encoder, and how later tables are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from sgdone.tables.category_encoder import CategoryEncoder
from sgdone.tables.column_encoder import ColumnEncoder
from sgdone.tables.date_encoder import DateEncoder
from sgdone.tables.kinds import Column, Kind, family_of, read_as
from sgdone.tables.number_encoder import NumberEncoder
from sgdone.tables.text_encoder import TextEncoder

#: Families of types that a column of some kind may have in later tables, besides that of its first one. A file may
#: have numbers or dates as strings, or as what they are.
_ALSO = {Kind.NUMBER: {"number", "string"}, Kind.DATE: {"date", "string"}, Kind.BOOLEAN: {"boolean"}}


@final
@dataclass(frozen=True)
class ColumnPlan:
    """A column that becomes features.

    Attributes
    ----------
    kind : Kind
    family : str
        Family of its type in the first table.
    reason : str
        Why it is that kind; empty where its type says so.
    encoder : ColumnEncoder
    """

    kind: Kind
    family: str
    reason: str
    encoder: ColumnEncoder

    def read(self, column: Any) -> Column:
        """Read a column of a later table; a type that does not fit is an error."""
        name = self.encoder.name
        family = family_of(name, column)
        fits = {self.family, "empty", *_ALSO.get(self.kind, ())}
        if self.reason == ASKED and self.kind is Kind.CATEGORY:
            fits |= {"string", "number", "boolean", "level"}
        if self.kind is Kind.DATE and self.family == "time":
            fits = {"time", "empty"}
        if self.family != "empty" and family not in fits:
            raise TypeError(
                f"column {name!r} was a {self.kind} ({self.family}) when the encoder was fitted, and has the type "
                f"{column.type} now: convert it, or fit again"
            )
        return read_as(self.kind, name, column)

    def description(self) -> tuple[str, str]:
        """The kind, and what became of the column and why."""
        parts = [part for part in (self.encoder.description(), self.reason) if part]
        return self.kind.value, "; ".join(parts)

    def header(self) -> dict[str, str]:
        """Name, kind, family and reason, for a model file."""
        return {"name": self.encoder.name, "kind": str(self.kind), "family": self.family, "reason": self.reason}


#: The reason of a column whose kind the user stated.
ASKED = "as stated in columns"


def make_encoder(name: str, column: Column, max_levels: int, max_bytes: int, n_buckets: int) -> ColumnEncoder:
    """A new encoder for a column."""
    if column.kind is Kind.CATEGORY:
        return CategoryEncoder(name, max_levels, max_bytes, n_buckets)
    if column.kind is Kind.TEXT:
        return TextEncoder(name, n_buckets)
    if column.kind is Kind.DATE:
        return DateEncoder(name, column.values.has_days)
    return NumberEncoder(name, boolean=column.kind is Kind.BOOLEAN)


def described(names: Sequence[str], plans: Sequence[ColumnPlan], left_out: Mapping[str, str]) -> str:
    """A line for each column: its name, what it is, what it became and why."""
    lines = {plan.encoder.name: plan.description() for plan in plans}
    lines |= {name: ("left out", why) for name, why in left_out.items()}
    width = max(len(name) for name in names)
    return "\n".join(f"  {name:{width}}  {lines[name][0]:8}  {lines[name][1]}".rstrip() for name in names)
