"""The model that a fit returns, its exact intercept, and its loss."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax

from running import objective_of
from sgdone import LinearClassifier
from sgdone.bank import returned_model
from sgdone.bank.bank_state import BankState
from sgdone.bank.evaluation import CANDIDATES
from sgdone.bank.returned_model import better_of_mean_and_leader, evaluated, intercept_shift, loss_of
from sgdone.interfaces.objective import Model
from sgdone.kernels.bank import NO_FOLD
from sgdone.losses import Hinge, Logistic, Squared
from sgdone.rows import ArraySource
from sgdone.rows.rows import Block
from sgdone.rows.validation_rows import ValidationRows
from tiers import fast_first

#: The bank is tested here: large data are left to it.
pytestmark = pytest.mark.usefixtures("without_finish")

N_ROWS = 400


@pytest.fixture(name="trained")
def trained_on_folds(rng):
    """A state with five folds after one pass, its block and its evaluation."""
    X = rng.standard_normal((N_ROWS, 4))
    labels = np.where(X[:, 0] + rng.logistic(size=N_ROWS) > 0, 1.0, -1.0)
    block = next(ArraySource(X, labels, shuffle=False).blocks(np.random.default_rng(0)))
    used = block.all_used()
    state = BankState.initial(block, used, objective_of(Logistic()), None, CANDIDATES, seen=used, ordered=False)
    state.run.n_rows = N_ROWS
    state.set_alphas(N_ROWS)
    state.hold_out(ValidationRows.drawn(block, used, np.random.default_rng(0)))
    state.models.advance(state.scaled(block), state.run.validation.of_row, 0, N_ROWS)
    return state, block, state.evaluate(block)


def validation_losses(state, block, candidates):
    """Losses of the mean of candidates on the validation rows, by models that were not trained on these."""
    rows, of_row = state.validation_rows(block)
    return state.losses_by_fold(rows, of_row, lambda fold: state.models.mean_of(candidates, fold))


def test_the_leader_is_returned_if_the_mean_of_the_candidates_is_worse(trained):
    """All candidates are made to look alike; the mean then contains the worst ones."""
    state, block, evaluation = trained
    noise = np.random.default_rng(0).standard_normal((N_ROWS, 5))
    noise -= noise.mean(axis=0)
    alike = replace(evaluation, losses=evaluation.losses[:, [evaluation.lead]] + noise)
    assert len(alike.tied) == 5
    lead = [alike.candidates[alike.lead]]
    of_mean, of_lead = (validation_losses(state, block, chosen).mean() for chosen in (alike.tied, lead))
    assert of_lead < of_mean
    assert better_of_mean_and_leader(state, alike, block) == lead


def test_the_loss_is_that_of_the_shifted_intercept(trained):
    state, block, evaluation = trained
    lead = [evaluation.candidates[evaluation.lead]]
    plain, far = (evaluated(state, lead, np.array([shift]), evaluation, block).losses.mean() for shift in (0.0, 3.0))
    assert far > plain + 0.5


def test_the_loss_of_all_rows_is_between_that_of_the_folds_and_that_of_training(trained):
    state, block, evaluation = trained
    last = [evaluation.candidates[-1]]
    rows, of_row = state.validation_rows(block)
    of_training = state.losses_of(state.models.mean_of(last), rows, np.full_like(of_row, NO_FOLD)).mean()
    own = evaluated(state, last, np.zeros(1), evaluation, block).losses.mean()
    assert of_training < own < validation_losses(state, block, last).mean()


def test_the_error_is_wider_for_copies_and_for_many_coefficients(trained):
    state, _, evaluation = trained
    few = loss_of(state, evaluation).loss_error
    ranks = np.argsort(np.argsort(evaluation.losses[:, evaluation.lead]))
    state.run.validation = replace(state.run.validation, groups=ranks // 4)
    assert loss_of(state, evaluation).loss_error > 1.9 * few
    state.run.validation = replace(state.run.validation, groups=np.empty(0, np.intp))
    state.units.scale = np.ones(400)
    assert loss_of(state, evaluation).loss_error == pytest.approx(few * np.sqrt((1 + 3.0) / (1 + 3.0 / 100)))


def test_rare_positives_have_the_loss_of_their_exact_intercept():
    """The verdict's loss agrees with that of new rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 4))
    y = (rng.random(60_000) < 1 / (1 + np.exp(5.0 - X[:, 0]))).astype(int)
    model = LinearClassifier(random_state=0).fit(X[:30_000], y[:30_000])
    found = -model.predict_log_proba(X[30_000:])[np.arange(30_000), y[30_000:]].mean()
    evidence = model.verdict_.evidence
    assert abs(evidence["loss"] - found) < 4 * evidence["standard_error"]


