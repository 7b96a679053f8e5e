"""Jobs of `two_versions`, with the version of the package that this process imports.

It reads lines ``[job, seed]`` and answers each with the seconds that the job took. What a job needs is prepared once,
and not timed. The only argument is the folder of ``big.csv``.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import sgdone
from sgdone import datasets

Job = Callable[[int], Any]

#: Bytes with which ``big.csv`` is read block by block.
MEMORY = 20_000_000


def default(name: str) -> Job:
    """The fit without knobs to a data set."""
    data = datasets.load(name)
    return lambda seed: sgdone.LinearClassifier(random_state=seed).fit(data.X, data.y)


def asgd(*, is_sparse: bool) -> Job:
    """One pass of a named method."""
    rng = np.random.default_rng(0)
    if is_sparse:
        X: Any = sparse.random_array((60_000, 47_000), density=70 / 47_000, format="csr", rng=rng)
    else:
        X = rng.standard_normal((200_000, 54))
    y = (np.asarray(X[:, [0]].sum(axis=1)).ravel() + rng.standard_normal(X.shape[0]) > 0).astype(int)
    named: Any = getattr(sgdone, "SGDClassifier", sgdone.LinearClassifier)
    return lambda seed: named(solver="asgd", stop=1, random_state=seed).fit(X, y)


def adult() -> Job:
    """A data frame as it was published."""
    import pandas as pd

    frame = pd.read_csv(Path(os.environ["SGDONE_DATA"]) / "adult/adult.csv.gz")
    X, y = frame.drop(columns="income"), (frame["income"] == ">50K").to_numpy()
    return lambda seed: sgdone.LinearClassifier(random_state=seed).fit(X, y)


def file() -> Job:
    """A file that is read block by block, in 200,000 rows of 20 columns."""
    path = Path(sys.argv[1]) / "big.csv"
    return lambda seed: sgdone.LinearClassifier(random_state=seed).fit(sgdone.files(path, "y", max_memory=MEMORY))


def dask() -> Job:
    """Eight partitions, one after the other in this process."""
    import dask.array as da
    from dask import config

    from sgdone.dask import LinearClassifier

    config.set(scheduler="synchronous")
    X, y = made(100_000, 50)
    parts = da.from_array(X, chunks=(12_500, 50)), da.from_array(y, chunks=12_500)
    return lambda seed: LinearClassifier(random_state=seed).fit(*parts)


def summary() -> Job:
    """Standard errors of a model that is already fitted."""
    X, y = made(30_000, 50)
    model = sgdone.LinearClassifier(random_state=0).fit(X, y)
    return lambda seed: model.summary(X, y)


def made(rows: int, columns: int) -> tuple[Any, Any]:
    """Rows, and labels that they explain in part."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    return X, (X @ rng.standard_normal(columns) / 3 + rng.logistic(size=rows) > 0).astype(int)


JOBS: dict[str, Callable[[], Job]] = {
    "asgd-dense": partial(asgd, is_sparse=False),
    "asgd-sparse": partial(asgd, is_sparse=True),
    "adult-table": adult,
    "file": file,
    "dask": dask,
    "summary": summary,
}


def main() -> None:
    warnings.simplefilter("ignore")
    prepared: dict[str, Job] = {}
    for line in sys.stdin:
        name, seed = json.loads(line)
        if name not in prepared:
            prepared[name] = JOBS[name]() if name in JOBS else default(name)
        job = prepared[name]
        start = time.perf_counter()
        job(seed)
        print(json.dumps(time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
