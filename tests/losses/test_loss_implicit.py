"""The implicit step s = slope(z − q·s), certified in exact-enough arithmetic over the whole promised range.

The function s − slope(z − q·s) of s increases, so a change of its sign within s(1 ± 1e-12) is a proof.
Four hundred digits tell z from z − 1e-312.
"""

import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

import sgdone.losses.logistic as logistic_module
from sgdone.losses import (
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Squared,
    SquaredHinge,
)

mpf = mpmath.mpf
RELATIVE, FLOOR = mpf("1e-12"), mpf("1e-300")


def sign(x):
    return (x > 0) - (x < 0)


EXACT_SLOPES = {
    Logistic(): lambda z, y: -y / (1 + mpmath.exp(y * z)),
    Exponential(): lambda z, y: -y * mpmath.exp(-y * z),
    Hinge(): lambda z, y: -y if y * z <= 1 else mpf(0),
    SquaredHinge(): lambda z, y: -y * max(mpf(0), 1 - y * z),
    Squared(): lambda z, y: z - y,
    Huber(): lambda z, y: max(-mpf(1.35), min(mpf(1.35), z - y)),
    EpsilonInsensitive(): lambda z, y: mpf(sign(z - y)) if abs(z - y) > mpf(0.1) else mpf(0),
    Quantile(0.8): lambda z, y: -mpf(0.8) if y > z else 1 - mpf(0.8),
}


def margins_and_scales(rng):
    """Margins (or residuals) in ±1e6 and q in [1e-12, 1e12]: anywhere, moderate, near balance, extreme."""
    size = 10 ** rng.uniform(-9, 6, 1000) * rng.choice([-1, 1], 1000)
    anywhere = size, 10 ** rng.uniform(-12, 12, 1000)
    moderate = rng.uniform(-40, 40, 700), 10 ** rng.uniform(-3, 3, 700)
    underflow = rng.uniform(-800, 800, 300), 10 ** rng.uniform(-12, 12, 300)
    q = 10 ** rng.uniform(-1, 6, 500)
    balance = -q * rng.uniform(0.4, 1.1, 500), q
    corners = np.meshgrid([-1e6, -800, -710, -1, -1e-300, 0, 0.5, 1, 690, 745, 1e6], [1e-12, 1e-3, 1, 4, 16, 1e3, 1e12])
    groups = [anywhere, moderate, underflow, balance, tuple(c.ravel() for c in corners)]
    m, q = (np.concatenate(column) for column in zip(*groups, strict=True))
    return np.clip(m, -1e6, 1e6), q


def points(loss, seed=0):
    rng = np.random.default_rng(seed)
    m, q = margins_and_scales(rng)
    if loss.task == "classification":
        y = rng.choice([-1.0, 1.0], m.size)
        return y * m, y, q
    y = rng.normal(0, 3, m.size)
    return y + m, y, q


@pytest.mark.parametrize("loss", EXACT_SLOPES, ids=repr)
def test_implicit_is_right_to_twelve_digits(loss):
    slope = EXACT_SLOPES[loss]
    z, y, q = points(loss)
    assert z.size >= 2500
    found = loss.implicit(z, y, q)
    # At the tube's wall the residual's own rounding is all there is to know the excess by.
    wall = mpf(2) ** -52 * mpf(loss.epsilon) if isinstance(loss, EpsilonInsensitive) else mpf(0)
    wrong = []
    with mpmath.workdps(400):
        for row in zip(z, y, q, found, strict=True):
            z_, y_, q_, s = map(mpf, row)
            slack = RELATIVE * abs(s) + FLOOR + wall / q_
            low, high = s - slack, s + slack
            if not low <= slope(z_ - q_ * low, y_) or not high >= slope(z_ - q_ * high, y_):
                wrong.append(row)
    assert not wrong


def test_logistic_against_bisection():
    z, y, q = (column[::40] for column in points(Logistic(), seed=1))
    found = -y * Logistic().implicit(z, y, q)
    with mpmath.workdps(50):
        for m, q_, r in zip(y * z, q, found, strict=True):
            m, q_ = mpf(m), mpf(q_)
            low, high = mpmath.log(FLOOR) * 3000, mpf(0)
            for _ in range(150):
                middle = (low + high) / 2
                x = mpmath.exp(middle)
                if x * (1 + mpmath.exp(m + q_ * x)) < 1:
                    low = middle
                else:
                    high = middle
            assert abs(mpf(r) - x) <= RELATIVE * x + FLOOR


def test_logistic_needs_few_exponentials(monkeypatch):
    calls = []

    def counted(x):
        calls.append(x)
        return math.exp(x)

    monkeypatch.setattr(logistic_module, "math", SimpleNamespace(exp=counted, log=math.log))
    rng = np.random.default_rng(5)
    each = []
    for m, q in [
        *zip(rng.normal(0, 3, 2000), 10 ** rng.uniform(-2, 1, 2000), strict=True),
        *zip(*margins_and_scales(rng), strict=True),
    ]:
        calls.clear()
        logistic_module.implicit(float(m), 1.0, float(q), np.empty(0))
        each.append(len(calls))
    assert np.mean(each[:2000]) < 2.0
    assert max(each[:2000]) <= 2
    assert max(each) <= 4


def test_exponential_against_lambert():
    z, y, q = (column[::5] for column in points(Exponential(), seed=1))
    found = -y * Exponential().implicit(z, y, q)
    with mpmath.workdps(50):
        for m, q_, r in zip(y * z, q, found, strict=True):
            x = mpmath.lambertw(mpf(q_) * mpmath.exp(-mpf(m))).real / mpf(q_)
            assert abs(mpf(r) - x) <= RELATIVE * x + FLOOR


def test_a_scale_of_zero_gives_the_slope(loss, labels):
    z = np.array([-1e6, -700.0, -1.3, -1.0, 0.0, 0.1, 1.0, 1.7, 700.0, 1e6])[:, None]
    np.testing.assert_allclose(loss.implicit(z, labels, 0.0), loss.slope(z, labels), rtol=1e-15)


def test_implicit_step_shrinks_with_its_scale_and_never_changes_sign(loss, labels):
    z = np.linspace(-8.1, 8.3, 60)[:, None, None]
    q = np.logspace(-6, 6, 49)
    s = loss.implicit(z, labels[:, None], q)
    explicit = loss.slope(z, labels[:, None])
    assert np.all(s * np.sign(explicit) >= 0.0)
    if not loss.convex:
        pytest.skip("from where the loss bends down, a step goes to steeper places")
    assert np.all(np.abs(s) <= np.abs(explicit) * (1 + 1e-14))
    assert np.all(np.diff(np.abs(s), axis=-1) <= 1e-13 * np.abs(explicit))
