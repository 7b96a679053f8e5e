"""Rows of ``sgdone fit``: in memory or read in parts, some of them held out for the scores, and fits to the others."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import refuse, table_errors_named, usage
from sgdone.cli.held_out import HeldOutInput, Reading
from sgdone.cli.input_data import OpenedData, for_task, named, open_data
from sgdone.cli.option_groups import CheckpointOptions, FitOutput, ScoringOptions
from sgdone.cli.options import Options
from sgdone.cli.output_files import check_not_input
from sgdone.cli.scores import BaseRate
from sgdone.fit.checkpoints import FitCheckpoints
from sgdone.fit.columns import FILE_CHECKS
from sgdone.fit.fit import fit
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.hold_out import held_out_rows
from sgdone.fit.loaded_rows import LoadedRows
from sgdone.fit.options import FitOptions
from sgdone.fit.streamed_rows import StreamedRows
from sgdone.losses.learning_task import Task, task_of_values
from sgdone.message_text import did_you_mean, listed
from sgdone.readers.table import ReadOptions, Table

#: A numeric label of more values may be a quantity or a class: the user must say which.
_MOST_VALUES = 20


@final
@dataclass(frozen=True)
class FitArguments:
    """Arguments of the command."""

    data: Sequence[str]
    scored: ScoringOptions
    file: ReadOptions
    options: Options
    checkpoints: CheckpointOptions
    output: FitOutput
    #: When the command began, by ``time.perf_counter``.
    began: float
    #: The Dask cluster to fit on: "local", or the address of a scheduler; None to fit in this process.
    dask: str | None = None

    def check(self) -> None:
        """Find what is wrong before any data is read, better than after training."""
        self.options.parameters()
        if self.dask is not None:
            from sgdone.cli.cluster_fit import check_dask

            check_dask(self.dask, self.data, self.file, self.options)
        width = self.file.n_features
        refuse("--n-features", width is not None and width < 1, f"{width} is not a positive number")
        self.checkpoints.check()
        for option, path in (("--model", self.output.model), ("--checkpoint", self.checkpoints.checkpoint)):
            check_not_input(option, path, [*self.data, *(self.scored.test or ())])


def with_names(options: Options, train: Table) -> Options:
    """The options, with the names of the columns in ``--types`` checked; without a header, numbers are names."""
    if not options.types:
        return options
    names = [] if train.feature_names is None or not isinstance(train.X, pa.Table) else train.feature_names
    types = {f"x{name}" if name not in names and f"x{name}" in names else name: k for name, k in options.types.items()}
    with usage("--types"):
        for name in types:
            if name not in names:
                near, all_names = did_you_mean(name, names), listed(names)
                raise ValueError(f"{train.name} has no feature column {name!r}.{near} Columns: {all_names}")
    return replace(options, types=types)


def decided_task(arguments: FitArguments, options: Options, rows: Table, labels: NDArray[Any], n_rows: int) -> Task:
    """The task by the options, the data set, or the distinct labels; a usage error if it could be either."""
    given = options.suggested_task() or rows.task
    if given is not None:
        return given
    if labels.dtype.kind not in "iuf":
        return "classification"
    values, name = np.unique(labels), rows.label_name
    if values.size > _MOST_VALUES:
        tasks = ["regression"] if np.any(values != np.rint(values)) else ["regression", "classification"]
        others = [] if name is None else ["--label", name]
        others += [] if arguments.dask is None else ["--dask", arguments.dask]
        commands = [shlex.join(["sgdone", "fit", *arguments.data, *others, "--task", task]) for task in tasks]
        raise typer.BadParameter(
            f"{name or 'the label'} has {values.size:,} different numbers: say whether they are quantities or "
            "classes:\n  " + "\n  ".join(commands),
            param_hint="'--task'",
        )
    return task_of_values(values, n_rows)


class FitData(ABC):
    """Rows to fit and rows to score, wherever they are.

    ``rows`` are all, the first ones, or their columns only; with all labels that are known, as the task needs them.
    """

    #: Where training begins without a checkpoint; empty if no checkpoints are written.
    beginning: ClassVar[str] = ""
    #: The rows of the fit, and those that are held out, if they are in memory.
    fitted_rows: Table | None = None
    held_out_rows: Table | None = None

    def __init__(self, arguments: FitArguments, rows: Table, task: Task, options: FitOptions) -> None:
        self.arguments, self.rows, self.task, self.options = arguments, rows, task, options

    @property
    def columns_are_known(self) -> bool:
        """Whether no further columns can appear: files without a header may have more in later rows."""
        return self.fitted_rows is not None or isinstance(self.rows.X, pa.Table)

    @property
    def checkpoints(self) -> FitCheckpoints | None:
        """Checkpoints of the fit, if any are written."""
        given = self.arguments.checkpoints
        return FitCheckpoints.of(given.checkpoint, given.every, given.resume)

    @abstractmethod
    def hold_out(self) -> None:
        """Leave rows out of the fit by the hashes of their features, for the scores."""

    @abstractmethod
    def fit(self, line: ProgressLine) -> FittedModel:
        """Train on the rows that are not held out."""

    def with_all_rows(self) -> Self | None:
        """The rows, none of them held out; None if none are, or if they are not in memory for another fit."""
        return None

    @abstractmethod
    def counts(self) -> dict[str, Any]:
        """Numbers of rows, and where they are, for the report of a fit."""

    def held_out(self, model: FittedModel) -> tuple[Table | None, NDArray[Any] | None]:
        """The rows that are held out, and the outputs of a model where only the partitions can compute them."""
        return self.held_out_rows, None

    def base_rate(self) -> BaseRate:
        """Shares of the classes, or the mean: of the rows of the fit, the held-out rows, or the first ones."""
        first = replace(self.rows, weights=None)  # they may be of one class
        return BaseRate.of(self.fitted_rows or self.held_out_rows or first, self.task)

    def announcements(self) -> list[str]:
        """Announcements about the reading of rows and the checkpoint."""
        return self.arguments.checkpoints.announcements(self.beginning)


@final
class LoadedData(FitData):
    """Rows in memory."""

    fitted_rows: Table

    def __init__(self, arguments: FitArguments, rows: Table, task: Task, options: FitOptions) -> None:
        super().__init__(arguments, rows, task, options)
        self.fitted_rows, self._doing = rows, "training"

    def hold_out(self) -> None:
        """Leave out rows at once."""
        rows = self.rows
        chosen = held_out_rows(rows.X, rows.labels, self.task, self.arguments.options.method.seed)
        if chosen.any():
            self.fitted_rows, self.held_out_rows = rows.at(~chosen), rows.at(chosen)
            self._doing = "training without the held-out rows"

    def with_all_rows(self) -> "LoadedData | None":
        """The rows, none of them held out."""
        if self.held_out_rows is None:
            return None
        data = LoadedData(self.arguments, self.rows, self.task, self.options)
        data._doing = "training on all rows"
        return data

    def fit(self, line: ProgressLine) -> FittedModel:
        """Train on the rows that are not held out."""
        rows, options = self.fitted_rows, self.options
        names = None if isinstance(rows.X, pa.Table) else rows.feature_names
        with table_errors_named(rows.name, rows.place):
            loaded = LoadedRows.for_fit(rows.X, rows.labels, rows.weights, options, names=names)
            one_model = options.method.offers.several_outputs
            line.now(self._doing, models=1 if one_model else loaded.n_outputs, counts=options.method.counts)
            return fit(loaded, options, hook=line.hook)

    def counts(self) -> dict[str, Any]:
        """Numbers of rows."""
        n_rows, n_fitted = self.rows.n_rows, self.fitted_rows.n_rows
        return {"rows": n_rows, "rows_without_label": self.rows.unlabelled, "fitted_rows": n_fitted}

    def announcements(self) -> list[str]:
        """Announcement that there is no checkpoint, if one was asked for."""
        asked = self.arguments.checkpoints.checkpoint is not None
        return ["all rows fit into memory: no checkpoint is written"] if asked else []


@final
class StreamedData(FitData):
    """Rows that do not fit into memory, and are read in parts."""

    beginning = "the first row"

    def __init__(self, arguments: FitArguments, opened: OpenedData, task: Task, options: Options) -> None:
        assert opened.others is not None
        first = for_task(replace(opened.rows, y=opened.first_labels()), task)
        rows = opened.others.rows
        self._one_pass = not rows.rereadable and rows.cache is None
        super().__init__(arguments, first, task, options.of_fit(task, first.labels, one_pass=self._one_pass))
        self._opened, self._holds_out, self._reading = opened.others, False, Reading()

    def hold_out(self) -> None:
        """Leave out rows as they are read."""
        self._holds_out = True

    def fit(self, line: ProgressLine) -> FittedModel:
        """Train on the rows that are not held out, and give the features of files without a header their names."""
        line.now("training")
        seed = self.arguments.options.method.seed
        rows = HeldOutInput(self._opened, self.rows.name, self.task, seed, holds_out=self._holds_out)
        line.follow(rows)
        with table_errors_named(self.rows.name):
            model = fit(StreamedRows(rows, self.checkpoints, FILE_CHECKS), self.options, hook=line.hook)
            if not rows.reading.n_rows:  # trained on the rows that an earlier fit has cached
                with suppress(KeyboardInterrupt):  # the model is kept, and scored by the rows read so far
                    rows.read_all()
        self._reading, names = rows.reading, rows.reading.feature_names
        if not self.columns_are_known and names is not None:
            # Names of rows that were read ahead may follow.
            model.columns.names = np.array(names[: model.n_features_in_], dtype=object)
        self.held_out_rows = rows.held_out_rows(model.n_features_in_)
        return model

    def counts(self) -> dict[str, Any]:
        """Numbers of rows; of many, some that were held out at first are neither fitted nor scored."""
        found, n_fitted = self._reading, self._reading.n_rows - self._reading.n_held_out
        return {"rows": found.n_rows, "rows_without_label": found.unlabelled, "fitted_rows": n_fitted, "streamed": True}

    def announcements(self) -> list[str]:
        """Announcements about passes and the checkpoint."""
        once = "the rows can be read once only: one pass at most, unless --cache keeps them on a disk"
        return [*([once] if self._one_pass else []), *super().announcements()]


def local_data(arguments: FitArguments, line: ProgressLine) -> FitData:
    """Rows that are read in this process, and what they are."""
    line.now(f"reading {named(arguments.data)}")
    opened = open_data(arguments.data, arguments.file)
    options, labels = with_names(arguments.options, opened.rows), opened.first_labels()
    task = decided_task(arguments, options, opened.rows, labels, labels.size)
    if opened.others is not None:
        return StreamedData(arguments, opened, task, options)
    rows = for_task(opened.rows, task)
    return LoadedData(arguments, rows, task, options.of_fit(task, rows.labels))
