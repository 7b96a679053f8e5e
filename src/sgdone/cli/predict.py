"""``sgdone predict``: rows are read, predicted and written part by part."""

import csv
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli import console
from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import refuse, table_errors_named
from sgdone.cli.input_data import (
    file_input,
    for_model,
    is_dataset,
    is_small,
    like_training_data,
    load,
    load_test_part,
    named,
)
from sgdone.cli.output_files import check_not_input
from sgdone.cli.report import score_lines
from sgdone.cli.scores import PartScores
from sgdone.fit.fitted_model import FittedModel, most_likely, probabilities
from sgdone.machine.atomic import write_atomically
from sgdone.machine.threads import in_background
from sgdone.model_file import load_fitted, read_header
from sgdone.readers.reading import read_as_written, read_parts, written_parts
from sgdone.readers.row_input import FileInput
from sgdone.readers.table import ReadOptions, Table, reads_as_number
from sgdone.tables.warn_user import warn_once_per_topic

#: How texts begin that spreadsheets compute when they open a CSV file.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
_PARQUET = frozenset({".parquet", ".pq"})


@final
@dataclass(frozen=True)
class PredictedPart:
    """Predictions of some rows, with the columns that are copied and the probabilities of the classes."""

    ids: dict[str, list[str]]
    predictions: NDArray[Any]
    shares: NDArray[Any] | None
    classes: NDArray[Any] | None

    def columns(self) -> dict[str, Any]:
        """All columns by name."""
        found: dict[str, Any] = {**self.ids, "prediction": self.predictions}
        if self.shares is not None and self.classes is not None:
            found |= {f"probability_{label}": self.shares[:, k] for k, label in enumerate(self.classes)}
        return found


#: Writes the columns of a part.
Write = Callable[[dict[str, Any]], None]


def csv_writer(stream: TextIO) -> Write:
    """Write CSV; numbers have the fewest digits that identify them, and no text is a formula to a spreadsheet."""
    writer, header = csv.writer(stream, lineterminator="\n"), True

    def write(columns: dict[str, Any]) -> None:
        nonlocal header
        if header:
            writer.writerow(map(_without_formula, columns))
            header = False
        writer.writerows(zip(*map(_cells, columns.values()), strict=True))

    return write


def _parquet_writer(path: Path, until: ExitStack) -> Write:
    """Write a Parquet file whose row groups are the parts; it is complete when ``until`` is left."""
    writer: Any = None

    def write(columns: dict[str, Any]) -> None:
        nonlocal writer
        import pyarrow.parquet as pq

        table = pa.table(columns)
        writer = writer or until.enter_context(pq.ParquetWriter(path, table.schema))
        writer.write_table(table)

    return write


@contextmanager
def prediction_file(path: Path | None) -> Iterator[Write]:
    """A file that has its name when it is complete; None for CSV to standard output."""
    with ExitStack() as until:
        if path is None:
            text = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="", write_through=True)
            until.callback(text.detach)
            yield csv_writer(text)
            return
        temporary = until.enter_context(write_atomically(path))
        if path.suffix.lower() in _PARQUET:
            yield _parquet_writer(temporary, until)
        else:
            yield csv_writer(until.enter_context(temporary.open("w", encoding="utf-8", newline="")))


def _cells(values: Any) -> list[Any]:
    """Values as the csv module writes them: a float of 64 bits by its repr, which is the shortest."""
    if not isinstance(values, np.ndarray):
        return [_without_formula(value) for value in values]
    if values.dtype.kind in "OU":
        return [_without_formula(value) for value in values.tolist()]
    return values.tolist() if values.dtype.kind != "f" or values.dtype == np.float64 else list(map(str, values))


def _without_formula(cell: Any) -> Any:
    """A text that a spreadsheet would compute, with an apostrophe before it; numbers are left as they are.

    Examples
    --------
    >>> [_without_formula(cell) for cell in ("=1+1", "@SUM(A1)", "-1.5", "+7", "-x", "a=b", -1)]
    ["'=1+1", "'@SUM(A1)", '-1.5', '+7', "'-x", 'a=b', -1]
    """
    if isinstance(cell, str) and cell.startswith(_FORMULAS) and not reads_as_number(cell):
        return f"'{cell}"
    return cell


