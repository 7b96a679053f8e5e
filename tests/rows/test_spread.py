"""Columns of very different scales are found in every storage format."""

import numpy as np
import pytest
from scipy import sparse

from sgdone import SGDClassifier, SGDRegressor
from sgdone.rows.rows import Rows
from sgdone.rows.spread import Spread
from tiers import fast_first

FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])


def spread_of(X):
    return Spread.of(Rows.of(X), np.arange(X.shape[0], dtype=np.uint64))


@FORMS
@pytest.mark.parametrize(("factor", "kind"), [(1e6, "large"), (1e-6, "small")])
def test_one_column_of_another_size_is_named(form, factor, kind, rng):
    X = rng.standard_normal((200, 5)) * (rng.random((200, 5)) < 0.5)
    X[:, 3] *= factor
    words = spread_of(form(X)).in_words()
    assert words.startswith("column 3 is up to ")
    assert words.endswith(f"times as {kind} as the median column")


@FORMS
def test_columns_alike_are_no_spread(form, rng):
    assert spread_of(form(rng.standard_normal((200, 5)) * [1, 2, 30, 0.1, 0])) is None
    assert spread_of(form(np.zeros((3, 2)))) is None
    assert spread_of(form(np.array([[1e9]]))) is None


def test_rare_words_are_not_small(rng):
    X = sparse.random_array((500, 300), density=0.01, rng=rng, format="csr")
    assert spread_of(X) is None


def test_many_columns_are_counted_and_values_beyond_squares_measured():
    X = np.tile(np.r_[np.ones(20), np.full(5, 1e200), 1e-200], (4, 1))
    words = spread_of(X).in_words([f"f{k}" for k in range(26)])
    assert "f20, f21, f22 and 2 more are up to 1.0e+200 times as large" in words
    assert "f25 is up to 1.0e+200 times as small" in words


@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array], upto=1))
@pytest.mark.parametrize("solver", fast_first(1, ["asgd", "aisgd", "sgd2", "svrg"]))
def test_a_column_scaled_by_a_million_does_not_pass_for_convergence(form, solver, rng):
    X = rng.standard_normal((2000, 4))
    y = X @ [1.0, -2.0, 1.5, 0.5] > 0
    fitted = SGDClassifier(solver=solver, random_state=0).fit(form(X), y)
    assert "Standardise" not in fitted.verdict_.advice
    X[:, 2] *= 1e6
    verdict = SGDClassifier(solver=solver, random_state=0).fit(form(X), y).verdict_
    assert verdict.status in ("stalled", "budget spent", "diverged")
    assert "olumn 2 is up to" in verdict.advice
    assert "tandardise" in verdict.advice


@pytest.mark.slow
def test_the_verdict_calls_columns_by_their_names(rng):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rng.standard_normal((1000, 3)) * [1, 1e6, 1], columns=["age", "income", "rooms"])
    verdict = SGDRegressor(solver="asgd", random_state=0).fit(X, X["age"]).verdict_
    assert verdict.advice.startswith("Income is up to") or "income is up to" in verdict.advice


@pytest.mark.slow
def test_divergence_does_not_advise_what_was_done(rng):
    X = rng.standard_normal((500, 3))
    y = X[:, 0] > 0
    with pytest.warns(Warning, match="step"):
        verdict = SGDClassifier("squared_hinge", solver="sgd", step=1e6, random_state=0).fit(X, y).verdict_
    assert verdict.status == "diverged"
    assert 'step="auto"' in verdict.advice
    with pytest.warns(Warning, match="scale"):
        verdict = SGDClassifier("exponential", solver="sgd2", alpha=1e-9, random_state=0).fit(1e3 * X, y).verdict_
    assert verdict.status == "diverged"
    assert 'step="auto"' not in verdict.advice


def test_columns_near_the_largest_float_do_not_warn():
    rows = Rows.of(np.array([[1e308, 1.0], [-1e308, 2.0]]))
    found = Spread.of(rows, np.arange(2, dtype=np.uint64))
    assert found.large.tolist() == [0]
