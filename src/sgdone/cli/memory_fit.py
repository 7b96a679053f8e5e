"""``sgdone fit`` on rows in memory."""

import time
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import table_errors_named
from sgdone.cli.fit_arguments import TRAINED, FitArguments, notes_of, save_model
from sgdone.cli.fit_outcome import FitOutcome
from sgdone.cli.held_out import FEWEST_ROWS, held_out_rows
from sgdone.cli.input_data import OpenedData
from sgdone.cli.options import Options
from sgdone.cli.report import report_of, scored_fit
from sgdone.cli.scores import BaseRate, score, score_opened
from sgdone.fit.fit import fit
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.loaded_rows import LoadedRows
from sgdone.interfaces.stop_rule import Status
from sgdone.losses.learning_task import Task
from sgdone.readers.table import Table


def fit_in_memory(
    arguments: FitArguments,
    options: Options,
    task: Task,
    opened: OpenedData,
    tested: OpenedData | None,
    line: ProgressLine,
) -> FitOutcome:
    """Train without the rows that are held out, if there are any, and on all rows if the model is to be saved."""
    from sgdone.cli.leakage import Leak, possible_leaks

    train = opened.rows
    held_out = np.zeros(train.n_rows, dtype=np.bool_)
    if tested is None and arguments.hold_out:
        held_out = held_out_rows(train.X, train.labels, task, options.seed)
    fits = _Fits(options, task, train, held_out, line)
    interrupted = fits.run(tested, refit=arguments.model is not None)
    ended_early = interrupted
    interrupted |= save_model(fits.model, arguments.model, notes_of(train, task, arguments.file))
    line.now("scoring")
    report = report_of(fits.model, train, fits.rows, task) | {"train": None}
    report |= {"test": fits.scores if tested else None, "held_out": fits.scores if held_out.any() else None}
    leaks: list[Leak] = []
    classification = task != "regression"
    try:
        report |= {"train": score(fits.model, fits.rows, BaseRate.of(fits.rows, classification=classification))}
        if fits.model is not fits.scored:
            base_rate = BaseRate.of(fits.scored_rows, classification=classification)
            of_scored = score(fits.scored, fits.scored_rows, base_rate)
            report["scored_fit"] = scored_fit(fits.scored, fits.scored_rows, of_scored, report)
        if not interrupted:
            r2 = (fits.scores or {}).get("r2", 0.0)
            leaks = possible_leaks(fits.model, fits.rows, task, options.seed, r2)
    except KeyboardInterrupt:
        interrupted = True
    ending = TRAINED if interrupted and not ended_early else ""
    if ended_early and fits.rows.n_rows < train.n_rows:
        ending = f"The model was fitted on {fits.rows.n_rows:,} of the {train.n_rows:,} rows."
    announcements = _announcements(arguments, tested, held_out)
    return FitOutcome(fits.model, report, fits.seconds, interrupted, leaks, announcements, ending)


@final
class _Fits:
    """One fit for the scores, and one on all rows if some were held out and the model is to be saved.

    Attributes
    ----------
    model, rows
        The model, and the rows it was fitted on; after Ctrl-C, the last that there is.
    scored, scored_rows
        Those of the first fit.
    scores : dict or None
        Scores of the first fit on the test or the held-out rows.
    seconds : float
        Seconds of both fits.
    """

    model: FittedModel
    rows: Table
    scored: FittedModel
    scored_rows: Table

    def __init__(
        self, options: Options, task: Task, train: Table, held_out: NDArray[np.bool_], line: ProgressLine
    ) -> None:
        self._options, self._task, self._train, self._held_out, self._line = options, task, train, held_out, line
        self.scores: dict[str, Any] | None = None
        self.seconds = 0.0

    def run(self, tested: OpenedData | None, *, refit: bool) -> bool:
        """Fit and score; returns whether Ctrl-C was pressed."""
        train, held_out = self._train, self._held_out
        rows = train.at(~held_out) if held_out.any() else train
        self._fit(rows, "training without the held-out rows" if held_out.any() else "training")
        self.scored, self.scored_rows = self.model, rows
        tested = OpenedData(train.at(held_out)) if held_out.any() else tested
        interrupted = self._is_interrupted()
        try:
            if tested is not None:
                self._line.now("scoring")
                base_rate = BaseRate.of(rows, classification=self._task != "regression")
                self.scores = score_opened(self.model, tested, self._task, base_rate)
            if held_out.any() and refit and not interrupted:
                self._fit(train, "training on all rows")
                interrupted = self._is_interrupted()
        except KeyboardInterrupt:
            interrupted = True
        return interrupted

    def _is_interrupted(self) -> bool:
        return self.model.verdict_.status is Status.INTERRUPTED

    def _fit(self, rows: Table, doing: str) -> None:
        """Train, and give the features their names; nothing changes if it fails."""
        options = self._options.of_fit(self._task, self._train.labels)
        names = None if isinstance(rows.X, pa.Table) else rows.feature_names
        start = time.perf_counter()
        with table_errors_named(rows.name, rows.place):
            loaded = LoadedRows.to_fit(rows.X, rows.labels, rows.weights, options, names=names)
            one_model = options.method.offers.several_outputs
            self._line.now(doing, models=1 if one_model else loaded.n_outputs, counts=options.method.counts)
            model = fit(loaded, options, hook=self._line.hook)
        self.seconds += time.perf_counter() - start
        self.model, self.rows = model, rows


def _announcements(arguments: FitArguments, tested: OpenedData | None, held_out: NDArray[np.bool_]) -> list[str]:
    """Announcements about held-out rows and the checkpoint."""
    n_rows, count = held_out.size, int(held_out.sum())
    found = []
    if arguments.checkpoints.checkpoint is not None:
        found.append("all rows fit into memory: no checkpoint is written")
    if tested is not None or not arguments.hold_out:
        return found
    if not count:
        said = f"fewer than {FEWEST_ROWS} rows: none are held out, and the scores are those of the training rows"
    elif arguments.model is None:
        said = f"held out {count:,} of {n_rows:,} rows for the scores; a model that is saved is fitted on all rows"
    else:
        said = f"held out {count:,} of {n_rows:,} rows for the scores; the saved model is then fitted on all rows"
    return [said, *found]
