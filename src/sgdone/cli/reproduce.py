"""``sgdone reproduce``."""

import shlex
from contextlib import nullcontext
from pathlib import Path

from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from sgdone.cli import console
from sgdone.cli.errors import usage
from sgdone.papers.catalogue import all_experiments, find
from sgdone.papers.claims import Claim
from sgdone.papers.output import check_folder, require_matplotlib, write
from sgdone.papers.running import measure_all

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
    """Measure, write, and say which statements of the paper hold."""
    with usage("NAME"):
        experiment = find(name).of_size("quick" if quick else "full")
    with usage("--out"):
        check_folder(out)
    try:
        require_matplotlib()
    except ImportError as error:
        raise ValueError(str(error)) from None
    bar = Progress(
        TextColumn(experiment.name),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("still"),
        TimeRemainingColumn(),
        console=console.errors(),
        transient=True,
    )
    # Some versions of rich print an empty line for a bar that is not shown.
    with bar if console.errors().is_terminal else nullcontext():
        line = bar.add_task(experiment.name, total=None)
        rows = measure_all(experiment, seed, done=lambda count, total: bar.update(line, completed=count, total=total))
        claims = experiment.claims(rows)
        how = ["sgdone", "reproduce", experiment.name, *(["--quick"] if quick else []), "--seed", str(seed)]
        paths = write(experiment, rows, claims, out, shlex.join(how))
    console.say(f"{experiment.title}\n{experiment.paper}\n")
    _show(claims)
    console.say("\n" + "\n".join(str(path) for path in paths))


def _show(claims: list[Claim]) -> None:
    """Claims, the paper's word and ours; reasons stand below, each once."""
    reasons = list(dict.fromkeys(claim.reason for claim in claims if claim.reason))
    table = Table(box=box.SIMPLE, show_lines=True, padding=(0, 1), pad_edge=False)
    for heading, ratio in (("claim", 4), ("paper", 3), ("measured", 3), ("holds", None)):
        table.add_column(heading, ratio=ratio, no_wrap=ratio is None)
    for claim in claims:
        mark = f" [{reasons.index(claim.reason) + 1}]" if claim.reason else ""
        holds = Text("yes", style="green") if claim.holds else Text(f"no{mark}", style="red")
        table.add_row(Text(claim.claim), Text(claim.paper), Text(claim.measured), holds)
    _print(table)
    for number, reason in enumerate(reasons, start=1):
        console.say(f"[{number}] {reason}")


def _print(table: Table) -> None:
    out = console.output()
    if not out.is_terminal:
        out.width = _WIDTH
    out.print(table)
