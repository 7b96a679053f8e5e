"""Exact fits depend on the rows alone: not on ``random_state``, and not on the order of the rows beyond rounding."""

import numpy as np
import pytest
from scipy import sparse

from sgdone import LinearClassifier, LinearRegressor
from sgdone.newton import counted_work
from sgdone.stopping import MaxSeconds


def words(n_rows, n_words, seed=0):
    """Sparse counts, and labels that depend on some words."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.poisson(2.0 / np.arange(1, n_words + 1) ** 0.7, (n_rows, n_words)).astype(float))
    used = min(n_words, 60)
    return X, X[:, :used] @ rng.standard_normal(used) + rng.logistic(size=n_rows)


def problem(kind):
    """An estimator, features and labels of a kind for which each path of penalties is followed."""
    if kind == "leave-one-out":
        X, scores = words(300, 10)
        return LinearClassifier, X.toarray(), (scores > np.median(scores)).astype(int)
    if kind == "folds":
        X, scores = words(300, 400)
        return LinearClassifier, X, (scores > np.median(scores)).astype(int)
    if kind == "least squares by folds":
        return LinearRegressor, *words(300, 400)
    X, scores = words(20_000, 50)
    return LinearClassifier, X.toarray(), (scores > np.median(scores)).astype(int)


def use_folds(monkeypatch):
    """Let few rows and columns be too many for factors."""
    monkeypatch.setattr(counted_work, "factorises", lambda *_: False)


@pytest.mark.parametrize("kind", ["leave-one-out", "folds", "least squares by folds", "a tenth"])
def test_neither_the_penalty_nor_the_optimum_depends_on_the_seed_or_the_order(kind, monkeypatch):
    make, X, y = problem(kind)
    if kind.endswith("folds"):
        use_folds(monkeypatch)
    first, second = (make(random_state=seed).fit(X, y) for seed in (0, 1))
    assert first.verdict_.rule == "Decrement"
    np.testing.assert_array_equal(first.coef_, second.coef_)
    order = np.random.default_rng(2).permutation(len(y))
    shuffled = make(random_state=2).fit(X[order], y[order])
    assert shuffled.alpha_ == pytest.approx(first.alpha_, rel=1e-9)
    spread = np.abs(first.coef_).max()
    np.testing.assert_allclose(shuffled.coef_, first.coef_, atol=1e-3 * spread)


def test_evidence_has_the_phases_and_the_penalties_that_were_tried():
    make, X, y = problem("leave-one-out")
    model = make(random_state=0).fit(X, y)
    evidence = model.verdict_.evidence
    (phase,) = evidence["phases"]
    assert (phase["phase"], phase["status"], phase["used"]) == ("Newton's method", "converged", True)
    assert phase["passes"] == model.verdict_.passes == model.trace_[-1].passes
    assert phase["trace_rows"] == [0, len(model.trace_)]
    assert evidence["alpha_chosen_by"] == "leave-one-out"
    alphas, losses = np.transpose(evidence["alphas_tried"])
    assert alphas[np.argmin(losses)] == pytest.approx(model.alpha_)
    assert np.all(np.diff(alphas) > 0)
    assert model.verdict_.alpha_text.startswith("the least leave-one-out loss of ")


def test_evidence_of_the_bank_names_its_penalties():
    make, X, y = problem("leave-one-out")
    model = make("hinge", random_state=0).fit(X, y)
    evidence = model.verdict_.evidence
    assert [phase["phase"] for phase in evidence["phases"]] == ["the default fit"]
    assert evidence["alpha_chosen_by"] in ("validation", "training")
    assert any(alpha == pytest.approx(model.alpha_) for alpha, _ in evidence["alphas_tried"])


def test_a_phase_that_is_given_up_is_in_the_evidence_and_in_the_trace(monkeypatch):
    make, X, y = problem("folds")
    use_folds(monkeypatch)
    monkeypatch.setattr("sgdone.newton.exact_path._PATIENCE", 0.01)
    model = make(random_state=0).fit(X, y)
    first, second = model.verdict_.evidence["phases"]
    assert (first["phase"], first["status"], first["used"]) == ("Newton's method", "stalled", False)
    assert (second["phase"], second["used"]) == ("the default fit", True)
    begin, end = first["trace_rows"]
    assert begin == 0 < end == second["trace_rows"][0] < len(model.trace_)
    assert first["passes"] + second["passes"] == pytest.approx(model.verdict_.passes)
    assert "Newton's method" in model.verdict_.phases_text
    assert "not used" in model.verdict_.phases_text


def test_a_fit_that_begins_on_a_tenth_can_be_ended_at_once():
    make, X, y = problem("a tenth")
    model = make(stop=MaxSeconds(1e-9), random_state=0).fit(X, y)
    assert model.verdict_.status == "budget spent"
    assert np.isfinite(model.alpha_)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e80])
def test_folds_of_least_squares_do_not_depend_on_the_unit_of_the_targets(unit, monkeypatch):
    make, X, y = problem("least squares by folds")
    use_folds(monkeypatch)
    model, scaled = make(random_state=0).fit(X, y), make(random_state=0).fit(X, unit * y)
    assert (scaled.verdict_.rule, scaled.alpha_) == ("Decrement", pytest.approx(model.alpha_))
    np.testing.assert_allclose(scaled.coef_ / unit, model.coef_, atol=1e-5 * np.abs(model.coef_).max())


def test_sparse_columns_far_from_0_are_not_taken_for_useless():
    """At large penalties the loss falls little at first: the search must not end there."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5)) + 50.0
    y = (X - 50.0).sum(axis=1) + rng.logistic(size=2000) > 0
    dense, rows = (LinearClassifier(random_state=0).fit(form(X), y) for form in (np.asarray, sparse.csr_array))
    assert rows.verdict_.evidence["loss"] == pytest.approx(dense.verdict_.evidence["loss"], rel=0.01)
