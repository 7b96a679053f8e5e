"""The process in which one fit of `files` is measured: ``measure`` starts it, and ``main`` is it."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np

from files_job import LITTLE_MEMORY, Job, Measured, MissingError
from files_process import watched

#: What writes the caches that others read.
WRITERS = {"VW, its cache": "VW, text, writing its cache", "sgdone, its cache": "sgdone, svmlight, writing its cache"}


def measure(job: Job, environment: Mapping[str, str] | None = None) -> Measured:
    """A fit in a new process; raises `MissingError` if the contender is not installed, RuntimeError if it fails."""
    given = json.dumps({"began": time.monotonic(), **asdict(job)})
    done = watched([sys.executable, __file__, given], {**os.environ, **(environment or {})})
    found = json.loads(done.lines[0] or "{}")
    if "missing" in found:
        raise MissingError(found["missing"])
    if done.status != 0:
        raise RuntimeError(f"{job.contender} ended with status {done.status}:\n{done.errors}")
    return Measured(**found, peak=done.peak, loss=json.loads(done.lines[1]))


def main() -> None:
    # Libraries may print what they like: the results have a descriptor of their own.
    results = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    given = json.loads(sys.argv[1])
    began, job = given.pop("began"), Job(**given)
    try:
        _warm_up(job)
        run = _contenders()[job.contender](job)
    except MissingError as error:
        print(json.dumps({"missing": str(error)}), file=results)
        return
    started, cpu = time.monotonic(), time.process_time()
    fitted = run()
    ended = {"start_up": started - began, "fit": time.monotonic() - started, "cpu": time.process_time() - cpu}
    print(json.dumps({**ended, "note": fitted.note}), file=results)
    print(json.dumps(float("nan") if fitted.predict is None else _loss(job, fitted.predict())), file=results)


def _warm_up(job: Job) -> None:
    """Fit few rows in the same way: what is imported and loaded by then is start-up, of every contender."""
    with tempfile.TemporaryDirectory() as folder:
        few = replace(job, train=job.small, folder=folder, max_memory=LITTLE_MEMORY)
        for contender in (WRITERS.get(job.contender), job.contender):
            if contender is not None:
                _contenders()[contender](few)()


def _contenders() -> dict[str, object]:
    from files_ours import OURS
    from files_peers import PEERS
    from files_vowpal import VOWPAL

    return {**OURS, **PEERS, **VOWPAL}


def _loss(job: Job, p: np.ndarray) -> float:
    """Log loss; probabilities of 0 and 1 are taken as ε and 1 − ε."""
    y, least = np.load(job.labels), np.finfo(np.float64).eps
    p_true = np.clip(np.where(y == 1, p, 1.0 - np.asarray(p, dtype=np.float64)), least, 1.0)
    return float(-np.log(p_true).mean())


if __name__ == "__main__":
    main()
