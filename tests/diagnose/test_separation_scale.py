"""Many rows or features: constraint generation and conjugate gradients."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.diagnose import fast_check, separation
from sgdone.diagnose.separability import limit, partition, separation_diagnosis
from tiers import fast_first


def dense_problem(kind, n=20_000, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    rare = np.zeros(n, dtype=bool)
    if kind == "complete":
        return X, X @ w > 0.3, np.ones(n, dtype=bool)
    y = rng.random(n) < 1 / (1 + np.exp(-X @ w))
    if kind == "quasi-complete":
        rare = rng.random(n) < 1e-3
        X[:, :2] = np.where(rare[:, None], X[:, :2], 0.0)
        y = np.where(rare, X[:, 0] + 0.3 * X[:, 1] > 0, rng.random(n) < 1 / (1 + np.exp(-X[:, 2:] @ w[2:])))
        X = X @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return X, y, rare


def sparse_problem(kind, n=3000, d=300, entries=20, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, d, (n, entries))
    X = sparse.csr_array(
        (rng.exponential(size=n * entries), columns.ravel(), np.arange(0, n * entries + 1, entries)), (n, d)
    )
    X.sum_duplicates()
    scores = X @ rng.standard_normal(d)
    scores -= np.median(scores)
    if kind == "complete":
        return X, scores > 0, np.ones(n, dtype=bool)
    y = rng.random(n) < 1 / (1 + np.exp(-scores))
    if kind == "none":
        return X, y, np.zeros(n, dtype=bool)
    rare = np.arange(n) % 20 == 0
    extra = rng.standard_normal((n, 6)) * rare[:, None]
    y = np.where(rare, extra @ np.arange(1, 7) > 0, y)
    return sparse.csr_array(sparse.hstack([X, sparse.csr_array(extra)])), y, rare


@pytest.mark.parametrize("kind", ["none", "quasi-complete", "complete"])
def test_many_rows_are_settled_by_few(kind):
    X, y, rows = dense_problem(kind)
    shape = separation(X, y)
    assert shape.kind == kind
    np.testing.assert_array_equal(shape.separable_rows, rows)
    assert shape.certificate.check(X, y)
    assert shape.margins[rows].min(initial=1.0) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "quasi-complete", "complete"])
def test_conjugate_gradients_give_the_same_answer(kind, monkeypatch):
    X, y, rows = sparse_problem(kind)
    direct = separation(X, y)
    monkeypatch.setattr(partition, "NARROW", 50)
    shape = separation(X, y)
    assert shape.kind == direct.kind == kind
    np.testing.assert_array_equal(shape.separable_rows, rows)
    assert shape.certificate.check(X, y)


@pytest.mark.parametrize("kind", fast_first(1, ["quasi-complete", "complete"]))
def test_direction_and_finite_part_need_no_bases(kind, monkeypatch):
    X, y, _ = sparse_problem(kind, n=200, d=12, entries=4)
    direct = separation(X, y)
    assert direct.kind == kind
    wanted = direct.margin, direct.direction.coef, direct.finite_part.coef, direct.infimum, direct.infinite
    monkeypatch.setattr(limit, "WIDEST", 12)
    shape = separation(X, y)
    assert shape.margin == pytest.approx(wanted[0], rel=1e-5)
    np.testing.assert_allclose(shape.direction.coef, wanted[1], atol=1e-3)
    np.testing.assert_allclose(shape.finite_part.coef, wanted[2], atol=1e-8)
    assert shape.infimum == pytest.approx(wanted[3], abs=1e-12)
    np.testing.assert_array_equal(shape.infinite, wanted[4])
    with pytest.raises(ValueError, match="a basis of the subspace S would be a dense array"):
        _ = shape.subspace


def test_the_start_changes_nothing_but_the_time():
    X, y, rows = dense_problem("complete")
    shape = separation(X, y, start=(np.ones(20), 0.5))
    np.testing.assert_array_equal(shape.separable_rows, rows)
    assert shape.margin == pytest.approx(separation(X, y).margin, rel=1e-9)


def test_what_no_proof_is_found_for_is_undecided(monkeypatch):
    def give_up(design, start):
        raise separation_diagnosis.Undecided("it was too much")

    monkeypatch.setattr(separation_diagnosis, "partition", give_up)
    shape = separation([[1.0], [2.0]], [0, 1])
    assert (shape.kind, shape.reason, shape.certificate) == ("undecided", "it was too much", None)
    assert str(shape) == "Undecided: it was too much."
    with pytest.raises(ValueError, match="undecided: it was too much"):
        _ = shape.direction


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", ["none", "quasi-complete", "complete"])
def test_the_fast_check_never_contradicts(kind, make):
    X, y, rows = dense_problem(kind, d=10)
    labels = np.where(y, 1.0, -1.0)
    found = fast_check(make(X), labels, np.zeros(10), 0.0)
    assert found.kind in (kind, "undecided")
    if found.kind != "undecided":
        np.testing.assert_array_equal(found.separable_rows, rows)


def test_the_fast_check_proves_what_a_fit_shows():
    X, y, _ = dense_problem("complete")
    labels = np.where(y, 1.0, -1.0)
    shape = separation(X, y)
    found = fast_check(X, labels, shape.direction.coef, shape.direction.intercept)
    assert (found.kind, found.reason) == ("complete", "the fit classifies all rows without error")
    overlap, noisy, _ = dense_problem("none")
    found = fast_check(overlap, np.where(noisy, 1.0, -1.0), np.zeros(20))
    assert found.kind == "none"
    assert "prove that no row is separable" in found.reason


def test_the_fast_check_leaves_out_rows_of_weight_zero():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    found = fast_check(X, np.array([-1.0, 1.0, -1.0, 1.0]), [1.0], -3.5, sample_weight=np.array([1.0, 0.0, 1.0, 1.0]))
    assert found.kind == "complete"
    assert found.separable_rows.tolist() == [True, False, True, True]


def test_the_fast_check_gives_up_on_many_features(rng):
    X = rng.standard_normal((2000, 400))
    found = fast_check(X, np.where(rng.random(2000) < 0.5, 1.0, -1.0), np.zeros(400))
    assert found.kind == "undecided"
    assert "would take longer than the fit" in found.reason


def test_margins_that_are_rounding_prove_nothing():
    X = np.array([[0.1, 0.2, -0.3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
    labels = np.array([1.0, 1.0, 1.0, -1.0])
    found = fast_check(X, labels, [1.0, 1.0, 1.0], fit_intercept=False)
    assert found.kind == "complete"
    assert found.reason != "the fit classifies all rows without error"
