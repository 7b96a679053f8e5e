"""The default fit as a method: its candidates, held-out rows, stretches, and rows without an end."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from running import objective_of
from sgdone.bank import Bank
from sgdone.bank.bank_state import BankState
from sgdone.bank.evaluation import (
    Candidate,
    Evaluation,
    is_due_after,
    is_due_in_stream,
    most_candidates,
    next_in_stream,
)
from sgdone.interfaces.objective import Judgement
from sgdone.interfaces.stop_rule import Status, Stop
from sgdone.kernels.bank import ALPHA
from sgdone.losses import Logistic
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.row_hash import row_hashes
from sgdone.rows import ArraySource
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import EncodedRows
from sgdone.rows.rows import ENTRIES, LEVEL
from sgdone.rows.validation_rows import ValidationRows
from sgdone.run import RunOptions, run
from sgdone.stopping import Gain, MaxPasses, MaxSamples

TWO_CLASSES = objective_of(Logistic())


def rows_of(n_rows, n_features, seed=0, decay=0.0):
    """Rows of two classes.

    The variance of the directions decreases with ``decay``, but not their influence: such a fit takes longer.
    """
    rng = np.random.default_rng(seed)
    sizes = np.arange(1.0, n_features + 1.0) ** -decay
    parts = rng.standard_normal((n_rows, n_features))
    X = parts * sizes @ rng.standard_normal((n_features, n_features))
    return X, np.where(parts.sum(axis=1) + rng.logistic(size=n_rows) > 0, 1.0, -1.0)


def fitted(X, labels, stop=None, seed=0, **options):
    source = ArraySource(X, labels, **options)
    return run(source, TWO_CLASSES, Bank(), stop or Gain(), RunOptions(rng=np.random.default_rng(seed)))


@dataclass
class Record:
    """What was observed during fits."""

    #: After each stretch: pass, rows trained on, whether rows are held out from all models.
    stretches: list[tuple[int, int, bool]] = field(default_factory=list)
    #: Whether penalties were among the candidates added, each time that candidates could be.
    penalties: list[bool] = field(default_factory=list)
    #: Rows trained on after each release of held-out rows.
    released: list[int] = field(default_factory=list)
    drawn: list[ValidationRows] = field(default_factory=list)

    def held_out_in_pass(self, number):
        return [held_out for passes, _, held_out in self.stretches if passes == number]


@pytest.fixture
def record(monkeypatch):
    found = Record()
    between, branch, release, drawn = Bank.between, BankState.branch, BankState.release, ValidationRows.drawn

    def recorded_between(bank, state, stream):
        judgement = between(bank, state, stream)
        found.stretches.append((stream.begun, state.steps, state.models.holds_out))
        return judgement

    def recorded_branch(state, n_rows, *, larger_steps, penalties):
        found.penalties.append(penalties)
        branch(state, n_rows, larger_steps=larger_steps, penalties=penalties)

    def recorded_release(state, block):
        done = release(state, block)
        if done:
            found.released.append(state.steps)
        return done

    def recorded_drawn(block, unread, rng):
        found.drawn.append(drawn(block, unread, rng))
        return found.drawn[-1]

    monkeypatch.setattr(Bank, "between", recorded_between)
    monkeypatch.setattr(BankState, "branch", recorded_branch)
    monkeypatch.setattr(BankState, "release", recorded_release)
    monkeypatch.setattr(ValidationRows, "drawn", recorded_drawn)
    return found


# ---- candidates ----


@pytest.mark.parametrize(("n_rows", "n_features", "expected"), [(600, 100, True), (6000, 3, False)])
@pytest.mark.slow
def test_larger_penalties_are_tried_where_overfitting_is_possible(n_rows, n_features, expected, record):
    fitted(*rows_of(n_rows, n_features, decay=3.0 if n_features == 3 else 0.0))
    assert record.penalties[0] == expected
    assert not any(record.penalties[1:])


def test_the_objective_has_the_penalty_of_the_leader():
    result = fitted(*rows_of(600, 100))
    state = result.state
    assert result.objective.alpha == state.models.plans[state.model, ALPHA]
    assert result.objective.alpha == pytest.approx(state.lead.penalty / 600)


# ---- held-out rows ----


@pytest.mark.slow
def test_rows_stay_held_out_as_long_as_overfitting_is_not_expected(record):
    two_passes = Gain(tol=0) | MaxPasses(2)
    fitted(*rows_of(25_000, 6), two_passes)
    assert record.held_out_in_pass(2)
    assert all(record.held_out_in_pass(2))
    record.stretches.clear()
    fitted(*rows_of(25_000, 150), two_passes)
    assert record.held_out_in_pass(2)
    assert not any(record.held_out_in_pass(2))


def test_held_out_rows_are_trained_on_once_at_the_end(record):
    """Every row of every pass, except the held-out rows, which are read in the last pass only."""
    result = fitted(*rows_of(25_000, 6), Gain(tol=0) | MaxPasses(3))
    assert result.verdict.passes == 3.0
    assert result.state.steps == 3 * (25_000 - 4096) + 4096
    assert record.released == [result.state.steps]
    assert not result.state.models.holds_out


def test_the_model_returned_was_trained_on_the_held_out_rows(record):
    """A column that is 0 except in some of them gets its weight there."""
    X, labels = rows_of(25_000, 3)
    fitted(X, labels)
    held_out = record.drawn[0].rows
    some = held_out[:200]
    X[:, 1] = 0.0
    X[some, 1] = labels[some]
    result = fitted(X, labels)
    np.testing.assert_array_equal(record.drawn[1].rows, held_out)
    assert result.model.coef[0, 1] > 0.1
    np.testing.assert_allclose(result.model.coef, result.state.solution().coef, rtol=1e-12)


def test_held_out_rows_are_counted_once(record):
    """If the fit ends early, those not met yet are read then; no more rows are trained on than read."""
    result = fitted(*rows_of(400_000, 3))
    assert {passes for passes, *_ in record.stretches} == {1}
    assert record.stretches[-1][1] < result.state.steps <= result.rows_read < 400_000


def test_held_out_rows_are_counted_after_ctrl_c():
    def interrupt(progress):
        if progress.step > 5000:
            raise KeyboardInterrupt

    source = ArraySource(*rows_of(30_000, 4))
    result = run(source, TWO_CLASSES, Bank(), Gain(), RunOptions(hooks=[interrupt]))
    assert result.verdict.status is Status.INTERRUPTED
    assert 5000 + 4096 < result.state.steps <= result.rows_read


# ---- before all rows are read, or all penalties tried ----


def with_rare_columns(n_rows, rng):
    """Rows of one number and one of many levels, most of which few rows have."""
    shares = np.cumsum(1.0 / np.arange(1.0, 2001.0))
    level = np.searchsorted(shares, shares[-1] * rng.random(n_rows))
    levels = sparse.csr_array((np.ones(n_rows), level, np.arange(n_rows + 1)), (n_rows, 2000))
    X = MixedMatrix(rng.standard_normal((n_rows, 1)), levels)
    score = X.dense[:, 0] + 0.3 * rng.standard_normal(2000)[level]
    return X, np.where(score + rng.logistic(size=n_rows) > 0, 1.0, -1.0)


def test_a_pass_is_completed_where_few_of_the_rows_read_have_many_of_the_columns(rng):
    """However small the gain seems: with the same rows without the levels the fit ends within the first pass."""
    X, labels = with_rare_columns(150_000, rng)
    roles = np.append(ENTRIES, np.full(2000, LEVEL)).astype(np.int32)
    assert fitted(X, labels, Gain(tol=2.0), roles=roles).verdict.passes >= 1.0
    assert fitted(X.dense, labels, Gain(tol=2.0)).verdict.passes < 1.0


def doubted(judgement, *, ended=False, begun=1, n_features=3, lead=None):
    """The doubt about a judgement of a fit in its first pass, or at the end of a pass."""
    state = fitted(*rows_of(600, n_features), MaxPasses(1)).state
    state.run.stage.kind, state.lead = "first pass", lead or state.lead
    stream = SimpleNamespace(pass_ended=ended, begun=begun)
    return [Bank()._doubted(state, stream, judgement).doubt for _ in range(2)]


@pytest.mark.parametrize(("gain_error", "doubts"), [(0.009, [True, False]), (0.011, [True, True])])
def test_within_a_pass_two_evaluations_must_be_certain(gain_error, doubts):
    """Two standard errors of the gain, compared with the tolerance of 0.02."""
    found = doubted(Judgement(0.5, 0.3, 0.0, gain_error, 1.0, 0.1))
    assert [doubt == "the gain of the rows to come is not certain" for doubt in found] == doubts
    assert doubted(Judgement(0.5, 0.3, 0.0, gain_error, 1.0, 0.1), ended=True) == ["", ""]


def test_within_a_pass_the_rows_must_be_many_for_the_coefficients():
    """Half of the excess 3/1200 of 600 rows, compared with 0.2 standard errors."""
    few, many = (doubted(Judgement(0.5, 0.3, 0.0, 0.0, 1.0, noise)) for noise in (0.006, 0.007))
    assert few == ["600 rows are too few for 3 coefficients"] * 2
    assert many[-1] == ""


@pytest.mark.parametrize(
    ("begun", "lead", "untried"),
    [(1, Candidate(4.0, 1.0), True), (2, Candidate(4.0, 1.0), False), (2, Candidate(4.0, 100.0), True)],
)
def test_larger_penalties_are_tried_before_a_fit_converges(begun, lead, untried):
    """After the first pass, and later if the best one is the largest so far; if overfitting matters."""
    matters, does_not = (Judgement(0.5, 0.3, 0.0, 0.0, 1.0, noise) for noise in (0.001, 1.0))
    expected = "larger penalties have not been tried" if untried else ""
    assert doubted(matters, ended=True, begun=begun, lead=lead)[0] == expected
    assert doubted(does_not, ended=True, begun=begun, lead=lead)[0] == ""


# ---- stretches and passes ----


def test_stretches_end_where_candidates_are_compared(record):
    """After 1024, 2048, … rows trained on, however many of the rows read are held out."""
    fitted(*rows_of(25_000, 6))
    first = [steps for passes, steps, _ in record.stretches if passes == 1]
    assert {1024, 2048, 4096, 8192} <= set(first)
    # A window of 4096 rows ends, or a comparison is due: nothing else ends a stretch.
    assert len(first) <= 6 + 25_000 // 4096


@pytest.mark.parametrize("n_rows", [600, 9000])
def test_without_a_tolerance_a_budget_of_passes_is_spent(n_rows):
    X, labels = rows_of(n_rows, 3)
    result = fitted(X, labels, Gain(tol=0) | MaxPasses(3))
    assert (result.verdict.rule, result.verdict.passes) == ("MaxPasses", 3.0)


def test_a_budget_caps_the_gain():
    X, labels = rows_of(600, 3)
    alone = fitted(X, labels)
    capped = fitted(X, labels, Gain() | MaxPasses(50))
    assert alone.verdict.rule == capped.verdict.rule == "Gain"
    np.testing.assert_array_equal(capped.model.coef, alone.model.coef)


@pytest.mark.parametrize(
    ("tol", "gain", "expected"), [(0.2, 0.13, True), (0.2, 0.09, False), (0.0, 0.09, False), (1.5, 0.13, False)]
)
def test_more_passes_are_advised_if_they_are_expected_to_help(tol, gain, expected):
    """A gain of 1.3 standard errors matters, unless the tolerance is larger; one of 0.9 never does."""
    state = fitted(*rows_of(600, 3), MaxPasses(1)).state
    state.run.evaluations.judgement = Judgement(0.5, 0.3, gain, 0.0, 1.0, 0.1)
    advice = Bank(tol).review(state, Stop("MaxPasses", Status.BUDGET_SPENT, "one pass"), None).advice
    assert advice == ("Allow more passes: another pass is expected to help." if expected else "")
    assert Bank(tol).review(state, Stop("Gain", Status.CONVERGED, "no gain"), None).advice == ""


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_rows", "n_features"), [(600, 3), pytest.param(25_000, 6, marks=pytest.mark.slow)])
def test_the_number_of_rows_between_two_calls_changes_no_bit(n_rows, n_features, weighted):
    X, labels = rows_of(n_rows, n_features)
    weights = np.random.default_rng(0).integers(0, 3, n_rows).astype(float) if weighted else None
    models = [
        run(
            ArraySource(X, labels, weights),
            TWO_CLASSES,
            Bank(),
            Gain(),
            RunOptions(block_size=block_size),
        ).model
        for block_size in (None, 7, 1000)
    ]
    for model in models[1:]:
        assert model.coef.tobytes() == models[0].coef.tobytes()
        assert model.intercept.tobytes() == models[0].intercept.tobytes()


# ---- the model returned ----


def test_the_best_model_is_returned_when_a_budget_ends_the_fit(monkeypatch):
    """If all later evaluations are worse, that is the model of the first."""
    X, labels = rows_of(600, 3)
    first, last = (fitted(X, labels, Gain(tol=0) | MaxPasses(passes)).model for passes in (1, 4))
    assert not np.allclose(first.coef, last.coef, rtol=1e-6)
    monkeypatch.setattr(Evaluation, "is_worse_than", lambda now, best: True)
    best = fitted(X, labels, Gain(tol=0) | MaxPasses(4))
    assert best.verdict.passes == 4.0
    np.testing.assert_array_equal(best.model.coef, first.coef)
    np.testing.assert_allclose(best.model.intercept, first.intercept, rtol=1e-9)


def test_an_earlier_model_is_returned_if_it_is_clearly_better(monkeypatch):
    """Large weights in place of those of the last passes make them worse."""
    X, labels = rows_of(600, 3)
    first = fitted(X, labels, MaxPasses(1)).model
    advance = Bank.advance

    def spoilt(bank, state, block, *others):
        report = advance(bank, state, block, *others)
        if state.run.stage.passes > 1:
            state.models.weights *= 3.0
        return report

    monkeypatch.setattr(Bank, "advance", spoilt)
    best = fitted(X, labels, Gain(tol=0) | MaxPasses(4)).model
    np.testing.assert_array_equal(best.coef, first.coef)


def test_a_model_that_no_pass_has_evaluated_is_evaluated_at_the_end():
    X, labels = rows_of(600, 3)
    result = fitted(X, labels, MaxSamples(300))
    evaluations = result.state.run.evaluations
    assert result.verdict.step == 300
    assert evaluations.last.steps == 300
    assert evaluations.best is evaluations.last


# ---- randomness ----


@pytest.mark.parametrize("shuffle", [True, False])
def test_validation_rows_are_the_same_and_the_intercept_depends_on_the_seed(shuffle, record):
    """Fits of 60,000 rows end before all are read, so that the rows for the intercept are a sample."""
    X, labels = rows_of(60_000, 3)
    results = [fitted(X, labels, MaxSamples(20_000), seed=seed, shuffle=shuffle) for seed in (0, 0, 1)]
    folds = [drawn.of_row for drawn in record.drawn]
    assert np.array_equal(folds[0], folds[1])
    assert np.array_equal(folds[0], folds[2])
    first, again, other = (result.model for result in results)
    assert (first.coef.tobytes(), first.intercept.tobytes()) == (again.coef.tobytes(), again.intercept.tobytes())
    assert first.intercept != other.intercept


# ---- when candidates are compared, and how many are kept ----


def test_in_the_first_pass_after_1024_rows_and_twice_as_many_each_time():
    due = [steps for steps in range(10_000) if is_due_in_stream(steps)]
    assert due == [1024, 2048, 4096, 8192]
    assert [next_in_stream(steps) for steps in (0, 1023, 1024, 5000)] == [1024, 1024, 2048, 8192]


def test_after_passes_further_and_further_apart_and_after_the_last():
    small = [passes for passes in range(1, 101) if is_due_after(passes, small=True)]
    large = [passes for passes in range(1, 101) if is_due_after(passes, small=False)]
    assert small == [1, 2, 4, 8, 16, 32, 64, 100]
    assert large == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100]


@pytest.mark.parametrize(("passes", "most"), [(1, 1000), (2, 2), (5, 2), (6, 1), (100, 1)])
def test_few_candidates_are_kept_in_later_passes_over_large_data(passes, most):
    assert most_candidates(passes, small=False) == most
    assert most_candidates(passes, small=True) == 1000


# ---- the default fit on sources that are not in memory, and the budgets of runs that do not read all rows ----


WEIGHTS = np.array([1.0, -2.0, 0.5])
SCALES = np.array([1e-3, 1.0, 1e6])


def draw(rng, n_rows):
    X = rng.standard_normal((n_rows, 3))
    probability = 1.0 / (1.0 + np.exp(-(X @ WEIGHTS + 0.5)))
    return X * SCALES, np.where(rng.random(n_rows) < probability, 1.0, -1.0)


def endless():
    rng, first = np.random.default_rng(0), 0
    while True:
        X, labels = draw(rng, 4096)
        yield EncodedRows(X, labels, None, row_hashes(X), np.arange(first, first + 4096))
        first += 4096


def endless_source():
    return BlockSource(endless, None, seed=0, endless=True)


def test_an_endless_source_ends_by_gain():
    result = run(endless_source(), objective_of(Logistic()), Bank(), Gain())
    assert result.verdict.rule == "Gain"
    np.testing.assert_allclose(result.model.coef[0] * SCALES, WEIGHTS, atol=0.2)


def test_an_endless_source_ends_by_a_budget():
    rule = Gain(tol=0) | MaxSamples(20_000)
    result = run(endless_source(), objective_of(Logistic()), Bank(), rule)
    assert result.verdict.rule == "MaxSamples"
    assert result.verdict.step >= 20_000
    assert result.model.intercept[0] == pytest.approx(0.5, abs=0.15)


def test_rows_held_out_are_not_trained_on_beyond_a_budget():
    X, y = draw(np.random.default_rng(0), 30_000)
    rule = Gain(tol=0) | MaxSamples(5000)
    assert run(ArraySource(X, y), objective_of(Logistic()), Bank(), rule).verdict.step == 5000
