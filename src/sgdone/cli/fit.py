"""``sgdone fit``."""

import json as json_format
import shlex
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from sgdone import save
from sgdone.cli import console
from sgdone.cli.errors import INTERRUPTED, complain, table_errors_named, usage
from sgdone.cli.file_options import FileOptions
from sgdone.cli.fit_report import report_of, show
from sgdone.cli.held_out import FEWEST_ROWS, held_out_rows
from sgdone.cli.input_data import InputData, for_task, is_dataset, load, load_test_part, task_of
from sgdone.cli.leakage import possible_leaks
from sgdone.cli.options import Options
from sgdone.cli.output_path import check_not_input
from sgdone.cli.progress import ProgressLine
from sgdone.cli.scores import BaseRate, Model, score
from sgdone.data.learning_task import Task
from sgdone.data.table import DataError, listed
from sgdone.interfaces.stop import Status
from sgdone.message_text import did_you_mean

#: A numeric label of more values may be a quantity or a class: the user must say which.
_MOST_VALUES = 20


@final
@dataclass(frozen=True)
class FitArguments:
    """Arguments of the command."""

    data: str
    test: str | None
    file: FileOptions
    options: Options
    hold_out: bool
    model: Path | None
    json: bool
    quiet: bool
    #: When the command began, by ``time.perf_counter``.
    began: float

    def check(self) -> None:
        """Find what is wrong before any data is read, better than after training."""
        self.options.parameters()
        with usage("--n-features"):
            if self.file.n_features is not None and self.file.n_features < 1:
                raise ValueError(f"{self.file.n_features} is not a positive number")
        check_not_input("--model", self.model, [self.data, self.test])


def fit_and_report(arguments: FitArguments) -> None:
    """Read, train, save and report."""
    arguments.check()
    began_reading = time.perf_counter()
    with ProgressLine(shown=not arguments.quiet) as line:
        line.now(f"reading {arguments.data}")
        train = load(arguments.data, arguments.file, n_features=arguments.file.n_features)
        options = _with_names(arguments.options, train)
        task = options.suggested_task() or train.task or _task_of(arguments.data, train)
        train = for_task(train, task)
        tested = _test_rows(train, arguments, task)
        reading = time.perf_counter() - began_reading
        held_out = np.zeros(train.n_rows, dtype=np.bool_)
        if tested is None and arguments.hold_out:
            held_out = held_out_rows(train.labels, task, options.seed)
        fits = _Fits(options, task, train, held_out, line)
        interrupted = fits.run(tested, refit=arguments.model is not None)
        if arguments.model is not None:
            save(fits.model, arguments.model, extra=_notes(train, task, arguments.file))
        line.now("scoring")
        report = report_of(fits.model, train, fits.rows, task)
        report |= {"train": score(fits.model, fits.rows, BaseRate.of(fits.rows, classification=task != "regression"))}
        report |= {"test": fits.scores if tested else None, "held_out": fits.scores if held_out.any() else None}
        r2 = (fits.scores or {}).get("r2", 0.0)
        leaks = [] if interrupted else possible_leaks(fits.model, fits.rows, task, options.seed, r2)
    report |= {
        "possible_leakage": [leak.as_json() for leak in leaks],
        "seconds": time.perf_counter() - arguments.began,
        "seconds_starting": began_reading - arguments.began,
        "seconds_reading": reading,
        "seconds_fitting": fits.seconds,
        "model": None if arguments.model is None else str(arguments.model),
    }
    if arguments.json:
        console.print_json(report)
    elif not arguments.quiet:
        announcement = _announcement(arguments, tested, held_out)
        if announcement:
            console.say(f"{announcement}\n")
        show(report, fits.model.verdict_)
        for leak in leaks:
            complain(leak.sentence(), "possible leakage", "yellow")
        if interrupted and fits.rows.n_rows < train.n_rows:
            console.say(f"\nThe model was fitted on {fits.rows.n_rows:,} of the {train.n_rows:,} rows.", "interrupted")
    if interrupted:
        raise typer.Exit(INTERRUPTED)


