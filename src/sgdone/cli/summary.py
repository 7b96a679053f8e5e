"""``sgdone summary``."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

import sgdone
from sgdone.cli import console
from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import as_options, complain, refuse, table_errors_named, usage
from sgdone.cli.input_data import for_model, for_task, is_dataset, like_training_data, load
from sgdone.cli.output_files import check_plot, save_plot
from sgdone.fit import summaries
from sgdone.fit.columns import FILE_CHECKS
from sgdone.fit.fitted_model import FittedModel
from sgdone.inference import Summary
from sgdone.inference.summary import INTERCEPT
from sgdone.message_text import did_you_mean, listed
from sgdone.model_file import load_fitted, read_header
from sgdone.readers.table import ReadOptions, Table
from sgdone.rows.faults import as_classes


def summarise_and_report(
    path: Path,
    data: str,
    names: list[str],
    cov: Literal["classical", "robust", "cluster"],
    groups: str | None,
    level: float,
    reference: str | None,
    given: ReadOptions,
    plot: Path | None,
    json: bool,
) -> None:
    """Load the model and the data, and print the coefficients with their standard errors."""
    _check(data, cov, groups, level)
    if plot is not None:
        check_plot(plot, [path, data])
    model = load_fitted(path)
    if model.columns.names is None:
        # Numbered as in `inspect`.
        model.columns.names = np.array([f"feature {k + 1}" for k in range(model.n_features_in_)], dtype=object)
    columns, label = _columns(names, model), _reference(reference, model)
    with ProgressLine() as line:
        line.now(f"reading {data}")
        file = like_training_data(given, read_header(path)["extra"])
        rows = load(data, for_model(file, model))
        y = as_classes(rows.labels) if model.is_classifier else for_task(rows, "regression").labels
        of_rows = None if groups is None else _groups(groups, rows, file)
        line.now("computing standard errors")
        with table_errors_named(data, rows.place):
            options = summaries.SummaryOptions(cov, of_rows, columns, level, label)
            found = _with_options(summaries.summary(model, rows.X, y, rows.weights, options, FILE_CHECKS))
        problem = None if plot is None else _draw(found, columns, plot)
    drawn = None if problem else plot
    if json:
        console.print_json(_report_of(found, path, data, rows.subset, drawn))
    else:
        table = str(found).replace("column_tests_frame()", "--json").replace("to_frame()", "--json")
        console.output().print(Text(table if drawn is None else f"{table}\n\n{drawn}"), soft_wrap=True)
    if problem:
        complain(f"no plot was drawn: {problem}", "warning", "yellow")


def _check(data: str, cov: str, groups: str | None, level: float) -> None:
    """Validate options before any data are read."""
    refuse("--level", not 0 < level < 1, f"{level:g} is not between 0 and 1")
    if cov == "cluster":
        refuse("--cov", groups is None, "cluster needs the groups: name their column with --groups")
    if groups is not None:
        advice = "groups are used with --cov cluster only: add it, or remove --groups"
        refuse("--groups", cov != "cluster", advice)
        refuse("--groups", is_dataset(data), _no_columns(data))


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
    refuse("--columns", bool(given) and not names, "name at least one feature")
    with usage("--columns"):
        for name in names:
            if name not in known:
                raise ValueError(f"the model has no feature {name!r}.{did_you_mean(name, known)}")
    return list(names) or None


def _reference(text: str | None, model: FittedModel) -> Any:
    """The class of the model that is written as ``text``."""
    if text is None:
        return None
    labels = model.classes_
    refuse("--reference", labels is None, "the model is a regression: it has no classes")
    assert labels is not None
    classes = {str(label): label for label in labels.tolist()}
    unknown = f"the model has no class {text!r}: its classes are {listed(list(classes))}"
    refuse("--reference", text not in classes, unknown)
    return classes[text]


def _groups(column: str, rows: Table, file: ReadOptions) -> NDArray[Any]:
    """The column of groups, which may also be a feature."""
    refuse("--groups", rows.label_name is None or rows.feature_names is None, _no_columns(rows.name))
    others = [name for name in rows.feature_names or () if name != column]
    what = "label" if others else "feature"
    advice = f"{column!r} is the {what} of the model: give the column that says which rows belong together"
    refuse("--groups", column == rows.label_name or not others, advice)
    # The column is read as a label, with one of the features: a file is not read without any.
    how = replace(file, label=column, weight=None, features=others[:1], skip_unlabelled=False)
    found = load(rows.name, how).labels
    return found if rows.labelled is None else found[rows.labelled]


def _no_columns(data: str) -> str:
    return f"{data} has no column with groups: use a CSV or Parquet file"


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


def _report_of(summary: Summary, path: Path, data: str, subset: str | None, plot: Path | None) -> dict[str, Any]:
    tests = ("column", "reference", "levels", "levels_tested", "df", "statistic", "p", "reason")
    return {
        "file": str(path),
        "data": data,
        "subset": subset,
        "head": asdict(summary.head),
        "level": summary.level,
        "df": summary.df,
        "monte_carlo_error": summary.monte_carlo_error,
        "coefficients": [_coefficient(summary, k) for k in range(len(summary))],
        "column_tests": [{name: getattr(test, name) for name in tests} for test in summary.column_tests.values()],
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
    return entry | ({"refused": asdict(summary.refused[k])} if k in summary.refused else {})
