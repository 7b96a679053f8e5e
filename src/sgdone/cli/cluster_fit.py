"""``sgdone fit`` on the partitions of a cluster."""

import importlib.util
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import refuse, table_errors_named, usage
from sgdone.cli.fit_data import FitArguments, FitData, decided_task, with_names
from sgdone.cli.input_data import check_bits, file_input, is_dataset, named
from sgdone.cli.options import Options
from sgdone.cli.scores import BaseRate
from sgdone.cluster import (
    Engine,
    PartitionedRows,
    PartitionError,
    Preparation,
    Rounds,
    RowFacts,
    facts_of_rows,
    held_out_rows,
)
from sgdone.cluster.partition import HoldOutFactsSum
from sgdone.cluster.tables import KindsOfColumns, KindVotes
from sgdone.fit.fit import fit
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.hold_out import FEWEST_ROWS, RowChoice
from sgdone.fit.options import as_rule
from sgdone.losses.learning_task import Task
from sgdone.readers.file_parts import FilePart, FileParts, file_parts
from sgdone.readers.reading import format_of
from sgdone.readers.table import MAX_MEMORY, ReadOptions, Table
from sgdone.rows.faults import as_classes
from sgdone.run import Trace
from sgdone.tables.kinds import Kind

#: Most columns of svmlight files: each is a coefficient, and several vectors of them are sent and kept.
_MOST_COLUMNS = 1 << 26
#: Formats whose cells decide the types of the columns, in each file by itself.
_TYPED_BY_CELLS = frozenset({"csv", "jsonl"})

_ADDRESS = re.compile(r"[a-z]+://\S+")


def check_dask(address: str, data: Sequence[str], file: ReadOptions, options: Options) -> None:
    """Raise a usage error for an address or data that cannot be used, and for options that have no effect."""
    with usage("--dask"):
        if address != "local" and not _ADDRESS.fullmatch(address):
            raise ValueError(f"{address!r} is neither local nor the address of a scheduler, as tcp://10.0.0.1:8786")
        if not all(importlib.util.find_spec(name) for name in ("dask", "distributed")):
            raise ValueError('Dask is not installed: pip install "sgdone[dask]"')
        for name in data:
            if name == "-":
                raise ValueError("workers cannot read standard input (-): give files")
            if is_dataset(name):
                raise ValueError(f"{name} is a data set, which is fitted on this machine: give files")
    _check_fit(options)
    for option, given in (("--max-memory", file.max_memory != MAX_MEMORY), ("--cache", file.cache is not None)):
        refuse(option, given, "it has no effect with --dask, whose workers keep their rows in memory: remove it")


def _check_fit(options: Options) -> None:
    """Raise a usage error unless a fit on a cluster can do what is asked for."""
    given, loss = options.method, options.loss
    advice = f"a fit with --dask has its own solver: remove --solver {given.solver}"
    refuse("--solver", not options.is_default_fit, advice)
    advice = "it has no effect with --dask, which ends at the optimum: remove it, or give --passes"
    refuse("--tol", given.tol is not None, advice)
    budgets = all(leaf.is_budget for leaf in as_rule(options.parameters()["stop"]).leaves)
    advice = f"a fit with --dask ends at the optimum, or after some rounds: give their number instead of {given.stop}"
    refuse("--stop", given.stop != "auto" and not budgets, advice)
    known = "logistic, squared_hinge, squared or huber"
    advice = f"a fit with --dask needs a smooth convex loss, as {known}; got {given.loss}"
    refuse("--loss", loss is not None and not loss.smooth_and_convex, advice)


def listed_parts(arguments: FitArguments) -> FileParts:
    """The parts of the files that DATA names; raise for columns and options that do not fit."""
    source = file_input(arguments.data, arguments.file)
    if arguments.scored.test:
        format_of(file_input(arguments.scored.test, arguments.file).options)  # raises for a file that cannot be opened
    parts = file_parts(source.found, source.options)
    check_bits(arguments.file, is_table=parts.columns is not None)
    advice = (
        "with --dask the names of Vowpal Wabbit files must be hashed, so that all workers have the same columns: add "
        "--bits 18, for example"
    )
    refuse("--bits", arguments.file.bits is None and parts.format == "vw", advice)
    return parts


