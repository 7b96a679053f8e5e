"""State of a table encoder for a model file, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from sgdone.tables.category_encoder import CategoryEncoder
from sgdone.tables.column_plan import ColumnPlan
from sgdone.tables.date_encoder import DateEncoder
from sgdone.tables.encoder_state import ColumnState, EncoderState
from sgdone.tables.feature_names import all_names
from sgdone.tables.kinds import Kind
from sgdone.tables.number_encoder import NumberEncoder
from sgdone.tables.text_encoder import TextEncoder

_ENCODERS: dict[Kind, Any] = {
    Kind.NUMBER: NumberEncoder,
    Kind.BOOLEAN: NumberEncoder,
    Kind.CATEGORY: CategoryEncoder,
    Kind.TEXT: TextEncoder,
    Kind.DATE: DateEncoder,
}


@final
@dataclass(frozen=True)
class FittedParts:
    """What an encoder has learnt, besides its columns.

    Attributes
    ----------
    names : list of str
        Columns of the first table.
    left_out : dict
    is_plain : bool
    n_sparse : int
        Number of sparse features.
    """

    names: list[str]
    left_out: dict[str, str]
    is_plain: bool
    n_sparse: int

    def check(self, plans: Sequence[ColumnPlan]) -> None:
        """Raise a ValueError unless this fits the columns."""
        encoded = [plan.encoder.name for plan in plans]
        if sorted([*encoded, *self.left_out]) != sorted(self.names) or len(set(self.names)) != len(self.names):
            raise ValueError("columns that are encoded and those that are left out are not all columns")
        all_names([plan.encoder for plan in plans], self.n_sparse)


def state_of(
    parameters: Mapping[str, Any], fitted: FittedParts, plans: Sequence[ColumnPlan], words: bool
) -> EncoderState:
    """The state of an encoder."""
    kinds = parameters["columns"]
    header = {
        "parameters": {
            **{name: int(value) for name, value in parameters.items() if name != "columns"},
            "columns": None if kinds is None else {name: str(kind) for name, kind in kinds.items()},
        },
        **asdict(fitted),
        "plans": [plan.header() for plan in plans],
    }
    return EncoderState.of(header, [plan.encoder.state(words) for plan in plans])


def parts_of(state: EncoderState) -> tuple[dict[str, Any], FittedParts, list[ColumnPlan]]:
    """Parameters, what has been learnt, and columns; a state that does not fit together is a ValueError."""
    try:
        header = state.header
        plans = [_plan(plan, own) for plan, own in zip(header["plans"], state.columns(), strict=True)]
        left_out = {str(name): str(why) for name, why in header["left_out"].items()}
        names = [str(name) for name in header["names"]]
        fitted = FittedParts(names, left_out, bool(header["is_plain"]), int(header["n_sparse"]))
        fitted.check(plans)
        return dict(header["parameters"]), fitted, plans
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"the state of the encoder is damaged: {error!r}") from error


def _plan(header: dict[str, str], state: ColumnState) -> ColumnPlan:
    kind = Kind(header["kind"])
    encoder = _ENCODERS[kind].from_state(str(header["name"]), state)
    return ColumnPlan(kind, str(header["family"]), str(header["reason"]), encoder)
