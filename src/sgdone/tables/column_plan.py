"""The encoder of each column, chosen by its kind, and the stored state of a table's encoders."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.tables.category_encoder import CategoryEncoder
from sgdone.tables.column_encoder import ColumnEncoder, ColumnState, EncoderState
from sgdone.tables.date_encoder import DateEncoder
from sgdone.tables.frames import column_name
from sgdone.tables.kinds import FAMILIES, Column, Kind, check_choices, family_of, read_as
from sgdone.tables.number_encoder import NumberEncoder
from sgdone.tables.text_encoder import TextEncoder


class _Encoding(NamedTuple):
    """The encoder of a kind of columns."""

    encoder: Any
    #: Makes one of a name, a column, and the limits ``max_levels``, ``max_bytes`` and ``n_buckets``.
    make: Callable[..., ColumnEncoder]
    #: Families of types that a column may have in later tables, besides that of its first one. A file may have numbers
    #: or dates as strings, or as what they are.
    also: tuple[str, ...] = ()


_ENCODINGS = {
    Kind.NUMBER: _Encoding(NumberEncoder, lambda name, *_: NumberEncoder(name, boolean=False), ("number", "string")),
    Kind.BOOLEAN: _Encoding(NumberEncoder, lambda name, *_: NumberEncoder(name, boolean=True), ("boolean",)),
    Kind.CATEGORY: _Encoding(CategoryEncoder, lambda name, _, *limits: CategoryEncoder(name, *limits)),
    Kind.TEXT: _Encoding(TextEncoder, lambda name, _, *limits: TextEncoder(name, limits[-1])),
    Kind.DATE: _Encoding(
        DateEncoder, lambda name, column, *_: DateEncoder(name, column.values.has_days), ("date", "string")
    ),
}


@final
@dataclass(frozen=True)
class ColumnPlan:
    """A column that becomes features."""

    kind: Kind
    #: Family of its type in the first table.
    family: str
    #: Why it is that kind; empty where its type says so.
    reason: str
    encoder: ColumnEncoder

    def read(self, column: Any) -> Column:
        """Read a column of a later table; a type that does not fit is an error."""
        name = self.encoder.name
        family = family_of(name, column)
        fits = {self.family, "empty", *_ENCODINGS[self.kind].also}
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
        """Description of the encoding, and why it was chosen."""
        return ColumnDescription(self.encoder.name, self.kind.value, self.encoder.description(), self.reason)

    def header(self) -> tuple[str, ...]:
        """Kind, family and reason, and the time zone of dates where it is known, for a model file."""
        zone = self.encoder.zone if isinstance(self.encoder, DateEncoder) else None
        return str(self.kind), self.family, self.reason, *([] if zone is None else [zone])


class ColumnDescription(NamedTuple):
    """Encoding of a column, for people: its kind ("left out" if it has no features), its features, and why."""

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
    return _ENCODINGS[column.kind].make(name, column, max_levels, max_bytes, n_buckets)


def stored(
    parameters: Mapping[str, Any],
    fitted: Mapping[str, Any],
    plans: Sequence[ColumnPlan],
    words: NDArray[np.bool_] | None,
) -> EncoderState:
    """The state of an encoder, with what it has ``fitted`` besides its columns, as plain values.

    ``words`` says of which sparse features the words are kept, None of all.
    """
    kinds = parameters["columns"]
    # Columns of one kind have the same plan more often than not.
    distinct = {plan.header(): None for plan in plans}
    numbers = {header: k for k, header in enumerate(distinct)}
    header = {
        "parameters": {
            **{name: int(value) for name, value in parameters.items() if name != "columns"},
            "columns": None if kinds is None else {column_name(name): str(kind) for name, kind in kinds.items()},
        },
        **fitted,
        "plans": [list(plan) for plan in distinct],
    }
    own = {"plans": np.array([numbers[plan.header()] for plan in plans], dtype=np.int32)}
    fields = [plan.encoder.fields for plan in plans]
    return EncoderState.of(header, own, fields, [plan.encoder.state(words) for plan in plans])


def restored(state: EncoderState) -> tuple[dict[str, Any], dict[str, Any], list[ColumnPlan]]:
    """Parameters, what has been learnt, and columns; a state that does not fit together is a ValueError."""
    try:
        header = state.header
        fitted, parameters = _fitted(header), _parameters(header["parameters"])
        kinds = [_kinds(plan) for plan in header["plans"]]
        numbers = state.array("plans", np.int32)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(kinds):
            raise ValueError(f"columns have kinds that are not among the {len(kinds)} there are")
        plans = [kinds[k] for k in numbers.tolist()]
        states = state.columns(["plans"], [_ENCODINGS[kind].encoder.fields for kind, *_ in plans])
        names = [name for name in fitted["names"] if name not in fitted["left_out"]]
        made = [_plan(name, plan, own) for name, plan, own in zip(names, plans, states, strict=True)]
        features = np.concatenate([np.zeros(0, dtype=np.int64), *(plan.encoder.sparse_numbers() for plan in made)])
        if features.size != fitted["n_sparse"] or not np.array_equal(np.sort(features), np.arange(features.size)):
            raise ValueError(
                f"the columns do not number their sparse features from 0 to {fitted['n_sparse'] - 1}, each once"
            )
        if fitted["is_plain"] and not all(isinstance(plan.encoder, NumberEncoder) for plan in made):
            raise ValueError("a table of numbers has columns of other kinds")
        return parameters, fitted, made
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"the state of the encoder is damaged: {error!r}") from error


def _fitted(header: Mapping[str, Any]) -> dict[str, Any]:
    """Learnt parts of an encoder besides its columns, of the right types."""
    found = {part: header[part] for part in ("names", "left_out", "is_plain", "n_sparse")}
    names, left_out = found["names"], found["left_out"]
    if not isinstance(names, list) or not all(
        isinstance(text, str) for text in (*names, *left_out, *left_out.values())
    ):
        raise ValueError("names of columns must be strings")
    if type(found["is_plain"]) is not bool or type(found["n_sparse"]) is not int:
        raise ValueError("'is_plain' must be a boolean, and 'n_sparse' an integer")
    if len(set(names)) != len(names) or not set(left_out) < set(names):
        raise ValueError("columns have a name twice, or all are left out, or some that there are not")
    return found


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
    zone = rest[0] if rest else None
    if Kind(kind) not in _ENCODINGS or family not in FAMILIES or not isinstance(reason, str):
        raise ValueError(f"no column is a {kind!r} of the type {family!r}")
    if len(rest) > 1 or not (zone is None or (isinstance(zone, str) and Kind(kind) is Kind.DATE)):
        raise ValueError(f"a column of the kind {kind!r} has the time zone {zone!r}")
    return Kind(kind), family, reason, zone


def _plan(name: str, kinds: tuple[Kind, str, str, str | None], state: ColumnState) -> ColumnPlan:
    kind, family, reason, zone = kinds
    encoder = _ENCODINGS[kind].encoder.from_state(name, state)
    if isinstance(encoder, NumberEncoder) and encoder.boolean is not (kind is Kind.BOOLEAN):
        raise ValueError(f"column {name!r} is a {kind}, and its encoder is not")
    if isinstance(encoder, DateEncoder):
        encoder.zone = zone
    return ColumnPlan(kind, family, reason, encoder)
