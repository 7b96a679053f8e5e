"""The rows to predict: whole, if they are few, or part by part."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, final

import pyarrow as pa

from sgdone.cli.errors import usage
from sgdone.cli.file_options import FileOptions
from sgdone.cli.input_data import (
    InputData,
    features_of_model,
    is_dataset,
    load,
    load_test_part,
    of_table,
)
from sgdone.cli.opened_data import file_input, is_small, named
from sgdone.cli.scores import Model
from sgdone.machine.background import in_background
from sgdone.readers.reading import read_as_written, read_parts, written_parts
from sgdone.readers.row_input import FileInput

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
    given : FileOptions
        Options of the command.
    ids : sequence of str
        Columns to copy.
    """

    def __init__(
        self, data: Sequence[str], model: Model, notes: dict[str, str], given: FileOptions, ids: Sequence[str]
    ) -> None:
        self._data, self._model, self._notes, self._given, self._ids = data, model, notes, given, ids
        self._file = given.like_training_data(notes)
        self.name = named(data)
        self._source: FileInput | None = None
        if not (len(data) == 1 and is_dataset(data[0])):
            self._source = file_input(data, self._file, **features_of_model(model))
        self._bytes_read = 0

    @property
    def bytes_read(self) -> int:
        """Bytes of the files read so far."""
        return self._bytes_read

    @property
    def total_bytes(self) -> int | None:
        """Size of the files, if known."""
        return None if self._source is None else self._source.total_bytes

    def parts(self) -> Iterator[tuple[InputData, Ids]]:
        """The rows, and the columns to copy."""
        source = self._source
        if source is None:
            rows = load_test_part(self._data[0]) or load(self._data[0], self._given)
            self._check_ids(rows)
            yield rows, {}
        elif is_small(source):
            path = source.found[0].path
            labelled = self._given.label is not None
            how = features_of_model(self._model)
            rows = load(self._data[0], self._file, require_label=labelled, path=path, **how)
            self._check_ids(rows)
            yield rows, self._whole_ids(path, rows)
        else:
            yield from self._in_parts(source)

    def _in_parts(self, source: FileInput) -> Iterator[tuple[InputData, Ids]]:
        labelled = self._given.label is not None
        how = replace(source.options, require_label=labelled, skip_unlabelled=labelled, on_bytes=self._count)
        take = self._aligned_ids(source)
        with closing(in_background(read_parts(source.found, how), _AHEAD)) as tables:
            for table in tables:
                rows = of_table(self.name, table)
                self._check_ids(rows)
                ids = take(rows.n_rows + rows.unlabelled)
                if rows.n_rows:
                    yield rows, _labelled(ids, rows)

    def _count(self, n_bytes: int) -> None:
        self._bytes_read += n_bytes

    def _check_ids(self, rows: InputData) -> None:
        with usage("--id"):
            if self._ids and (self._source is None or not isinstance(rows.X, pa.Table)):
                raise ValueError(f"{self.name} has no names of columns: use a CSV or Parquet file")

    def _whole_ids(self, path: Any, rows: InputData) -> Ids:
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


def _labelled(ids: Ids, rows: InputData) -> Ids:
    """The columns of the rows that have a label, if others were skipped."""
    if rows.labelled is None:
        return ids
    return {name: [values[row] for row in rows.labelled.tolist()] for name, values in ids.items()}
