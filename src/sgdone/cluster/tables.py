"""Tables in partitions: what each partition learns of its columns, merged into one encoder."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, final

from numpy.typing import ArrayLike

from sgdone.cluster.messages import from_bytes, message, to_bytes
from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Answer, PartitionError
from sgdone.data.block_maker import rows_of
from sgdone.data.column_roles import roles_of_features
from sgdone.tables import TableEncoderCore, arrow_table
from sgdone.tables.kinds import Kind, settle
from sgdone.tables.merged_encoders import merge_encoders


@final
@message
@dataclass(frozen=True)
class LearntColumns:
    """An encoder, and the rows that it learnt from: how many, and the partitions that they are in."""

    first: int
    last: int
    rows: int
    encoder: TableEncoderCore

    def merge(self, other: "LearntColumns") -> "LearntColumns":
        """What was learnt from the rows of both."""
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
    """Of each column, the number of rows in partitions that take it for a kind."""

    votes: dict[str, dict[str, int]]

    def merge(self, other: "KindVotes") -> "KindVotes":
        """The votes of both."""
        names = list(dict.fromkeys([*self.votes, *other.votes]))
        return KindVotes({name: _added(self.votes.get(name, {}), other.votes.get(name, {})) for name in names})


def _added(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {kind: first.get(kind, 0) + second.get(kind, 0) for kind in dict.fromkeys([*first, *second])}


def kinds_of_columns(number: int, table: Any) -> bytes:
    """What the rows of a partition take the columns of their table for, as bytes; see `agreed_kinds`."""
    rows = arrow_table(table)
    if not rows.num_rows:
        return to_bytes(Answer(number, None))
    found = {name: settle(name, column).kind for name, column in zip(rows.column_names, rows.columns, strict=True)}
    votes = {name: {} if kind is Kind.DROP else {str(kind): rows.num_rows} for name, kind in found.items()}
    return to_bytes(Answer(number, KindVotes(votes)))


def agreed_kinds(answers: Iterable[bytes], columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Kinds of the columns about which partitions disagree, for `learn_columns`; and those that the user states.

    Columns that are numbers or dates in some partitions only are categories. They are text if most rows are in
    partitions that say so.

    Examples
    --------
    >>> import pyarrow as pa
    >>> tables = [pa.table({"zip": ["1201", "1202"]}), pa.table({"zip": ["2A", "2B"]})]
    >>> agreed_kinds(kinds_of_columns(k, table) for k, table in enumerate(tables))
    {'zip': 'category'}
    """
    found: KindVotes | None = _sum_of(answers)
    agreed = {
        name: str(Kind.TEXT if 2 * votes.get(str(Kind.TEXT), 0) > sum(votes.values()) else Kind.CATEGORY)
        for name, votes in ({} if found is None else found.votes).items()
        if len(votes) > 1
    }
    return agreed | dict(columns or {})


def learn_columns(
    number: int, table: Any, sample_weight: ArrayLike | None = None, columns: Mapping[str, str] | None = None
) -> bytes:
    """What the rows of a partition say about the columns of their table, as bytes; see `one_encoder`.

    Parameters
    ----------
    number : int
        Number of the partition.
    table : data frame
        Its rows.
    sample_weight : array, optional
        Weights of the rows in means.
    columns : dict, optional
        Kinds of columns by name: those of `agreed_kinds`.
    """
    rows = arrow_table(table)
    if not rows.num_rows:
        return to_bytes(Answer(number, None))
    encoder = TableEncoderCore(columns)
    try:
        encoder.partial_fit_encode(rows, sample_weight)
    except (TypeError, ValueError) as error:
        return to_bytes(Answer(number, None, str(error)))
    return to_bytes(Answer(number, LearntColumns(number, number, rows.num_rows, encoder)))


def one_encoder(learnt: Iterable[bytes]) -> TableEncoderCore:
    """Merge what `learn_columns` found in all partitions; the order in which the answers come does not matter.

    Levels, words and gaps are numbered by partition, then by first appearance: partitions are merged one after the
    other, as soon as all before them are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> tables = [pa.table({"x": [1.0, 2.0], "c": ["b", "a"]}), pa.table({"x": [3.0, None], "c": ["c", "a"]})]
    >>> one_encoder(learn_columns(k, table) for k, table in enumerate(tables)).get_feature_names_out().tolist()
    ['x', 'c=a', 'c=b', 'x missing', 'c=c']
    """
    found: LearntColumns | None = _sum_of(learnt)
    if found is None:
        raise ValueError("no partition has a row: there is nothing to learn from")
    return found.encoder


def encoded_partition(
    number: int, table: Any, y: ArrayLike, encoder: TableEncoderCore, sample_weight: ArrayLike | None = None
) -> Partition:
    """The rows of a partition as features, by the encoder of all partitions."""
    rows = rows_of(encoder.encode(table))
    return Partition(number, rows, y, sample_weight, roles=roles_of_features(encoder.n_dense_, encoder.texts()))


def _found_in(answers: Iterable[bytes]) -> Iterator[Any]:
    """What partitions found, in their order; raise for the first that found a fault."""
    waiting, following = dict[int, Answer](), 0
    for data in answers:
        answer: Answer = from_bytes(data)
        if answer.number < following or answer.number in waiting:
            raise PartitionError(f"partition {answer.number}: the engine returned two answers of it")
        waiting[answer.number] = answer
        while following in waiting:
            found = waiting.pop(following)
            if found.fault:
                raise PartitionError(f"partition {following}: {found.fault}")
            following += 1
            if found.value is not None:
                yield found.value
    if waiting:
        raise PartitionError(f"partition {following}: the engine returned no answer of it")


def _sum_of(answers: Iterable[bytes]) -> Any:
    """The sum of what partitions found, in their order; None if none of them has rows."""
    return reduce(lambda total, part: part if total is None else total.merge(part), _found_in(answers), None)
