"""``sgdone predict``."""

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

import sgdone
from sgdone.cli import console
from sgdone.cli.errors import usage
from sgdone.cli.input_data import (
    InputData,
    as_classes,
    is_dataset,
    load,
    load_like_training_data,
    load_test_part,
)
from sgdone.cli.output_path import check_not_input
from sgdone.cli.report_text import scores_text
from sgdone.cli.scores import Model, features_matched, score
from sgdone.data.atomic import write_atomically
from sgdone.model_file import read_header


def predict_and_report(path: Path, data: str, out: Path | None, proba: bool, label: str | None, json: bool) -> None:
    """Load the model and the data, write the predictions and print the scores."""
    check_not_input("--out", out, [path, data])
    model = sgdone.load(path)
    with usage("--proba"):
        if proba and not hasattr(model, "predict_proba"):
            raise ValueError(f"the model {path} does not predict probabilities: train it with --loss logistic")
    rows = _rows(model, read_header(path)["extra"], data, label)
    with features_matched():
        predictions = model.predict(rows.X)
        probabilities = model.predict_proba(rows.X) if proba and is_classifier(model) else None
    scores = _scores(model, rows)
    if out is not None:
        with write_atomically(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            _write_csv(stream, model, predictions, probabilities)
    if json:
        report: dict[str, Any] = {
            "model": str(path),
            "data": data,
            "subset": rows.subset,
            "rows": len(predictions),
            "scores": scores,
            "out": out and str(out),
        }
        if out is None:
            report |= {"predictions": predictions, "probabilities": probabilities}
        console.print_json(report)
        return
    if out is None:
        text = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="", write_through=True)
        try:
            _write_csv(text, model, predictions, probabilities)
        finally:
            text.detach()
    _print_scores(scores, _rows_text(rows), out)


def _rows(model: Model, notes: dict[str, str], data: str, label: str | None) -> InputData:
    """Read data in the same way as the training data of the model."""
    if is_dataset(data):
        return load_test_part(data) or load(data)
    return load_like_training_data(data, model, notes, label=label, require_label=label is not None)


def _scores(model: Model, rows: InputData) -> dict[str, float] | None:
    """Scores if the data have labels of the kind the model predicts, else None."""
    if rows.y is None:
        return None
    if is_classifier(model):
        y = as_classes(rows.y)
        return score(model, rows.X, y) if np.isin(y, model.classes_).any() else None
    return score(model, rows.X, rows.y) if rows.y.dtype.kind in "biuf" else None


def _write_csv(stream: TextIO, model: Model, predictions: NDArray[Any], probabilities: NDArray[Any] | None) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    header = ["prediction"]
    if probabilities is not None and is_classifier(model):
        header += [f"probability_{label}" for label in model.classes_]
    writer.writerow(header)
    writer.writerows(_lines(predictions, probabilities))


def _lines(predictions: NDArray[Any], probabilities: NDArray[Any] | None) -> Iterator[list[str]]:
    """Rows of the CSV file; numbers have the fewest digits that identify them."""
    for i, prediction in enumerate(predictions):
        yield [str(prediction), *([] if probabilities is None else map(str, probabilities[i]))]


def _rows_text(rows: InputData) -> str:
    """The number of rows, and which they are if a data set has others."""
    n_rows = f"{rows.X.shape[0]:,}"
    return f"the {n_rows} test rows of {rows.name}" if rows.subset == "test" else f"{n_rows} rows"


def _print_scores(scores: dict[str, float] | None, rows: str, out: Path | None) -> None:
    """Print the scores on standard error, because standard output may contain the predictions."""
    parts = [rows]
    parts += [f"{what.strip()} {value}" for what, value in scores_text("", scores)]
    if out is not None:
        parts.append(f"written to {out}")
    console.errors().print(" · ".join(parts), markup=False, soft_wrap=True)
