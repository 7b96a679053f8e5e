"""The only way to a fitted model: estimators, command, Dask and Spark call `fit`."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.fit.columns import InputColumns
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.followers import FitFollower, PassLines, ProgressHook, ProgressLines, RunHook
from sgdone.fit.labels import NewClassError
from sgdone.fit.options import FitOptions
from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Progress, Status, StopRule
from sgdone.machine import interruption
from sgdone.rows.source import Source
from sgdone.run import Clock, Hook, Result, RunOptions, run
from sgdone.run.checkpoints import Checkpoints


@final
@dataclass(frozen=True)
class Start:
    """Starting point of a run: a model, or another run to continue. If ``ended``, that run is returned unchanged."""

    model: Model | None = None
    resume: Result | None = None
    ended: bool = False


@final
@dataclass(frozen=True)
class FitProblem:
    """Training problem: encoded rows, objective, method and stopping rule of one model, or of one model per class."""

    #: Make the source of each model.
    sources: Sequence[Callable[[], Source]]
    objective: Objective
    method: Method
    #: Phase that may replace or follow the method.
    exact_phase: Method | None
    stop: StopRule
    #: Columns of X; complete once the rows have been read.
    columns: InputColumns
    #: The labels, sorted; None in regression.
    classes: NDArray[Any] | None
    #: Completes the results of trained models, and measures the features.
    finish: Callable[[list[Result]], "TrainedModels"]
    starts: Sequence[Start] = (Start(),)
    checkpoints: Checkpoints | None = None
    #: Hooks in place of those of followers, and a clock that began before the run.
    hooks: Sequence[Hook] | None = None
    clock: Clock | None = None
    #: X, y and weights as callbacks of scikit-learn see them; by default there are no callbacks.
    data: dict[str, Any] | None = None

    @property
    def names(self) -> list[str]:
        """Names of the models in messages."""
        if len(self.sources) == 1 or self.classes is None:
            return [""]
        return [f"class {label!r} " for label in self.classes.tolist()]


@final
@dataclass(frozen=True)
class TrainedModels:
    """Results of trained models, and what was measured of the features."""

    results: list[Result]
    #: Standard deviation of each feature, and share of the rows that have it: of sparse columns those that are not 0.
    feature_std: NDArray[np.float64] | None = None
    feature_share: NDArray[np.float64] | None = None


class TrainingRows(ABC):
    """Rows with labels and weights to fit: in memory, read in parts, or in the partitions of a cluster."""

    @abstractmethod
    def problem(self, options: FitOptions, hook: ProgressHook | None = None) -> AbstractContextManager[FitProblem]:
        """The problem to train, while the rows are open."""

    def with_all_classes(self, error: NewClassError) -> "TrainingRows":
        """The same rows, whose classes are those of all rows; raise ``error`` if these cannot be read again."""
        raise error


def fit(
    rows: TrainingRows,
    options: FitOptions,
    *,
    hook: ProgressHook | None = None,
    callbacks: FitFollower | None = None,
) -> FittedModel:
    """Fit a linear model.

    Parameters
    ----------
    rows : TrainingRows
        Rows with labels and weights.
    options : FitOptions
        Parameters of an estimator, and the objects that they ask for.
    hook : callable, optional
        Makes a hook for each model, which is called after each chunk of rows.
    callbacks : FitFollower, optional
        Callbacks of scikit-learn.

    Examples
    --------
    >>> from sgdone.fit.loaded_rows import LoadedRows
    >>> options = FitOptions.of("LinearRegressor", alpha=0)
    >>> rows = LoadedRows.for_fit(np.arange(20.0)[:, None], 2 * np.arange(20.0) + 1, None, options)
    >>> model = fit(rows, options)
    >>> model.coef_.round(6), model.predict(np.array([[30.0]])).round(6)
    (array([2.]), array([61.]))
    """
    try:
        return _fit(rows, options, hook, callbacks)
    except NewClassError as error:
        # Rows that are read in parts showed a class after the first ones: with the labels of all rows it is known.
        return _fit(rows.with_all_classes(error), options, hook, callbacks)


def _fit(
    rows: TrainingRows, options: FitOptions, hook: ProgressHook | None, callbacks: FitFollower | None
) -> FittedModel:
    with rows.problem(options, hook) as problem, interruption.remembered():
        followers = [*followers_of(options, hook), *([] if callbacks is None else [callbacks])]
        followers = [follower for follower in followers if follower.begin(problem, options)]
        found = problem.finish(train_models(problem, options, followers))
        model = FittedModel.of(options, problem.columns, problem.classes, problem.objective, found.results)
        model = replace(model, feature_std_=found.feature_std, feature_share_=found.feature_share)
        for follower in followers:
            follower.end(model)
        return model


def followers_of(options: FitOptions, hook: ProgressHook | None) -> list[FitFollower]:
    """The followers that options and a hook ask for."""
    return [*([PassLines()] if options.verbose else []), *([] if hook is None else [ProgressLines(hook)])]


def train_models(problem: FitProblem, options: FitOptions, followers: Sequence[FitFollower]) -> list[Result]:
    """Train one model for each source, in ``n_jobs`` threads; Ctrl-C ends all of them with what they have."""
    n_models = len(problem.sources)
    workers = 1 if any(follower.in_turn for follower in followers) else _n_workers(options.n_jobs, n_models)
    clock = replace(problem.clock or Clock(), turns=-(-n_models // workers))
    interrupted = threading.Event()

    def end_with_the_others(progress: Progress) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt

    def train(number: int) -> Result:
        start = problem.starts[number]
        if start.ended and start.resume is not None:
            return start.resume
        hooks: list[Hook] = [follower.hook(number, problem.names[number]) for follower in followers]
        others = [end_with_the_others] if n_models > 1 else []
        how = RunOptions(
            step=options.step,
            rng=np.random.default_rng(options.seed),
            start=start.model,
            resume=start.resume,
            optional=problem.exact_phase,
            hooks=[*others, *hooks] if problem.hooks is None else problem.hooks,
            monitors=options.monitors,
            checkpoints=problem.checkpoints,
            clock=replace(clock, turn=number // workers),
        )
        result = run(problem.sources[number](), problem.objective, problem.method, problem.stop, how)
        if result.verdict.status is Status.INTERRUPTED:
            interrupted.set()
        for hook in hooks:
            if isinstance(hook, RunHook):
                hook.end(result.model)
        return result

    if workers == 1:
        return [train(number) for number in range(n_models)]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(train, number) for number in range(n_models)]
        try:
            return [future.result() for future in futures]
        except BaseException as error:
            interrupted.set()
            if not isinstance(error, KeyboardInterrupt):
                raise
            return [future.result() for future in futures]


def _n_workers(n_jobs: int | None, n_models: int) -> int:
    """Number of threads that are of use."""
    if n_models == 1:
        return 1
    from joblib import effective_n_jobs  # a single model does not wait for it

    return min(int(effective_n_jobs(n_jobs)), n_models)
