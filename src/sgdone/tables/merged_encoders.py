"""Encoders that learnt from different rows of the same columns, as one."""

import copy
from typing import Any

import numpy as np
import pyarrow as pa

from sgdone.message_text import listed
from sgdone.tables.column_encoder import ColumnEncoder, NewFeatures
from sgdone.tables.column_plan import ColumnPlan, make_encoder
from sgdone.tables.date_encoder import DateEncoder
from sgdone.tables.kinds import Column
from sgdone.tables.table_encoder_core import TableEncoderCore


def merge_encoders(
    first: TableEncoderCore, second: TableEncoderCore, first_rows: int, second_rows: int
) -> TableEncoderCore:
    """The encoder of the rows of both, those of the first one before the others.

    If ``second`` learnt in one call, features are numbered as if `TableEncoderCore.partial_fit_encode` of ``first`` had
    been called with its rows. A column that has no values in one of them has gaps there.

    Parameters
    ----------
    first, second : TableEncoderCore
        What was learnt from the rows of each; they do not change.
    first_rows, second_rows : int
        The number of these rows.

    Examples
    --------
    >>> one, two = TableEncoderCore(), TableEncoderCore()
    >>> _ = one.partial_fit_encode(pa.table({"job": ["Sales", "Tech"]}))
    >>> _ = two.partial_fit_encode(pa.table({"job": ["Art", "Tech"]}))
    >>> merge_encoders(one, two, 2, 2).get_feature_names_out().tolist()
    ['job=Sales', 'job=Tech', 'job=Art']
    """
    _check_same(first, second)
    made, others = copy.deepcopy(first), {plan.encoder.name: plan for plan in second.plans_}
    known = {plan.encoder.name: plan for plan in made.plans_}
    new, plans = NewFeatures(made.n_sparse_), []
    for name in made.feature_names_in_:
        mine, theirs = known.get(name), others.get(name)
        if mine is None and theirs is not None:
            mine = ColumnPlan(theirs.kind, theirs.family, theirs.reason, _empty_encoder(theirs, made))
            _learn_gaps(mine, first_rows, new)
        if mine is None:
            continue
        if theirs is None:
            _learn_gaps(mine, second_rows, new)
        else:
            mine.encoder.merge(theirs.encoder, new)
        plans.append(mine)
    made.is_plain_ = first.is_plain_ and second.is_plain_ and known.keys() == others.keys()
    made.left_out_ = {name: why for name, why in first.left_out_.items() if name in second.left_out_}
    made.plans_, made.n_sparse_ = plans, new.next
    return made


def _check_same(first: TableEncoderCore, second: TableEncoderCore) -> None:
    names, others = first.feature_names_in_.tolist(), second.feature_names_in_.tolist()
    if names != others:
        differ = [name for name in [*names, *others] if (name in names) != (name in others)]
        raise ValueError(f"columns differ: {listed(differ or others)}. All rows need the same columns in one order")
    kinds = {plan.encoder.name: plan for plan in first.plans_}
    for plan in second.plans_:
        mine = kinds.get(plan.encoder.name)
        if mine is not None and (mine.kind is not plan.kind or _has_days(mine) is not _has_days(plan)):
            raise ValueError(
                f"column {plan.encoder.name!r} is a {plan.kind} ({plan.family}) in some rows and a {mine.kind} "
                f"({mine.family}) in others: convert it, or state its kind with columns={{{plan.encoder.name!r}: ...}}"
            )


def _has_days(plan: ColumnPlan) -> bool | None:
    return plan.encoder.has_days if isinstance(plan.encoder, DateEncoder) else None


def _empty_encoder(plan: ColumnPlan, like: TableEncoderCore) -> ColumnEncoder:
    """An encoder of the same column that has seen no rows."""
    if isinstance(plan.encoder, DateEncoder):
        return DateEncoder(plan.encoder.name, plan.encoder.has_days)
    column = Column(plan.kind, plan.family, plan.reason, None)
    return make_encoder(plan.encoder.name, column, int(like.max_levels), int(like.max_bytes), int(like.n_buckets))


def _learn_gaps(plan: ColumnPlan, n_rows: int, new: NewFeatures) -> None:
    """Learn from rows without values."""
    empty: Any = pa.chunked_array([pa.nulls(n_rows)])
    new.weight = np.zeros(n_rows)
    plan.encoder.encode(plan.read(empty), new)
    new.weight = None
