"""Every loop on small inputs once with bounds checked and once as plain Python: same results, no bad index."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = """
import sys
import numpy as np
from scipy import sparse
from sgdone import losses, solvers, stopping
from sgdone.run import run
from sgdone.data import ArraySource, Scaling

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 4)) * (rng.random((150, 4)) < 0.7)
X[3] = 0
y = np.where(X[:, 0] + 0.3 * rng.standard_normal(150) > 0, 1.0, -1.0)
weights = np.where(rng.random(150) < 0.9, 1.0, 0.0)
scalings = [None, Scaling(np.full(4, 2.0)), Scaling(np.full(4, 2.0), np.full(4, 0.1))]
out = []
for matrix in (X, sparse.csr_array(X)):
    for scaling in scalings:
        for solver in (solvers.SGD(), solvers.aisgd()):
            source = ArraySource(matrix, y, weights, scaling=scaling)
            result = run(source, losses.Logistic(), solver, stopping.MaxPasses(2), alpha=0.01)
            out.append(np.append(result.coef, result.intercept))
wide = sparse.csr_array(X)
wide.indices = wide.indices.astype(np.int64)
wide.indptr = wide.indptr.astype(np.int64)
result = run(ArraySource(wide, y), losses.Hinge(), solvers.asgd(), stopping.MaxPasses(2), alpha=0.01)
out.append(np.append(result.coef, result.intercept))
np.save(sys.argv[1], np.array(out))
"""


def results(folder, name, **environment):
    file = folder / f"{name}.npy"
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / name), **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return np.load(file)


@pytest.fixture(scope="module")
def compiled_results(tmp_path_factory):
    folder = Path(tmp_path_factory.mktemp("checks"))
    environment = {} if "NUMBA_CACHE_DIR" not in os.environ else {"NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"]}
    file = folder / "plain.npy"
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file)], env={**os.environ, **environment}, check=True, capture_output=True
    )
    return folder, np.load(file)


def test_with_bounds_checked(compiled_results):
    folder, expected = compiled_results
    assert np.allclose(results(folder, "bounds", NUMBA_BOUNDSCHECK="1"), expected, rtol=1e-12, atol=1e-12)


def test_as_plain_python(compiled_results):
    folder, expected = compiled_results
    assert np.allclose(results(folder, "python", NUMBA_DISABLE_JIT="1"), expected, rtol=1e-9, atol=1e-9)
