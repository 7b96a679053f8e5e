"""One run a model: one for a binary problem or a regression, one a class for one-vs-rest."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from sgdone.auto import AutoResult
from sgdone.data import ArraySource
from sgdone.estimators.callbacks import ModelTask, both
from sgdone.estimators.specs import TaskName
from sgdone.losses.loss import Loss
from sgdone.run import Hook, Monitor, Result, run
from sgdone.solvers.base import Solver
from sgdone.solvers.state import State
from sgdone.steps.step_size import StepSize
from sgdone.stopping.base import Progress, StopRule


@final
@dataclass(frozen=True)
class Plan:
    """Everything about a fit but the data."""

    loss: Loss
    solver: Solver
    step: StepSize | None
    stop: StopRule
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    center: bool
    shuffle: bool
    task: TaskName
    seed: int
    n_jobs: int | None
    verbose: int
    #: A call of partial_fit: one pass, of rows that are not all.
    single_pass: bool = False
    #: Called in each model's own thread.
    progress: Hook | None = None
    #: What the verdict calls the columns.
    feature_names: Sequence[str] | None = None
    #: What the trace keeps beside loss and error.
    monitors: Sequence[Monitor] = ()
    #: Whether the fit is left to itself, and what the user has said nevertheless.
    automatic: bool = False
    given_alpha: float | None = None
    rule_given: bool = False
    tol: float = 0.2

    @property
    def rule_for_callbacks(self) -> StopRule | None:
        """The rule that says how many passes there may be; none of a fit that ends by itself."""
        return None if self.automatic and not self.rule_given else self.stop


@final
@dataclass(frozen=True)
class Start:
    """Where a model starts: given weights, or another run, which may have ended for good."""

    coef: NDArray[Any] | None = None
    intercept: float = 0.0
    resume: Result | AutoResult | None = None
    ended: bool = False


def train(
    plan: Plan,
    X: Any,
    labels: Sequence[Callable[[], NDArray[np.float64]]],
    weight: NDArray[np.float64] | None,
    starts: Sequence[Start],
    hooks: Sequence[ModelTask | None],
    names: Sequence[str],
) -> list[Result]:
    """Train one model for each of ``labels``, in threads if asked; Ctrl-C ends all of them with what they have."""
    interrupted = threading.Event()

    def one(k: int) -> Result:
        done = starts[k].resume
        if isinstance(done, AutoResult):
            raise TypeError("a bank goes on by itself")
        if starts[k].ended and done is not None:
            return done

        def watch(progress: Progress, state: State) -> str | None:
            if interrupted.is_set():
                raise KeyboardInterrupt
            return None

        task = hooks[k]
        if task is not None:
            task.begin()
        source = ArraySource(X, labels[k](), weight, shuffle=plan.shuffle, part_of_stream=plan.single_pass)
        told = talk(names[k]) if plan.verbose else None
        result = run(
            source,
            plan.loss,
            plan.solver,
            plan.stop,
            alpha=plan.alpha,
            l1_ratio=plan.l1_ratio,
            step=plan.step,
            fit_intercept=plan.fit_intercept,
            center=plan.center,
            task=plan.task,
            rng=np.random.default_rng(plan.seed),
            coef=starts[k].coef,
            intercept=starts[k].intercept,
            resume=done,
            single_pass=plan.single_pass,
            hook=both(both(both(watch if len(labels) > 1 else None, told), plan.progress), task),
            feature_names=plan.feature_names,
            monitors=plan.monitors,
        )
        if result.verdict.rule == "Ctrl-C":
            interrupted.set()
        if task is not None:
            task.end(result.state)
        return result

    workers = min(effective_n_jobs(plan.n_jobs), len(labels))
    # Callbacks are told in the order in which classes are trained: one after the other.
    if workers == 1 or any(hook is not None for hook in hooks):
        return [one(k) for k in range(len(labels))]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(one, k) for k in range(len(labels))]
        try:
            return [future.result() for future in futures]
        except BaseException as error:
            interrupted.set()
            if not isinstance(error, KeyboardInterrupt):
                raise
            return [future.result() for future in futures]


def talk(name: str) -> Hook:
    """A line a pass."""

    def tell(progress: Progress, state: State) -> str | None:
        if progress.pass_ended:
            print(f"{name}pass {progress.pass_number}: progressive loss {progress.loss:.6g}, {progress.seconds:.2f} s")
        return None

    return tell
