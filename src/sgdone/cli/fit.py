"""``sgdone fit``: one way from files to scores, for rows in memory, in parts and on a cluster."""

import json as json_format
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import typer

from sgdone.cli import console
from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import INTERRUPTED, complain, table_errors_named
from sgdone.cli.fit_data import FitArguments, FitData, local_data
from sgdone.cli.input_data import (
    OpenedData,
    for_model,
    for_task,
    is_dataset,
    like_rows,
    load_test_part,
    open_data,
    reading_notes,
)
from sgdone.cli.leakage import Leak, possible_leaks
from sgdone.cli.report import report_of, scored_fit, scores_warning, show
from sgdone.cli.scores import score, score_opened
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.hold_out import FEWEST_ROWS
from sgdone.interfaces.stop_rule import Status
from sgdone.machine import interruption
from sgdone.message_text import listed
from sgdone.readers.table import DataError


def fit_and_report(arguments: FitArguments) -> None:
    """Read, hold out, train, save, score and report."""
    arguments.check()
    began_reading = time.perf_counter()
    with ProgressLine(shown=not arguments.output.quiet) as line:
        try:
            with _opened(arguments, line) as data:
                tested = _test_rows(data) if data.columns_are_known else None
                if not (arguments.scored.no_holdout or arguments.scored.test) and tested is None:
                    data.hold_out()
                announcements = data.announcements()
                began_fitting = time.perf_counter()
                fits = _trained(data, line, refits=arguments.output.model is not None)
                seconds_fitting = time.perf_counter() - began_fitting
                fits.interrupted |= _save(fits.model, data)
                line.now("scoring")
                report, leaks = _scored(fits, tested)
        except KeyboardInterrupt:
            if arguments.checkpoints.resume:
                complain(arguments.checkpoints.how_to_resume(), "interrupted", "yellow")
            raise
    report |= {
        "seconds": time.perf_counter() - arguments.began,
        "seconds_starting": began_reading - arguments.began,
        "seconds_reading": began_fitting - began_reading,
        "seconds_fitting": seconds_fitting,
    }
    if arguments.output.json:
        console.print_json(report)
    elif not arguments.output.quiet:
        _show(report, fits, leaks, [*announcements, *_held_out_text(report, fits)])
    if fits.interrupted:
        raise typer.Exit(INTERRUPTED)


def _opened(arguments: FitArguments, line: ProgressLine) -> AbstractContextManager[FitData]:
    """The rows, in this process or on a cluster, which is left at the end."""
    if arguments.dask is None:
        return nullcontext(local_data(arguments, line))
    from sgdone.cli.cluster_fit import data_on_dask

    return data_on_dask(arguments, line)


def _test_rows(data: FitData, model: FittedModel | None = None) -> OpenedData | None:
    """The rows to test on, if there are any; they must have labels of the training rows.

    They are read with the features of a model, by default with those of the training rows.
    """
    arguments, rows, task = data.arguments, data.rows, data.task
    if not arguments.scored.test:
        name = arguments.data[0]
        found = load_test_part(name) if len(arguments.data) == 1 and is_dataset(name) else None
        opened = None if found is None else OpenedData(found)
    else:
        how = like_rows(arguments.file, rows)
        opened = open_data(arguments.scored.test, how if model is None else for_model(how, model), subset="test")
    if opened is None:
        return None
    labels = for_task(replace(opened.rows, y=opened.first_labels()), task).labels
    if opened.others is None:
        opened.rows = for_task(opened.rows, task)
    if task == "classification" and not np.isin(labels, rows.labels).any():
        ours, others = (listed([str(label) for label in np.unique(y)], 5) for y in (rows.labels, labels))
        raise DataError(f"{opened.rows.name}: no label is one of the training rows' ({ours}); it has {others}")
    return opened


@final
@dataclass
class _Fits:
    """The fit that is scored, and the fit that is saved: the same, or one to all rows."""

    #: Rows some of which may be held out, and their model.
    scored_data: FitData
    scored: FittedModel
    data: FitData
    model: FittedModel
    #: Whether a signal was received, and whether that was before the end of training.
    interrupted: bool
    ended_early: bool


def _trained(data: FitData, line: ProgressLine, *, refits: bool) -> _Fits:
    """Train without the held-out rows and, if asked for, on all rows; after Ctrl-C the last model that there is."""
    model = data.fit(line)
    ended_early = model.verdict_.status is Status.INTERRUPTED
    fits = _Fits(data, model, data, model, ended_early, ended_early)
    every_row = data.with_all_rows() if refits and not ended_early else None
    if every_row is None:
        return fits
    try:
        model = every_row.fit(line)
    except KeyboardInterrupt:
        return replace(fits, interrupted=True, ended_early=True)
    ended_early = model.verdict_.status is Status.INTERRUPTED
    return _Fits(data, fits.scored, every_row, model, ended_early, ended_early)


