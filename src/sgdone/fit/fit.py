"""The only way to a fitted model: estimators, command, Dask and Spark call `fit`."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.fit.columns import InputColumns
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.labels import NewClassError
from sgdone.fit.options import FitOptions
from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Progress, Status, StopRule
from sgdone.machine import interruption
from sgdone.rows.blocks import ColumnNumbers
from sgdone.rows.source import Source
from sgdone.run import Clock, Hook, Result, run

#: Makes a hook for a model, given its number: the progress line of the command.
ProgressHook = Callable[[int], Hook]


@final
@dataclass(frozen=True)
class Start:
    """Start of a run: a model, or another run, which may have ended for good."""

    model: Model | None = None
    resume: Result | None = None
    ended: bool = False


@final
@dataclass(frozen=True)
class FitProblem:
    """Rows with numbers as labels, and what is minimised over them: for one model, or for one of each class.

    Parameters
    ----------
    sources : sequence of callables
        Make the source of each model.
    objective : Objective
        What is minimised.
    phases : sequence of Method
        Methods that are trained in turn, each where it is worthwhile.
    stop : StopRule
        The stopping rule.
    columns : InputColumns
        Columns of X; complete once the rows have been read.
    classes : ndarray or None
        The labels, sorted; None in regression.
    finish : callable
        Completes the results of trained models, and measures the features.
    starts : sequence of Start
        Where each run starts.
    hooks : sequence of Hook, optional
        Hooks of the only model, instead of those that the options ask for.
    run_options : dict
        Further options of the runs.
    clock : Clock, optional
        The clock of the fit, if it began before.
    data : dict, optional
        X, y and weights as callbacks of scikit-learn see them; by default there are no callbacks.
    """

    sources: Sequence[Callable[[], Source]]
    objective: Objective
    phases: Sequence[Method]
    stop: StopRule
    columns: InputColumns
    classes: NDArray[Any] | None
    finish: Callable[[list[Result]], "Finished"]
    starts: Sequence[Start] = (Start(),)
    hooks: Sequence[Hook] | None = None
    run_options: Mapping[str, Any] = field(default_factory=dict)
    clock: Clock | None = None
    data: dict[str, Any] | None = None

    @property
    def names(self) -> list[str]:
        """Names of the models in messages."""
        if len(self.sources) == 1 or self.classes is None:
            return [""]
        return [f"class {label!r} " for label in self.classes.tolist()]


@final
@dataclass(frozen=True)
class Finished:
    """Results of trained models, and what was measured of the features."""

    results: list[Result]
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


#: Gives a fitted model during a fit, from the number of a model and what it is so far, to callbacks that predict.
CurrentModel = Callable[[int, Model], FittedModel]


class ModelHook(ABC):
    """A hook of one model, which is told when its run begins and ends."""

    @abstractmethod
    def begin(self) -> None:
        """The run begins."""

    @abstractmethod
    def __call__(self, progress: Progress) -> str | None:
        """Follow the run; a returned text stops it."""

    @abstractmethod
    def end(self, model: Model) -> None:
        """The run is over."""


class FitCallbacks(ABC):
    """Callbacks that follow the passes of a fit."""

    @abstractmethod
    def begin(self, n_models: int, max_passes: int | None, data: dict[str, Any]) -> None:
        """Begin a fit of some models to the data."""

    @abstractmethod
    def hook(self, model: int, name: str, current_model: CurrentModel) -> ModelHook:
        """A hook for the run of one model."""

    @abstractmethod
    def end(self, model: FittedModel) -> None:
        """The fit is over."""


def fit(
    rows: TrainingRows,
    options: FitOptions,
    *,
    hook: ProgressHook | None = None,
    callbacks: FitCallbacks | None = None,
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
    callbacks : FitCallbacks, optional
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
        return _fit(rows.with_all_classes(error), options, hook, callbacks)


def _fit(
    rows: TrainingRows, options: FitOptions, hook: ProgressHook | None, callbacks: FitCallbacks | None
) -> FittedModel:
    with rows.problem(options, hook) as problem, interruption.remembered():
        if callbacks is not None and problem.data is not None:
            callbacks.begin(len(problem.sources), options.stop.max_passes, problem.data)
        else:
            callbacks = None
        found = problem.finish(train_models(problem, options, hook, callbacks))
        model = FittedModel.of(options, problem.columns, problem.classes, problem.objective, found.results)
        model = replace(model, feature_std_=found.feature_std, feature_share_=found.feature_share)
        if callbacks is not None:
            callbacks.end(model)
        return model


def train_models(
    problem: FitProblem,
    options: FitOptions,
    hook: ProgressHook | None = None,
    callbacks: FitCallbacks | None = None,
) -> list[Result]:
    """Train one model for each source, in ``n_jobs`` threads; Ctrl-C ends all of them with what they have."""
    n_models = len(problem.sources)
    hooks = _hooks_of_models(problem, options, hook, callbacks)
    # Callbacks are called in the order in which classes are trained: one after the other.
    workers = 1 if callbacks is not None else _n_workers(options.n_jobs, n_models)
    clock = replace(problem.clock or Clock(), turns=-(-n_models // workers))
    interrupted = threading.Event()

    def end_with_the_others(progress: Progress) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt

    def train(number: int) -> Result:
        start = problem.starts[number]
        if start.ended and start.resume is not None:
            return start.resume
        followers = [one for one in hooks[number] if isinstance(one, ModelHook)]
        for follower in followers:
            follower.begin()
        result = run(
            problem.sources[number](),
            problem.objective,
            problem.phases,
            problem.stop,
            rng=np.random.default_rng(options.seed),
            start=start.model,
            resume=start.resume,
            hooks=[*([end_with_the_others] if n_models > 1 else []), *hooks[number]],
            clock=replace(clock, turn=number // workers),
            **options.run_options(),
            **problem.run_options,
        )
        if result.verdict.status is Status.INTERRUPTED:
            interrupted.set()
        for follower in followers:
            follower.end(result.model)
        return result

    if workers == 1:
        return [train(number) for number in range(n_models)]
    return _in_threads(train, n_models, workers, interrupted)


def _hooks_of_models(
    problem: FitProblem, options: FitOptions, hook: ProgressHook | None, callbacks: FitCallbacks | None
) -> list[list[Hook]]:
    """Hooks of each model: a line per pass, the one given, and callbacks."""
    if problem.hooks is not None:
        return [list(problem.hooks)]
    current_model = _current_models(problem, options)
    found: list[list[Hook]] = []
    for number, name in enumerate(problem.names):
        hooks: list[Hook | None] = [PassPrinter(name) if options.verbose else None]
        hooks.append(None if hook is None else hook(number))
        hooks.append(None if callbacks is None else callbacks.hook(number, name.strip(), current_model))
        found.append([one for one in hooks if one is not None])
    return found


def _in_threads(
    train: Callable[[int], Result], n_models: int, workers: int, interrupted: threading.Event
) -> list[Result]:
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(train, k) for k in range(n_models)]
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


@final
class PassPrinter(ModelHook):
    """A hook that prints a line per pass, also of the last one if the run ends within it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._unprinted: Progress | None = None

    def begin(self) -> None:
        """Nothing is printed yet."""

    def __call__(self, progress: Progress) -> None:
        """Print a line if a pass has ended."""
        self._unprinted = progress
        if progress.pass_ended:
            self._print("")

    def end(self, model: Model) -> None:
        """The run is over: print the line of a pass that has not ended."""
        if self._unprinted is not None:
            share = self._unprinted.passes % 1.0
            self._print(f", {share:.0%} of it" if share else "")

    def _print(self, part: str) -> None:
        progress, self._unprinted = self._unprinted, None
        if progress is not None:
            loss = f"progressive loss {progress.loss:.6g}, {progress.seconds:.2f} s"
            print(f"{self._name}pass {progress.pass_number}{part}: {loss}")


