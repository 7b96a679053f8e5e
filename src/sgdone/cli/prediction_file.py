"""Files of predictions, written part by part: CSV, or Parquet by the extension."""

import csv
import io
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, final

import numpy as np
from numpy.typing import NDArray

from sgdone.machine.atomic import write_atomically
from sgdone.readers.table import reads_as_number

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
