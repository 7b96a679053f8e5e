"""The disk cache is hit by a second process, and not after an edit in any loss or kernel file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sgdone
from tiers import fast_first

pytestmark = pytest.mark.slow

PROGRAM = """
import numpy as np
from sgdone import LinearClassifier, SGDClassifier, losses, solvers, stopping
from sgdone.kernels import loop, row_step, rows, storage, updates
X = np.random.default_rng(0).standard_normal((300, 3))
model = SGDClassifier("logistic", solver=solvers.Averaged(solvers.SGD(), 0), stop=1).fit(X, X[:, 0] > 0)
kernel = losses.Logistic().kernel
parts = storage.make_averaged, updates.make_explicit, kernel.value, kernel.slope
made = loop.make_loop(rows.DENSE, row_step.make_row_step, parts, "float64", ())
stats = made.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package that can be edited, with a cache of its own, compiled once."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        Path(sgdone.__file__).parent, folder / "sgdone", ignore=shutil.ignore_patterns("__pycache__", "*.nb*")
    )
    assert hits_and_misses(folder) == (0, 1)
    return folder


def hits_and_misses(folder):
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, cwd=folder
    )
    hits, misses = map(int, done.stdout.split())
    return hits, misses


def test_a_second_process_hits_the_cache(package):
    assert hits_and_misses(package) == (1, 0)


@pytest.mark.parametrize(
    "edited", fast_first(0, ["losses/logistic.py", "kernels/rows.py", "kernels/storage.py"], upto=1)
)
def test_an_edit_misses_the_cache(package, edited):
    file = package / "sgdone" / edited
    before = file.read_text()
    file.write_text(before + "\n# edited\n")
    try:
        assert hits_and_misses(package) == (0, 1)
    finally:
        file.write_text(before)


VARIANTS = """
import numpy as np
from scipy import sparse
from sgdone import SGDClassifier
X = np.random.default_rng(0).standard_normal((300, 3))
for matrix in (X, X.astype(np.float32), sparse.csr_array(X)):
    model = SGDClassifier("hinge", solver="sgd", stop=1, random_state=0).fit(matrix, X[:, 0] > 0)
    frozen = matrix.copy()
    (frozen.data if sparse.issparse(frozen) else frozen).setflags(write=False)
    model.fit(frozen, X[:, 0] > 0)
SGDClassifier("squared", solver="sgd", stop=1, random_state=0).fit(X, X[:, 0] > 0)
"""


def test_every_loop_has_an_index_file_of_its_own(tmp_path):
    """Two processes that compile different loops at once must not write to one index: it may mix them up."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", VARIANTS], env=environment, check=True, capture_output=True)
    indices = sorted(path.stem for path in tmp_path.rglob("*.nbi"))
    compiled = sorted(path.stem.rsplit(".", 1)[0] for path in tmp_path.rglob("*.nbc"))
    assert sum(name.startswith("loop") for name in indices) >= 4
    assert indices == compiled


CUSTOM = """
import numpy as np
import user_loss
from sgdone import CustomLoss, SGDRegressor
X = np.random.default_rng(0).standard_normal((300, 3))
loss = CustomLoss(user_loss.value, user_loss.slope, task="regression", smoothness=2.0)
print(SGDRegressor(loss, solver="sgd", stop=1, random_state=0).fit(X, X[:, 0]).coef_[0].item().hex())
"""
USER_LOSS = """
from user_helper import residual
K = {k}
def value(z, y):
    return 0.5 * K * residual(z, y) ** 2
def slope(z, y):
    return K * residual(z, y)
"""
HELPER = """
import numba
@numba.njit
def residual(z, y):
    return {factor} * (z - y)
"""


def test_a_custom_loss_is_compiled_again_if_what_it_uses_changes(tmp_path):
    """A constant beside the functions, and a helper in another file."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}

    def in_new_process(code, k=1.0, factor=1.0):
        (tmp_path / "user_loss.py").write_text(USER_LOSS.format(k=k))
        (tmp_path / "user_helper.py").write_text(HELPER.format(factor=factor))
        return subprocess.run(
            [sys.executable, "-B", "-c", code],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    first, other_constant, again = (in_new_process(CUSTOM, k=k) for k in (1.0, 0.5, 1.0))
    assert first == again != other_constant
    mark = "import user_loss; from sgdone.kernels.jit import fingerprint; print(fingerprint(user_loss.value))"
    assert in_new_process(mark, factor=1.0) != in_new_process(mark, factor=2.0)
