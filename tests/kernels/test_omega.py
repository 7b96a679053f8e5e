"""Wright's omega of a real number: against SciPy's, and against its equation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import wrightomega

from sgdone.kernels.jit import compiled
from sgdone.kernels.softmax import omega
from tiers import examples

#: Where the start of the iteration changes, and where it is left out.
JOINTS = np.array([-40.0, -2.0, 1.0])


def make_omegas():
    @compiled(omega)
    def omegas(t, out):
        for i in range(t.size):
            out[i] = omega(t[i])

    return omegas


OMEGAS = make_omegas()


def omegas(t):
    t = np.atleast_1d(np.asarray(t, dtype=np.float64))
    out = np.empty_like(t)
    OMEGAS(t, out)
    return out


@pytest.mark.parametrize("reach", [1.0, 5.0, 50.0, 700.0])
def test_it_is_scipys(reach, rng):
    t = np.concatenate([np.linspace(-reach, reach, 20001), rng.uniform(-reach, reach, 20000)])
    np.testing.assert_allclose(omegas(t), wrightomega(t), rtol=1e-14)


def test_it_is_scipys_on_both_sides_of_every_joint():
    near = np.concatenate([np.nextafter(JOINTS, -np.inf), JOINTS, np.nextafter(JOINTS, np.inf)])
    np.testing.assert_allclose(omegas(near), wrightomega(near), rtol=1e-14)


@pytest.mark.parametrize("t", [1e3, 1e8, 1e15, 1e150])
def test_large_arguments(t):
    assert omegas(t)[0] == pytest.approx(t - math.log(t), rel=1e-5)
    assert omegas(t)[0] == pytest.approx(wrightomega(t).real, rel=1e-14)


def test_arguments_whose_exponential_is_no_number_but_0():
    assert np.array_equal(omegas([-746.0, -1e8, -1e300, -np.inf]), np.zeros(4))


@examples(100)
@given(w=st.floats(1e-15, 1e15))
def test_it_undoes_the_sum_with_the_logarithm(w):
    """An error in t moves w by the factor w/(1 + w)."""
    t = w + math.log(w)
    lost = 2.0**-52 * max(1.0, abs(t), abs(math.log(w))) / (1.0 + w)
    assert omegas(t)[0] == pytest.approx(w, rel=1e-14 + 2.0 * lost)


def test_plain_python_gives_the_same(rng):
    t = rng.uniform(-700.0, 700.0, 300)
    np.testing.assert_allclose([omega(float(x)) for x in t], omegas(t), rtol=1e-14)