def no_rows(arguments: FitArguments, parts: FileParts) -> Table:
    """The columns of the files, without rows."""
    columns, name = parts.columns, named(arguments.data)
    if columns is None:
        return Table(sparse.csr_array((0, 1)), None, name=name, zero_based=arguments.file.zero_based)
    X = pa.table({name: pa.nulls(0) for name in columns.features})
    weights = None if columns.weight is None else np.empty(0)
    return Table(X, None, columns.features, columns.label_name, name=name, weights=weights, dropped=columns.dropped)


@contextmanager
def opened_partitions(parts: FileParts) -> Iterator[tuple[Engine, Rounds, RowFacts]]:
    """Let the workers read their parts; errors name files, and the partitions are released at the end.

    The cells of a CSV file decide the types of its columns. A column that is of numbers or dates in some files only is
    read again, as strings: then levels are as they are written in all of them.
    """
    from sgdone.dask.engine import DaskEngine, delayed_files

    with _files_named(parts.parts):
        with DaskEngine(delayed_files(parts.parts)) as engine:
            rounds = Rounds(engine)
            mixed = _mixed_columns(rounds, parts) if parts.format in _TYPED_BY_CELLS else []
            if not mixed:
                facts = facts_of_rows(rounds)
                if parts.columns is None and facts.n_columns > _MOST_COLUMNS:
                    raise ValueError(
                        f"the largest index is {facts.n_columns:,}, and a fit on a cluster has a coefficient for each: "
                        "hash them with bits=20, for example"
                    )
                yield engine, rounds, facts
                return
        with opened_partitions(parts.with_strings(mixed)) as opened:
            yield opened


def _mixed_columns(rounds: Rounds, parts: FileParts) -> list[str]:
    """Columns that are of numbers, booleans or dates in some parts, and of something else in others."""
    votes: KindVotes | None = rounds.sum(KindsOfColumns())
    known = set(parts.parts[0].options.as_strings)
    strings = {str(Kind.CATEGORY), str(Kind.TEXT)}
    return [
        name
        for name, kinds in ((votes and votes.votes) or {}).items()
        if name not in known and len(kinds) > 1 and not strings.issuperset(kinds)
    ]


@contextmanager
def _files_named(parts: Sequence[FilePart]) -> Iterator[None]:
    """Convert errors about partitions to errors that also name the file."""
    try:
        yield
    except PartitionError as error:
        raise ValueError(with_files(str(error), parts)) from error


def with_files(message: str, parts: Sequence[Any]) -> str:
    """A message about partitions with the files that they are of, where it does not name them itself.

    Examples
    --------
    >>> with_files("partition 1 has 2 columns, partition 0 has 3", ["a.svm", "b.svm"])
    'partition 1 (b.svm) has 2 columns, partition 0 (a.svm) has 3'
    >>> with_files("partition 1: b.csv, line 3: is empty", ["a.csv", "b.csv"])
    'partition 1: b.csv, line 3: is empty'
    """

    def named_partition(found: re.Match[str]) -> str:
        number = int(found[1])
        part = str(parts[number]) if number < len(parts) else ""
        return found[0] if not part or part.split(",")[0] in message else f"{found[0]} ({part})"

    return re.sub(r"\bpartition (\d+)\b", named_partition, message)


