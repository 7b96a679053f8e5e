"""All tasks of an experiment on all cores."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sgdone.papers.experiment import Experiment, Row


def measure_all(
    experiment: Experiment[Any, Any],
    seeds: Sequence[int] = (0,),
    workers: int | None = None,
    done: Callable[[int, int], None] = lambda count, total: None,
) -> list[list[Row]]:
    """Measure every task with every seed; rows depend on the seed only, not on the cores or on which task ends first.

    Tasks run as threads: compiled loops and NumPy's generators release the interpreter's lock, and data are shared.
    They start in a random order, so that the time used so far predicts the remaining time. An interrupt cancels those
    that have not started and waits for the others.

    Parameters
    ----------
    experiment : Experiment
        Experiment to run.
    seeds : sequence of int
        Each task gets a separate seed, derived from one of these.
    workers : int, optional
        Number of tasks at once; the number of cores if not given.
    done : callable
        Called with the number of tasks done and of all tasks, first with 0.

    Returns
    -------
    list of list of dict
        The rows of each seed, in the order of the tasks.
    """
    tasks = experiment.tasks()
    total = len(tasks) * len(seeds)
    spawned = [np.random.SeedSequence(seed).spawn(len(tasks) + 2) for seed in seeds]
    done(0, total)
    # Every task has one core: threads of its own in matrix products would compete with the other tasks.
    with threadpool_limits(limits=1, user_api="blas"):
        prepared = [experiment.prepare(own[0]) for own in spawned[: 1 if experiment.prepares_once else None]]
        pool = ThreadPoolExecutor(workers or joblib.cpu_count())
        try:
            places = {}
            for place in np.random.default_rng(spawned[0][1]).permutation(total).tolist():
                which, task = divmod(place, len(tasks))
                shared = prepared[0 if experiment.prepares_once else which]
                places[pool.submit(experiment.measure, tasks[task], shared, spawned[which][2 + task])] = place
            measured: dict[int, list[Row]] = {}
            for future in as_completed(places):
                measured[places[future]] = future.result()
                done(len(measured), total)
        finally:
            pool.shutdown(cancel_futures=True)
    return [
        [row for task in range(len(tasks)) for row in measured[which * len(tasks) + task]]
        for which in range(len(seeds))
    ]
