"""Certificates hold, and false ones do not."""

from dataclasses import replace

import numpy as np
import pytest
from random_problems import random_problem
from scipy import sparse

from sgdone.diagnose import separation
from sgdone.diagnose.separability import partition as splitting
from sgdone.diagnose.separability.least_squares import Direct, Iterative
from sgdone.diagnose.separability.partition import (
    Undecided,
    extend_weights,
    imbalance,
    refine_weights,
    separate_by_program,
    split,
)

X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]])
Y = np.array([0, 1, 0, 1, 1, 1])


def _mixed(rng, n=300):
    """Floats, quasi-completely separable in a direction along no axis."""
    Z = rng.standard_normal((n, 4))
    rare = np.arange(n) < 30
    Z[:, 0] = np.where(rare, np.abs(Z[:, 0]) + 0.01, 0.0)
    y = np.where(rare, True, rng.random(n) < 0.5)
    return Z @ np.linalg.qr(rng.standard_normal((4, 4)))[0], y, rare


def test_small_data_are_proved_in_whole_numbers():
    certificate = separation(X, Y).certificate
    assert certificate.exact
    assert certificate.check(X, Y).exact
    A = -np.where(Y == 1, 1, -1)[:, None] * np.column_stack([X, np.ones(6, dtype=int)])
    assert (A @ np.array(certificate.whole_direction)).tolist()[:4] == [0, 0, 0, 0]
    assert max((A @ np.array(certificate.whole_direction)).tolist()[4:]) < 0
    assert (A.T @ np.array(certificate.whole_weights) == 0).all()


@pytest.mark.parametrize(
    "change",
    [
        {"whole_direction": (1, 1, 0)},
        {"whole_direction": (-1, 0, 0)},
        {"whole_weights": (1, 1, 1, 1, 0, 0)},
        {"whole_weights": (0, 0, 0, 0, 0, 0)},
        {"separable_rows": np.array([False, False, False, False, True, False])},
        {"kind": "complete"},
        {"kind": "none"},
    ],
)
def test_a_false_exact_certificate_does_not_hold(change):
    certificate = separation(X, Y).certificate
    assert not replace(certificate, **change).check(X, Y)


def test_a_certificate_does_not_hold_for_other_data():
    certificate = separation(X, Y).certificate
    assert not certificate.check(X, 1 - Y)
    assert not certificate.check(X[:, ::-1], Y)
    with pytest.raises(ValueError, match="is for 6 rows and 2 features"):
        certificate.check(X[:5], Y[:5])


def test_floats_are_proved_to_a_stated_tolerance(rng):
    Z, y, rare = _mixed(rng, 12_000)
    shape = separation(Z, y)
    assert shape.kind == "quasi-complete"
    np.testing.assert_array_equal(shape.separable_rows, rare)
    certificate = shape.certificate
    assert not certificate.exact
    assert certificate.tolerance == 1e-9
    assert "to 1e-09" in str(certificate.check(Z, y))
    assert "holds to the tolerance 1e-09" in str(shape)
    for false in (
        {"coef": -certificate.coef},
        {"coef": certificate.coef + 1e-5},
        {"weights": certificate.weights * np.where(np.arange(y.size) == 40, 1.5, 1.0)},
        {"weights": -certificate.weights},
        {"separable_rows": np.arange(y.size) < 31},
    ):
        assert not replace(certificate, **false).check(Z, y), false


def test_weights_are_made_exact(rng):
    A = rng.standard_normal((200, 5))
    for algebra in (Direct(), Iterative()):
        rough = np.exp(0.1 * rng.standard_normal(200))
        assert imbalance(A, rough) > 1e-3
        exact, share = refine_weights(A, rough, algebra)
        assert (exact > 0).all()
        assert imbalance(A, exact) < 1e-12
        np.testing.assert_allclose(exact, rough * (1 - share), rtol=1e-3)


def test_weights_that_cannot_balance_are_refused():
    exact, share = refine_weights(np.array([[1.0], [2.0]]), np.ones(2), Direct())
    assert exact is None
    assert share.max() >= 1.0


def test_rows_outside_the_span_are_not_absorbed():
    A, q = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.ones(2)
    assert extend_weights(A, q, np.array([0.0, 1.0]), Direct()) is None
    assert extend_weights(A, q, np.array([1.0, 1.0]), Iterative()) is None


@pytest.mark.parametrize("algebra", [Direct(), Iterative()])
@pytest.mark.parametrize("thin", [False, True])
def test_newton_conjugate_gradients_and_the_linear_program_agree(rng, algebra, thin):
    for _ in range(20):
        B = rng.integers(-2, 3, size=(30, 4)) / 2
        B[:, 3] = -np.abs(B[:, 3]) * (rng.random(30) < 0.2)
        direction, weights = separate_by_program(B)
        part = split(sparse.csr_array(B) if thin and not algebra.direct else B, algebra)
        np.testing.assert_array_equal(part.separable, weights == 0)
        assert ((part.weights > 0) == ~part.separable).all()
        assert imbalance(B, part.weights) < 1e-10
        assert (B @ direction <= 1e-9).all()


@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_the_linear_program_takes_over_where_newton_fails(seed, monkeypatch):
    problem, y, fit_intercept = random_problem(seed)
    usual = separation(problem, y, fit_intercept=fit_intercept)

    def fail(B, algebra, start):
        raise Undecided("no proof was found")

    monkeypatch.setattr(splitting, "_by_hinge", fail)
    shape = separation(problem, y, fit_intercept=fit_intercept)
    np.testing.assert_array_equal(shape.separable_rows, usual.separable_rows)
    assert shape.certificate.check(problem, y)


def test_a_program_too_large_is_undecided():
    with pytest.raises(Undecided, match="too large for a linear program: 3,000 rows"):
        separate_by_program(np.ones((3000, 1001)))


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": np.array([1, 1, 1e-20, 1e-20])},
        {"weights": np.array([1, 1, 1e-9, 1e-9])},
        {"weights": np.array([1, 1, 2e-10, 2e-10])},
        {"weights": np.full(4, np.inf)},
        {"weights": np.ones(4), "tolerance": 1.0},
    ],
    ids=["vanishing", "tiny", "below the tolerance", "infinite", "lax"],
)
def test_no_weights_prove_overlap_where_there_is_none(changes):
    """The last two rows are separable."""
    X, y = np.array([[1, 1.0], [1, 1], [1, 0], [2.5, 1.7]]), np.array([1, 0, 1, 1])
    proof = separation(X, y, fit_intercept=False).certificate
    assert proof.check(X, y)
    false = {"kind": "none", "separable_rows": np.zeros(4, bool), "coef": np.zeros(2)}
    assert not replace(proof, **false, whole_direction=None, whole_weights=None, **changes).check(X, y)
    complete = {"kind": "complete", "separable_rows": np.ones(4, bool)}
    assert not replace(proof, **complete, whole_direction=(np.nan, np.nan), whole_weights=(0, 0, 0, 0)).check(X, y)
