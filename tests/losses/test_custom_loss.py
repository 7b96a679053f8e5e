"""User-defined losses agree with built-in losses of the same formula, and support equality and copying."""

import copy
import math
import pickle
import textwrap

import numba
import numpy as np
import pytest
from numba.extending import register_jitable
from sklearn.base import clone

from sgdone.losses import CustomLoss, Hinge, Huber, Logistic, Quantile, Squared
from tiers import fast_first


def logistic_value(z, y):
    return max(-y * z, 0.0) + math.log1p(math.exp(-abs(z)))


def logistic_slope(z, y):
    e = math.exp(-abs(z))
    return -y * (e if y * z > 0 else 1.0) / (1.0 + e)


def logistic_curvature(z, y):
    e = math.exp(-abs(z))
    return e / (1.0 + e) ** 2


def squared_value(z, y):
    return 0.5 * (y - z) ** 2


def squared_slope(z, y):
    return z - y


def hinge_value(z, y):
    return max(0.0, 1.0 - y * z)


def hinge_slope(z, y):
    return -y if y * z <= 1.0 else 0


def huber_value(z, y):
    size = abs(z - y)
    return 0.5 * size**2 if size <= 1.35 else 1.35 * size - 0.5 * 1.35**2


def huber_slope(z, y):
    return min(max(z - y, -1.35), 1.35)


def median_value(z, y):
    return 0.5 * abs(z - y)


def median_slope(z, y):
    return 0.5 if z > y else -0.5


PAIRS = [
    (Logistic(), CustomLoss(logistic_value, logistic_slope)),
    (Squared(), CustomLoss(squared_value, squared_slope, task="both")),
    (Hinge(), CustomLoss(hinge_value, hinge_slope)),
    (Huber(), CustomLoss(huber_value, huber_slope, task="regression")),
    (Quantile(0.5), CustomLoss(median_value, median_slope, task="regression")),
]
pairs = pytest.mark.parametrize("pair", fast_first(1, PAIRS), ids=[builtin.name for builtin, _ in PAIRS])


def points(task):
    rng = np.random.default_rng(3)
    anywhere = 10 ** rng.uniform(-6, 6, 4000) * rng.choice([-1, 1], 4000)
    m = np.concatenate([anywhere, rng.uniform(-40, 40, 4000), rng.uniform(-800, 800, 1000)])
    q = np.concatenate([10 ** rng.uniform(-12, 12, 4000), 10 ** rng.uniform(-3, 3, 4000), np.full(1000, 1e12)])
    y = rng.choice([-1.0, 1.0], m.size) if task != "regression" else rng.normal(size=m.size)
    return y * m, y, q


@pairs
def test_implicit_agrees(pair):
    builtin, custom = pair
    z, y, q = points(builtin.task)
    expected, found = builtin.implicit(z, y, q), custom.implicit(z, y, q)
    # The slope sees z − q·s rounded, which blurs the place of a jump.
    rounding = 2.0**-52 * np.abs(z) / q if math.isinf(builtin.smoothness) else 0.0
    assert np.all(np.abs(found - expected) <= 1e-12 * np.abs(expected) + rounding + 1e-300)


