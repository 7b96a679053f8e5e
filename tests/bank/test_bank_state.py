"""The state of the default fit: averages of ties, expected overfitting, held-out rows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from model_cases import CANDIDATES, FEW_OBJECTIVES, random_case
from running import objective_of
from sgdone.bank import Bank
from sgdone.bank.bank_state import BankState
from sgdone.bank.evaluation import Candidate, Evaluation
from sgdone.interfaces.objective import Judgement
from sgdone.kernels.bank import NO_FOLD
from sgdone.losses import Hinge, Logistic, Squared
from sgdone.rows import ArraySource
from sgdone.rows.validation_rows import ValidationRows
from tiers import at_night


def state_of(X, labels, objective, candidates=CANDIDATES):
    """A state that has measured all rows and was trained on them once, and its block."""
    block = next(ArraySource(X, labels, shuffle=False).blocks(np.random.default_rng(0)))
    used = block.all_used()
    state = BankState.initial(block, used, objective, None, candidates, seen=used, ordered=False)
    state.set_alphas(len(labels))
    state.models.advance(state.scaled(block), ValidationRows().folds_of(block), 0, len(labels))
    return state, block


@pytest.fixture(params=FEW_OBJECTIVES)
def trained(request):
    case = random_case(0, FEW_OBJECTIVES[request.param], n_rows=60)
    return state_of(case.X, case.labels, case.objective)


def evaluation_with(state, differences):
    """An evaluation with these differences between the mean losses; the losses of a row scatter together."""
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal((200, 3))
    losses = 1.0 + rng.standard_normal((200, 1)) + noise - noise.mean(axis=0) + differences
    return Evaluation(state.steps, state.models.alive, losses, np.ones(200), np.full(200, 9.0))


@pytest.mark.parametrize(
    ("differences", "chosen"),
    [([0.0, 0.5, 0.9], [0]), ([0.0, 0.0, 0.9], [0, 1]), ([0.9, 0.0, 0.0], [1, 2]), ([0.5, 0.0, 0.9], [1])],
)
def test_candidates_as_good_as_the_leader_are_averaged(differences, chosen, trained):
    state, _ = trained
    coef, intercept = state.mean_of_tied(evaluation_with(state, np.array(differences)))
    solutions = [state.models.solution(k, state.units.scaling) for k in chosen]
    np.testing.assert_allclose(coef, np.mean([found[0] for found in solutions], axis=0))
    np.testing.assert_allclose(intercept, np.mean([found[1] for found in solutions], axis=0))
    others = [state.models.solution(k, state.units.scaling)[0] for k in range(3)]
    assert not any(np.allclose(one, other) for one, other in pairwise(others))


def validation_rows(block, count, size=10):
    """The first rows of a block's matrix, in folds of the same size."""
    of_row = np.full(block.rows.n_rows, NO_FOLD, np.uint8)
    of_row[: count * size] = np.repeat(np.arange(count), size)
    return ValidationRows(count, of_row, np.arange(count * size, dtype=np.uint64), block)


def test_a_single_fold_is_held_out_from_all_models_until_it_is_released(trained):
    state, block = trained
    state.hold_out(validation_rows(block, 1))
    assert state.models.holds_out
    assert state.models.n_models == 3
    before, steps = state.solution().coef, state.steps
    assert state.release(block)
    assert state.steps == steps + 10
    assert not np.allclose(state.solution().coef, before)
    assert not state.release(block)
    assert state.steps == steps + 10


def test_each_of_several_folds_is_held_out_from_a_model_of_its_own(trained):
    state, block = trained
    state.hold_out(validation_rows(block, 2))
    assert not state.models.holds_out
    assert state.models.n_models == 9
    assert not state.release(block)


@pytest.mark.parametrize(
    ("objective", "loss", "expected"),
    [
        (objective_of(Logistic(), 2), 0.5, 4 / 200),
        (objective_of(Logistic(), 5), 0.5, 4 * 4 / 200),
        pytest.param(objective_of(Hinge(), 5), 0.5, 4 * 5 / 200, marks=pytest.mark.slow),
        (objective_of(Squared(), None), 3.0, 4 / 200 * 6.0),
    ],
)
@pytest.mark.slow
def test_excess_loss_of_an_optimum_on_few_rows(objective, loss, expected, rng):
    """Four columns count: one of the five is constant."""
    X = rng.standard_normal((100, 5))
    X[:, 2] = 7.0
    labels = rng.standard_normal(100) if objective.is_regression else rng.integers(0, 2, 100) * 2.0 - 1.0
    if objective.n_outputs > 1:
        labels = rng.integers(0, objective.n_outputs, 100).astype(float)
    sparse_too = [sparse.csr_array] if objective.n_outputs == 1 else at_night([sparse.csr_array])
    for form in (np.asarray, *sparse_too):
        state, _ = state_of(form(X), labels, objective, [Candidate(1.0, 1.0)])
        columns = 4 if form is np.asarray else 5
        assert state.excess(loss, 100) == pytest.approx(expected * columns / 4)


def test_excess_loss_is_that_of_least_squares(rng):
    """The mean over many samples of the loss on new rows of a fit to 100 rows, minus that of the true coefficients."""
    truth, found = np.arange(4.0), []
    for _ in range(3000):
        X = rng.standard_normal((100, 4))
        fit = np.linalg.lstsq(X, X @ truth + rng.standard_normal(100), rcond=None)[0]
        found.append(((fit - truth) ** 2).sum() / 2.0)
    objective = objective_of(Squared(), None, fit_intercept=False)
    state, _ = state_of(X, X @ truth, objective, [Candidate(1.0, 1.0)])
    assert np.mean(found) == pytest.approx(state.excess(0.5, 100), rel=0.1)


@pytest.mark.parametrize(("noise", "overfits"), [(0.04, True), (0.06, False)])
def test_overfitting_counts_only_where_it_shows(noise, overfits, rng):
    """Half of the excess 4/200 compared with 0.2 standard errors."""
    X = rng.standard_normal((100, 4))
    state, _ = state_of(X, np.where(X[:, 0] > 0, 1.0, -1.0), objective_of(Logistic()))
    state.run.n_rows = 100
    assert Bank(0.2)._may_overfit(state)
    state.run.evaluations.judgement = Judgement(0.5, 0.3, 0.0, 0.0, 1.0, noise)
    assert Bank(0.2)._may_overfit(state) == overfits
