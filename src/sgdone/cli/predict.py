"""``sgdone predict``."""

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import is_classifier

import sgdone
from sgdone.cli import console
from sgdone.cli.errors import table_errors_named, usage
from sgdone.cli.file_options import FileOptions
from sgdone.cli.input_data import (
    InputData,
    as_classes,
    is_dataset,
    load,
    load_like_training_data,
    load_test_part,
)
from sgdone.cli.output_path import check_not_input
from sgdone.cli.report_text import score_lines
from sgdone.cli.scores import Model, numbers_of_classes, raw_outputs, score
from sgdone.data.atomic import write_atomically
from sgdone.data.files import read_as_written
from sgdone.estimators.probabilities import probabilities
from sgdone.model_file import read_header


@final
@dataclass(frozen=True)
class PredictOptions:
    """Options of ``sgdone predict``."""

    model: Path
    data: str
    out: Path | None
    ids: list[str]
    #: None writes probabilities if the model has them.
    proba: bool | None
    file: FileOptions
    json: bool


def predict_and_report(options: PredictOptions) -> None:
    """Load the model and the data, write the predictions and print the scores."""
    path, data, out = options.model, options.data, options.out
    check_not_input("--out", out, [path, data])
    model = sgdone.load(path)
    has_probabilities = hasattr(model, "predict_proba")
    with usage("--proba"):
        if options.proba and not has_probabilities:
            raise ValueError(f"the model {path} does not predict probabilities: train it with --loss logistic")
    notes = read_header(path)["extra"]
    rows = _rows(model, notes, options)
    ids = _ids(options, notes, rows)
    with table_errors_named(data):
        outputs = raw_outputs(model, rows.X)
    predictions, shares = outputs, None
    if is_classifier(model):
        predictions = model.classes_[numbers_of_classes(outputs)]
        if has_probabilities and options.proba is not False:
            shares = probabilities(outputs, multinomial=getattr(model, "multinomial_", False))
    scores = _scores(model, rows, outputs)
    if out is not None:
        with write_atomically(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            _write_csv(stream, model, ids, predictions, shares)
    if options.json:
        report: dict[str, Any] = {
            "model": str(path),
            "data": data,
            "subset": rows.subset,
            "rows": len(predictions),
            "scores": scores,
            "out": out and str(out),
        }
        if out is None:
            report |= {"ids": ids, "predictions": predictions, "probabilities": shares}
        console.print_json(report)
        return
    if out is None:
        text = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="", write_through=True)
        try:
            _write_csv(text, model, ids, predictions, shares)
        finally:
            text.detach()
    _print_scores(scores, model.loss, _rows_text(rows), out)


def _ids(options: PredictOptions, notes: dict[str, str], rows: InputData) -> dict[str, list[str]]:
    """The columns of ``--id``, as they are written in the file."""
    if not options.ids:
        return {}
    with usage("--id"):
        if is_dataset(options.data) or not isinstance(rows.X, pa.Table):
            raise ValueError(f"{options.data} has no names of columns: use a CSV or Parquet file")
    file = options.file.like_training_data(notes)
    return read_as_written(options.data, options.ids, separator=file.separator, header=file.header)


def _rows(model: Model, notes: dict[str, str], options: PredictOptions) -> InputData:
    """Read data in the same way as the training data of the model."""
    if is_dataset(options.data):
        return load_test_part(options.data) or load(options.data, options.file)
    labelled = options.file.label is not None
    return load_like_training_data(options.data, model, notes, options.file, require_label=labelled)


def _scores(model: Model, rows: InputData, outputs: NDArray[Any]) -> dict[str, Any] | None:
    """Scores if the data have labels of the kind the model predicts, else None."""
    if rows.y is None:
        return None
    if is_classifier(model):
        rows = replace(rows, y=as_classes(rows.y))
        return score(model, rows, outputs=outputs) if np.isin(rows.labels, model.classes_).any() else None
    return score(model, rows, outputs=outputs) if rows.labels.dtype.kind in "biuf" else None


def _write_csv(
    stream: TextIO,
    model: Model,
    ids: dict[str, list[str]],
    predictions: NDArray[Any],
    shares: NDArray[Any] | None,
) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    header = [*ids, "prediction"]
    if shares is not None and is_classifier(model):
        header += [f"probability_{label}" for label in model.classes_]
    writer.writerow(header)
    writer.writerows([*known, *line] for *known, line in zip(*ids.values(), _lines(predictions, shares), strict=True))


def _lines(predictions: NDArray[Any], shares: NDArray[Any] | None) -> Iterator[list[str]]:
    """Rows of the CSV file; numbers have the fewest digits that identify them."""
    for i, prediction in enumerate(predictions):
        yield [str(prediction), *([] if shares is None else map(str, shares[i]))]


def _rows_text(rows: InputData) -> str:
    """The number of rows, and which they are if a data set has others."""
    n_rows = f"{rows.X.shape[0]:,}"
    return f"the {n_rows} test rows of {rows.name}" if rows.subset == "test" else f"{n_rows} rows"


def _print_scores(scores: dict[str, Any] | None, loss: Any, rows: str, out: Path | None) -> None:
    """Print the scores on standard error, because standard output may contain the predictions."""
    parts = [rows]
    if scores is not None:
        name = loss if isinstance(loss, str) else loss.name
        parts += [f"{what} {value}" for what, value, _ in score_lines(scores, name.replace("-", "_"))]
    if out is not None:
        parts.append(f"written to {out}")
    console.errors().print(" · ".join(parts), markup=False, soft_wrap=True)
