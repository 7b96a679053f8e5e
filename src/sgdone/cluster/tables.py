"""Tables on a cluster: encoders fitted to each partition and merged."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa

from sgdone.cluster.messages import PartitionError
from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Rounds
from sgdone.message_text import listed
from sgdone.sums.row_sum import RowSum, message
from sgdone.tables.column_encoder import ColumnEncoder, NewFeatures
from sgdone.tables.column_plan import ColumnPlan, make_encoder
from sgdone.tables.date_encoder import DateEncoder
from sgdone.tables.kinds import Column, Kind, settle
from sgdone.tables.string_cells import CELLS_PER_MISPRINT
from sgdone.tables.table_encoding import TableEncoding


def merge_encoders(first: TableEncoding, second: TableEncoding, first_rows: int, second_rows: int) -> TableEncoding:
    """The encoder of the rows of both, those of the first one before the others.

    If ``second`` learnt in one call, features are numbered as if `TableEncoding.partial_fit_encode` of ``first`` had
    been called with its rows. A column that has no values in one of them has missing values there.
    """
    _check_same(first, second)
    made, others = copy.deepcopy(first), {plan.encoder.name: plan for plan in second.plans_}
    known = {plan.encoder.name: plan for plan in made.plans_}
    new, plans = NewFeatures(made.n_sparse_), []
    for name in made.feature_names_in_:
        mine, theirs = known.get(name), others.get(name)
        if mine is None and theirs is not None:
            mine = ColumnPlan(theirs.kind, theirs.family, theirs.reason, _empty_encoder(theirs, made))
            _learn_missing(mine, first_rows, new)
        if mine is None:
            continue
        if theirs is None:
            _learn_missing(mine, second_rows, new)
        else:
            mine.encoder.merge(theirs.encoder, new)
        plans.append(mine)
    made.is_plain_ = first.is_plain_ and second.is_plain_ and known.keys() == others.keys()
    made.left_out_ = {name: why for name, why in first.left_out_.items() if name in second.left_out_}
    made.plans_, made.n_sparse_ = plans, new.next
    return made


def _check_same(first: TableEncoding, second: TableEncoding) -> None:
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


def _empty_encoder(plan: ColumnPlan, like: TableEncoding) -> ColumnEncoder:
    """An encoder of the same column that has seen no rows."""
    if isinstance(plan.encoder, DateEncoder):
        return DateEncoder(plan.encoder.name, plan.encoder.has_days)
    column = Column(plan.kind, plan.family, plan.reason, None)
    return make_encoder(plan.encoder.name, column, int(like.max_levels), int(like.max_bytes), int(like.n_buckets))


def _learn_missing(plan: ColumnPlan, n_rows: int, new: NewFeatures) -> None:
    """Learn from rows without values."""
    empty: Any = pa.chunked_array([pa.nulls(n_rows)])
    new.weight = np.zeros(n_rows)
    plan.encoder.encode(plan.read(empty), new)
    new.weight = None


_MISPRINTS = "misprints"


@final
@message
@dataclass(frozen=True)
class LearntColumns:
    """An encoder, with the number of rows that it was fitted on, and their partitions."""

    first: int
    last: int
    rows: int
    encoder: TableEncoding

    def merge(self, other: "LearntColumns") -> "LearntColumns":
        """Encoder of the rows of both."""
        try:
            made = merge_encoders(self.encoder, other.encoder, self.rows, other.rows)
        except ValueError as error:
            raise PartitionError(f"{other._place} and {self._place}: {error}") from error
        return LearntColumns(self.first, other.last, self.rows + other.rows, made)

    @property
    def _place(self) -> str:
        return f"partition {self.first}" if self.first == self.last else f"partitions {self.first} to {self.last}"


@final
@message
@dataclass(frozen=True)
class KindVotes:
    """For each column, the numbers of rows in partitions that infer each kind; None if the rows are not a table.

    Columns of numbers count their cells with a value, and under ``"misprints"`` those that are not numbers.
    """

    partition: int
    votes: dict[str, dict[str, int]] | None

    def merge(self, other: "KindVotes") -> "KindVotes":
        """The votes of both; raise if one is a table and the other is not."""
        if self.votes is None or other.votes is None:
            if self.votes is not other.votes:
                one, two = (self, other) if other.votes is None else (other, self)
                raise PartitionError(
                    f"partition {two.partition} is an array, partition {one.partition} is a data frame: give one kind"
                )
            return self
        votes = {name: dict(kinds) for name, kinds in self.votes.items()}
        for name, kinds in other.votes.items():
            own = votes.setdefault(name, {})
            for kind, count in kinds.items():
                own[kind] = own.get(kind, 0) + count
        return KindVotes(self.partition, votes)


@final
@message
@dataclass(frozen=True)
class KindsOfColumns(RowSum):
    """Ask each partition for the kinds of the columns of its table."""

    def of(self, partition: Partition) -> KindVotes:
        """Votes of these rows, one per row."""
        if not partition.is_table:
            return KindVotes(partition.number, None)
        columns = zip(partition.X.column_names, partition.X.columns, strict=True)
        votes = {name: _votes(settle(name, column), partition.n_rows) for name, column in columns}
        return KindVotes(partition.number, votes)


def _votes(column: Column, n_rows: int) -> dict[str, int]:
    """Votes of the rows of a partition on a column."""
    if column.kind is Kind.DROP:
        return {}
    if column.misprints is not None:  # a category, if this partition were alone and they are not few
        return {str(Kind.NUMBER): column.misprints.cells, _MISPRINTS: column.misprints.rows.size}
    if column.kind is Kind.NUMBER:
        return {str(Kind.NUMBER): int(np.count_nonzero(~np.isnan(column.values)))}
    return {str(column.kind): n_rows}


@final
@message
@dataclass(frozen=True)
class LearnColumns(RowSum):
    """Ask each partition for an encoder of the columns of its table.

    Levels, words and missing values are numbered by partition, then by first appearance, because partitions are
    merged in their order.
    """

    in_order: ClassVar[bool] = True

    columns: dict[str, str]

    def of(self, partition: Partition) -> LearntColumns:
        """An encoder of these rows."""
        encoder = TableEncoding(self.columns)
        encoder.partial_fit_encode(partition.X, partition.sample_weight)
        return LearntColumns(partition.number, partition.number, partition.n_rows, encoder)


def agreed_kinds(found: KindVotes, columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Kinds of the columns about which partitions disagree; and those that the user states.

    Columns that are numbers or dates in some partitions only are categories. They are text if most rows are in
    partitions that say so. Columns of numbers may have few cells that are none, over all partitions.
    """
    agreed = {name: str(_agreed(votes)) for name, votes in (found.votes or {}).items() if len(votes) > 1}
    return agreed | dict(columns or {})


def _agreed(votes: Mapping[str, int]) -> Kind:
    few = CELLS_PER_MISPRINT * votes.get(_MISPRINTS, 0) <= votes.get(str(Kind.NUMBER), 0)
    if set(votes) == {str(Kind.NUMBER), _MISPRINTS}:
        return Kind.NUMBER if few else Kind.CATEGORY
    return Kind.TEXT if 2 * votes.get(str(Kind.TEXT), 0) > sum(votes.values()) else Kind.CATEGORY


def learnt_encoder(rounds: Rounds, columns: Mapping[str, str] | None = None) -> TableEncoding | None:
    """Encoder of the tables of all partitions, which are replaced by their features; None if they are not tables."""
    votes: KindVotes = rounds.sum_of_rows(KindsOfColumns(), "learn from")
    if votes.votes is None:
        if columns:
            raise ValueError(f"columns={dict(columns)!r} needs data frames: the partitions are arrays without names")
        return None
    learnt: LearntColumns = rounds.sum(LearnColumns(agreed_kinds(votes, columns)))
    rounds.encode(learnt.encoder)
    return learnt.encoder
