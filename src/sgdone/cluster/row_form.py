"""The form of the rows of partitions: arrays, or tables that are yet to be encoded by a fitted model."""

from dataclasses import dataclass
from typing import final

from sgdone.cluster.answers import PartitionError
from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Rounds
from sgdone.estimators.summarised import Summarised
from sgdone.sums.row_sum import RowSum, message


@final
@message
@dataclass(frozen=True)
class FormOfRows:
    """Number of columns, and whether the rows are tables."""

    partition: int
    n_columns: int
    is_table: bool

    def merge(self, other: "FormOfRows") -> "FormOfRows":
        """The form of both; raise if they differ."""
        if (self.n_columns, self.is_table) != (other.n_columns, other.is_table):
            here, there = (
                f"{'a data frame' if own.is_table else 'an array'} of {own.n_columns} columns" for own in (self, other)
            )
            raise PartitionError(
                f"partition {self.partition} is {here}, partition {other.partition} is {there}: all need the same "
                "columns"
            )
        return self


@final
@message
@dataclass(frozen=True)
class AskFormOfRows(RowSum):
    """Ask for the form of the rows."""

    def of(self, partition: Partition) -> FormOfRows:
        """The form of these rows."""
        return FormOfRows(partition.number, int(partition.X.shape[1]), partition.is_table)


def encode_tables(rounds: Rounds, model: Summarised, n_features: int) -> None:
    """Encode tables by the encoder of the model; raise for rows that are not those of the model."""
    form: FormOfRows | None = rounds.sum(AskFormOfRows())
    if form is None:
        raise ValueError("no partition has a row of positive weight: there is nothing to summarise")
    encoder = getattr(model, "encoder_", None)
    if form.is_table and encoder is None:
        raise ValueError(
            "the partitions hold data frames, but the model was fitted to arrays: give the rows of the fit"
        )
    if form.is_table:
        rounds.encode(encoder)
    elif form.n_columns != n_features:
        raise ValueError(f"the partitions have {form.n_columns} columns, but the model has {n_features}")
