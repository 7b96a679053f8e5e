"""``sgdone diagnose``."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

from sgdone.cli import console
from sgdone.cli.diagnose_report import report_of
from sgdone.cli.errors import complain, usage
from sgdone.cli.input_data import InputData, as_classes, load, task_of
from sgdone.cli.progress import ProgressLine
from sgdone.data.learning_task import Task
from sgdone.diagnose import Separation, Shape, shape
from sgdone.diagnose.data_summary.summary_text import shown_label

#: A kind of separation in the colour of the status that it gives a fit.
_STATUS = {"none": "converged", "quasi-complete": "budget spent", "complete": "budget spent", "undecided": ""}


@final
@dataclass(frozen=True)
class DiagnoseOptions:
    """What the user asked for."""

    data: str
    label: str | None
    task: Task | Literal["auto"]
    zero_based: bool
    fit_intercept: bool
    with_separation: bool
    plot: Path | None
    json: bool

    def check(self) -> None:
        """Find what is wrong before any data is read."""
        if self.plot is None:
            return
        with usage("--plot"):
            if not self.with_separation:
                raise ValueError("the picture is that of a separation: leave out --no-separation")
            if self.plot.is_dir():
                raise ValueError(f"{self.plot} is a folder: give the name of a file in it")
            if not self.plot.resolve().parent.is_dir():
                raise ValueError(f"there is no folder {self.plot.resolve().parent}: create it first")
        _check_format(self.plot)


def diagnose_and_report(options: DiagnoseOptions) -> None:
    """Read, look, and tell."""
    options.check()
    with ProgressLine() as line:
        line.now(f"reading {options.data}")
        rows = load(options.data, label=options.label, zero_based=options.zero_based, allow_missing=True)
        task = options.task if options.task != "auto" else rows.task or task_of(rows.labels)
        labels = as_classes(rows.labels) if task == "classification" else rows.labels
        found = shape(
            rows.X,
            labels,
            fit_intercept=options.fit_intercept,
            task=task,
            feature_names=_names(rows),
            with_separation=options.with_separation,
            progress=line.now,
        )
        line.now("putting it into words")
        report = report_of(found, options.data, rows.class_names)
        line.now("drawing")
        pictures = [] if options.plot is None else _draw(found, options.plot)
    report["plots"] = [str(path) for path in pictures]
    if options.json:
        console.print_json(report)
    else:
        _show(found, report, rows.class_names)
    if options.plot is not None and not pictures:
        complain("no picture was drawn: no coefficient is known to run to infinity", "warning", "yellow")


def _names(rows: InputData) -> list[str]:
    """Features of files without names are numbered as the file numbers them."""
    if rows.feature_names is not None:
        return rows.feature_names
    first = 0 if rows.zero_based else 1
    return [f"feature {column + first}" for column in range(rows.X.shape[1])]


def _show(found: Shape, report: dict[str, Any], class_names: list[str] | None) -> None:
    names = dict(zip(found.classes, class_names, strict=False)) if found.classes and class_names else {}
    console.show(found.facts({label: name for label, name in names.items() if name != str(label)}))
    for answer, sentence in zip(found.answers.values(), found.sentences(), strict=True):
        console.say(f"\n{sentence}", _STATUS[answer.kind])
    console.say("\nWhat to do:" if report["advice"] else "\nNothing stands in the way of a fit.")
    for sentence in report["advice"]:
        console.say(f"- {sentence}")
    if report["plots"]:
        console.say("\n" + "\n".join(report["plots"]))


def _draw(found: Shape, path: Path) -> list[Path]:
    """Draw every separation that has a direction; several classes get a file each."""
    drawn = {label: answer for label, answer in found.answers.items() if answer.kind in ("complete", "quasi-complete")}
    written: list[Path] = []
    for label, answer in drawn.items():
        plain = re.sub(r"[^\w.+-]+", "_", shown_label(label))
        name = path if len(found.answers) == 1 else path.with_stem(f"{path.stem}-{plain}")
        if name in written:
            name = path.with_stem(f"{name.stem}-{len(written)}")
        _save(answer, name)
        written.append(name)
    return written


def _save(answer: Separation, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")  # a file is written, and no window opened
    from matplotlib import pyplot as plt

    figure = answer.plot()[0].figure
    try:
        figure.savefig(path, dpi=150)
    finally:
        plt.close(figure)


def _check_format(path: Path) -> None:
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise ValueError("a picture of a separation needs matplotlib: pip install 'sgdone[plot]'") from None
    kinds = FigureCanvasBase.get_supported_filetypes()
    with usage("--plot"):
        if path.suffix.lstrip(".").lower() not in kinds:
            raise ValueError(f"{path} does not end in a picture's suffix: .png, .svg or .pdf, say")