def test_the_verdict_reports_the_model_with_its_last_intercept(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 4))
    y = (X[:, 0] + rng.logistic(size=N_ROWS) > 0).astype(int)
    plain = LinearClassifier(random_state=0).fit(X, y).verdict_.evidence["loss"]
    monkeypatch.setattr("sgdone.bank.bank.intercept_shift", lambda *_: np.array([3.0]))
    assert LinearClassifier(random_state=0).fit(X, y).verdict_.evidence["loss"] > plain + 0.5


ALL = 10**9


def balanced_intercept(objective, coef, before, block, most_rows=ALL, seed=0):
    """The intercept found for some coefficients."""
    return before + intercept_shift(objective, Model(coef, before), block, most_rows, np.random.default_rng(seed))


def block_of(X, labels, weights=None):
    return next(ArraySource(X, labels, weights).blocks(np.random.default_rng(0)))


@pytest.fixture(name="X")
def rows(rng):
    return rng.standard_normal((300, 4)) * (rng.random((300, 4)) < 0.5)


def weights_of(rng, kind):
    return {"none": None, "some": rng.integers(0, 3, 300).astype(float)}[kind]


weighted = pytest.mark.parametrize("kind", ["none", "some"])
in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]))


@weighted
@in_both_forms
@pytest.mark.parametrize("share", [0.01, 0.4])
def test_probabilities_of_two_classes_average_to_the_frequency(share, form, kind, X, rng):
    labels = np.where(rng.random(300) < share, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    weights, coef = weights_of(rng, kind), rng.standard_normal((1, 4))
    if weights is not None:
        weights[:2] = 1.0
    found = balanced_intercept(objective_of(Logistic(), 2), coef, np.array([3.0]), block_of(form(X), labels, weights))
    chances = expit(X @ coef[0] + found[0])
    assert np.average(chances, weights=weights) == pytest.approx(np.average(labels > 0, weights=weights), rel=1e-9)


@weighted
@in_both_forms
def test_probabilities_of_classes_average_to_the_frequencies(form, kind, X, rng):
    labels = np.minimum(rng.integers(0, 40, 300), 4).astype(float)
    weights, coef = weights_of(rng, kind), 3.0 * rng.standard_normal((5, 4))
    objective, block = objective_of(Logistic(), 5), block_of(form(X), labels, weights)
    assert objective.predicts == "softmax"
    found = balanced_intercept(objective, coef, rng.standard_normal(5), block)
    chances = np.average(softmax(X @ coef.T + found, axis=1), axis=0, weights=weights)
    shares = [np.average(labels == k, weights=weights) for k in range(5)]
    np.testing.assert_allclose(chances, shares, rtol=1e-8)
    np.testing.assert_allclose(balanced_intercept(objective, coef, found, block), found, atol=1e-8)


@weighted
def test_residuals_cancel(kind, X, rng):
    labels, weights = rng.standard_normal(300) + 7.0, weights_of(rng, kind)
    coef = rng.standard_normal((1, 4))
    found = balanced_intercept(objective_of(Squared(), None), coef, np.zeros(1), block_of(X, labels, weights))
    assert np.average(labels - X @ coef[0] - found[0], weights=weights) == pytest.approx(0.0, abs=1e-12)


def test_a_class_without_rows_keeps_its_intercept(X, rng):
    """A frequency of 0 is at −∞; the others share the rest."""
    labels = rng.integers(0, 2, 300).astype(float)
    found = balanced_intercept(objective_of(Logistic(), 3), np.zeros((3, 4)), np.zeros(3), block_of(X, labels))
    chances = softmax(found)
    assert np.all(np.isfinite(found))
    assert chances[0] / chances[1] == pytest.approx((labels == 0).sum() / (labels == 1).sum(), rel=0.2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separated_rows_change_nothing(n_classes, rng):
    """Where every probability is 0 or 1 the intercept does not matter, and there is no slope to follow."""
    numbers = rng.integers(0, n_classes, 300)
    X = np.eye(n_classes)[numbers] * 100.0
    coef = np.eye(n_classes) if n_classes > 2 else np.array([[-1.0, 1.0]])
    labels = 2.0 * numbers - 1.0 if n_classes == 2 else numbers.astype(float)
    before = np.zeros(len(coef))
    found = balanced_intercept(objective_of(Logistic(), n_classes), coef, before, block_of(X, labels))
    assert np.array_equal(found, before)


def test_huge_scores_stay_finite(X, rng):
    labels = np.where(rng.random(300) < 0.3, 1.0, -1.0)
    found = balanced_intercept(objective_of(Logistic(), 2), np.full((1, 4), 1e6), np.zeros(1), block_of(X, labels))
    assert np.all(np.isfinite(found))


def test_no_more_rows_are_used_than_were_read(rng, monkeypatch):
    """One row in ten: frequencies are estimated from these, whatever the order of the rows."""
    used_rows = []
    weights_of = Block.weights_of
    monkeypatch.setattr(
        Block, "weights_of", lambda block, rows: (used_rows.append(rows.size), weights_of(block, rows))[1]
    )
    for labels in (np.where(rng.random(10_000) < 0.5, 1.0, -1.0), np.where(np.arange(10_000) % 2, 1.0, -1.0)):
        for weights in (None, (np.arange(10_000) % 5 > 0).astype(float)):
            block = block_of(np.zeros((10_000, 1)), labels, weights)
            found = balanced_intercept(objective_of(Logistic(), 2), np.zeros((1, 1)), np.ones(1), block, 1000)
            assert expit(found[0]) == pytest.approx(0.5, abs=0.06)
    assert used_rows == [1000] * 4


def test_the_sample_of_rows_depends_on_the_generator_only(rng):
    X, labels = rng.standard_normal((5000, 1)), np.where(rng.random(5000) < 0.3, 1.0, -1.0)
    first, again, other = (
        balanced_intercept(objective_of(Logistic()), np.ones((1, 1)), np.zeros(1), block_of(X, labels), 500, seed)
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_a_class_without_rows_keeps_its_mean_probability(rng):
    """The other classes share the rest."""
    scores = np.array([0.0, 0.5, -8.0]) + rng.standard_normal((2000, 3))
    labels = rng.integers(0, 2, 2000).astype(float)
    objective = objective_of(Logistic(), 3)
    found = balanced_intercept(objective, np.eye(3), np.zeros(3), block_of(scores, labels))
    before, after = (softmax(scores + shift, axis=1).mean(axis=0) for shift in (np.zeros(3), found))
    assert after[2] == pytest.approx(before[2], rel=0.5)
    assert after[1] / after[0] == pytest.approx((labels == 1).sum() / (labels == 0).sum(), rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@in_both_forms
def test_rows_that_were_never_read_may_contain_anything(bad, form, X, rng):
    labels, coef = np.where(rng.random(300) < 0.3, 1.0, -1.0), rng.standard_normal((1, 4))
    expected = balanced_intercept(objective_of(Logistic(), 2), coef, np.zeros(1), block_of(form(X[1:]), labels[1:]))
    X[0] = bad
    with np.errstate(invalid="ignore"):
        found = balanced_intercept(objective_of(Logistic(), 2), coef, np.zeros(1), block_of(form(X), labels))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@in_both_forms
def test_scores_of_float32_rows_are_computed_in_pieces(form, X, rng, monkeypatch):
    labels, coef = np.where(rng.random(300) < 0.3, 1.0, -1.0), rng.standard_normal((1, 4))
    expected = balanced_intercept(objective_of(Logistic(), 2), coef, np.zeros(1), block_of(X, labels))
    monkeypatch.setattr(returned_model, "_PIECE", 100)
    found = balanced_intercept(
        objective_of(Logistic(), 2), coef, np.zeros(1), block_of(form(X.astype(np.float32)), labels)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "objective",
    fast_first(
        1, [objective_of(Logistic(), 2, fit_intercept=False), objective_of(Hinge(), 2), objective_of(Hinge(), 3)]
    ),
)
def test_the_model_is_unchanged_if_there_is_no_simple_solution(objective, X, rng):
    labels = np.where(rng.random(300) < 0.5, 1.0, -1.0) if objective.n_outputs == 1 else rng.integers(0, 3, 300) * 1.0
    before = np.full(objective.n_outputs, 0.5)
    found = balanced_intercept(objective, np.ones((objective.n_outputs, 4)), before, block_of(X, labels))
    assert np.array_equal(found, before)
