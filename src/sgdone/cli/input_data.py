"""The argument DATA: files or the name of a data set, all rows in memory or the first ones and a source of all."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone import datasets
from sgdone.cli.errors import refuse
from sgdone.datasets import DatasetNotFound
from sgdone.datasets.loading import parse
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.streamed_rows import OpenedInput
from sgdone.losses.learning_task import Task
from sgdone.message_text import counted
from sgdone.readers.byte_streams import can_be_read_again, is_compressed
from sgdone.readers.formats.svmlight import names_of, occurring, select
from sgdone.readers.input_files import input_files
from sgdone.readers.locations import Location
from sgdone.readers.reading import format_of, read
from sgdone.readers.row_input import FileInput, all_rows
from sgdone.readers.table import DataError, ReadOptions, Table, reads_as_number, shortened
from sgdone.rows.faults import as_classes

_WILDCARD = re.compile(r"[*?\[]")


def is_dataset(data: str) -> bool:
    """Whether DATA is the name of a data set; a file of the same name has precedence."""
    path = Path(data)
    try:
        if data == "-" or path.is_file() or _WILDCARD.search(data):
            return False
    except OSError:  # a name that the file system does not allow: the reader says so
        return False
    try:
        parse(data)
    except DatasetNotFound as error:
        if path.suffix or path.exists() or len(path.parts) > 1:
            return False
        raise DatasetNotFound(f"there is no file {data!r}, and {error}") from None
    return True


def load(
    data: str, options: ReadOptions, *, subset: Literal["train", "test"] = "train", path: Location | None = None
) -> Table:
    """Load a file or a data set; raise if it does not have the requested features.

    ``path`` is the file, if it has another name than DATA.
    """
    if path is not None or not is_dataset(data):
        return replace(read(data if path is None else path, options), name=data)
    found = datasets.load(data, subset=subset)
    width, features = options.n_features, options.features
    if width is not None and found.X.shape[1] != width:
        raise DataError(f"{data}: has {counted(found.X.shape[1], 'feature')}, expected {width:,}")
    if features is not None and found.feature_names not in (None, features):
        raise DataError(f"{data}: the features differ from those of the training data")
    return Table(
        found.X,
        found.y,
        found.feature_names,
        name=data,
        class_names=found.target_names,
        task=found.task,
        subset=subset,
    )


def reading_notes(options: ReadOptions, train: Table) -> dict[str, str]:
    """Notes in a model file from which `like_training_data` reads further rows as the training rows were read."""
    notes = {
        "zero_based": json.dumps(bool(train.zero_based)),
        "header": None if options.header else "false",
        "bits": None if options.bits is None else str(options.bits),
        "separator": options.separator,
        "label": train.label_name,
        "weight": None if train.weights is None else options.weight,
        "dropped": json.dumps(train.dropped, ensure_ascii=False) if train.dropped else None,
    }
    return {name: note for name, note in notes.items() if note is not None}


def like_training_data(options: ReadOptions, notes: Mapping[str, str]) -> ReadOptions:
    """The options, completed by the notes of `reading_notes`."""
    return replace(
        options,
        label=options.label or notes.get("label"),
        weight=notes.get("weight"),
        separator=options.separator or notes.get("separator"),
        header=options.header and notes.get("header") != "false",
        zero_based=notes.get("zero_based") == "true",
        bits=int(notes["bits"]) if "bits" in notes else None,
    )


def for_model(options: ReadOptions, model: FittedModel) -> ReadOptions:
    """The options, with the features of a model."""
    names, encoder = model.feature_names_in_, model.encoder_
    left_out = {} if encoder is None else encoder.left_out_
    features = None if names is None else [name for name in names.tolist() if name not in left_out]
    strings = [] if encoder is None else [p.encoder.name for p in encoder.plans_ if p.family == "string"]
    return replace(
        options,
        features=features,
        n_features=model.n_features_in_ if features is None else len(features),
        as_strings=[*options.as_strings, *strings],
    )


def like_rows(options: ReadOptions, rows: Table) -> ReadOptions:
    """The options, with the label and the features of rows that were read."""
    is_table = isinstance(rows.X, pa.Table)
    strings = [field.name for field in rows.X.schema if pa.types.is_large_string(field.type)] if is_table else []
    return replace(
        options,
        label=rows.label_name,
        drop=(),
        zero_based=bool(rows.zero_based),
        features=rows.feature_names,
        n_features=rows.X.shape[1],
        as_strings=[*options.as_strings, *strings],
    )


def load_test_part(data: str) -> Table | None:
    """Test rows of a data set; None if it has none."""
    try:
        return load(data, ReadOptions(), subset="test")
    except ValueError:
        return None


def for_task(rows: Table, task: Task) -> Table:
    """Convert the labels to classes or to numbers."""
    if task == "classification":
        classes = as_classes(rows.labels)
        if classes.dtype.kind == "f" and np.any(classes != np.rint(classes)):
            row = int(np.argmax(classes != np.rint(classes)))
            found = classes[row]
            column = "" if rows.label_name is None else f" of column {rows.label_name!r}"
            raise DataError(
                f"{rows.place_of(row)}: the label {found:g}{column} is no class: use --task regression with a loss for "
                "it, or write classes as text or whole numbers"
            )
        return replace(rows, y=classes)
    if rows.labels.dtype.kind in "biuf":
        return rows
    try:
        return replace(rows, y=rows.labels.astype(np.float64))  # labels like 007 are text until the task is known
    except ValueError:
        labels = rows.labels.tolist()
        row = next((row for row, label in enumerate(labels) if not reads_as_number(label)), 0)
        raise DataError(
            f"{rows.place_of(row)}: the label {shortened(labels[row])!r} is no number, as a regression needs: correct "
            "it"
        ) from None


#: Bytes of memory that a byte of a file becomes at most: a cell of a text is a character, and a number of eight bytes;
#: a column of few values is stored in hardly any bytes in other formats.
_GROWTH_OF_TEXT, _GROWTH_OF_OTHERS = 8, 100
_TEXTS = frozenset({"csv", "jsonl", "svmlight", "vw"})
#: Share of the memory that rows in memory may take.
_IN_MEMORY = 4
#: Inputs that are named in messages.
_MOST_NAMES = 3


@final
@dataclass
class OpenedData:
    """Rows of DATA: a `Table` of those in memory and, if others do not fit, the source of all."""

    rows: Table
    others: OpenedInput | None = None

    def first_labels(self) -> NDArray[Any]:
        """The labels of all rows, or of the first ones that fit into memory."""
        if self.others is None:
            return self.rows.labels
        return np.concatenate([table.y for table in self.others.head if table.y is not None])

    def first_rows(self) -> tuple[Table, bool]:
        """All rows, or the first ones that fit into memory; whether these are all."""
        if self.others is None:
            return self.rows, True
        complete = next(self.others.rest, None) is None
        return replace(_narrowed(all_rows(self.others.head)), name=self.rows.name), complete


def open_data(data: Sequence[str], options: ReadOptions, *, subset: Literal["train", "test"] = "train") -> OpenedData:
    """Open files, or load a data set."""
    if len(data) == 1 and is_dataset(data[0]):
        return OpenedData(load(data[0], options, subset=subset))
    source = file_input(data, options)
    name, single = named(data), source.found[0] if len(source.found) == 1 else None
    if single is not None and is_small(source):
        return OpenedData(load(data[0], options, path=single.path))
    try:
        opened = OpenedInput.of(source)
    except DataError:
        may_fit = single is not None and can_be_read_again(single.path)
        if single is None or not may_fit or (single.size or 0) * _IN_MEMORY > options.max_memory:
            raise
        # Of a file in memory all cells decide the types of its columns, not the first ones.
        return OpenedData(load(data[0], options, path=single.path))
    check_bits(options, is_table=isinstance(opened.head[0].X, pa.Table))
    if opened.complete:
        return OpenedData(replace(_narrowed(all_rows(opened.head)), name=name))
    return OpenedData(replace(opened.head[0], name=name), opened)


def file_input(data: Sequence[str], options: ReadOptions) -> FileInput:
    """The files that DATA names, to be read in parts."""
    found = input_files(data)
    if any(file.path == Path("-") for file in found[1:]):
        raise DataError("standard input (-) cannot follow other files: give it alone")
    return FileInput(found, options)


def named(data: Sequence[str]) -> str:
    """DATA in messages.

    Examples
    --------
    >>> named(["day 1.csv"]), named(["a.csv", "b.csv", "c.csv", "d.csv"])
    ('day 1.csv', 'a.csv b.csv c.csv and 1 more')
    """
    if len(data) == 1:
        return "standard input" if data[0] == "-" else data[0]
    more = f" and {len(data) - _MOST_NAMES:,} more" if len(data) > _MOST_NAMES else ""
    return shlex.join(data[:_MOST_NAMES]) + more


def is_small(source: FileInput) -> bool:
    """Whether there is one file, which fits into memory without a doubt."""
    file = source.found[0]
    if len(source.found) > 1 or not can_be_read_again(file.path):
        return False
    if file.size is None:
        return True  # there is no such file: the reader says so
    if format_of(source.options) == "jsonl":
        return False  # keys that few lines have take as much memory as others
    growth = _GROWTH_OF_OTHERS
    if not is_compressed(file.path) and format_of(source.options) in _TEXTS:
        growth = _GROWTH_OF_TEXT
    return file.size * growth * _IN_MEMORY <= source.max_memory


def check_bits(options: ReadOptions, *, is_table: bool) -> None:
    """Raise a usage error for hashed features of a table."""
    advice = "it hashes features of svmlight and Vowpal Wabbit files, and these are tables: remove it"
    refuse("--bits", options.bits is not None and is_table, advice)


def _narrowed(table: Table) -> Table:
    """The columns that occur, if the largest index of svmlight files is far beyond their number."""
    if table.zero_based is None or table.feature_names is not None:
        return table
    columns = occurring(table.X)
    if columns is None:
        return table
    return replace(table, X=select(table.X, columns), feature_names=names_of(columns, 0 if table.zero_based else 1))
