"""Rows in files for tests: so little memory is allowed that they are read block by block."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.metrics import log_loss

from sgdone import LinearClassifier, batches, files
from sgdone.stopping import Gain, MaxPasses
from table_files import content

#: Blocks of 4,096 rows of four numbers; more than 15,000 such rows are not kept in memory.
MEMORY = 2_000_000
NAMES = ("a", "b", "c", "d")


def numbers(n_rows=20_000, seed=0):
    """Four columns of different scales, and labels 0 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 0]
    score = X @ [1.5, -0.1, 3, 0] + 0.5
    return X, (score + rng.logistic(size=n_rows) > 0).astype(int)


def table_of(X, y, **columns):
    return pa.table({name: X[:, j] for j, name in enumerate(NAMES)} | {"y": y} | columns)


def write(table, path, cuts=(), **options):
    """Write a table to one or several files; ``cuts`` are the rows at which files end."""
    ends = [0, *cuts, table.num_rows]
    paths = []
    for number, (first, last) in enumerate(pairwise(ends)):
        paths.append(path.with_name(f"{path.stem}-{number}{path.suffix}"))
        paths[-1].write_bytes(content(table.slice(first, last - first), path.suffix[1:], **options))
    return paths


def from_files(paths, **options):
    return files(paths, **{"label": "y", "max_memory": MEMORY} | options)


def from_batches(rows, **options):
    return batches(rows, **{"max_memory": MEMORY} | options)


def fitted(rows, *, fit=None, **parameters):
    """A fit of several passes."""
    parameters = {"random_state": 0, "stop": Gain(1e-6) | MaxPasses(3)} | parameters
    return LinearClassifier(**parameters).fit(rows, **fit or {})


def bits(model):
    """All that a fit decides, as bytes."""
    return b"".join(
        [
            model.coef_.tobytes(),
            model.intercept_.tobytes(),
            str(model.verdict_).encode(),
            np.array([row.loss for row in model.trace_]).tobytes(),
        ]
    )


def frame(X):
    return pd.DataFrame(X, columns=NAMES)


def test_loss(model, X, y):
    named = hasattr(model, "feature_names_in_")
    return log_loss(y, model.predict_proba(frame(X) if named else X))


test_loss.__test__ = False