def _current_models(problem: FitProblem, options: FitOptions) -> CurrentModel:
    """The models trained so far as a fitted model, which callbacks may predict with."""
    starts = [start.model for start in problem.starts]
    found: dict[int, Model] = {k: model for k, model in enumerate(starts) if model is not None and len(starts) > 1}

    def current_model(number: int, model: Model) -> FittedModel:
        found[number] = model
        unknown = Model(np.zeros_like(model.coef), np.zeros_like(model.intercept))
        models = [found.get(k, unknown) for k in range(len(problem.sources))]
        coef = np.concatenate([one.coef for one in models])
        intercept = np.concatenate([one.intercept for one in models]).reshape(-1)
        if problem.classes is None:
            return FittedModel(options, problem.columns, coef[0], intercept)
        multinomial = problem.objective.predicts == "softmax"
        return FittedModel(options, problem.columns, coef, intercept, problem.classes, multinomial)

    return current_model


def with_note(result: Result, note: str) -> Result:
    """The result with a remark in its verdict; an empty one changes nothing."""
    if not note:
        return result
    return replace(result, verdict=replace(result.verdict, reason=f"{result.verdict.reason}; {note}"))


def with_all_columns(result: Result, numbers: ColumnNumbers) -> Result:
    """The result for all columns of the rows; the coefficients of those that never appeared are 0."""
    columns, width = numbers.columns, numbers.n_features
    if not width:  # the rows are dense, or encoded
        return result
    coef = np.zeros((len(result.model.coef), width), dtype=result.model.coef.dtype)
    coef[:, columns] = result.model.coef[:, : columns.size]
    model, state = Model(coef, result.model.intercept), result.state.at_columns(columns, width)
    return replace(result, model=model, state=state)
