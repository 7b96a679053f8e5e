"""Every method and every storage on small inputs, once with bounds checked and once as plain Python.

Each storage meets some methods and each method some storages: all pairs would compile twice as many loops.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys

import numpy as np
from scipy import sparse
from sgdone import losses, solvers, steps, stopping
from running import run
from sgdone.rows import ArraySource, Scaling
from sgdone.rows.rows import BlockScaler

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 4)) * (rng.random((150, 4)) < 0.7)
X[3] = 0
y = np.where(X[:, 0] + 0.3 * rng.standard_normal(150) > 0, 1.0, -1.0)
weights = np.where(rng.random(150) < 0.9, 1.0, 0.0)
scaled, centred = Scaling(np.full(4, 2.0)), Scaling(np.full(4, 2.0), np.full(4, 0.1))
out = []
for matrix, scaling in ((X, scaled), (X, centred), (sparse.csr_array(X), scaled)):
    source = ArraySource(matrix, y, weights, scaling=scaling)
    result = run(source, losses.Logistic(), solvers.aisgd(), stopping.MaxPasses(2), alpha=0.01)
    out.append(np.append(result.coef, result.intercept))
wide = sparse.csr_array(X)
wide.indices = wide.indices.astype(np.int64)
wide.indptr = wide.indptr.astype(np.int64)

# One compiled loop has all of these probes, whether they stop a run or halve its steps.
watched = stopping.MarginTest(2.5) | stopping.SmallValidationSet(5, 40)
stops = []


def add(matrix, solver, rule, labels=y, weights=weights, **options):
    options = {"alpha": 0.01, "step": steps.Constant(0.2)} | options
    stop = rule | stopping.MaxPasses(3)
    result = run(ArraySource(matrix, labels, weights), losses.Logistic(), solver, stop, **options)
    out.append(np.append(result.coef, result.intercept))
    stops.append(result.verdict.step)
    stops.extend(halving["sample"] for halving in result.verdict.evidence.get("halvings", []))


half = solvers.Halving(solvers.SGD(), stopping.Pflug(15))
for matrix in (X, sparse.csr_array(X)):
    center = sparse.issparse(matrix)
    add(matrix, solvers.SGD(), watched | stopping.Pflug(30), center=center)
    add(matrix, half, watched, center=center)
    add(matrix, solvers.SVRG(40), stopping.MarginTest(), center=center)
    add(matrix, solvers.SVRG(40, "II"), stopping.MarginTest(9.0) | stopping.Distance(), center=center)
    add(matrix, half, watched, center=center, step=steps.ClassScale(0.5, 20))
    add(matrix[:, [0]], half, watched, center=center)
add(X[[0]], solvers.SVRG(), stopping.MarginTest(0.2), y[:1], weights[:1])
add(X, solvers.SGD(), stopping.MarginTest(0.5, fresh=True))
add(wide, half, watched)
add(sparse.csr_array(np.where(X == 0, 0.5, X)), half, watched, center=True)
add(sparse.csr_array((150, 4)), half, watched, center=True)

# Other solvers. With online L-BFGS, a first step of 1e-10 would make the result depend on rounding.
never = stopping.MaxPasses(2)
quasi_newton = solvers.OLBFGS(7, memory=3, epsilon=0.05, damping=0.1)
for matrix in (X, sparse.csr_array(X)):
    add(matrix, solvers.SGDQN(5), never)
    add(matrix, solvers.Truncated(solvers.SGD(), 7), never, l1_ratio=0.5)
    center = sparse.issparse(matrix)
    add(matrix, solvers.Pegasos(7), never, step=None, center=center)
    add(matrix, solvers.Pegasos(), never, step=None, fit_intercept=False, center=center)
    add(matrix, quasi_newton, never, step=None, center=center)
    add(matrix[:, [0]], quasi_newton, never, step=None, center=center)
add(X[[0]], solvers.Pegasos(), never, y[:1], weights[:1], step=None)
add(sparse.csr_array(X), solvers.SGD2(5), never)

# Models of the default fit: units that change, folds, one output and three, penalties that shrink weights to nothing.
from running import objective_of
from sgdone.bank.evaluation import CANDIDATES
from sgdone.bank.models import Models
from sgdone.sums.units import Units
from sgdone.matrices.mixed_matrix import with_dense_columns

folds = rng.choice(np.array([0, 1, 255], dtype=np.uint8), 150)
for matrix in (X, sparse.csr_array(X), sparse.csr_array(X[:, [0]]), with_dense_columns(X, 2)):
    for labels, n_classes in ((y, 2), (rng.integers(0, 3, 150).astype(float), 3)):
        objective = objective_of(losses.Logistic(), n_classes)
        n_features, n_outputs = matrix.shape[1], objective.n_outputs
        block = next(ArraySource(matrix, labels, weights, shuffle=False).blocks(rng))
        units = Units(block.rows.n_dense, block.rows.n_dense > 0, n_features)
        start = np.zeros((n_outputs, n_features)), np.zeros(n_outputs)
        models = Models.at(objective, CANDIDATES[:2], X.dtype, *start)
        models.fork(2)
        models.set_steps(0.25, 5.0, 1.0, [1e-3, 30.0] * 3)
        for first, last in ((0, 70), (70, 150)):
            before = units.scaling
            units.observe(block, block.used(first, last))
            assert units.renew()
            if first:
                models.change_units(before, units.scaling)
            found = models.advance(BlockScaler(units.scaling)(block), folds, first, last)
            out.extend((found.losses.ravel(), found.misses))
        for model in range(models.n_models):
            out.extend(part.ravel() for part in models.solution(model, units.scaling))

# Optima by conjugate gradients, with folds, of one output and three.
from sgdone.newton.fold_path import FoldPath
from sgdone.rows.validation_rows import ValidationRows
from sgdone.sums.pieces import BlockPieces
from sgdone.sums.system import System

for labels, n_classes, n_dense in ((y, 2, 0), (rng.integers(0, 3, 150).astype(float), 3, 0), (y, 2, 2)):
    objective = objective_of(losses.Logistic(), n_classes)
    block = next(ArraySource(with_dense_columns(X, n_dense), labels, weights, shuffle=False).blocks(rng))
    pieces = BlockPieces(block, Units.of_all_rows(block, centred=True).scaling)
    drawn = ValidationRows.drawn(block, block.all_used(), rng)
    path = FoldPath(System(objective, pieces.scaling), pieces, np.zeros((5, objective.n_free_outputs)), drawn)
    for _ in path.evaluations():
        pass
    out.append(path.best.model.ravel())

# Products of sparse rows for the exact finish.
from sgdone.kernels.csr_gram import add_products, quadratic_forms

for matrix in (sparse.csr_array(X), wide, sparse.csr_array((150, 4)), sparse.csr_array(X.astype(np.float32))):
    arrays = matrix.data, matrix.indices, matrix.indptr
    types = " ".join(str(array.dtype) for array in arrays)
    products, forms = np.zeros((5, 5, 2)), np.zeros((150, 2))
    add_products(types)(*arrays, np.column_stack([y, weights]), products)
    quadratic_forms(types)(*arrays, products, forms)
    out.extend((products.ravel(), forms.ravel()))
np.savez(sys.argv[1], weights=np.concatenate(out), stops=np.array(stops))
"""


def results(folder, name, **environment):
    """Run the program in a new process, where it can import the helpers of the tests."""
    file = folder / f"{name}.npz"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / name), **environment},
        cwd=Path(__file__).parents[1],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with np.load(file) as found:
        return found["weights"], found["stops"].tolist()


def test_with_bounds_checked_and_as_plain_python(tmp_path):
    """The other tests compare the loops as users run them with slow references."""
    expected, stops = results(tmp_path, "python", NUMBA_DISABLE_JIT="1")
    # Rules stop most runs before their three passes over 135 rows, or halve steps.
    assert len(set(stops)) > 12
    assert min(stops) < 50
    found, stopped = results(tmp_path, "bounds", NUMBA_BOUNDSCHECK="1", NUMBA_OPT="0")
    assert stopped == stops
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)
