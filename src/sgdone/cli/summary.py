"""``sgdone summary``."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

import sgdone
from sgdone.cli import console
from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import as_options, complain, table_errors_named, usage
from sgdone.cli.input_data import for_model, for_task, is_dataset, like_training_data, load
from sgdone.cli.output_files import check_plot, save_plot
from sgdone.fit import summaries
from sgdone.fit.columns import FILE_CHECKS
from sgdone.fit.fitted_model import FittedModel
from sgdone.inference import Summary
from sgdone.inference.summary import INTERCEPT
from sgdone.inference.wald import ColumnTest
from sgdone.message_text import did_you_mean, listed
from sgdone.model_file import load_fitted, read_header
from sgdone.readers.table import ReadOptions, Table
from sgdone.rows.faults import as_classes


@final
@dataclass(frozen=True)
class SummaryArguments:
    """Options of ``sgdone summary``."""

    model: Path
    data: str
    columns: list[str]
    cov: Literal["classical", "robust", "cluster"]
    groups: str | None
    level: float
    reference: str | None
    file: ReadOptions
    plot: Path | None
    json: bool

    def check(self) -> None:
        """Validate the options before any data are read."""
        with usage("--level"):
            if not 0 < self.level < 1:
                raise ValueError(f"{self.level:g} is not between 0 and 1")
        with usage("--cov"):
            if self.cov == "cluster" and self.groups is None:
                raise ValueError("cluster needs the groups: name their column with --groups")
        with usage("--groups"):
            if self.groups is not None and self.cov != "cluster":
                raise ValueError("groups are used with --cov cluster only: add it, or remove --groups")
            if self.groups is not None and is_dataset(self.data):
                raise _no_columns(self.data)
        if self.plot is not None:
            check_plot(self.plot, [self.model, self.data])


def summarise_and_report(options: SummaryArguments) -> None:
    """Load the model and the data, and print the coefficients with their standard errors."""
    options.check()
    model = load_fitted(options.model)
    if model.columns.names is None:
        # Numbered as in `inspect`.
        model.columns.names = np.array([f"feature {k + 1}" for k in range(model.n_features_in_)], dtype=object)
    columns, reference = _columns(options.columns, model), _reference(options.reference, model)
    notes = read_header(options.model)["extra"]
    with ProgressLine() as line:
        line.now(f"reading {options.data}")
        file = like_training_data(options.file, notes)
        rows = load(options.data, for_model(file, model))
        y = as_classes(rows.labels) if model.is_classifier else for_task(rows, "regression").labels
        groups = None if options.groups is None else _groups(options.groups, rows, file)
        line.now("computing standard errors")
        with table_errors_named(options.data, rows.place):
            chosen = summaries.SummaryOptions(options.cov, groups, columns, options.level, reference)
            found = summaries.summary(model, rows.X, y, rows.weights, chosen, FILE_CHECKS)
        found = _with_options(found)
        problem = None if options.plot is None else _draw(found, columns, options.plot)
    plot = None if problem else options.plot
    if options.json:
        console.print_json(_report_of(found, options, rows.subset, plot))
    else:
        table = str(found).replace("column_tests_frame()", "--json").replace("to_frame()", "--json")
        console.output().print(Text(table if plot is None else f"{table}\n\n{plot}"), soft_wrap=True)
    if problem:
        complain(f"no plot was drawn: {problem}", "warning", "yellow")


def _columns(given: list[str], model: FittedModel) -> list[str] | None:
    """Names of features or columns, separated by commas or not; a name may itself contain commas."""
    encoder = model.encoder_
    columns = [] if encoder is None or encoder.is_plain else encoder.column_features()
    groups = [group.name for column in columns for group in column.groups]
    known = [*map(str, model.get_feature_names_out()), *(column.name for column in columns), *groups, INTERCEPT]
    names: dict[str, None] = {}
    for text in given:
        parts = [text] if text in known else [part.strip() for part in text.split(",")]
        names |= dict.fromkeys(part for part in parts if part)
    with usage("--columns"):
        if given and not names:
            raise ValueError("name at least one feature")
        for name in names:
            if name not in known:
                raise ValueError(f"the model has no feature {name!r}.{did_you_mean(name, known)}")
    return list(names) or None


def _reference(text: str | None, model: FittedModel) -> Any:
    """The class of the model that is written as ``text``."""
    if text is None:
        return None
    with usage("--reference"):
        if model.classes_ is None:
            raise ValueError("the model is a regression: it has no classes")
        classes = {str(label): label for label in model.classes_.tolist()}
        if text not in classes:
            raise ValueError(f"the model has no class {text!r}: its classes are {listed(list(classes))}")
        return classes[text]


def _groups(column: str, rows: Table, file: ReadOptions) -> NDArray[Any]:
    """The column of groups, which may also be a feature."""
    with usage("--groups"):
        if rows.label_name is None or rows.feature_names is None:
            raise _no_columns(rows.name)
        others = [name for name in rows.feature_names if name != column]
        if column == rows.label_name or not others:
            what = "label" if others else "feature"
            raise ValueError(
                f"{column!r} is the {what} of the model: give the column that says which rows belong together"
            )
    # The column is read as a label, with one of the features: a file is not read without any.
    how = replace(file, label=column, weight=None, features=others[:1], skip_unlabelled=False)
    found = load(rows.name, how).labels
    return found if rows.labelled is None else found[rows.labelled]


def _no_columns(data: str) -> ValueError:
    return ValueError(f"{data} has no column with groups: use a CSV or Parquet file")


def _with_options(summary: Summary) -> Summary:
    """Replace parameters of the library by options of the command, in sentences."""
    head = replace(
        summary.head,
        verdict=as_options(summary.head.verdict),
        difference=as_options(summary.head.difference),
        notes=tuple(map(as_options, summary.head.notes)),
    )
    refused = {k: replace(refusal, reason=as_options(refusal.reason)) for k, refusal in summary.refused.items()}
    return replace(summary, head=head, refused=refused)


def _draw(summary: Summary, columns: list[str] | None, path: Path) -> str | None:
    """Draw the forest plot; why not, if there is nothing to draw."""
    try:
        save_plot(lambda: summary.plot(columns), path)
    except ValueError as error:
        return str(error)
    return None


def _report_of(summary: Summary, options: SummaryArguments, subset: str | None, plot: Path | None) -> dict[str, Any]:
    return {
        "file": str(options.model),
        "data": options.data,
        "subset": subset,
        "head": asdict(summary.head),
        "level": summary.level,
        "df": summary.df,
        "monte_carlo_error": summary.monte_carlo_error,
        "coefficients": [_coefficient(summary, k) for k in range(len(summary))],
        "column_tests": [_column_test(test) for test in summary.column_tests.values()],
        "left_out": summary.left_out,
        "plot": plot and str(plot),
        "sgdone": sgdone.__version__,
    }


def _coefficient(summary: Summary, k: int) -> dict[str, Any]:
    """One coefficient; its class if there are several, and why it is refused if it is."""
    entry: dict[str, Any] = {"feature": summary.features[k]}
    if summary.classes is not None:
        entry["class"] = summary.classes[k]
    entry |= {name: getattr(summary, name)[k] for name in ("coef", "std_err", "z", "p", "low", "high")}
    if k in summary.refused:
        entry["refused"] = asdict(summary.refused[k])
    return entry


def _column_test(test: ColumnTest) -> dict[str, Any]:
    """The test of all levels of a column; why it has none or does not cover all of them, if so."""
    names = ("column", "reference", "levels", "levels_tested", "df", "statistic", "p", "reason")
    return {name: getattr(test, name) for name in names}
