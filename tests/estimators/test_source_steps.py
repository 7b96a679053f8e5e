"""Steps that are too small for the rows to come are found out within the first pass."""

import numpy as np
import pyarrow as pa
import pytest

from sgdone import LinearClassifier, batches
from sgdone.stopping import MaxPasses

N_ROWS, N_LEVELS = 300_000, 1000


@pytest.fixture(scope="module")
def rows():
    """Numbers, and a category whose many levels matter more; with the true probabilities."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, N_LEVELS, N_ROWS)
    numbers = rng.standard_normal((N_ROWS, 10))
    score = 2.0 * rng.standard_normal(N_LEVELS)[level] + 0.3 * numbers.sum(axis=1)
    p = 1.0 / (1.0 + np.exp(-score))
    names = pa.array([f"s{k}" for k in range(N_LEVELS)])
    columns = {f"x{j}": numbers[:, j] for j in range(10)} | {"shop": names.take(pa.array(level))}
    return pa.table(columns), (rng.random(N_ROWS) < p).astype(int), p


def excess_after_one_pass(rows):
    X, y, p = rows
    table = X.append_column("y", pa.array(y))
    source = batches(table.to_batches(20_000), label="y", max_memory=20_000_000)
    model = LinearClassifier(random_state=0, stop=MaxPasses(1)).fit(source)
    found = model.predict_proba(X)[:, 1]
    return float((p * np.log(p / found) + (1.0 - p) * np.log((1.0 - p) / (1.0 - found))).mean())


@pytest.mark.slow
def test_levels_are_learned_in_one_pass(rows, monkeypatch):
    excess = excess_after_one_pass(rows)
    assert excess < 0.1
    monkeypatch.setattr("sgdone.bank.bank.is_time_for_larger_steps", lambda steps: False)
    assert excess_after_one_pass(rows) > 1.5 * excess
