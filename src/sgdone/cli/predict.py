"""``sgdone predict``: rows are read, predicted and written part by part."""

import csv
import io
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli import console
from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import table_errors_named, usage
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
from sgdone.tables.warn_user import one_warning_a_topic

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


class PredictionWriter(ABC):
    """Writes parts to a file."""

    @abstractmethod
    def write(self, part: PredictedPart) -> None:
        """Append the rows of a part."""


@final
class CsvPredictions(PredictionWriter):
    """A CSV file; numbers have the fewest digits that identify them, and no text is a formula to a spreadsheet."""

    def __init__(self, stream: TextIO) -> None:
        self._writer, self._begun = csv.writer(stream, lineterminator="\n"), False

    def write(self, part: PredictedPart) -> None:
        """Append rows, after the header if they are the first."""
        columns = part.columns()
        if not self._begun:
            self._writer.writerow(map(_without_formula, columns))
            self._begun = True
        self._writer.writerows(zip(*map(_cells, columns.values()), strict=True))


@final
class ParquetPredictions(PredictionWriter):
    """A Parquet file; each part is a row group."""

    def __init__(self, path: Path) -> None:
        self._path, self._writer = path, None  # type: tuple[Path, Any]

    def write(self, part: PredictedPart) -> None:
        """Append a row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({name: pa.array(values) for name, values in part.columns().items()})
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def prediction_file(path: Path | None) -> Iterator[PredictionWriter]:
    """A file that has its name when it is complete; None for CSV to standard output."""
    if path is None:
        text = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="", write_through=True)
        try:
            yield CsvPredictions(text)
        finally:
            text.detach()
        return
    with write_atomically(path) as temporary:
        if path.suffix.lower() in _PARQUET:
            writer = ParquetPredictions(temporary)
            try:
                yield writer
            finally:
                writer.close()
        else:
            with temporary.open("w", encoding="utf-8", newline="") as stream:
                yield CsvPredictions(stream)


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
class PredictionRows:
    """Rows of DATA, read as the training data of a model were.

    Parameters
    ----------
    data : sequence of str
        Files, or the name of a data set.
    model, notes
        The model, and the notes in its file.
    given : ReadOptions
        Options of the command.
    ids : sequence of str
        Columns to copy.
    """

    def __init__(
        self, data: Sequence[str], model: FittedModel, notes: dict[str, str], given: ReadOptions, ids: Sequence[str]
    ) -> None:
        self._data, self._model, self._notes, self._given, self._ids = data, model, notes, given, ids
        self._file = like_training_data(given, notes)
        self.name = named(data)
        self._source: FileInput | None = None
        if not (len(data) == 1 and is_dataset(data[0])):
            self._source = file_input(data, for_model(self._file, model))
        self._bytes_read = 0

    @property
    def bytes_read(self) -> int:
        """Bytes of the files read so far."""
        return self._bytes_read

    @property
    def total_bytes(self) -> int | None:
        """Size of the files, if known."""
        return None if self._source is None else self._source.total_bytes

    def parts(self) -> Iterator[tuple[Table, Ids]]:
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
        self._bytes_read += n_bytes

    def _check_ids(self, rows: Table) -> None:
        with usage("--id"):
            if self._ids and (self._source is None or not isinstance(rows.X, pa.Table)):
                raise ValueError(f"{self.name} has no names of columns: use a CSV or Parquet file")

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
    file: ReadOptions
    json: bool


def predict_and_report(options: PredictOptions) -> None:
    """Load the model, read, predict and write part by part, and print the scores."""
    path, out = options.model, options.out
    check_not_input("--out", out, [path, *options.data])
    model = load_fitted(path)
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
        _print_scores(scores, model.options.loss.name, run.rows_text(scores), out)


@final
class _Run:
    """Predictions part by part, and what they add up to."""

    def __init__(self, model: FittedModel, rows: PredictionRows, max_memory: int) -> None:
        self._model, self.rows = model, rows
        self.scores, self.n_rows = PartScores(model, max_memory), 0
        self.subset: str | None = None

    def parts(self, *, with_shares: bool) -> Iterator[PredictedPart]:
        """The predictions; with the probabilities of the classes, if the model has them."""
        model, classes = self._model, getattr(self._model, "classes_", None)
        topics = set[str]()
        for rows, ids in self.rows.parts():
            with table_errors_named(self.rows.name, rows.place), one_warning_a_topic(topics):
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
            return f"the {self.n_rows:,} test rows of {self.rows.name}"
        some = scores is not None and scores["rows"] < self.n_rows
        return f"{self.n_rows:,} rows" + (f" (scores of the first {scores['rows']:,})" if some and scores else "")


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


def _print_scores(scores: dict[str, Any] | None, loss: Any, rows: str, out: Path | None) -> None:
    """Print the scores on standard error, because standard output may contain the predictions."""
    parts = [rows]
    if scores is not None:
        name = loss if isinstance(loss, str) else loss.name
        parts += [f"{what} {value}" for what, value, _ in score_lines(scores, name.replace("-", "_"))]
    if out is not None:
        parts.append(f"written to {out}")
    console.errors().print(" · ".join(parts), markup=False, soft_wrap=True)
