"""``sgdone fit`` on rows that do not fit into memory."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import table_errors_named
from sgdone.cli.fit_arguments import TRAINED, FitArguments, notes_of, opened_test_rows, save_model
from sgdone.cli.fit_outcome import FitOutcome
from sgdone.cli.held_out import HeldOutInput
from sgdone.cli.input_data import OpenedData, for_task
from sgdone.cli.options import Options
from sgdone.cli.report import report_of
from sgdone.cli.scores import BaseRate, score, score_opened
from sgdone.fit.checkpoints import FitCheckpoints
from sgdone.fit.columns import FILE_CHECKS
from sgdone.fit.fit import fit
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.options import FitOptions
from sgdone.fit.streamed_rows import StreamedRows
from sgdone.interfaces.stop_rule import Status
from sgdone.losses.learning_task import Task
from sgdone.readers.table import Table


def fit_streamed(
    arguments: FitArguments,
    options: Options,
    task: Task,
    opened: OpenedData,
    tested: OpenedData | None,
    line: ProgressLine,
) -> FitOutcome:
    """Train on rows as they are read, some of them held out for the scores."""
    assert opened.others is not None
    first = for_task(replace(opened.rows, y=opened.first_labels()), task)
    holds_out = not arguments.test and arguments.hold_out
    known = OpenedData(first)
    rows = HeldOutInput(opened.others, first.name, task, options.seed, holds_out=holds_out)
    one_pass = not rows.rereadable and rows.cache is None
    announcements = _before(arguments, one_pass=one_pass)
    fit_options = options.of_fit(task, first.labels, one_pass=one_pass)
    began = time.perf_counter()
    model = _fit(fit_options, rows, arguments, is_table=isinstance(first.X, pa.Table), line=line)
    seconds = time.perf_counter() - began
    ended_early = interrupted = model.verdict_.status is Status.INTERRUPTED
    interrupted |= save_model(model, arguments.model, notes_of(opened.rows, task, arguments.file))
    line.now("scoring")
    held_out = rows.held_out_rows(model.n_features_in_)
    if held_out is not None:
        announcements.append(
            f"held out {held_out.n_rows:,} of {rows.reading.n_rows:,} rows for the scores; "
            "the model is not fitted again with them"
        )
    scores = leaks = None
    try:
        if held_out is not None:
            # The first rows may all be of one class: the shares are those of the held-out rows themselves.
            scores = score(model, held_out, BaseRate.of(held_out, classification=task != "regression"))
            leaks = None if interrupted else _leaks(model, held_out, task, options.seed, scores)
        elif arguments.test and not interrupted:
            tested = tested or opened_test_rows(known, arguments, task, model)
            assert tested is not None
            base_rate = BaseRate.of(replace(first, weights=None), classification=task != "regression")
            scores = score_opened(model, tested, task, base_rate)
    except KeyboardInterrupt:
        interrupted = True
    report = _report(model, opened.rows, rows, task)
    report |= {"test": scores if arguments.test else None, "held_out": scores if held_out is not None else None}
    ending = TRAINED if interrupted else ""
    if ended_early:
        ending = arguments.checkpoints.how_to_resume()
    return FitOutcome(model, report, seconds, interrupted, leaks or [], announcements, ending)


def _fit(
    options: FitOptions, rows: HeldOutInput, arguments: FitArguments, *, is_table: bool, line: ProgressLine
) -> FittedModel:
    """Train, and give the features of files without a header their names."""
    line.now("training")
    line.follow(rows)
    given = arguments.checkpoints
    with table_errors_named(rows.name):
        checkpoints = FitCheckpoints.of(given.checkpoint, given.every, given.resume)
        model = fit(StreamedRows(rows, checkpoints, FILE_CHECKS), options, hook=line.hook)
    names = rows.reading.feature_names
    if not is_table and names is not None:
        # Names of rows that were read ahead may follow.
        model.columns.names = np.array(names[: model.n_features_in_], dtype=object)
    return model


def _leaks(model: FittedModel, held_out: Table, task: Task, seed: int, scores: dict[str, Any]) -> Any:
    from sgdone.cli.leakage import possible_leaks

    return possible_leaks(model, held_out, task, seed, scores.get("r2", 0.0))


def _report(model: FittedModel, first: Table, rows: HeldOutInput, task: Task) -> dict[str, Any]:
    """Report like that of rows in memory, without numbers of missing values and scores of the training rows."""
    reading = rows.reading
    report = report_of(model, first, first, task)
    columns = report["columns"]
    return report | {
        "rows": reading.n_rows,
        "rows_without_label": reading.unlabelled,
        "fitted_rows": reading.n_rows - reading.n_held_out,
        "columns": None if columns is None else [column | {"missing": None} for column in columns],
        "streamed": True,
        "train": None,
    }


def _before(arguments: FitArguments, *, one_pass: bool) -> list[str]:
    """Announcements about passes and the checkpoint."""
    found = []
    if one_pass:
        found.append("the rows can be read once only: one pass at most, unless --cache keeps them on a disk")
    return found + arguments.checkpoints.announcements("the first row")