def _save(model: Any, data: FitData) -> bool:
    """Save the model if there is a path; returns whether a signal was received meanwhile.

    Its notes say how `predict` reads rows as these were read, and what `inspect` shows.
    """
    rows, path = data.rows, data.arguments.output.model
    if path is None:
        return False
    from sgdone import save

    notes = {"data": rows.name, **reading_notes(data.arguments.file, rows)}
    if rows.class_names is not None and data.task == "classification":
        notes["class_names"] = json_format.dumps(rows.class_names)
    with interruption.remembered():
        save(model, path, extra=notes)
        return bool(interruption.received())


def _scored(fits: _Fits, tested: OpenedData | None) -> tuple[dict[str, Any], list[Leak]]:
    """The report with its scores, and columns that may be known only after the label; a signal ends the scoring."""
    data, model = fits.data, fits.model
    scores: dict[str, Any] = {"train": None, "test": None, "held_out": None}
    scored, leaks = None, list[Leak]()
    try:
        held_out, outputs = fits.scored_data.held_out(fits.scored)
        if held_out is not None:
            with table_errors_named(held_out.name, held_out.place):
                scores["held_out"] = score(fits.scored, held_out, fits.scored_data.base_rate(), outputs)
        if tested is None and data.arguments.scored.test and not fits.interrupted:
            tested = _test_rows(data, model)
        if tested is not None and (tested.others is None or not fits.interrupted):
            scores["test"] = score_opened(model, tested, data.task, data.base_rate())
        rows, scored_rows = data.fitted_rows, fits.scored_data.fitted_rows
        if rows is not None:
            scores["train"] = score(model, rows, data.base_rate())
        if scored_rows is not None and fits.scored is not model:
            of_scored = score(fits.scored, scored_rows, fits.scored_data.base_rate())
            scored = scored_fit(fits.scored, scored_rows.n_rows, of_scored, scores)
        examined = rows if rows is not None else data.held_out_rows
        if examined is not None and not fits.interrupted:
            r2 = (scores["test"] or scores["held_out"] or {}).get("r2", 0.0)
            leaks = possible_leaks(model, examined, data.task, data.arguments.options.method.seed, r2)
    except KeyboardInterrupt:
        fits.interrupted = True
    path = data.arguments.output.model
    report = report_of(model, data.rows, data.task, data.fitted_rows) | data.counts() | scores
    report |= {"scored_fit": scored, "possible_leakage": [leak.as_json() for leak in leaks]}
    return report | {"model": None if path is None else str(path)}, leaks


def _show(report: dict[str, Any], fits: _Fits, leaks: list[Leak], announcements: list[str]) -> None:
    """The report for people, with announcements before it and warnings after it."""
    if announcements:
        console.say("\n".join(announcements) + "\n")
    show(report, fits.model.verdict_)
    warning = scores_warning(report)
    if warning:
        complain(warning, "warning", "yellow")
    for leak in leaks:
        complain(leak.sentence(), "possible leakage", "yellow")
    ending = _ending(report, fits)
    if ending:
        console.say(f"\n{ending}", "interrupted")


def _held_out_text(report: dict[str, Any], fits: _Fits) -> list[str]:
    """Announcement of the held-out rows, and whether the saved model is fitted to them too."""
    arguments, data, held_out = fits.data.arguments, fits.scored_data, report["held_out"]
    unknown = held_out is None and fits.interrupted
    if unknown or arguments.scored.no_holdout or arguments.scored.test or report["test"] is not None:
        return []
    if held_out is None:
        few = report["rows"] < FEWEST_ROWS
        none = f"fewer than {FEWEST_ROWS} rows: none are held out" if few else "no rows are held out"
        scores = "there are no scores" if data.fitted_rows is None else "the scores are those of the training rows"
        return [f"{none}, and {scores}"]
    if data.fitted_rows is None:
        model = "the model is not fitted again with them"
    elif arguments.output.model is None:
        model = "a model that is saved is fitted on all rows"
    else:
        model = "the saved model is then fitted on all rows"
    return [f"held out {held_out['rows']:,} of {report['rows']:,} rows for the scores; {model}"]


def _ending(report: dict[str, Any], fits: _Fits) -> str:
    """A sentence about an interruption."""
    data = fits.data
    if not fits.ended_early:
        return "It was interrupted after training: the model is complete." if fits.interrupted else ""
    if data.fitted_rows is None:
        return data.arguments.checkpoints.how_to_resume()
    if report["fitted_rows"] == report["rows"]:
        return ""
    return f"The model was fitted on {report['fitted_rows']:,} of the {report['rows']:,} rows."
