"""``sgdone fit`` on the partitions of a cluster."""

import time
from dataclasses import replace
from typing import Any, final

import numpy as np

from sgdone.cli.errors import table_errors_named
from sgdone.cli.fit_arguments import FitArguments, notes_of, opened_test_rows, save_model, task_of_labels, with_names
from sgdone.cli.fit_outcome import FitOutcome
from sgdone.cli.fit_report import report_of
from sgdone.cli.held_out import FEWEST_ROWS
from sgdone.cli.held_out_input import MOST_HELD_OUT
from sgdone.cli.input_data import InputData, as_classes, features_of_model
from sgdone.cli.opened_data import OpenedData, named
from sgdone.cli.opened_partitions import EngineOf, OpenedPartitions, no_rows, opened_partitions
from sgdone.cli.options import Options
from sgdone.cli.part_scores import score_opened
from sgdone.cli.progress import ProgressLine
from sgdone.cli.scores import BaseRate, Model, score
from sgdone.cluster import Preparation, Rounds, RowFacts, fit_model, held_out_rows
from sgdone.estimators.estimator_cores import LinearClassifierCore, LinearRegressorCore
from sgdone.fit.checkpoints import FitCheckpoints
from sgdone.interfaces.stop_rule import Status
from sgdone.losses.learning_task import Task
from sgdone.readers.file_parts import FileParts

#: Share of the rows that are held out, up to `MOST_HELD_OUT` rows.
_HELD_OUT_SHARE = 0.1


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
        self, arguments: FitArguments, options: Options, task: Task, opened: OpenedPartitions, columns: InputData
    ) -> None:
        self._arguments, self._options, self._task, self._opened = arguments, options, task, opened
        facts = opened.facts
        labels = as_classes(facts.values) if task == "classification" else facts.values
        self._train = replace(columns, y=labels, unlabelled=facts.unlabelled)
        self._share = 0.0
        if arguments.hold_out and not arguments.test and facts.rows >= FEWEST_ROWS:
            self._share = min(_HELD_OUT_SHARE, MOST_HELD_OUT / facts.rows)
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

    def _fit(self, line: ProgressLine) -> Model:
        model = self._options.estimator(self._task, self._train.labels)
        assert isinstance(model, LinearClassifierCore | LinearRegressorCore)
        given, opened = self._arguments.checkpoints, self._opened
        checkpoints = FitCheckpoints.of(given.checkpoint, given.every, given.resume)
        sparse_columns = None if self._train.feature_names is not None else opened.facts.n_columns
        key = int(np.random.default_rng([self._options.seed, 2]).integers(1, 2**63))
        line.now("training", counts="round")
        began = time.perf_counter()
        opened.rounds.encode(Preparation(self._task, sparse_columns, self._share, key))
        with table_errors_named(self._train.name):
            fit_model(model, opened.engine, checkpoints=checkpoints, hooks=[line.hook(0)])
        self._seconds = time.perf_counter() - began
        return model

    def _test_scores(self, model: Model) -> dict[str, Any] | None:
        """Scores of the test rows, which are read in this process."""
        tested = opened_test_rows(OpenedData(self._train), self._arguments, self._task, features_of_model(model))
        assert tested is not None
        return score_opened(model, tested, self._task, _base_rate(self._opened.facts, self._task))

    def _report(self, model: Model, rounds: Rounds) -> dict[str, Any]:
        """As that of rows in memory, but for the gaps, which are not counted."""
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
            "columns": None if columns is None else [column | {"gaps": None} for column in columns],
            "streamed": False,
            "cluster": {
                "dask": self._arguments.dask,
                "partitions": self._opened.n_partitions,
                "rounds": len(trace) + len(records),
                "bytes_sent": sent,
                "bytes_received": received,
            },
        }


def _scored(model: Model, rounds: Rounds, task: Task) -> dict[str, Any] | None:
    """Scores of the rows that partitions hold out: their predictions are computed where they are."""
    found = held_out_rows(rounds, model.coef_, model.intercept_)
    if found is None:
        return None
    rows = InputData("", np.empty((found.labels.size, 0)), found.labels, None, weights=found.weights)
    if task == "regression":
        rows = replace(rows, y=found.labels.astype(np.float64))
    outputs = found.scores.ravel() if found.scores.shape[1] == 1 else found.scores
    return score(model, rows, BaseRate.of(rows, classification=task != "regression"), outputs)


def _base_rate(facts: RowFacts, task: Task) -> BaseRate:
    if task == "regression":
        return BaseRate(None, np.zeros(0), facts.total / facts.rows)
    return BaseRate(as_classes(facts.values), facts.labels.weights / facts.labels.weights.sum(), float("nan"))
