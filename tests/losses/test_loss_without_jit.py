"""The same numbers with NUMBA_DISABLE_JIT=1, where math raises what compiled code returns."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import math, sys
import numpy as np
from sgdone.losses import *

def value(z, y):
    return math.log(math.cosh(z - y))

def slope(z, y):
    return math.tanh(z - y)

losses = [Logistic(), Hinge(), SquaredHinge(), Squared(), Exponential()]
losses += [Huber(), EpsilonInsensitive(), Quantile(), CustomLoss(value, slope, task="regression")]
z = np.array([-1e6, -720.0, -3.0, -1.0, -0.1, 0.0, 0.5, 1.0, 2.5, 720.0, 1e6])[:, None]
q = np.array([0.0, 1e-12, 0.3, 2.0, 50.0, 1e12])[:, None, None]
y = np.array([-1.0, 1.0])
for loss in losses:
    z_ = z[1:-1] if loss.name == "custom" else z
    if loss.name != "custom":  # whose cosh overflows, and whose curvature is a difference
        np.savetxt(sys.stdout, loss.value(z_, y).ravel())
        np.savetxt(sys.stdout, loss.curvature(z_, y).ravel())
    np.savetxt(sys.stdout, loss.slope(z_, y).ravel())
    np.savetxt(sys.stdout, loss.implicit(z_, y, q).ravel())
"""


def numbers(**environment):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not run.stderr, run.stderr
    return np.array(run.stdout.split(), dtype=float)


@pytest.fixture(scope="module")
def both():
    return numbers(NUMBA_DISABLE_JIT="1"), numbers(NUMBA_DISABLE_JIT="0")


def test_plain_python_agrees_with_compiled(both):
    plain, compiled = both
    assert plain.size > 1500
    np.testing.assert_allclose(plain, compiled, rtol=1e-13, atol=1e-300)
