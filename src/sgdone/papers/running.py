"""All tasks of an experiment on all cores."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sgdone.papers.experiment import Experiment, Row


def measure_all(
    experiment: Experiment[Any, Any],
    seed: int = 0,
    workers: int | None = None,
    done: Callable[[int, int], None] = lambda count, total: None,
) -> list[Row]:
    """Measure every task; the rows depend on the seed only, not on the number of cores or on which task ends first.

    Tasks run as threads: compiled loops and NumPy's generators release the interpreter's lock, and data are shared.
    They start in a random order, so that the time used so far predicts the remaining time. An interrupt cancels those
    that have not started and waits for the others.

    Parameters
    ----------
    experiment : Experiment
        What to measure.
    seed : int
        Each task gets a seed of its own that is derived from this one.
    workers : int, optional
        Number of tasks at once; the number of cores if not given.
    done : callable
        Called with the number of tasks done and of all tasks, first with 0.
    """
    tasks = experiment.tasks()
    shared, order, *seeds = np.random.SeedSequence(seed).spawn(len(tasks) + 2)
    done(0, len(tasks))
    # Every task has one core: threads of its own in matrix products would compete with the other tasks.
    with threadpool_limits(limits=1, user_api="blas"):
        prepared = experiment.prepare(shared)
        pool = ThreadPoolExecutor(workers or joblib.cpu_count())
        try:
            places = {
                pool.submit(experiment.measure, tasks[place], prepared, seeds[place]): place
                for place in np.random.default_rng(order).permutation(len(tasks))
            }
            measured: dict[int, list[Row]] = {}
            for future in as_completed(places):
                measured[places[future]] = future.result()
                done(len(measured), len(tasks))
        finally:
            pool.shutdown(cancel_futures=True)
    return [row for place in range(len(tasks)) for row in measured[place]]
