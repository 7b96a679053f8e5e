"""``sgdone fit`` on the partitions of a cluster."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
from scipy import sparse

from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import table_errors_named, usage
from sgdone.cli.fit_arguments import FitArguments, notes_of, opened_test_rows, save_model, task_of_labels, with_names
from sgdone.cli.fit_outcome import FitOutcome
from sgdone.cli.held_out import FEWEST_ROWS, held_out_key, held_out_share
from sgdone.cli.input_data import OpenedData, check_bits, file_input, named
from sgdone.cli.options import Options
from sgdone.cli.report import report_of
from sgdone.cli.scores import BaseRate, score, score_opened
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
from sgdone.cluster.tables import KindsOfColumns, KindVotes
from sgdone.dask.engine import LOCAL, DaskEngine, connected, delayed_files
from sgdone.fit.checkpoints import FitCheckpoints
from sgdone.fit.fit import fit
from sgdone.fit.fitted_model import FittedModel
from sgdone.interfaces.stop_rule import Status
from sgdone.losses.learning_task import Task
from sgdone.readers.file_parts import FilePart, FileParts, file_parts
from sgdone.readers.reading import format_of
from sgdone.readers.table import Table
from sgdone.rows.faults import as_classes
from sgdone.tables.kinds import Kind

#: Most columns of svmlight files: each is a coefficient, and several vectors of them are sent and kept.
_MOST_COLUMNS = 1 << 26
#: Formats whose cells decide the types of the columns, in each file by itself.
_TYPED_BY_CELLS = frozenset({"csv", "jsonl"})

#: Makes an engine whose partitions are parts of files.
EngineOf = Callable[[Sequence[FilePart]], Engine]


def listed_parts(arguments: FitArguments) -> FileParts:
    """The parts of the files that DATA names; raise for columns and options that do not fit."""
    source = file_input(arguments.data, arguments.file)
    if arguments.test:
        format_of(file_input(arguments.test, arguments.file).options)  # an error for a file that cannot be opened
    parts = file_parts(source.found, source.options)
    check_bits(arguments.file, is_table=parts.columns is not None)
    with usage("--bits"):
        if arguments.file.bits is None and parts.format == "vw":
            raise ValueError(
                "with --dask the names of Vowpal Wabbit files must be hashed, so that all workers have the same "
                "columns: add --bits 18, for example"
            )
    return parts


def no_rows(arguments: FitArguments, parts: FileParts) -> Table:
    """The columns of the files, without rows."""
    columns, name = parts.columns, named(arguments.data)
    if columns is None:
        return Table(sparse.csr_array((0, 1)), None, name=name, zero_based=arguments.file.zero_based)
    X = pa.table({name: pa.nulls(0) for name in columns.features})
    weights = None if columns.weight is None else np.empty(0)
    return Table(X, None, columns.features, columns.label_name, name=name, weights=weights, dropped=columns.dropped)


@final
@dataclass(frozen=True)
class OpenedPartitions:
    """Partitions that have been read.

    Parameters
    ----------
    engine : Engine
        Keeps them.
    rounds : Rounds
        Sends requests to them.
    facts : RowFacts
        Their rows and labels.
    n_partitions : int
        Number of partitions.
    """

    engine: Engine
    rounds: Rounds
    facts: RowFacts
    n_partitions: int


@contextmanager
def opened_partitions(parts: FileParts, engine_of: EngineOf) -> Iterator[OpenedPartitions]:
    """Let the workers read their parts; errors name files, and the partitions are released at the end.

    The cells of a CSV file decide the types of its columns. A column that is of numbers or dates in some files only is
    read again, as strings: then levels are as they are written in all of them.
    """
    with _files_named(parts.parts):
        engine = engine_of(parts.parts)
        try:
            rounds = Rounds(engine)
            mixed = _mixed_columns(rounds, parts) if parts.format in _TYPED_BY_CELLS else []
            if not mixed:
                facts = facts_of_rows(rounds)
                _check_columns(parts, facts)
                yield OpenedPartitions(engine, rounds, facts, len(parts.parts))
                return
        finally:
            engine.close()
        with opened_partitions(parts.with_strings(mixed), engine_of) as opened:
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


def _check_columns(parts: FileParts, facts: RowFacts) -> None:
    if parts.columns is None and facts.n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"the largest index is {facts.n_columns:,}, and a fit on a cluster has a coefficient for each: hash them "
            "with bits=20, for example"
        )


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


def fit_on_cluster(
    arguments: FitArguments, parts: FileParts, engine_of: EngineOf, line: ProgressLine, began: float
) -> FitOutcome:
    """Train on parts of files where they are read, some of their rows held out for the scores.

    Parameters
    ----------
    arguments : FitArguments
        Arguments of the command.
    parts : FileParts
        The partitions.
    engine_of : callable
        Makes the engine that keeps them.
    line : ProgressLine
        Shows the rounds.
    began : float
        When the files were opened, by ``time.perf_counter``.
    """
    columns = no_rows(arguments, parts)
    options = with_names(arguments.options, columns)
    line.now(f"reading {named(arguments.data)}")
    with opened_partitions(parts, engine_of) as opened:
        task = options.suggested_task()
        if task is None:
            task = task_of_labels(arguments, columns.label_name, opened.facts.values, opened.facts.rows)
        reading = time.perf_counter() - began
        return replace(_Fit(arguments, options, task, opened, columns).run(line), reading=reading)


@final
class _Fit:
    """A fit, and what is said of it."""

    def __init__(
        self, arguments: FitArguments, options: Options, task: Task, opened: OpenedPartitions, columns: Table
    ) -> None:
        self._arguments, self._options, self._task, self._opened = arguments, options, task, opened
        facts = opened.facts
        labels = as_classes(facts.values) if task == "classification" else facts.values
        self._train = replace(columns, y=labels, unlabelled=facts.unlabelled)
        self._share = 0.0
        if arguments.hold_out and not arguments.test:
            self._share = held_out_share(facts.rows)
        self._seconds = 0.0

    def run(self, line: ProgressLine) -> FitOutcome:
        """Train, save and score."""
        arguments, facts = self._arguments, self._opened.facts
        announcements = arguments.checkpoints.announcements("the first round")
        model = self._fit(line)
        interrupted = model.verdict_.status is Status.INTERRUPTED
        if save_model(model, arguments.model, notes_of(self._train, self._task, arguments.file)):
            raise KeyboardInterrupt
        line.now("scoring")
        rounds = Rounds(self._opened.engine)
        held_out = _scored(model, rounds, self._task) if self._share else None
        tested = self._test_scores(model) if arguments.test and not interrupted else None
        n_held_out = 0 if held_out is None else held_out["rows"]
        if held_out is not None:
            announcements.append(
                f"held out {n_held_out:,} of {facts.rows:,} rows for the scores; the model is not fitted again with "
                "them"
            )
        elif arguments.hold_out and not arguments.test:
            announcements.append(f"fewer than {FEWEST_ROWS} rows: none are held out, and there are no scores")
        report = self._report(model, rounds) | {"fitted_rows": facts.rows - n_held_out}
        report |= {"test": tested, "held_out": held_out, "train": None}
        ending = arguments.checkpoints.how_to_resume() if interrupted else ""
        return FitOutcome(model, report, self._seconds, interrupted, [], announcements, ending)

    def _fit(self, line: ProgressLine) -> FittedModel:
        options = self._options.of_fit(self._task, self._train.labels)
        given, opened = self._arguments.checkpoints, self._opened
        checkpoints = FitCheckpoints.of(given.checkpoint, given.every, given.resume)
        sparse_columns = None if self._train.feature_names is not None else opened.facts.n_columns
        line.now("training", counts="round")
        began = time.perf_counter()
        opened.rounds.encode(Preparation(self._task, sparse_columns, self._share, held_out_key(self._options.seed)))
        with table_errors_named(self._train.name):
            model = fit(PartitionedRows(opened.engine, checkpoints), options, hook=line.hook)
        self._seconds = time.perf_counter() - began
        return model

    def _test_scores(self, model: FittedModel) -> dict[str, Any] | None:
        """Scores of the test rows, which are read in this process."""
        tested = opened_test_rows(OpenedData(self._train), self._arguments, self._task, model)
        assert tested is not None
        return score_opened(model, tested, self._task, _base_rate(self._opened.facts, self._task))

    def _report(self, model: FittedModel, rounds: Rounds) -> dict[str, Any]:
        """Report like that of rows in memory, without numbers of missing values."""
        facts = self._opened.facts
        report = report_of(model, self._train, self._train, self._task)
        columns = report["columns"]
        records = [*self._opened.rounds.records, *rounds.records]
        trace: Any = model.trace_
        sent, received = (
            int(np.sum(trace[name])) + sum(getattr(record, name) for record in records)
            for name in ("bytes_sent", "bytes_received")
        )
        return report | {
            "rows": facts.rows,
            "columns": None if columns is None else [column | {"missing": None} for column in columns],
            "streamed": False,
            "cluster": {
                "dask": self._arguments.dask,
                "partitions": self._opened.n_partitions,
                "rounds": len(trace) + len(records),
                "bytes_sent": sent,
                "bytes_received": received,
            },
        }


def _scored(model: FittedModel, rounds: Rounds, task: Task) -> dict[str, Any] | None:
    """Scores of the rows that partitions hold out: their predictions are computed where they are."""
    found = held_out_rows(rounds, model.coef_, model.intercept_)
    if found is None:
        return None
    rows = Table(np.empty((found.labels.size, 0)), found.labels, weights=found.weights)
    if task == "regression":
        rows = replace(rows, y=found.labels.astype(np.float64))
    outputs = found.scores.ravel() if found.scores.shape[1] == 1 else found.scores
    return score(model, rows, BaseRate.of(rows, classification=task != "regression"), outputs)


def _base_rate(facts: RowFacts, task: Task) -> BaseRate:
    if task == "regression":
        return BaseRate(None, np.zeros(0), facts.total / facts.rows)
    return BaseRate(as_classes(facts.values), facts.labels.weights / facts.labels.weights.sum(), float("nan"))


def fit_on_dask(arguments: FitArguments, line: ProgressLine) -> FitOutcome:
    """Train where the workers are, each of which reads its own files or row groups."""
    assert arguments.dask is not None
    began = time.perf_counter()
    parts = listed_parts(arguments)
    local = arguments.dask == LOCAL
    line.now("starting workers" if local else f"connecting to {arguments.dask}")
    with connected(arguments.dask):
        return fit_on_cluster(arguments, parts, _engine, line, began)


def _engine(parts: Sequence[FilePart]) -> Engine:
    return DaskEngine(delayed_files(parts))