#: Parts that are read ahead of predictions.
_AHEAD = 2

#: Columns that are copied to the predictions, by name.
Ids = dict[str, list[str]]


@final
class Predictions:
    """Predictions part by part, and their scores; rows of DATA are read as the training data of the model were.

    ``notes`` are those of the model's file, ``given`` are options of the command, and ``ids`` are columns to copy.
    """

    def __init__(
        self, data: Sequence[str], model: FittedModel, notes: dict[str, str], given: ReadOptions, ids: Sequence[str]
    ) -> None:
        self._data, self._model, self._given, self._ids = data, model, given, ids
        own = {"prediction", *(f"probability_{label}" for label in ([] if model.classes_ is None else model.classes_))}
        taken = next((name for name in ids if name in own), "")
        refuse("--id", bool(taken), f"{taken!r} is the name of a column of the predictions: rename it in {named(data)}")
        self._file = like_training_data(given, notes)
        self.name = named(data)
        self._source: FileInput | None = None
        if not (len(data) == 1 and is_dataset(data[0])):
            self._source = file_input(data, for_model(self._file, model))
        self.total_bytes = None if self._source is None else self._source.total_bytes
        self.bytes_read = self.n_rows = 0
        self.subset: str | None = None
        self.scores = PartScores(model, given.max_memory)

    def parts(self, *, with_shares: bool) -> Iterator[PredictedPart]:
        """The predictions; with the probabilities of the classes, if the model has them."""
        model, classes, topics = self._model, self._model.classes_, set[str]()
        for rows, ids in self._rows():
            with table_errors_named(self.name, rows.place), warn_once_per_topic(topics):
                outputs = model.scores(rows.X)
            predictions, shares = outputs, None
            if classes is not None:
                predictions = classes[most_likely(outputs)]
                if with_shares and _has_probabilities(model):
                    shares = probabilities(outputs, multinomial=bool(model.multinomial_))
            self.scores.add(rows.y, rows.weights, outputs)
            self.n_rows, self.subset = self.n_rows + rows.n_rows, rows.subset
            yield PredictedPart(ids, predictions, shares, classes)

    def rows_text(self, scores: dict[str, Any] | None) -> str:
        """The number of rows, which they are if a data set has others, and how many the scores are of."""
        if self.subset == "test":
            return f"the {self.n_rows:,} test rows of {self.name}"
        some = scores is not None and scores["rows"] < self.n_rows
        return f"{self.n_rows:,} rows" + (f" (scores of the first {scores['rows']:,})" if some and scores else "")

    def _rows(self) -> Iterator[tuple[Table, Ids]]:
        """The rows, and the columns to copy."""
        source = self._source
        if source is None:
            rows = load_test_part(self._data[0]) or load(self._data[0], self._given)
            self._check_ids(rows)
            yield rows, {}
        elif is_small(source):
            path = source.found[0].path
            labelled = self._given.label is not None
            how = replace(source.options, require_label=labelled, skip_unlabelled=labelled)
            rows = load(self._data[0], how, path=path)
            self._check_ids(rows)
            yield rows, self._whole_ids(path, rows)
        else:
            yield from self._in_parts(source)

    def _in_parts(self, source: FileInput) -> Iterator[tuple[Table, Ids]]:
        labelled = self._given.label is not None
        how = replace(source.options, require_label=labelled, skip_unlabelled=labelled, on_bytes=self._count)
        take = self._aligned_ids(source)
        with closing(in_background(read_parts(source.found, how), _AHEAD)) as tables:
            for rows in tables:
                self._check_ids(rows)
                ids = take(rows.n_rows + rows.unlabelled)
                if rows.n_rows:
                    yield rows, _labelled(ids, rows)

    def _count(self, n_bytes: int) -> None:
        self.bytes_read += n_bytes

    def _check_ids(self, rows: Table) -> None:
        unnamed = self._source is None or not isinstance(rows.X, pa.Table)
        refuse("--id", bool(self._ids) and unnamed, f"{self.name} has no names of columns: use a CSV or Parquet file")

    def _whole_ids(self, path: Any, rows: Table) -> Ids:
        if not self._ids:
            return {}
        found = read_as_written(path, self._ids, separator=self._file.separator, header=self._file.header)
        return _labelled(found, rows)

    def _aligned_ids(self, source: FileInput) -> Callable[[int], Ids]:
        """A function that returns the columns to copy of the next rows, given their number."""
        if not self._ids:
            return lambda count: {}
        how = replace(source.options, features=self._ids, label=None, weight=None, drop=(), require_label=False)
        parts = written_parts(source.found, how)
        waiting: Ids = {}

        def take(count: int) -> Ids:
            while not waiting or len(next(iter(waiting.values()))) < count:
                for name, values in next(parts).items():
                    waiting[name] = waiting.get(name, []) + values
            taken = {name: values[:count] for name, values in waiting.items()}
            for name, values in waiting.items():
                waiting[name] = values[count:]
            return taken

        return take


