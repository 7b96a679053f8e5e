"""``sgdone diagnose``."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

from sgdone.cli import console
from sgdone.cli.diagnose_report import report_of
from sgdone.cli.errors import complain, usage
from sgdone.cli.input_data import InputData, as_classes, load, task_of
from sgdone.cli.plot_file import check_plot, save_plot
from sgdone.cli.progress import ProgressLine
from sgdone.data.learning_task import Task
from sgdone.diagnose import Shape, shape
from sgdone.diagnose.data_summary.summary_text import NO_PROBLEMS, shown_label

#: The fit status whose colour is used for each kind of separation.
_STATUS = {"none": "converged", "quasi-complete": "budget spent", "complete": "budget spent", "undecided": ""}


@final
@dataclass(frozen=True)
class DiagnoseOptions:
    """Options of ``sgdone diagnose``."""

    data: str
    label: str | None
    task: Task | Literal["auto"]
    zero_based: bool
    fit_intercept: bool
    with_separation: bool
    plot: Path | None
    json: bool

    def check(self) -> None:
        """Validate the options before any data are read."""
        if self.plot is None:
            return
        with usage("--plot"):
            if not self.with_separation:
                raise ValueError("the plot shows the separation: remove --no-separation")
        check_plot(self.plot, [self.data])


def diagnose_and_report(options: DiagnoseOptions) -> None:
    """Read the data, check them and print the report."""
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
        line.now("writing the report")
        report = report_of(found, options.data, rows.class_names)
        line.now("plotting")
        plots = [] if options.plot is None else _draw(found, options.plot)
    report["plots"] = [str(path) for path in plots]
    if options.json:
        console.print_json(report)
    else:
        _show(found, report, rows.class_names)
    if options.plot is not None and not plots:
        complain("no plot was drawn, because no separation was found", "warning", "yellow")


def _names(rows: InputData) -> list[str]:
    """Feature names; without names, features are numbered as in the file."""
    if rows.feature_names is not None:
        return rows.feature_names
    first = 0 if rows.zero_based else 1
    return [f"feature {column + first}" for column in range(rows.X.shape[1])]


def _show(found: Shape, report: dict[str, Any], class_names: list[str] | None) -> None:
    names = dict(zip(found.classes, class_names, strict=False)) if found.classes and class_names else {}
    console.show(found.facts({label: name for label, name in names.items() if name != str(label)}))
    for answer, sentence in zip(found.answers.values(), found.sentences(), strict=True):
        console.say(f"\n{sentence}", _STATUS[answer.kind])
    console.say("\nAdvice:" if report["advice"] else f"\n{NO_PROBLEMS}")
    for sentence in report["advice"]:
        console.say(f"- {sentence}")
    if report["plots"]:
        console.say("\n" + "\n".join(report["plots"]))


def _draw(found: Shape, path: Path) -> list[Path]:
    """Plot every separation with a direction; with several classes, one file per class."""
    drawn = {label: answer for label, answer in found.answers.items() if answer.kind in ("complete", "quasi-complete")}
    written: list[Path] = []
    for label, answer in drawn.items():
        plain = re.sub(r"[^\w.+-]+", "_", shown_label(label))
        name = path if len(found.answers) == 1 else path.with_stem(f"{path.stem}-{plain}")
        if name in written:
            name = path.with_stem(f"{name.stem}-{len(written)}")
        save_plot(answer.plot, name)
        written.append(name)
    return written