@final
class _Fits:
    """One fit for the scores, and one on all rows if some were held out and the model is to be saved.

    Attributes
    ----------
    model, rows
        The model, and the rows it was fitted on; after Ctrl-C, the last that there is.
    scores : dict or None
        Scores of the first fit on the test or the held-out rows.
    seconds : float
        Seconds of both fits.
    """

    model: Model
    rows: InputData

    def __init__(
        self, options: Options, task: Task, train: InputData, held_out: NDArray[np.bool_], line: ProgressLine
    ) -> None:
        self._options, self._task, self._train, self._held_out, self._line = options, task, train, held_out, line
        self.scores: dict[str, Any] | None = None
        self.seconds = 0.0

    def run(self, tested: InputData | None, *, refit: bool) -> bool:
        """Fit and score; returns whether Ctrl-C was pressed."""
        train, held_out = self._train, self._held_out
        rows = train.at(np.flatnonzero(~held_out)) if held_out.any() else train
        self._fit(rows, "training without the held-out rows" if held_out.any() else "training")
        tested = train.at(np.flatnonzero(held_out)) if held_out.any() else tested
        interrupted = self._is_interrupted()
        try:
            if tested is not None:
                self._line.now("scoring")
                self.scores = score(self.model, tested, BaseRate.of(rows, classification=self._task != "regression"))
            if held_out.any() and refit and not interrupted:
                self._fit(train, "training on all rows")
                interrupted = self._is_interrupted()
        except KeyboardInterrupt:
            interrupted = True
        return interrupted

    def _is_interrupted(self) -> bool:
        return self.model.verdict_.status is Status.INTERRUPTED

    def _fit(self, rows: InputData, doing: str) -> None:
        """Train, and give the features their names; nothing changes if it fails."""
        model = self._options.estimator(self._task, self._train.labels)
        n_classes = len(np.unique(rows.labels)) if is_classifier(model) else 2
        method = model._method()
        one_model = n_classes == 2 or method.trains_all_outputs
        self._line.now(doing, models=1 if one_model else n_classes, counts=method.counts)
        is_table = isinstance(rows.X, pa.Table)
        model._progress_hook = self._line.hook
        if not is_table:
            model._feature_names = rows.feature_names
        start = time.perf_counter()
        with warnings.catch_warnings(), table_errors_named(rows.name):
            warnings.simplefilter("ignore", ConvergenceWarning)  # the verdict says it
            model.fit(rows.X, rows.labels, sample_weight=rows.weights)
        self.seconds += time.perf_counter() - start
        del model._progress_hook
        if not is_table:
            del model._feature_names
            if rows.feature_names is not None:
                model.feature_names_in_ = np.array(rows.feature_names, dtype=object)
        self.model, self.rows = model, rows


def _with_names(options: Options, train: InputData) -> Options:
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


def _task_of(data: str, train: InputData) -> Task:
    """The task by the labels; a usage error if it could be either."""
    labels = train.labels
    if labels.dtype.kind in "iuf":
        values = np.unique(labels)
        if values.size > _MOST_VALUES:
            tasks = ["regression"] if np.any(values != np.rint(values)) else ["regression", "classification"]
            label = [] if train.label_name is None else ["--label", train.label_name]
            commands = [shlex.join(["sgdone", "fit", data, *label, "--task", task]) for task in tasks]
            raise typer.BadParameter(
                f"{train.label_name or 'the label'} has {values.size:,} different numbers: say whether they are "
                "quantities or classes:\n  " + "\n  ".join(commands),
                param_hint="'--task'",
            )
    return task_of(labels)


def _test_rows(train: InputData, arguments: FitArguments, task: Task) -> InputData | None:
    if arguments.test is None:
        found = load_test_part(train.name) if is_dataset(train.name) else None
    else:
        is_table = isinstance(train.X, pa.Table)
        found = load(
            arguments.test,
            replace(arguments.file, label=train.label_name, drop=(), zero_based=train.zero_based),
            subset="test",
            features=train.feature_names,
            n_features=train.X.shape[1],
            as_strings=[f.name for f in train.X.schema if pa.types.is_large_string(f.type)] if is_table else [],
        )
    if found is None:
        return None
    found = for_task(found, task)
    if task == "classification" and not np.isin(found.labels, train.labels).any():
        known, others = (listed([str(label) for label in np.unique(y)], 5) for y in (train.labels, found.labels))
        raise DataError(f"{found.name}: no label is one of the training rows' ({known}); it has {others}")
    return found


def _announcement(arguments: FitArguments, tested: InputData | None, held_out: NDArray[np.bool_]) -> str:
    """What the scores are of, if they are not of test rows."""
    n_rows, count = held_out.size, int(held_out.sum())
    if tested is not None or not arguments.hold_out:
        return ""
    if not count:
        return f"fewer than {FEWEST_ROWS} rows: none are held out, and the scores are those of the training rows"
    if arguments.model is None:
        return f"held out {count:,} of {n_rows:,} rows for the scores; a model that is saved is fitted on all rows"
    return f"held out {count:,} of {n_rows:,} rows for the scores; the saved model is then fitted on all rows"


def _notes(train: InputData, task: Task, file: FileOptions) -> dict[str, str]:
    """What ``predict`` must know to read rows as these were read, and ``inspect`` shows."""
    notes = {"data": train.name, **replace(file, zero_based=train.zero_based).notes()}
    if train.label_name is not None:
        notes["label"] = train.label_name
    if train.weights is not None and file.weight is not None:
        notes["weight"] = file.weight
    if train.dropped:
        notes["dropped"] = json_format.dumps(train.dropped, ensure_ascii=False)
    if train.class_names is not None and task == "classification":
        notes["class_names"] = json_format.dumps(train.class_names)
    return notes
