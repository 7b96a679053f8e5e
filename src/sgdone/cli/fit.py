"""``sgdone fit``."""

import json as json_format
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import typer
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from sgdone import save
from sgdone.cli import console
from sgdone.cli.errors import INTERRUPTED, usage
from sgdone.cli.fit_report import report_of, show
from sgdone.cli.input_data import InputData, for_task, is_dataset, load, load_test_part, task_of
from sgdone.cli.options import Options
from sgdone.cli.output_path import check_not_input
from sgdone.cli.progress import ProgressLine
from sgdone.cli.scores import Model
from sgdone.data.learning_task import Task
from sgdone.data.table import DataError, listed
from sgdone.interfaces.stop import Status


@final
@dataclass(frozen=True)
class FitArguments:
    """Arguments of the command."""

    data: str
    test: str | None
    label: str | None
    zero_based: bool
    n_features: int | None
    options: Options
    model: Path | None
    json: bool
    quiet: bool
    #: When the command began, by ``time.perf_counter``.
    began: float

    def check(self) -> None:
        """Find what is wrong before any data is read, better than after training."""
        self.options.parameters()
        with usage("--n-features"):
            if self.n_features is not None and self.n_features < 1:
                raise ValueError(f"{self.n_features} is not a positive number")
        check_not_input("--model", self.model, [self.data, self.test])


def fit_and_report(arguments: FitArguments) -> None:
    """Read, train, save and report."""
    arguments.check()
    with ProgressLine(shown=not arguments.quiet) as line:
        line.now(f"reading {arguments.data}")
        began_reading = time.perf_counter()
        train = load(
            arguments.data, label=arguments.label, zero_based=arguments.zero_based, n_features=arguments.n_features
        )
        task = arguments.options.suggested_task() or train.task or task_of(train.labels)
        train = for_task(train, task)
        tested = _test_rows(train, arguments.test, task)
        reading = time.perf_counter() - began_reading
        model = arguments.options.estimator(task)
        fitting = _train(model, train, line)
        if arguments.model is not None:
            save(model, arguments.model, extra=_notes(train, task))
        line.now("scoring")
        report = report_of(model, train, tested, task)
    report |= {
        "seconds": time.perf_counter() - arguments.began,
        "seconds_starting": began_reading - arguments.began,
        "seconds_reading": reading,
        "seconds_fitting": fitting,
        "model": None if arguments.model is None else str(arguments.model),
    }
    if arguments.json:
        console.print_json(report)
    elif not arguments.quiet:
        show(report, model.verdict_)
    if model.verdict_.status is Status.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)


def _train(model: Model, train: InputData, line: ProgressLine) -> float:
    """Train, and give the features their names; returns the seconds it took."""
    n_classes = len(np.unique(train.labels)) if is_classifier(model) else 2
    method = model._method()
    one_model = n_classes == 2 or method.trains_all_outputs
    line.now("training", models=1 if one_model else n_classes, counts=method.counts)
    model._progress_hook, model._feature_names = line.hook, train.feature_names
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the verdict says it
        model.fit(train.X, train.labels)
    seconds = time.perf_counter() - start
    del model._progress_hook, model._feature_names
    if train.feature_names is not None:
        model.feature_names_in_ = np.array(train.feature_names, dtype=object)
    return seconds


def _test_rows(train: InputData, test: str | None, task: Task) -> InputData | None:
    if test is None:
        found = load_test_part(train.name) if is_dataset(train.name) else None
    else:
        found = load(
            test,
            subset="test",
            label=train.label_name,
            features=train.feature_names,
            n_features=train.X.shape[1],
            zero_based=train.zero_based,
        )
    if found is None:
        return None
    found = for_task(found, task)
    if task == "classification" and not np.isin(found.labels, train.labels).any():
        known, others = (listed([str(label) for label in np.unique(y)], 5) for y in (train.labels, found.labels))
        raise DataError(f"{found.name}: no label is one of the training rows' ({known}); it has {others}")
    return found


def _notes(train: InputData, task: Task) -> dict[str, str]:
    """What ``predict`` must know to read rows as these were read."""
    notes = {"data": train.name, "zero_based": json_format.dumps(train.zero_based)}
    if train.label_name is not None:
        notes["label"] = train.label_name
    if train.class_names is not None and task == "classification":
        notes["class_names"] = json_format.dumps(train.class_names)
    return notes
