"""A constant prediction as the least that a fit must reach, and starts that are worse than it."""

import numpy as np
import pytest

from running import objective_of
from sgdone import LinearClassifier, LinearRegressor
from sgdone.bank.far_start import best_share
from sgdone.interfaces.stop_rule import Status
from sgdone.losses import Hinge, Huber, Logistic, Quantile, Squared
from sgdone.sums.system import best_constant
from tiers import fast_first

N_ROWS = 1000


@pytest.fixture(name="data", scope="module")
def two_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2 * N_ROWS, 5))
    y = (rng.random(2 * N_ROWS) < 1 / (1 + np.exp(-X @ [2.0, -1.0, 0.0, 0.5, 1.0]))).astype(int)
    return X[:N_ROWS], y[:N_ROWS], X[N_ROWS:], y[N_ROWS:]


# ---- the constant ----


@pytest.mark.parametrize(
    ("loss", "best"),
    [(Logistic(), np.log(3.0)), (Hinge(), 1.0)],
    ids=["logistic", "hinge"],
)
def test_of_two_classes(loss, best):
    """Three in four rows, by weight, are positive."""
    labels, weights = np.array([1.0, 1.0, -1.0]), np.array([1.0, 2.0, 1.0])
    assert best_constant(objective_of(loss, 2), labels, weights) == pytest.approx([best])
    assert best_constant(objective_of(loss, 2, fit_intercept=False), labels, weights) == [0.0]


def test_of_several_classes():
    labels = np.repeat([0.0, 1.0, 2.0], [1, 2, 4])
    found = best_constant(objective_of(Logistic(), 3), labels, np.ones(7))
    assert np.exp(found) / np.exp(found).sum() == pytest.approx(np.array([1, 2, 4]) / 7)
    assert best_constant(objective_of(Hinge(), 3), labels, np.ones(7)) == pytest.approx([-1.0, -1.0, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "best"), [(Squared(), 10.75), (Quantile(0.25), 1.0), (Huber(0.5), 2.0)])
def test_of_targets(loss, best):
    """Targets 0, 1, 2 and 40: their mean, a quarter, and what pulls alike on both sides."""
    labels = np.repeat([0.0, 1.0, 2.0, 40.0], 10)
    found = best_constant(objective_of(loss, None), labels, np.ones(40))
    assert abs(found[0] - best) <= 1.0


# ---- how much of a start is used ----


@pytest.mark.parametrize(("optimum", "share"), [(1.0, 1.0), (0.9, 1.0), (0.5, 0.5), (0.1, 0.125), (0.01, 0.0)], ids=str)
def test_a_start_is_shortened_until_it_fits(optimum, share):
    """The loss rises by 1 a share above the optimum, by 20 below it; the constant has the share 0."""
    noise = 1e-3 * np.random.default_rng(0).standard_normal(N_ROWS)
    found, reason = best_share(lambda s: max(s - optimum, 20.0 * (optimum - s)) + s * noise, np.ones(N_ROWS))
    assert found == pytest.approx(share)
    assert bool(reason) == (share < 1.0)


def test_noise_is_no_reason_to_change_a_start():
    noise = np.random.default_rng(0).standard_normal(N_ROWS)
    assert best_share(lambda s: (s - 0.45) ** 2 + 10.0 * s * noise, np.ones(N_ROWS))[0] == 1.0


# ---- fits ----


@pytest.mark.usefixtures("without_finish")
@pytest.mark.parametrize("factor", fast_first(1, [1e6, 1e3, 5.0, 3.0]))
def test_a_warm_start_from_other_units(factor, data):
    X, y, new, labels = data
    plain = LinearClassifier(random_state=0).fit(X, y)
    model = LinearClassifier(warm_start=True, random_state=0).fit(X / factor, y).fit(X, y)
    assert model.verdict_.status is Status.CONVERGED
    assert model.score(new, labels) > plain.score(new, labels) - 0.01
    assert model.verdict_.evidence["loss"] == pytest.approx(plain.verdict_.evidence["loss"], rel=0.02)
    said = "worse than a constant prediction and was not used" if factor > 100 else "was too large"
    assert said in str(model.verdict_)


def test_a_start_that_is_near_is_used(data):
    X, y, *_ = data
    model = LinearClassifier(warm_start=True, random_state=0).fit(X, y).fit(X, y)
    assert "start" not in str(model.verdict_)


@pytest.mark.usefixtures("without_finish")
def test_targets_with_a_start_from_far_away(data):
    X, *_ = data
    y = X @ [1.0, 2.0, 0.0, 0.0, -1.0] + np.random.default_rng(1).standard_normal(N_ROWS)
    model = LinearRegressor(random_state=0).fit(X, y, coef_init=np.full(5, 1e8))
    assert model.score(X, y) > 0.8
    assert "was not used" in str(model.verdict_)


def test_a_stream_whose_units_change(data):
    X, y, new, labels = data
    model = LinearClassifier(random_state=0)
    for first in range(0, N_ROWS, 200):
        model.partial_fit(X[first : first + 200], y[first : first + 200], classes=[0, 1])
    before = model.score(new, labels)
    for first in range(0, N_ROWS, 200):
        model.partial_fit(1000.0 * X[first : first + 200], y[first : first + 200])
        assert ("training started again" in str(model.verdict_)) == (first == 0)
    assert model.score(1000.0 * new, labels) > before - 0.02


def test_a_stream_whose_classes_come_in_turns_is_not_started_again(data):
    X, y, *_ = data
    order = np.argsort(y, kind="stable")
    model = LinearClassifier(random_state=0)
    for rows in np.split(order, 10):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert model.verdict_.step == N_ROWS


@pytest.mark.parametrize("chunk", [1, 5, 40])
def test_a_stream_of_noise_is_not_started_again(chunk):
    """Models of the first rows may be worse than a constant: starting again each time would learn nothing."""
    rng = np.random.default_rng(0)
    model = LinearClassifier(random_state=0)
    for _ in range(10):
        model.partial_fit(rng.standard_normal((chunk, 100)), rng.integers(0, 2, chunk), classes=[0, 1])
    assert model.verdict_.step == 10 * chunk


def test_a_fit_that_is_worse_than_a_constant_has_not_converged(data, monkeypatch):
    """Losses of the constant are set to 0: then no model is good enough."""
    monkeypatch.setattr("sgdone.bank.bank_state.BankState._losses_of_constant", lambda *_: np.zeros(N_ROWS))
    verdict = LinearClassifier(random_state=0, stop=10).fit(*data[:2]).verdict_
    assert verdict.status is Status.BUDGET_SPENT
    assert "above the 0 of a constant prediction" in str(verdict)


def test_targets_whose_squares_underflow_are_refused(data):
    X, *_ = data
    with pytest.raises(ValueError, match=r"y has no value above .*e-170: its squares underflow"):
        LinearRegressor().fit(X, 1e-170 * X[:, 0])