def _labelled(ids: Ids, rows: Table) -> Ids:
    """The columns of the rows that have a label, if others were skipped."""
    if rows.labelled is None:
        return ids
    return {name: [values[row] for row in rows.labelled.tolist()] for name, values in ids.items()}


def predict_and_report(
    path: Path,
    data: Sequence[str],
    out: Path | None,
    ids: Sequence[str],
    proba: bool | None,
    file: ReadOptions,
    json: bool,
) -> None:
    """Load the model, read, predict and write part by part, and print the scores.

    Without ``proba`` probabilities are written if the model has them.
    """
    check_not_input("--out", out, [path, *data])
    model = load_fitted(path)
    advice = f"the model {path} does not predict probabilities: train it with --loss logistic"
    refuse("--proba", bool(proba) and not _has_probabilities(model), advice)
    found = Predictions(data, model, read_header(path)["extra"], file, ids)
    kept: list[PredictedPart] = []
    # Predictions in a terminal show by themselves how far they are.
    with ProgressLine(shown=out is not None or not sys.stdout.isatty()) as line:
        line.now(f"predicting {found.name}")
        line.follow(found)
        parts = found.parts(with_shares=proba is not False)
        if json and out is None:
            kept = list(parts)
        else:
            with prediction_file(out) as write:
                for part in parts:
                    write(part.columns())
    scores = found.scores.scores()
    if not json:
        _print_scores(scores, model.options.loss.name, found.rows_text(scores), out)
        return
    report: dict[str, Any] = {
        "model": str(path),
        "data": found.name,
        "subset": found.subset,
        "rows": found.n_rows,
        "scores": scores,
        "out": out and str(out),
    }
    console.print_json(report | (_columns(kept) if out is None else {}))


def _has_probabilities(model: FittedModel) -> bool:
    return model.is_classifier and model.options.loss.probabilistic


def _columns(parts: list[PredictedPart]) -> dict[str, Any]:
    """All predictions for a report."""
    shares = [part.shares for part in parts if part.shares is not None]
    return {
        "ids": {name: [value for part in parts for value in part.ids[name]] for name in parts[0].ids},
        "predictions": np.concatenate([part.predictions for part in parts]),
        "probabilities": np.concatenate(shares) if shares else None,
    }


def _print_scores(scores: dict[str, Any] | None, loss: str, rows: str, out: Path | None) -> None:
    """Print the scores on standard error, because standard output may contain the predictions."""
    parts = [rows]
    if scores is not None:
        parts += [f"{what} {value}" for what, value, _ in score_lines(scores, loss)]
    if out is not None:
        parts.append(f"written to {out}")
    console.errors().print(" · ".join(parts), markup=False, soft_wrap=True)
