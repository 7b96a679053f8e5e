"""The model that a fit returns, and the loss that its verdict reports."""

from dataclasses import replace

import numpy as np
import pytest

from running import objective_of
from sgdone import LinearClassifier
from sgdone.bank.bank_state import BankState
from sgdone.bank.candidates import CANDIDATES
from sgdone.bank.returned_model import better_of_mean_and_leader, evaluated, loss_of
from sgdone.kernels.bank import NO_FOLD
from sgdone.losses import Logistic
from sgdone.rows import ArraySource
from sgdone.rows.validation_rows import ValidationRows

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
    state = BankState.over(block, used, objective_of(Logistic()), None, CANDIDATES, seen=used, ordered=False)
    state.run.n_rows = N_ROWS
    state.set_penalties(N_ROWS)
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