@pairs
def test_value_slope_and_curvature_agree(pair):
    builtin, custom = pair
    z, y, _ = points(builtin.task)
    np.testing.assert_allclose(custom.value(z, y), builtin.value(z, y), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(custom.slope(z, y), builtin.slope(z, y), rtol=1e-13, atol=1e-300)
    near = np.abs(z) < 50
    found, expected = custom.curvature(z[near], y[near]), builtin.curvature(z[near], y[near])
    assert np.mean(np.abs(found - expected) < 1e-7) > 0.999  # a difference may straddle a kink


@pairs
def test_a_scale_of_zero_gives_the_slope(pair):
    builtin, custom = pair
    z, y, _ = points(builtin.task)
    np.testing.assert_array_equal(custom.implicit(z, y, 0.0), custom.slope(z, y))


@pytest.mark.slow
def test_an_infinite_slope_still_has_an_implicit_step():
    custom = CustomLoss(lambda z, y: math.exp(-y * z), lambda z, y: -y * math.exp(-y * z))
    z, q = np.array([-1e6, -800.0, -300.0, 5.0]), np.array([1e-12, 1e12, 1e-6, 3.0])
    w = -q * custom.implicit(z, 1.0, q)
    np.testing.assert_allclose(w + np.log(w), np.log(q) - z, rtol=1e-13)


def test_a_given_curvature_is_used():
    exact = CustomLoss(logistic_value, logistic_slope, curvature=logistic_curvature)
    z = np.linspace(-5, 5, 11)
    np.testing.assert_array_equal(exact.curvature(z, 1.0), Logistic().curvature(z, 1.0))
    assert "curvature=logistic_curvature" in repr(exact)


def test_it_is_described_by_its_arguments():
    options = {"name": "mine", "task": "regression", "smoothness": 1.0, "lipschitz": 9.0}
    custom = CustomLoss(squared_value, squared_slope, **options)
    assert (custom.name, custom.task, custom.smoothness, custom.lipschitz) == ("mine", "regression", 1.0, 9.0)
    assert not custom.probabilistic
    assert not custom.quadratic
    assert custom.parameters.dtype == np.float64
    assert custom.parameters.shape == (0,)
    shown = ", ".join(f"{option}={content!r}" for option, content in options.items())
    assert repr(custom) == f"CustomLoss(squared_value, squared_slope, {shown})"
    assert eval(repr(custom)) == custom


def test_copies_are_equal_and_share_the_kernel():
    loss = CustomLoss(logistic_value, logistic_slope, name="mine")
    again = CustomLoss(logistic_value, logistic_slope, name="mine")
    for twin in (
        again,
        copy.copy(loss),
        copy.deepcopy(loss),
        pickle.loads(pickle.dumps(loss)),
        clone(loss, safe=False),
    ):
        assert twin == loss
        assert hash(twin) == hash(loss)
        assert twin.kernel is loss.kernel
    assert CustomLoss(logistic_value, logistic_slope, name="other").kernel is loss.kernel
    assert CustomLoss(hinge_value, hinge_slope, name="mine") != loss


@pytest.mark.parametrize("decorator", [numba.njit, register_jitable])
@pytest.mark.slow
def test_functions_already_known_to_numba(decorator):
    value, slope = decorator(lambda z, y: (z - y) ** 2), decorator(lambda z, y: 2.0 * (z - y))
    assert CustomLoss(value, slope, task="regression").implicit(3.0, 1.0, 0.5) == pytest.approx(2.0)


@pytest.mark.slow
def test_closures_keep_their_own_constants():
    def scaled(c):
        return CustomLoss(lambda z, y: 0.5 * c * (z - y) ** 2, lambda z, y: c * (z - y), task="both")

    assert [scaled(c).slope(1.0, 0.0) for c in (1.0, 2.0, 3.0)] == [1.0, 2.0, 3.0]


def test_an_edit_of_the_users_file_is_seen(tmp_path, monkeypatch):
    def load(factor):
        source = f"""
            def value(z, y):
                return 0.5 * FACTOR * (z - y) ** 2
            def slope(z, y):
                return FACTOR * (z - y)
            FACTOR = {factor}
            """
        (tmp_path / "users_module.py").write_text(textwrap.dedent(source))
        module = type(math)("users_module")
        exec(compile(textwrap.dedent(source), str(tmp_path / "users_module.py"), "exec"), module.__dict__)
        monkeypatch.setitem(__import__("sys").modules, "users_module", module)
        return CustomLoss(module.value, module.slope, task="both")

    assert [load(factor).slope(1.0, 0.0) for factor in (1.5, 2.5)] == [1.5, 2.5]
