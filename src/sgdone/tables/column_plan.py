"""The encoder of each column, chosen by its kind, and the stored state of a table's encoders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.tables.category_encoder import CategoryEncoder
from sgdone.tables.column_encoder import ColumnEncoder, ColumnState, EncoderState, check_numbers
from sgdone.tables.date_encoder import DateEncoder
from sgdone.tables.frames import column_name
from sgdone.tables.kinds import Column, Kind, check_choices, family_of, read_as
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


_ENCODERS: dict[Kind, Any] = {
    Kind.NUMBER: NumberEncoder,
    Kind.BOOLEAN: NumberEncoder,
    Kind.CATEGORY: CategoryEncoder,
    Kind.TEXT: TextEncoder,
    Kind.DATE: DateEncoder,
}
_FAMILIES = ("number", "boolean", "string", "level", "date", "time", "empty")


@final
@dataclass(frozen=True)
class FittedParts:
    """Learnt parts of an encoder besides its columns; ``names`` are the columns of the first table."""

    names: list[str]
    left_out: dict[str, str]
    is_plain: bool
    n_sparse: int

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> "FittedParts":
        """Parts in a header, with their types checked."""
        made = cls(header["names"], header["left_out"], header["is_plain"], header["n_sparse"])
        texts = [*made.names, *made.left_out, *made.left_out.values()]
        if not isinstance(made.names, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError("names of columns must be strings")
        if type(made.is_plain) is not bool or type(made.n_sparse) is not int:
            raise ValueError("'is_plain' must be a boolean, and 'n_sparse' an integer")
        if len(set(made.names)) != len(made.names) or not set(made.left_out) < set(made.names):
            raise ValueError("columns have a name twice, or all are left out, or some that there are not")
        return made

    def encoded(self) -> list[str]:
        """Names of the columns that have features."""
        return [name for name in self.names if name not in self.left_out]

    def check(self, plans: Sequence[ColumnPlan]) -> None:
        """Raise a ValueError unless this fits the columns."""
        check_numbers([plan.encoder for plan in plans], self.n_sparse)
        if self.is_plain and not all(isinstance(plan.encoder, NumberEncoder) for plan in plans):
            raise ValueError("a table of numbers has columns of other kinds")


def state_of(
    parameters: Mapping[str, Any],
    fitted: FittedParts,
    plans: Sequence[ColumnPlan],
    words: NDArray[np.bool_] | None,
) -> EncoderState:
    """The state of an encoder; ``words`` says of which sparse features the words are kept, None of all."""
    kinds = parameters["columns"]
    # Columns of one kind have the same plan more often than not.
    distinct = {plan.header(): None for plan in plans}
    numbers = {header: k for k, header in enumerate(distinct)}
    header = {
        "parameters": {
            **{name: int(value) for name, value in parameters.items() if name != "columns"},
            "columns": None if kinds is None else {column_name(name): str(kind) for name, kind in kinds.items()},
        },
        **vars(fitted),
        "plans": [list(plan) for plan in distinct],
    }
    own = {"plans": np.array([numbers[plan.header()] for plan in plans], dtype=np.int32)}
    fields = [plan.encoder.fields for plan in plans]
    return EncoderState.of(header, own, fields, [plan.encoder.state(words) for plan in plans])


def parts_of(state: EncoderState) -> tuple[dict[str, Any], FittedParts, list[ColumnPlan]]:
    """Parameters, what has been learnt, and columns; a state that does not fit together is a ValueError."""
    try:
        header = state.header
        fitted, parameters = FittedParts.of(header), _parameters(header["parameters"])
        kinds = [_kinds(plan) for plan in header["plans"]]
        numbers = state.array("plans", np.int32)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(kinds):
            raise ValueError(f"columns have kinds that are not among the {len(kinds)} there are")
        plans = [kinds[k] for k in numbers.tolist()]
        states = state.columns(["plans"], [_ENCODERS[kind].fields for kind, *_ in plans])
        made = [_plan(name, plan, own) for name, plan, own in zip(fitted.encoded(), plans, states, strict=True)]
        fitted.check(made)
        return parameters, fitted, made
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"the state of the encoder is damaged: {error!r}") from error


def _parameters(found: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an encoder, of the right types."""
    columns, numbers = found["columns"], [found[name] for name in ("max_levels", "max_bytes", "n_buckets")]
    if len(found) != 4 or not all(type(number) is int for number in numbers):
        raise ValueError(f"an encoder has the parameters {dict(found)}")
    check_choices(columns, [] if columns is None else list(columns))
    return dict(found)


def _kinds(plan: Sequence[str]) -> tuple[Kind, str, str, str | None]:
    """Kind, family, reason and time zone of a column."""
    kind, family, reason, *rest = plan
    zone = rest[0] if rest else None  # unknown in files of earlier versions
    if Kind(kind) not in _ENCODERS or family not in _FAMILIES or not isinstance(reason, str):
        raise ValueError(f"no column is a {kind!r} of the type {family!r}")
    if len(rest) > 1 or not (zone is None or (isinstance(zone, str) and Kind(kind) is Kind.DATE)):
        raise ValueError(f"a column of the kind {kind!r} has the time zone {zone!r}")
    return Kind(kind), family, reason, zone


def _plan(name: str, kinds: tuple[Kind, str, str, str | None], state: ColumnState) -> ColumnPlan:
    kind, family, reason, zone = kinds
    encoder = _ENCODERS[kind].from_state(name, state)
    if isinstance(encoder, NumberEncoder) and encoder.boolean is not (kind is Kind.BOOLEAN):
        raise ValueError(f"column {name!r} is a {kind}, and its encoder is not")
    if isinstance(encoder, DateEncoder):
        encoder.zone = zone
    return ColumnPlan(kind, family, reason, encoder)