@contextmanager
def data_on_dask(arguments: FitArguments, line: ProgressLine) -> Iterator[FitData]:
    """Parts of files, each read by the worker that keeps it."""
    from sgdone.dask.engine import LOCAL, connected

    assert arguments.dask is not None
    parts = listed_parts(arguments)
    columns = no_rows(arguments, parts)
    options = with_names(arguments.options, columns)
    line.now("starting workers" if arguments.dask == LOCAL else f"connecting to {arguments.dask}")
    with connected(arguments.dask):
        line.now(f"reading {named(arguments.data)}")
        with opened_partitions(parts) as (engine, rounds, facts):
            task = decided_task(arguments, options, columns, facts.values, facts.rows)
            yield PartitionedData(arguments, columns, task, options, engine, rounds, facts, len(parts.parts))


@final
class PartitionedData(FitData):
    """Parts of files in the partitions of a cluster."""

    beginning = "the first round"

    def __init__(
        self,
        arguments: FitArguments,
        columns: Table,
        task: Task,
        options: Options,
        engine: Engine,
        rounds: Rounds,
        facts: RowFacts,
        n_partitions: int,
    ) -> None:
        labels = as_classes(facts.values) if task == "classification" else facts.values
        rows = replace(columns, y=labels, unlabelled=facts.unlabelled)
        super().__init__(arguments, rows, task, options.of_fit(task, labels))
        self._engine, self._rounds, self._facts, self._n_partitions = engine, rounds, facts, n_partitions
        self._hold_out: RowChoice | None = None
        self._trace = Trace()
        #: None until they have been scored.
        self._n_held_out: int | None = 0

    def hold_out(self) -> None:
        """Leave out rows in each partition."""
        if self._facts.rows >= FEWEST_ROWS:
            self._hold_out, self._n_held_out = RowChoice.of_seed(self.arguments.options.method.seed), None

    def fit(self, line: ProgressLine) -> FittedModel:
        """Train where the partitions are."""
        n_columns = None if self.columns_are_known else self._facts.n_columns
        line.now("training", counts="round")
        facts = None if self._hold_out is None else self._rounds.sum(HoldOutFactsSum(self.task, self._hold_out))
        self._rounds.encode(Preparation(self.task, n_columns, self._hold_out, facts))
        with table_errors_named(self.rows.name):
            model = fit(PartitionedRows(self._engine, self.checkpoints), self.options, hook=line.hook)
        self._trace = model.trace_
        return model

    def counts(self) -> dict[str, Any]:
        """Numbers of rows, partitions, rounds and bytes."""
        facts, trace, records = self._facts, self._trace, self._rounds.records
        counts = {"partitions": self._n_partitions, "rounds": len(trace) + len(records)}
        for name in ("bytes_sent", "bytes_received"):
            counts[name] = int(np.sum(trace[name])) + sum(getattr(record, name) for record in records)
        return {
            "rows": facts.rows,
            "rows_without_label": facts.unlabelled,
            "fitted_rows": None if self._n_held_out is None else facts.rows - self._n_held_out,
            "cluster": {"dask": self.arguments.dask, **counts},
        }

    def held_out(self, model: FittedModel) -> tuple[Table | None, NDArray[Any] | None]:
        """The labels of the rows that partitions hold out, and the outputs, which are computed where the rows are."""
        found = None if self._hold_out is None else held_out_rows(self._rounds, model.coef_, model.intercept_)
        self._n_held_out = 0 if found is None else found.labels.size
        if found is None:
            return None, None
        labels = found.labels.astype(np.float64) if self.task == "regression" else found.labels
        self.held_out_rows = Table(np.empty((labels.size, 0)), labels, name=self.rows.name, weights=found.weights)
        return self.held_out_rows, found.scores.ravel() if found.scores.shape[1] == 1 else found.scores

    def base_rate(self) -> BaseRate:
        """Shares of the classes, or the mean, of the held-out rows, or of all."""
        facts = self._facts
        if self.held_out_rows is not None:
            return super().base_rate()
        if self.task == "regression":
            return BaseRate(None, np.zeros(0), facts.total / facts.rows)
        return BaseRate(as_classes(facts.values), facts.labels.weights / facts.labels.weights.sum(), float("nan"))
