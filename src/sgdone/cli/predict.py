"""``sgdone predict``."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from sgdone.cli import console
from sgdone.cli.errors import table_errors_named, usage
from sgdone.cli.file_options import FileOptions
from sgdone.cli.output_path import check_not_input
from sgdone.cli.part_scores import PartScores
from sgdone.cli.prediction_file import PredictedPart, prediction_file
from sgdone.cli.prediction_parts import PredictionRows
from sgdone.cli.progress import ProgressLine
from sgdone.cli.report_text import score_lines
from sgdone.cli.scores import Model, numbers_of_classes, raw_outputs
from sgdone.estimators.classification import Classification, probabilities
from sgdone.fit.options import as_loss
from sgdone.model_file import load_core, read_header
from sgdone.tables.warn_user import one_warning_a_topic


@final
@dataclass(frozen=True)
class PredictOptions:
    """Options of ``sgdone predict``."""

    model: Path
    data: list[str]
    out: Path | None
    ids: list[str]
    #: None writes probabilities if the model has them.
    proba: bool | None
    file: FileOptions
    json: bool


def predict_and_report(options: PredictOptions) -> None:
    """Load the model, read, predict and write part by part, and print the scores."""
    path, out = options.model, options.out
    check_not_input("--out", out, [path, *options.data])
    model = load_core(path)
    with usage("--proba"):
        if options.proba and not _has_probabilities(model):
            raise ValueError(f"the model {path} does not predict probabilities: train it with --loss logistic")
    rows = PredictionRows(options.data, model, read_header(path)["extra"], options.file, options.ids)
    run = _Run(model, rows, options.file.max_memory)
    kept: list[PredictedPart] = []
    # Predictions in a terminal show by themselves how far they are.
    with ProgressLine(shown=out is not None or not sys.stdout.isatty()) as line:
        line.now(f"predicting {run.rows.name}")
        line.follow(run.rows)
        parts = run.parts(with_shares=options.proba is not False)
        if options.json and out is None:
            kept = list(parts)
        else:
            with prediction_file(out) as writer:
                for part in parts:
                    writer.write(part)
    scores = run.scores.scores()
    if options.json:
        report: dict[str, Any] = {
            "model": str(path),
            "data": run.rows.name,
            "subset": run.subset,
            "rows": run.n_rows,
            "scores": scores,
            "out": out and str(out),
        }
        console.print_json(report | (_columns(kept) if out is None else {}))
    else:
        _print_scores(scores, model.loss, run.rows_text(scores), out)


@final
class _Run:
    """Predictions part by part, and what they add up to."""

    def __init__(self, model: Model, rows: PredictionRows, max_memory: int) -> None:
        self._model, self.rows = model, rows
        self.scores, self.n_rows = PartScores(model, max_memory), 0
        self.subset: str | None = None

    def parts(self, *, with_shares: bool) -> Iterator[PredictedPart]:
        """The predictions; with the probabilities of the classes, if the model has them."""
        model, classes = self._model, getattr(self._model, "classes_", None)
        topics = set[str]()
        for rows, ids in self.rows.parts():
            with table_errors_named(self.rows.name, rows.place), one_warning_a_topic(topics):
                outputs = raw_outputs(model, rows.X)
            predictions, shares = outputs, None
            if classes is not None:
                predictions = classes[numbers_of_classes(outputs)]
                if with_shares and _has_probabilities(model):
                    shares = probabilities(outputs, multinomial=getattr(model, "multinomial_", False))
            self.scores.add(rows.y, rows.weights, outputs)
            self.n_rows, self.subset = self.n_rows + rows.n_rows, rows.subset
            yield PredictedPart(ids, predictions, shares, classes)

    def rows_text(self, scores: dict[str, Any] | None) -> str:
        """The number of rows, which they are if a data set has others, and how many the scores are of."""
        if self.subset == "test":
            return f"the {self.n_rows:,} test rows of {self.rows.name}"
        some = scores is not None and scores["rows"] < self.n_rows
        return f"{self.n_rows:,} rows" + (f" (scores of the first {scores['rows']:,})" if some and scores else "")


def _has_probabilities(model: Model) -> bool:
    return isinstance(model, Classification) and as_loss(model.loss, "classification").probabilistic


def _columns(parts: list[PredictedPart]) -> dict[str, Any]:
    """All predictions for a report."""
    shares = [part.shares for part in parts if part.shares is not None]
    return {
        "ids": {name: [value for part in parts for value in part.ids[name]] for name in parts[0].ids},
        "predictions": np.concatenate([part.predictions for part in parts]),
        "probabilities": np.concatenate(shares) if shares else None,
    }


def _print_scores(scores: dict[str, Any] | None, loss: Any, rows: str, out: Path | None) -> None:
    """Print the scores on standard error, because standard output may contain the predictions."""
    parts = [rows]
    if scores is not None:
        name = loss if isinstance(loss, str) else loss.name
        parts += [f"{what} {value}" for what, value, _ in score_lines(scores, name.replace("-", "_"))]
    if out is not None:
        parts.append(f"written to {out}")
    console.errors().print(" · ".join(parts), markup=False, soft_wrap=True)
