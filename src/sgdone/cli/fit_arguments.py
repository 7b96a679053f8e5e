"""Arguments of ``sgdone fit``, and what follows from them and the first rows."""

import importlib.util
import json as json_format
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from sgdone import losses
from sgdone.cli.errors import usage
from sgdone.cli.input_data import (
    OpenedData,
    for_model,
    for_task,
    is_dataset,
    like_rows,
    load_test_part,
    open_data,
    reading_notes,
)
from sgdone.cli.option_groups import CheckpointOptions
from sgdone.cli.options import Options
from sgdone.cli.output_files import check_not_input
from sgdone.fit.options import as_rule
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.registry import by_name
from sgdone.losses.learning_task import Task, task_of_values
from sgdone.losses.loss import Loss
from sgdone.machine import interruption
from sgdone.message_text import did_you_mean, listed
from sgdone.newton.exact_phase import can_be_exact
from sgdone.readers.table import MAX_MEMORY, DataError, ReadOptions, Table
from sgdone.stopping import Gain

_ADDRESS = re.compile(r"[a-z]+://\S+")


def check_dask(address: str, data: Sequence[str], file: ReadOptions, options: Options) -> None:
    """Raise a usage error for an address or data that cannot be used, and for options that have no effect."""
    with usage("--dask"):
        if address != "local" and not _ADDRESS.fullmatch(address):
            raise ValueError(f"{address!r} is neither local nor the address of a scheduler, as tcp://10.0.0.1:8786")
        if not all(importlib.util.find_spec(name) for name in ("dask", "distributed")):
            raise ValueError('Dask is not installed: pip install "sgdone[dask]"')
        for name in data:
            if name == "-":
                raise ValueError("workers cannot read standard input (-): give files")
            if is_dataset(name):
                raise ValueError(f"{name} is a data set, which is fitted on this machine: give files")
    _check_fit(options)
    for option, given in (("--max-memory", file.max_memory != MAX_MEMORY), ("--cache", file.cache is not None)):
        with usage(option):
            if given:
                raise ValueError("it has no effect with --dask, whose workers keep their rows in memory: remove it")


def _check_fit(options: Options) -> None:
    """Raise a usage error unless a fit on a cluster can do what is asked for."""
    with usage("--solver"):
        if not options.is_default_fit:
            raise ValueError(f"a fit with --dask has its own solver: remove --solver {options.solver}")
    with usage("--tol"):
        if options.tol is not None:
            raise ValueError("it has no effect with --dask, which ends at the optimum: remove it, or give --passes")
    with usage("--stop"):
        wrong = [leaf for leaf in as_rule(options.parameters()["stop"]).leaves if not leaf.is_budget]
        if options.stop != "auto" and wrong:
            raise ValueError(
                f"a fit with --dask ends at the optimum, or after some rounds: give their number instead of "
                f"{options.stop}"
            )
    with usage("--loss"):
        if options.loss is not None:
            loss = by_name(options.loss, Loss, losses, "loss")
            objective = Objective(loss, None, fit_intercept=True, predicts="target")
            if not can_be_exact(objective, Gain()):
                raise ValueError(
                    f"a fit with --dask needs a smooth convex loss, as logistic, squared_hinge, squared or huber; got "
                    f"{options.loss}"
                )


#: A numeric label of more values may be a quantity or a class: the user must say which.
_MOST_VALUES = 20


#: What is said of an interruption after training.
TRAINED = "It was interrupted after training: the model is complete."


@final
@dataclass(frozen=True)
class FitArguments:
    """Arguments of the command."""

    data: Sequence[str]
    test: Sequence[str]
    file: ReadOptions
    options: Options
    checkpoints: CheckpointOptions
    hold_out: bool
    model: Path | None
    json: bool
    quiet: bool
    #: When the command began, by ``time.perf_counter``.
    began: float
    #: The Dask cluster to fit on: "local", or the address of a scheduler; None to fit in this process.
    dask: str | None = None

    def check(self) -> None:
        """Find what is wrong before any data is read, better than after training."""
        self.options.parameters()
        if self.dask is not None:
            check_dask(self.dask, self.data, self.file, self.options)
        with usage("--n-features"):
            if self.file.n_features is not None and self.file.n_features < 1:
                raise ValueError(f"{self.file.n_features} is not a positive number")
        self.checkpoints.check()
        for option, path in (("--model", self.model), ("--checkpoint", self.checkpoints.checkpoint)):
            check_not_input(option, path, [*self.data, *self.test])


def with_names(options: Options, train: Table) -> Options:
    """The options, with the names of the columns in ``--types`` checked; without a header, numbers are names."""
    if not options.types:
        return options
    names = [] if train.feature_names is None or not isinstance(train.X, pa.Table) else train.feature_names
    types = {f"x{name}" if name not in names and f"x{name}" in names else name: k for name, k in options.types.items()}
    with usage("--types"):
        for name in types:
            if name not in names:
                raise ValueError(
                    f"{train.name} has no feature column {name!r}.{did_you_mean(name, names)} Columns: {listed(names)}"
                )
    return replace(options, types=types)


def decided_task(arguments: FitArguments, options: Options, opened: OpenedData) -> Task:
    """The task by the options or the labels; a usage error if it could be either."""
    given = options.suggested_task() or opened.rows.task
    if given is not None:
        return given
    labels = opened.first_labels()
    if labels.dtype.kind not in "iuf":
        return "classification"
    return task_of_labels(arguments, opened.rows.label_name, np.unique(labels), labels.size)


def task_of_labels(arguments: FitArguments, name: str | None, values: NDArray[Any], n_rows: int) -> Task:
    """The task by the distinct labels of rows, and the name of their column; a usage error if it could be either."""
    if values.dtype.kind in "iuf" and values.size > _MOST_VALUES:
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


def opened_test_rows(train: OpenedData, arguments: FitArguments, task: Task, model: Any = None) -> OpenedData | None:
    """The rows to test on, if there are any; they must have labels of the training rows.

    They are read with the features of a model, by default with those of the training rows.
    """
    rows = train.rows
    if not arguments.test:
        name = arguments.data[0]
        found = load_test_part(name) if len(arguments.data) == 1 and is_dataset(name) else None
        opened = None if found is None else OpenedData(found)
    else:
        how = like_rows(arguments.file, rows)
        opened = open_data(arguments.test, how if model is None else for_model(how, model), subset="test")
    if opened is None:
        return None
    known = for_task(replace(rows, y=train.first_labels()), task).labels
    labels = for_task(replace(opened.rows, y=opened.first_labels()), task).labels
    if opened.others is None:
        opened.rows = for_task(opened.rows, task)
    if task == "classification" and not np.isin(labels, known).any():
        ours, others = (listed([str(label) for label in np.unique(y)], 5) for y in (known, labels))
        raise DataError(f"{opened.rows.name}: no label is one of the training rows' ({ours}); it has {others}")
    return opened


def save_model(model: Any, path: Path | None, notes: dict[str, str]) -> bool:
    """Save a model if there is a path; returns whether a signal was received meanwhile."""
    if path is None:
        return False
    from sgdone import save

    with interruption.remembered():
        save(model, path, extra=notes)
        return bool(interruption.received())


def notes_of(train: Table, task: Task, file: ReadOptions) -> dict[str, str]:
    """Notes in the file of a model: how `predict` reads rows as these were read, and what `inspect` shows."""
    notes = {"data": train.name, **reading_notes(file, train)}
    if train.class_names is not None and task == "classification":
        notes["class_names"] = json_format.dumps(train.class_names)
    return notes
