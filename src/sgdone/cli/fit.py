"""``sgdone fit``."""

import time
from dataclasses import replace

import pyarrow as pa
import typer

from sgdone.cli import console
from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import INTERRUPTED, complain
from sgdone.cli.fit_arguments import FitArguments, decided_task, opened_test_rows, with_names
from sgdone.cli.fit_outcome import FitOutcome
from sgdone.cli.input_data import for_task, named, open_data
from sgdone.cli.memory_fit import fit_in_memory
from sgdone.cli.report import scores_warning, show
from sgdone.cli.streamed_fit import fit_streamed


def fit_and_report(arguments: FitArguments) -> None:
    """Read, train, save and report."""
    arguments.check()
    began_reading = time.perf_counter()
    with ProgressLine(shown=not arguments.quiet) as line:
        try:
            outcome = _fit_here(arguments, line) if arguments.dask is None else _fit_on_dask(arguments, line)
        except KeyboardInterrupt:
            if arguments.checkpoints.resume:
                complain(arguments.checkpoints.how_to_resume(), "interrupted", "yellow")
            raise
    report = outcome.report | {
        "possible_leakage": [leak.as_json() for leak in outcome.leaks],
        "seconds": time.perf_counter() - arguments.began,
        "seconds_starting": began_reading - arguments.began,
        "seconds_reading": outcome.reading,
        "seconds_fitting": outcome.seconds,
        "model": None if arguments.model is None else str(arguments.model),
    }
    if arguments.json:
        console.print_json(report)
    elif not arguments.quiet:
        if outcome.announcements:
            console.say("\n".join(outcome.announcements) + "\n")
        show(report, outcome.model.verdict_)
        warning = scores_warning(report)
        if warning:
            complain(warning, "warning", "yellow")
        for leak in outcome.leaks:
            complain(leak.sentence(), "possible leakage", "yellow")
        if outcome.ending:
            console.say(f"\n{outcome.ending}", "interrupted")
    if outcome.interrupted:
        raise typer.Exit(INTERRUPTED)


def _fit_here(arguments: FitArguments, line: ProgressLine) -> FitOutcome:
    """Read and train in this process."""
    began = time.perf_counter()
    line.now(f"reading {named(arguments.data)}")
    opened = open_data(arguments.data, arguments.file)
    options = with_names(arguments.options, opened.rows)
    task = decided_task(arguments, options, opened)
    if opened.others is None:
        opened.rows = for_task(opened.rows, task)
    fit = fit_in_memory if opened.others is None else fit_streamed
    # Further features may follow in files without a header: then the test rows are opened after the fit.
    names_known = opened.others is None or isinstance(opened.rows.X, pa.Table)
    tested = opened_test_rows(opened, arguments, task) if names_known else None
    reading = time.perf_counter() - began
    return replace(fit(arguments, options, task, opened, tested, line), reading=reading)


def _fit_on_dask(arguments: FitArguments, line: ProgressLine) -> FitOutcome:
    from sgdone.cli.cluster_fit import fit_on_dask

    return fit_on_dask(arguments, line)
