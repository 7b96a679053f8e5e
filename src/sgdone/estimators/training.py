"""One run per model: one for all classes, one for a binary problem or a regression, or one per class."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from sgdone.estimators.callbacks import ModelTask
from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Progress, Status, StopRule
from sgdone.rows.source import Source
from sgdone.run import Clock, Hook, Result, run


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
    **options: Any,
) -> list[Result]:
    """Train one model for each source, in ``n_jobs`` threads; Ctrl-C ends all of them with what they have.

    ``options`` are those of `sgdone.run.run`.
    """
    interrupted = threading.Event()
    # Callbacks are called in the order in which classes are trained: one after the other.
    workers = 1 if any(task is not None for task in tasks) else _n_workers(n_jobs, len(sources))
    clock = Clock(turns=-(-len(sources) // workers))

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
