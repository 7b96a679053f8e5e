"""One run per model, with scikit-learn's callbacks: one for all classes, or one per class."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from sgdone.fit.fitted_model import FittedModel
from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Progress, Status, StopRule
from sgdone.rows.source import Source
from sgdone.run import Clock, Hook, Result, run

#: The fitted model at this moment, from the number of a model and the model, for callbacks that predict.
Snapshot = Callable[[int, Model], FittedModel]


@final
@dataclass(frozen=True)
class Callbacks:
    """Callbacks of scikit-learn for a fit.

    Parameters
    ----------
    estimator : object
        The estimator that is fitted.
    attributes : callable
        The attributes that make an estimator of a fitted model.
    """

    estimator: Any
    attributes: Callable[[FittedModel], dict[str, Any]]

    def begin(self, n_models: int, max_passes: int | None, data: dict[str, Any]) -> "FitTask":
        """Begin a fit to the data, which are the user's own X, whose columns may have names."""
        return FitTask(self.estimator, self.attributes, n_models, max_passes, data)


class FitTask:
    """The tasks of one fit, as callbacks see them."""

    def __init__(
        self,
        estimator: Any,
        attributes: Callable[[FittedModel], dict[str, Any]],
        n_models: int,
        max_passes: int | None,
        data: dict[str, Any],
    ) -> None:
        self._estimator, self._attributes, self._data = estimator, attributes, data
        self._n_models = n_models
        self._max_passes = max_passes
        self.active = bool(getattr(estimator, "_skl_callbacks", []))
        if not hasattr(estimator, "_init_callback_context"):
            return
        single = n_models == 1
        self._root = estimator._init_callback_context(
            max_subtasks=self._max_passes if single else n_models, sequential_subtasks=single
        )
        self._root.call_on_fit_task_begin(estimator=estimator, **data)

    def hook(self, model: int, name: str, snapshot: Snapshot) -> "ModelTask | None":
        """A hook for the run of one model."""
        if not self.active:
            return None
        return ModelTask(self, model, name, snapshot)

    def open(self, parent: Any = None, **options: Any) -> Any:
        """Begin a task under another one or the fit."""
        context = (parent or self._root).subcontext(**options)
        context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return context

    def open_model(self, model: int, name: str) -> Any:
        """Begin the task of one model of several; a single model has none of its own."""
        if self._n_models == 1:
            return None
        return self.open(task_name=name, task_id=model, max_subtasks=self._max_passes)

    def close(self, context: Any, model: Callable[[], FittedModel]) -> bool:
        """End a task; returns whether a callback requests a stop."""

        def attributes() -> dict[str, Any]:
            return self._attributes(model())

        return bool(
            context.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=attributes, **self._data)
        )

    def end(self, model: FittedModel) -> None:
        """The fit is over."""
        if hasattr(self, "_root"):
            self.close(self._root, lambda: model)


class ModelTask:
    """A hook that opens and closes a task for each pass of one model."""

    def __init__(self, task: FitTask, model: int, name: str, snapshot: Snapshot) -> None:
        self._task, self._model, self._name, self._snapshot = task, model, name, snapshot
        self._own: Any = None
        self._pass: Any = None

    def begin(self) -> None:
        """The run begins, with its first pass."""
        self._own = self._task.open_model(self._model, self._name)
        self._pass = self._task.open(self._own, task_name="pass")

    def __call__(self, progress: Progress) -> str | None:
        """Report the state of the run to the callbacks; a reason to stop, if one of them requests it."""
        if self._pass is None:
            self._pass = self._task.open(self._own, task_name="pass")
        if progress.pass_ended and self._close_pass(progress.solution):
            return f"a callback asked to stop after pass {progress.pass_number}"
        return None

    def end(self, model: Model) -> None:
        """The run is over: close what is open."""
        if self._pass is not None:
            self._close_pass(lambda: model)
        if self._own is not None:
            self._task.close(self._own, lambda: self._snapshot(self._model, model))

    def _close_pass(self, model: Callable[[], Model]) -> bool:
        # Closed before the callbacks are called: one that raises KeyboardInterrupt is not called again.
        context, self._pass = self._pass, None
        return self._task.close(context, lambda: self._snapshot(self._model, model()))


@final
@dataclass(frozen=True)
class Start:
    """Where a run starts: a model, or another run, which may have ended for good."""

    model: Model | None = None
    resume: Result | None = None
    ended: bool = False


def train(
    sources: Sequence[Callable[[], Source]],
    objective: Objective,
    phases: Sequence[Method],
    stop: StopRule,
    starts: Sequence[Start],
    *,
    seed: int,
    n_jobs: int | None = None,
    hooks: Sequence[Sequence[Hook]] = (),
    tasks: Sequence[ModelTask | None] = (),
    clock: Clock | None = None,
    **options: Any,
) -> list[Result]:
    """Train one model for each source, in ``n_jobs`` threads; Ctrl-C ends all of them with what they have.

    ``options`` are those of `sgdone.run.run`.
    """
    interrupted = threading.Event()
    # Callbacks are called in the order in which classes are trained: one after the other.
    workers = 1 if any(task is not None for task in tasks) else _n_workers(n_jobs, len(sources))
    clock = replace(clock or Clock(), turns=-(-len(sources) // workers))

    def end_with_the_others(progress: Progress) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt

    def one(k: int) -> Result:
        start = starts[k]
        if start.ended and start.resume is not None:
            return start.resume
        task = tasks[k] if tasks else None
        own: list[Hook] = list(hooks[k]) if hooks else []
        if len(sources) > 1:
            own.insert(0, end_with_the_others)
        if task is not None:
            task.begin()
            own.append(task)
        rng = np.random.default_rng(seed)
        result = run(
            sources[k](),
            objective,
            phases,
            stop,
            rng=rng,
            start=start.model,
            resume=start.resume,
            hooks=own,
            clock=replace(clock, turn=k // workers),
            **options,
        )
        if result.verdict.status is Status.INTERRUPTED:
            interrupted.set()
        if task is not None:
            task.end(result.model)
        return result

    if workers == 1:
        return [one(k) for k in range(len(sources))]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(one, k) for k in range(len(sources))]
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
class PassPrinter:
    """A hook that prints a line per pass, also of the last one if the run ends within it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._unprinted: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Print a line if a pass has ended."""
        self._unprinted = progress
        if progress.pass_ended:
            self._print("")

    def end(self) -> None:
        """The run is over: print the line of a pass that has not ended."""
        if self._unprinted is not None:
            share = self._unprinted.passes % 1.0
            self._print(f", {share:.0%} of it" if share else "")

    def _print(self, part: str) -> None:
        progress, self._unprinted = self._unprinted, None
        if progress is not None:
            loss = f"progressive loss {progress.loss:.6g}, {progress.seconds:.2f} s"
            print(f"{self._name}pass {progress.pass_number}{part}: {loss}")
