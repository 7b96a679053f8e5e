"""``sgdone diagnose``."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli import console
from sgdone.cli.diagnose_report import report_of
from sgdone.cli.errors import complain, table_errors_named, usage
from sgdone.cli.file_options import FileOptions
from sgdone.cli.fit_report import columns_of, columns_text
from sgdone.cli.input_data import InputData, as_classes, task_of
from sgdone.cli.opened_data import named, open_data
from sgdone.cli.plot_file import check_plot, save_plot
from sgdone.cli.progress import ProgressLine
from sgdone.diagnose import Shape, shape
from sgdone.diagnose.shape import NO_PROBLEMS
from sgdone.losses.learning_task import Task
from sgdone.message_text import counted, shown_label
from sgdone.tables import TableEncoderCore
from sgdone.tables.arrow_arrays import numpy_of
from sgdone.tables.cell_values import as_floats

#: The fit status whose colour is used for each kind of separation.
_STATUS = {"none": "converged", "quasi-complete": "budget spent", "complete": "budget spent", "undecided": ""}


@final
@dataclass(frozen=True)
class DiagnoseOptions:
    """Options of ``sgdone diagnose``."""

    data: list[str]
    file: FileOptions
    task: Task | Literal["auto"]
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
        check_plot(self.plot, self.data)


def diagnose_and_report(options: DiagnoseOptions) -> None:
    """Read the data, check them and print the report."""
    options.check()
    with ProgressLine() as line:
        name = named(options.data)
        line.now(f"reading {name}")
        rows = open_data(options.data, options.file, allow_missing=True).first_rows()
        task = options.task if options.task != "auto" else rows.task or task_of(rows.labels)
        labels = as_classes(rows.labels) if task == "classification" else rows.labels
        line.now("encoding the columns")
        with table_errors_named(name, rows.place):
            X, names, encoding, columns = _features(rows)
        found = shape(
            X,
            labels,
            fit_intercept=options.fit_intercept,
            task=task,
            feature_names=names,
            with_separation=options.with_separation,
            progress=line.now,
        )
        line.now("writing the report")
        report = report_of(found, name, rows.class_names)
        report["all_rows"] = rows.complete
        line.now("plotting")
        plots = [] if options.plot is None else _draw(found, options.plot)
    report["plots"] = [str(path) for path in plots]
    report["encoding"] = encoding
    report["columns"] = columns
    if options.json:
        console.print_json(report)
    else:
        if not rows.complete:
            console.say(f"the first {rows.n_rows:,} rows, which fit into memory; the others are not checked\n")
        _show(found, report, rows.class_names)
    if options.plot is not None and not plots:
        complain("no plot was drawn, because no separation was found", "warning", "yellow")


def _features(rows: InputData) -> tuple[Any, list[str], str, list[dict[str, Any]] | None]:
    """A matrix, the names of its columns; if columns of a table had to be encoded, how, and how each was.

    Numbers and booleans stay as they are, gaps included. A category is encoded without its most frequent level, because
    with all of them the columns would add up to the intercept.
    """
    if not isinstance(rows.X, pa.Table):
        return rows.X, _names(rows), "", None
    if all(_is_number(kind) for kind in rows.X.schema.types):
        columns = [_floats(column) for column in rows.X.columns]
        return np.column_stack(columns), rows.X.column_names, "", None
    encoder = TableEncoderCore()
    X = encoder.fit_encode(rows.X).tocsr()
    references = {group.reference for group in encoder.groups()}
    kept = [feature for feature in range(X.shape[1]) if feature not in references]
    names = encoder.get_feature_names_out()
    what = f"{counted(rows.X.num_columns, 'column')} encoded as {counted(len(kept), 'feature')}"
    what = f"{what}, without the most frequent level of each category"
    return X[:, kept], names[kept].tolist(), what, columns_of(encoder, rows.X)


def _is_number(kind: Any) -> bool:
    types = pa.types
    return any(
        test(kind) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    )


def _floats(column: Any) -> NDArray[np.floating]:
    return as_floats(column) if not pa.types.is_float32(column.type) else numpy_of(column)


def _names(rows: InputData) -> list[str]:
    """Feature names; without names, features are numbered as in the file."""
    if rows.feature_names is not None:
        return rows.feature_names
    first = 0 if rows.zero_based else 1
    return [f"feature {column + first}" for column in range(rows.X.shape[1])]


def _show(found: Shape, report: dict[str, Any], class_names: list[str] | None) -> None:
    names = dict(zip(found.classes, class_names, strict=False)) if found.classes and class_names else {}
    facts = found.facts({label: name for label, name in names.items() if name != str(label)})
    if report["encoding"]:
        about = columns_text(report["columns"])
        # Gaps of a table are filled: the features have none.
        facts = [("table", report["encoding"]), *about, *(fact for fact in facts if fact != ("missing", "none"))]
    console.show(facts)
    sentences, kinds = found.sentences(), [answer.kind for answer in found.answers.values()]
    if found.separation is not None and len(sentences) < len(kinds):
        kinds = [found.separation.kind] * len(sentences)
    for kind, sentence in zip(kinds, sentences, strict=True):
        console.say(f"\n{sentence}", _STATUS[kind])
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
