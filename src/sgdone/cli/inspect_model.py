"""``sgdone inspect``."""

import json as json_format
from pathlib import Path
from typing import Any

import numpy as np

from sgdone.cli import console
from sgdone.cli.report import classes_text, first_classes, solver_text, verdict_as_json, verdict_text
from sgdone.fit.fitted_model import FittedModel
from sgdone.model_file import load_fitted, read_header

#: Columns of a data frame that are printed; a terminal has fewer lines.
_MOST_COLUMNS = 40


def inspect_and_report(path: Path, top: int, json: bool) -> None:
    """Load a model and print its report."""
    model = load_fitted(path)
    header, parameters = read_header(path), model.options.parameters
    report = {
        "file": str(path),
        "estimator": header["estimator"],
        "loss": _shown(parameters["loss"]),
        "solver": _shown(parameters.get("solver", "auto")),
        "stop": _shown(parameters["stop"]),
        "alpha": model.alpha_,
        "dtype": str(model.coef_.dtype),
        "features": model.coef_.shape[-1],
        "columns": _columns(model),
        "classes": None if model.classes_ is None else model.classes_.tolist(),
        "intercept": model.intercept_.tolist(),
        "nonzero": int(np.count_nonzero(model.coef_)),
        "coefficients": _largest(model, top),
        "passes": model.verdict_.passes,
        "samples": model.verdict_.step,
        "verdict": verdict_as_json(model.verdict_),
        "created": header["created"],
        "sgdone": header["sgdone"],
        "extra": header["extra"],
    }
    if json:
        console.print_json(report)
    else:
        _show(report, model)


def _shown(parameter: Any) -> str:
    """Name or representation of a parameter."""
    return parameter if isinstance(parameter, str) else repr(parameter)


def _columns(model: FittedModel) -> list[dict[str, str]] | None:
    """Encoding of the columns of a data frame; None if they are the features."""
    encoder = model.encoder_
    if encoder is None or encoder.is_plain:
        return None
    return [column._asdict() for column in encoder.describe_columns()]


def _largest(model: FittedModel, top: int) -> list[dict[str, Any]]:
    """The coefficients that change the prediction most per standard deviation of the feature.

    The standard deviations are unknown in models of ``partial_fit``; then coefficients are ranked by absolute value.
    """
    coef = np.atleast_2d(model.coef_)
    names = model.feature_names
    std = model.feature_std_
    effect = coef if std is None else coef * std
    order = np.argsort(-np.abs(effect), axis=None, kind="stable")[:top]
    entries = []
    for row, column in zip(*np.unravel_index(order, coef.shape), strict=True):
        name = f"feature {column + 1}" if names is None else names[column]
        entry = {"feature": name, "column": int(column), "coefficient": float(coef[row, column])}
        entry["per_std"] = None if std is None else float(effect[row, column])
        if model.classes_ is not None and len(coef) > 1:
            entry["class"] = model.classes_[row]
        entries.append(entry)
    return entries


def _show(report: dict[str, Any], model: FittedModel) -> None:
    notes = report["extra"]
    names = json_format.loads(notes["class_names"]) if "class_names" in notes else None
    columns = report["columns"]
    console.show(
        [
            ("model", f"{report['estimator']} with the {report['loss']} loss, {solver_text(report['solver'])}"),
            *([("trained on", notes["data"])] if "data" in notes else []),
            *([("label", notes["label"])] if "label" in notes else []),
            ("features", f"{report['features']:,}{f', encoded from {len(columns):,} columns' if columns else ''}"),
            *classes_text(report["classes"], names),
            ("alpha", _alpha_text(report, model)),
            ("passes", f"{report['passes']:.3g}"),
            ("intercept", _intercept_text(report)),
            ("nonzero", f"{report['nonzero']:,} of {model.coef_.size:,} coefficients, {report['dtype']}"),
            ("created", f"{report['created']} with sgdone {report['sgdone']}"),
        ]
    )
    console.say(f"\n{verdict_text(model.verdict_)}", str(model.verdict_.status))
    if model.verdict_.phases_text:
        console.say(f"Phases: {model.verdict_.phases_text}.")
    if columns:
        _show_columns(columns)
    if not report["coefficients"]:
        return
    if report["coefficients"][0]["per_std"] is None:
        console.say("\nLargest coefficients:")
        console.show([(f"{entry['coefficient']:+11.4g}", _named(entry)) for entry in report["coefficients"]])
        return
    console.say("\nLargest coefficients, ranked by coefficient × standard deviation of the feature:")
    lines = [
        (f"{entry['coefficient']:+11.4g}", f"{entry['per_std']:+11.4g}  {_named(entry)}")
        for entry in report["coefficients"]
    ]
    console.show([("coefficient", "× std. dev.  feature"), *lines])


def _show_columns(columns: list[dict[str, str]]) -> None:
    """Print the encoding of the first columns, one line each."""
    console.say("\nHow the columns were encoded:")
    lines = []
    for column in columns[:_MOST_COLUMNS]:
        what = "; ".join(part for part in (column["features"], column["reason"]) if part)
        lines.append((console.printable(column["name"], 30), f"{column['kind']:10}{what}".rstrip()))
    console.show(lines)
    if len(columns) > _MOST_COLUMNS:
        console.say(f"… and {len(columns) - _MOST_COLUMNS:,} more: --json prints all.")


def _alpha_text(report: dict[str, Any], model: FittedModel) -> str:
    """The penalty; of a default fit that was not ended by `Decrement`, that it is not the penalty of an optimum."""
    number, chosen = console.number(report["alpha"]), model.verdict_.alpha_text
    if chosen and model.verdict_.is_minimum:
        return f"{number}, {chosen}"
    if model.verdict_.is_minimum or "solver" in model.options.parameters:
        return number
    return f"{number}, used in training; the training objective was not minimised"


def _intercept_text(report: dict[str, Any]) -> str:
    """The intercept; with several classes, one each."""
    values = [console.number(value) for value in report["intercept"]]
    if len(values) == 1:
        return values[0]
    return first_classes([f"{value} (class {label})" for value, label in zip(values, report["classes"], strict=True)])


def _named(entry: dict[str, Any]) -> str:
    name = console.printable(str(entry["feature"]))
    return f"{name} (class {entry['class']})" if "class" in entry else name
