"""The argument DATA: files or the name of a data set, all rows in memory or the first ones and a source of all."""

import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone import datasets
from sgdone.cli.errors import usage
from sgdone.cli.options import FileOptions
from sgdone.datasets import DatasetNotFound
from sgdone.datasets.lookup import parse
from sgdone.fit.open_rows import OpenedInput
from sgdone.losses.learning_task import Task, task_of
from sgdone.message_text import counted
from sgdone.readers.byte_streams import can_be_read_again, is_compressed
from sgdone.readers.input_files import InputFile, input_files
from sgdone.readers.locations import Location
from sgdone.readers.occurring_columns import names_of, occurring, select
from sgdone.readers.reading import format_of, read
from sgdone.readers.row_input import FileInput, all_rows
from sgdone.readers.row_places import Place, places_among
from sgdone.readers.table import DataError, ReadOptions, Table, reads_as_number, shortened
from sgdone.rows.faults import as_classes
from sgdone.tables.string_cells import arrow_of

_WILDCARD = re.compile(r"[*?\[]")

__all__ = [
    "InputData",
    "as_classes",
    "features_of_model",
    "for_task",
    "is_dataset",
    "load",
    "load_like_training_data",
    "load_test_part",
    "of_table",
    "task_of",
]


@final
@dataclass(frozen=True, eq=False)
class InputData:
    """Features and labels from a file or a data set."""

    name: str
    X: Any
    y: NDArray[Any] | None
    feature_names: list[str] | None
    label_name: str | None = None
    zero_based: bool = False
    #: For data sets only: the names of the classes, the task, and which rows these are.
    class_names: list[str] | None = None
    task: Task | None = None
    subset: Literal["train", "test"] | None = None
    #: For files only: the weights of the rows, and the columns that were left out on request.
    weights: NDArray[np.float64] | None = None
    dropped: Sequence[str] = ()
    #: The rows of the file that have a label, if there are others, which were skipped.
    labelled: NDArray[np.int64] | None = None
    unlabelled: int = 0
    #: Maps a row to its place in the files.
    place: Place | None = None
    #: False if these are the first rows of a file that does not fit into memory.
    complete: bool = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def weights_of_scores(self) -> NDArray[np.float64] | None:
        """The weights, unless all are 0."""
        return self.weights if self.weights is not None and self.weights.any() else None

    def at(self, rows: NDArray[np.int64]) -> "InputData":
        """Some of the rows."""
        X = self.X.take(arrow_of(rows)) if isinstance(self.X, pa.Table) else self.X[rows]
        weights = None if self.weights is None else self.weights[rows]
        place = None if self.place is None else places_among(self.place, rows)
        return replace(self, X=X, y=self.labels[rows], weights=weights, place=place)

    def place_of(self, row: int) -> str:
        """A row in messages: its place in a file, or the name of the data."""
        return self.name if self.place is None else self.place(row)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, which must be present."""
        assert self.y is not None
        return self.y


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
    data: str,
    options: FileOptions,
    *,
    subset: Literal["train", "test"] = "train",
    require_label: bool = True,
    features: list[str] | None = None,
    n_features: int | None = None,
    as_strings: Collection[str] = (),
    allow_missing: bool = False,
    skip_unlabelled: bool = True,
    path: Location | None = None,
) -> InputData:
    """Load a file or a data set; raise if it does not have the requested features.

    Rows without a label are skipped where labels are needed. ``path`` is the file, if it has another name than DATA.
    """
    if path is not None or not is_dataset(data):
        table = read(
            data if path is None else path,  # type: ignore[arg-type]  # an address is a path here
            require_label=require_label,
            skip_unlabelled=require_label and skip_unlabelled,
            features=features,
            n_features=n_features,
            allow_missing=allow_missing,
            **options.reading(as_strings),
        )
        return of_table(data, table)
    found = datasets.load(data, subset=subset)
    if n_features is not None and found.X.shape[1] != n_features:
        raise DataError(f"{data}: has {counted(found.X.shape[1], 'feature')}, expected {n_features:,}")
    if features is not None and found.feature_names not in (None, features):
        raise DataError(f"{data}: the features differ from those of the training data")
    return InputData(
        data,
        found.X,
        found.y,
        found.feature_names,
        class_names=found.target_names,
        task=found.task,
        subset=subset,
    )


def of_table(name: str, table: Table) -> InputData:
    """The rows of a table that was read from files."""
    return InputData(
        name,
        table.X,
        table.y,
        table.feature_names,
        table.label_name,
        bool(table.zero_based),
        weights=table.weights,
        dropped=table.dropped,
        labelled=table.labelled,
        unlabelled=table.unlabelled,
        place=table.place,
    )


def load_like_training_data(
    data: str, model: Any, notes: dict[str, str], options: FileOptions, *, require_label: bool
) -> InputData:
    """Load data in the same way as the training data of the model; ``notes`` are those of its file."""
    return load(data, options.like_training_data(notes), require_label=require_label, **features_of_model(model))


def features_of_model(model: Any) -> dict[str, Any]:
    """Options for reading the features of a model."""
    names, encoder = getattr(model, "feature_names_in_", None), getattr(model, "encoder_", None)
    left_out = {} if encoder is None else encoder.left_out_
    features = None if names is None else [name for name in names.tolist() if name not in left_out]
    return {
        "features": features,
        "n_features": model.n_features_in_ if features is None else len(features),
        "as_strings": [] if encoder is None else [p.encoder.name for p in encoder.plans_ if p.family == "string"],
    }


def load_test_part(data: str) -> InputData | None:
    """Test rows of a data set; None if it has none."""
    try:
        return load(data, FileOptions(), subset="test")
    except ValueError:
        return None


def for_task(rows: InputData, task: Task) -> InputData:
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
    """Rows of DATA.

    Parameters
    ----------
    rows : InputData
        All rows, or those of the first part.
    others : OpenedInput or None
        All rows, to be read in parts; None if they are in memory.
    """

    rows: InputData
    others: OpenedInput | None = None

    def first_labels(self) -> NDArray[Any]:
        """The labels of all rows, or of the first ones that fit into memory."""
        if self.others is None:
            return self.rows.labels
        return np.concatenate([table.y for table in self.others.head if table.y is not None])

    def first_rows(self) -> InputData:
        """All rows, or the first ones that fit into memory."""
        if self.others is None:
            return self.rows
        complete = next(self.others.rest, None) is None
        return replace(of_table(self.rows.name, _narrowed(all_rows(self.others.head))), complete=complete)


def open_data(
    data: Sequence[str],
    options: FileOptions,
    *,
    subset: Literal["train", "test"] = "train",
    features: list[str] | None = None,
    n_features: int | None = None,
    as_strings: Collection[str] = (),
    allow_missing: bool = False,
) -> OpenedData:
    """Open files, or load a data set; rows without a label are skipped."""
    how: dict[str, Any] = {"features": features, "n_features": n_features, "as_strings": as_strings}
    if len(data) == 1 and is_dataset(data[0]):
        return OpenedData(load(data[0], options, subset=subset, **how))
    source = file_input(data, options, allow_missing=allow_missing, **how)
    name, single = named(data), source.found[0] if len(source.found) == 1 else None
    if single is not None and is_small(source):
        return OpenedData(load(data[0], options, path=single.path, allow_missing=allow_missing, **how))
    try:
        opened = OpenedInput.of(source)
    except DataError:
        if single is None or not _may_fit(single, options.max_memory):
            raise
        # Of a file in memory all cells decide the types of its columns, not the first ones.
        return OpenedData(load(data[0], options, path=single.path, allow_missing=allow_missing, **how))
    _check_bits(options, opened.head[0])
    if opened.complete:
        return OpenedData(of_table(name, _narrowed(all_rows(opened.head))))
    return OpenedData(of_table(name, opened.head[0]), opened)


def file_input(
    data: Sequence[str],
    options: FileOptions,
    *,
    features: list[str] | None = None,
    n_features: int | None = None,
    as_strings: Collection[str] = (),
    allow_missing: bool = False,
) -> FileInput:
    """The files that DATA names, to be read in parts."""
    found = input_files(data)
    if any(file.path == Path("-") for file in found[1:]):
        raise DataError("standard input (-) cannot follow other files: give it alone")
    how = ReadOptions(
        path=found[0].path,
        features=features,
        n_features=n_features,
        allow_missing=allow_missing,
        skip_unlabelled=True,
        **options.reading(as_strings),
    )
    return FileInput(found, how, None, options.max_memory, options.cache)


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


def _may_fit(file: InputFile, max_memory: int) -> bool:
    return can_be_read_again(file.path) and (file.size or 0) * _IN_MEMORY <= max_memory


def _check_bits(options: FileOptions, table: Table) -> None:
    with usage("--bits"):
        if options.bits is not None and isinstance(table.X, pa.Table):
            raise ValueError("it hashes features of svmlight and Vowpal Wabbit files, and these are tables: remove it")


def _narrowed(table: Table) -> Table:
    """The columns that occur, if the largest index of svmlight files is far beyond their number."""
    if table.zero_based is None or table.feature_names is not None:
        return table
    columns = occurring(table.X)
    if columns is None:
        return table
    return replace(table, X=select(table.X, columns), feature_names=names_of(columns, 0 if table.zero_based else 1))
