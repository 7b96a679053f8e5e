"""What has been decided for a column, its encoder, and how later tables are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

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
        return read_as(self.kind, name, column, misprints=1)

    def description(self) -> "ColumnDescription":
        """How the column was encoded, and why."""
        return ColumnDescription(self.encoder.name, self.kind.value, self.encoder.description(), self.reason)

    def header(self) -> tuple[str, ...]:
        """Kind, family and reason, and the time zone of dates where it is known, for a model file."""
        zone = self.encoder.zone if isinstance(self.encoder, DateEncoder) else None
        return str(self.kind), self.family, self.reason, *([] if zone is None else [zone])


class ColumnDescription(NamedTuple):
    """How a column was encoded, for people: its kind ("left out" if it has no features), its features, and why."""

    name: str
    kind: str
    features: str
    reason: str

    def __str__(self) -> str:
        return "; ".join(part for part in (self.features, self.reason) if part)


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


def described(
    names: Sequence[str], plans: Sequence[ColumnPlan], left_out: Mapping[str, str]
) -> list[ColumnDescription]:
    """How each column was encoded."""
    found = {plan.encoder.name: plan.description() for plan in plans}
    found |= {name: ColumnDescription(name, "left out", "", why) for name, why in left_out.items()}
    return [found[name] for name in names]
