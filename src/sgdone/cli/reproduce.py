"""``sgdone reproduce``."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from sgdone.cli import console
from sgdone.cli.errors import usage
from sgdone.datasets import DatasetNotFound
from sgdone.machine.atomic import write_atomically
from sgdone.papers.catalogue import all_experiments, find
from sgdone.papers.experiment import Experiment, Size
from sgdone.papers.output import check_folder, require_matplotlib, write
from sgdone.papers.page import html_page
from sgdone.papers.results import Results, stored
from sgdone.papers.running import measure_all
from sgdone.papers.seeds import held

#: The name that stands for every experiment.
ALL = "all"
#: A table in a pipe is as wide as this.
_WIDTH = 120


def show_experiments() -> None:
    """Names, figures and titles."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    for name, experiment in all_experiments().items():
        table.add_row(name, f"{experiment.title}\n{experiment.paper}")
    _print(table)


def reproduce_and_report(name: str, out: Path, quick: bool, seed: int) -> None:
    """Measure, write, and report which sentences of the paper hold."""
    size: Size = "quick" if quick else "full"
    with usage("NAME"):
        chosen = None if name == ALL else find(name)
    with usage("--out"):
        check_folder(out)
    try:
        require_matplotlib()
    except ImportError as error:
        raise ValueError(str(error)) from None
    if chosen is None:
        _reproduce_all(out, size, seed)
        return
    results, paths = _run(chosen, out, size, seed)
    console.say(f"{results.title}\n{results.paper}\n")
    _show(results)
    console.say("\n" + "\n".join(str(path) for path in paths))


def _reproduce_all(out: Path, size: Size, seed: int) -> None:
    """Run what is not stored yet; the page is written again after each experiment."""
    found: list[Results] = []
    absent: dict[str, str] = {}
    experiments = all_experiments()
    for number, (name, experiment) in enumerate(experiments.items(), start=1):
        results = stored(out, experiment.of_size(size), size, experiment.seeds(size, seed))
        note = " (stored)" if results else ""
        try:
            results = results or _run(experiment, out, size, seed)[0]
        except DatasetNotFound as error:
            absent[name] = str(error)
            console.say(f"[{number}/{len(experiments)}] {name}: skipped, {error}")
            continue
        found.append(results)
        _write_page(out, found, absent)
        console.say(f"[{number}/{len(experiments)}] {name}: {held(results.verdicts)} claims hold{note}")
    _write_page(out, found, absent)
    console.say(f"\n{out / 'index.html'}")


def _write_page(out: Path, found: list[Results], absent: dict[str, str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with write_atomically(out / "index.html") as page:
        page.write_text(html_page(found, absent), encoding="utf-8")


def _run(chosen: type[Experiment[Any, Any]], out: Path, size: Size, seed: int) -> tuple[Results, list[Path]]:
    """Measure with all seeds of the form, and write the three files."""
    experiment, seeds = chosen.of_size(size), chosen.seeds(size, seed)
    with _progress(experiment.name) as done:
        by_seed = measure_all(experiment, seeds, done=done)
        results = Results.of(experiment, by_seed, size, seeds)
        how = ["sgdone", "reproduce", experiment.name, *(["--quick"] if size == "quick" else []), "--seed", str(seed)]
        return results, write(experiment, by_seed, results, out, shlex.join(how))


@contextmanager
def _progress(name: str) -> Iterator[Any]:
    """A bar if there is a terminal; yields the function that moves it."""
    if not console.errors().is_terminal:
        # Some versions of rich print an empty line for a bar that is not shown.
        yield lambda count, total: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("still"), TimeRemainingColumn())
    with Progress(TextColumn(name), *columns, console=console.errors(), transient=True) as bar:
        line = bar.add_task(name, total=None)
        yield lambda count, total: bar.update(line, completed=count, total=total)


def _show(results: Results) -> None:
    """Claims, the paper's words and our numbers; reasons stand below, each once."""
    failing = [verdict for verdict in results.verdicts if not verdict.holds and verdict.reason]
    reasons = list(dict.fromkeys(verdict.reason for verdict in failing))
    table = Table(box=box.SIMPLE, show_lines=True, padding=(0, 1), pad_edge=False)
    for heading, ratio in (("paper", 3), ("read as", 4), ("measured", 3), ("verdict", 1)):
        table.add_column(heading, ratio=ratio)
    for verdict in results.verdicts:
        mark = f" [{reasons.index(verdict.reason) + 1}]" if verdict in failing else ""
        together = f"; {verdict.together}" if verdict.together else ""
        cells = f"{verdict.words} ({verdict.place})", verdict.reading, verdict.measured[0] + together
        table.add_row(*map(Text, cells), Text(verdict.text + mark, style="green" if verdict.holds else "red"))
    _print(table)
    for number, reason in enumerate(reasons, start=1):
        console.say(f"[{number}] {reason}")
    console.say(f"{held(results.verdicts)} claims hold")
    if results.also_tried:
        console.say("\nAlso tried, not counted:\n" + "\n".join(f"- {what}: {m}" for what, m in results.also_tried))


def _print(table: Table) -> None:
    out = console.output()
    if not out.is_terminal:
        out.width = _WIDTH
    out.print(table)
