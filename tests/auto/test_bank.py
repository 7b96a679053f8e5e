"""A bank of models against the slow twin of each, and what may be done to a bank on its way."""

from dataclasses import replace

import numpy as np
import pytest
from bank_cases import CANDIDATES, FEW_TASKS, TASKS, advance, forked, predictions, random_case, with_steps
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import reference_bank as slow
from sgdone.auto.bank import Bank
from sgdone.auto.candidates import Candidate
from sgdone.data import Scaling
from sgdone.kernels.bank import ALL_ROWS, NO_FOLD, OWN, SCALE, SHARE, STEPS, TOLD
from sgdone.kernels.model import AVERAGE_FLOOR
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, NOT_SOUND

ARRAYS = ("weights", "intercepts", "numbers", "plans")
dense_or_csr = pytest.mark.parametrize("dense", [True, False], ids=["dense", "csr"])
each_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
a_few_tasks = pytest.mark.parametrize("task", FEW_TASKS.values(), ids=FEW_TASKS)


def assert_same_course(bank, found, case, start=None):
    """Every model has come to what its slow twin has, and has lost as much on the way."""
    for model in range(bank.n_models):
        coef, intercept, losses = case.course(bank, model, start)
        fast_coef, fast_intercept = bank.solution(model, case.scaling)
        np.testing.assert_allclose(fast_coef, coef, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(fast_intercept, intercept, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.losses[:, model], losses, rtol=1e-10, atol=1e-10)


def assert_same_bits(bank, other):
    for name in ARRAYS:
        assert np.array_equal(getattr(bank, name), getattr(other, name)), name


def trained(seed=0, task=TASKS["softmax of 3"], dense=True, **options):
    """A case, and a bank with folds that has learnt from it."""
    case = random_case(seed, task, dense, **options)
    bank = forked(case.bank())
    advance(bank, case)
    return case, bank


def solutions(bank, case):
    return [bank.solution(model, case.scaling) for model in range(bank.n_models)]


def assert_same_solutions(found, expected):
    for (coef, intercept), (other_coef, other_intercept) in zip(found, expected, strict=True):
        assert np.array_equal(coef, other_coef)
        assert np.array_equal(intercept, other_intercept)


# ---- the slow twin ----


@dense_or_csr
@each_task
@hypothesis_settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_every_model_is_its_slow_twin(task, dense, seed):
    case = random_case(seed, task, dense)
    bank = forked(case.bank(CANDIDATES[:2]))
    found = advance(bank, case)
    assert (found.position, found.outcome) == (30, CONTINUE)
    assert len(found.losses) == np.count_nonzero(case.weights)
    assert_same_course(bank, found, case)


@dense_or_csr
@hypothesis_settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 60),
    n_features=st.integers(1, 11),
    gain=st.floats(-3, 3),
    penalty=st.floats(-6, 3),
)
def test_a_softmax_is_its_slow_twin_whatever_the_steps(dense, seed, n_rows, n_features, gain, penalty):
    case = random_case(seed, TASKS["softmax of 3"], dense, n_rows, n_features)
    bank = case.bank([Candidate(10.0**gain, 10.0**penalty)])
    assert_same_course(bank, advance(bank, case), case)


@dense_or_csr
@a_few_tasks
def test_a_start_other_than_zero(task, dense, rng):
    case = random_case(3, task, dense, n_rows=20)
    start = rng.standard_normal((task.n_outputs, 6)), rng.standard_normal(task.n_outputs)
    bank = case.bank(CANDIDATES[:2], start)
    (coef, _), _ = solutions(bank, case)
    np.testing.assert_allclose(coef * case.scaling.scale, start[0], rtol=1e-14)
    assert_same_course(bank, advance(bank, case), case, start)


@dense_or_csr
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 2.0])
def test_a_long_run(dense, alpha):
    """Of least squares, whose implicit step is a formula; scales are folded into vectors time and again."""
    task = TASKS["squared"]
    case = random_case(4, task, dense, n_rows=6000, n_features=3)
    bank = case.bank([Candidate(0.5, alpha)])

    def update(W, b, x, label, v, gamma):
        shrink = 1.0 / (1.0 + gamma * alpha)
        s = (shrink * W @ x + b - label) / (1.0 + gamma * v * (shrink * x @ x + 1.0))
        return shrink * (W - gamma * v * np.outer(s, x)), b - gamma * v * s

    closed_form = slow.Outputs(update, lambda z, label: 0.5 * (z[0] - label) ** 2)
    object.__setattr__(case, "outputs", lambda _: closed_form)
    found = advance(bank, case)
    assert_same_course(bank, found, case)
    scale, own, share, steps = bank.numbers[0]
    assert steps == np.count_nonzero(case.weights)
    assert AVERAGE_FLOOR / 5 < scale <= 1.0
    assert AVERAGE_FLOOR / 5 < own <= 1.0
    assert 0.0 < share <= 1.0


@dense_or_csr
@pytest.mark.parametrize("penalty", [1e3, 1e9, 1e300])
def test_a_penalty_that_leaves_nothing_of_the_weights(dense, penalty):
    """One row's shrinking is below the floor: the vectors are renewed with every row."""
    case = random_case(5, TASKS["logistic"], dense, n_rows=15)
    bank = case.bank([Candidate(1.0, penalty)])
    assert_same_course(bank, advance(bank, case), case)
    assert np.max(np.abs(bank.solution(0, case.scaling)[0])) < 10.0 / penalty


@dense_or_csr
@pytest.mark.parametrize("name", ["softmax of 5 without intercept", "squared hinge without intercept"])
def test_rows_of_zeros_without_an_intercept_say_nothing(name, dense):
    """There is no direction to step in, whatever the slope."""
    case = replace(random_case(6, TASKS[name], dense), weights=np.ones(30))
    if dense:
        case = replace(case, scaling=Scaling(case.scaling.scale, np.zeros(6)))
    case.X[::4] = 0.0
    bank = case.bank(CANDIDATES[:1])
    found = advance(bank, case)
    assert np.all(np.isfinite(bank.weights))
    assert_same_course(bank, found, case)
    assert np.array_equal(bank.intercepts, np.zeros_like(bank.intercepts))


def test_columns_without_spread_are_left_alone(rng):
    case = random_case(7, TASKS["softmax of 3"])
    case.scaling.scale[2] = np.inf
    case.X[:, 2] = 1e6 + rng.standard_normal(30)
    bank = case.bank()
    found = advance(bank, case)
    assert_same_course(bank, found, case)
    assert np.array_equal(bank.weights[2], np.zeros(bank.weights.shape[1]))


# ---- rows ----


@a_few_tasks
def test_sparse_rows_are_as_dense_ones(task):
    case = random_case(8, task, n_rows=300)
    case = replace(case, scaling=Scaling(case.scaling.scale, np.zeros(6)))
    other = replace(case, scaling=Scaling(case.scaling.scale), dense=False)
    bank, other_bank = case.bank(), other.bank()
    found, other_found = advance(bank, case), advance(other_bank, other)
    np.testing.assert_allclose(found.losses, other_found.losses, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(predictions(bank, case), predictions(other_bank, other), rtol=1e-10, atol=1e-12)
    assert np.array_equal(found.misses, other_found.misses)


@dense_or_csr
@a_few_tasks
def test_stretches_do_not_change_a_bit(task, dense):
    case, whole = trained(9, task, dense, n_rows=200)
    bank = forked(case.bank())
    found = [advance(bank, case, first, last) for first, last in ((0, 1), (1, 38), (38, 38), (38, 141), (141, 200))]
    assert_same_bits(bank, whole)
    assert [part.position for part in found] == [1, 38, 38, 141, 200]
    assert sum(len(part.losses) for part in found) == np.count_nonzero(case.weights)


def test_rows_come_in_the_order_of_the_block(rng):
    case = random_case(10, TASKS["softmax of 3"])
    order = rng.permutation(30)
    turned = replace(
        case, X=case.X[order], labels=case.labels[order], weights=case.weights[order], folds=case.folds[order]
    )
    bank, other = forked(case.bank()), forked(turned.bank())
    block = replace(case.block, order=order.astype(np.uint64), upcoming=order.astype(np.uint64))
    bank.advance(block, case.folds, 0, 30)
    advance(other, turned)
    assert_same_bits(bank, other)


def test_one_weight_for_all_rows():
    case = replace(random_case(11, TASKS["logistic"]), weights=np.array([0.7]))
    other = replace(case, weights=np.full(30, 0.7))
    bank, other_bank = case.bank(), other.bank()
    found = advance(bank, case)
    advance(other_bank, other)
    assert_same_bits(bank, other_bank)
    assert len(found.losses) == 30


def test_rows_of_weight_0_are_not_even_looked_at():
    case = random_case(12, TASKS["softmax of 3"])
    spoilt = replace(case, X=np.where(case.weights[:, None] == 0, np.nan, case.X))
    bank, other = case.bank(), case.bank()
    advance(bank, case)
    assert advance(other, spoilt).outcome == CONTINUE
    assert_same_bits(bank, other)


@dense_or_csr
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_row_that_is_not_finite_ends_it_and_no_model_has_learnt_from_it(bad, dense):
    case = replace(random_case(13, TASKS["softmax of 3"], dense), weights=np.ones(30))
    case.X[17, 3] = bad
    bank, other = case.bank(), case.bank()
    found = advance(bank, case)
    assert (found.position, found.outcome, len(found.losses)) == (17, NOT_FINITE, 17)
    advance(other, case, 0, 17)
    assert_same_bits(bank, other)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_so_does_a_label(bad):
    case = replace(random_case(14, TASKS["squared"]), weights=np.ones(30))
    case.labels[5] = bad
    found = advance(case.bank(), case)
    assert (found.position, found.outcome) == (5, NOT_FINITE)


def test_a_row_that_points_outside_its_matrix_ends_it():
    case = replace(random_case(15, TASKS["softmax of 3"], dense=False), weights=np.ones(30))
    block = case.block
    data, indices, *others = block.rows.arrays
    wrong = indices.copy()
    wrong[int(others[0][11])] = 6
    broken = replace(block, rows=replace(block.rows, arrays=(data, wrong, *others)))
    bank, other = case.bank(), case.bank()
    found = bank.advance(broken, case.folds, 0, 30)
    assert (found.position, found.outcome) == (11, NOT_SOUND)
    advance(other, case, 0, 11)
    assert_same_bits(bank, other)


@dense_or_csr
def test_single_precision(dense):
    case, bank = trained(16, dense=dense, n_rows=200)
    single = replace(case, X=case.X.astype(np.float32))
    other = forked(single.bank())
    found = advance(other, single)
    assert other.weights.dtype == np.float32
    assert found.outcome == CONTINUE
    np.testing.assert_allclose(predictions(other, case), predictions(bank, case), rtol=1e-3, atol=1e-4)


# ---- looking without learning ----


@dense_or_csr
@each_task
def test_looking_changes_nothing_and_sees_the_averages(task, dense):
    case = random_case(17, task, dense, n_rows=60)
    bank = forked(case.bank())
    advance(bank, case)
    before = bank.copy()
    found = advance(bank, case, learn=False)
    assert_same_bits(bank, before)
    used = case.weights != 0
    z, labels = predictions(bank, case)[:, :, used], case.labels[used]
    cost = case.outputs(0.0).cost
    losses = [[cost(z[model, :, i], labels[i]) for model in range(bank.n_models)] for i in range(len(labels))]
    np.testing.assert_allclose(found.losses, losses, rtol=1e-10, atol=1e-12)
    if task.is_regression:
        misses = np.sum((z[:, 0] - labels) ** 2, axis=1)
    elif task.n_outputs == 1:
        misses = np.sum(np.sign(z[:, 0]) != labels, axis=1)
    else:
        misses = np.sum(np.argmax(z, axis=1) != labels, axis=1)
    np.testing.assert_allclose(found.misses, misses, rtol=1e-10)


def test_a_model_that_leaves_a_fold_out_never_learns_from_it():
    """Other labels in the fold change nothing of it, but all the others."""
    case, bank = trained(18)
    other_labels = replace(case, labels=np.where(case.folds == 1, (case.labels + 1) % 3, case.labels))
    other = forked(case.bank())
    advance(other, other_labels)
    for model in range(bank.n_models):
        same = np.array_equal(bank.solution(model, case.scaling)[0], other.solution(model, case.scaling)[0])
        assert same == (bank.folds[model] == 1)
    used = case.weights != 0
    learnt = {ALL_ROWS: used.sum(), 0: np.sum(used & (case.folds != 0)), 1: np.sum(used & (case.folds != 1))}
    assert bank.numbers[:, STEPS].tolist() == [learnt[fold] for fold in bank.folds]
    assert bank.steps == used.sum()


def test_losses_are_told_of_the_models_that_learn_from_all_rows():
    """While a bank learns; when it only looks, of all of them."""
    case = random_case(32, TASKS["softmax of 3"])
    bank, telling = case.bank(), forked(case.bank())
    bank.fork(2)
    found, everything = advance(bank, case), advance(telling, case)
    assert np.array_equal(found.losses[:, :3], everything.losses[:, :3])
    assert np.array_equal(found.misses[:3], everything.misses[:3])
    assert not found.losses[:, 3:].any()
    assert not found.misses[3:].any()
    assert np.array_equal(bank.weights, telling.weights)
    looks = [advance(each, case, learn=False) for each in (bank, telling)]
    assert np.array_equal(looks[0].losses, looks[1].losses)
    assert np.array_equal(looks[0].misses, looks[1].misses)
    bank.tell_of(1)
    assert np.array_equal(advance(bank, case).losses.any(axis=0), np.arange(9) == 1)
    bank.leave_folds()
    assert np.array_equal(bank.plans[:, TOLD], np.ones(3))


# ---- several models ----


@dense_or_csr
@each_task
def test_a_bank_of_several_is_each_alone(task, dense):
    case = random_case(19, task, dense, n_rows=150)
    bank = forked(case.bank())
    found = advance(bank, case)
    for model in range(bank.n_models):
        alone = forked(case.bank())
        alone._select(np.array([model]))
        seen = advance(alone, case)
        np.testing.assert_allclose(seen.losses[:, 0], found.losses[:, model], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(predictions(alone, case)[0], predictions(bank, case)[model], rtol=1e-11, atol=1e-13)
        assert seen.misses[0] == pytest.approx(found.misses[model], rel=1e-11)


def test_a_fork_leaves_every_model_where_it_is():
    case = random_case(20, TASKS["softmax of 3"])
    bank = case.bank()
    advance(bank, case)
    expected = solutions(bank, case)
    bank.fork(2)
    assert bank.candidates == [*CANDIDATES] * 3
    assert bank.folds == [ALL_ROWS] * 3 + [0] * 3 + [1] * 3
    assert_same_solutions(solutions(bank, case), expected * 3)
    assert bank.alive == [*CANDIDATES]
    assert bank.models_of(CANDIDATES[1]) == {ALL_ROWS: 1, 0: 4, 1: 7}


def test_those_kept_go_on_as_if_nothing_had_happened():
    case, bank = trained(21)
    expected = solutions(bank, case)
    whole = bank.copy()
    kept = [CANDIDATES[0], CANDIDATES[2]]
    bank.keep(kept)
    assert bank.candidates == kept * 3
    assert bank.folds == [ALL_ROWS] * 2 + [0] * 2 + [1] * 2
    assert bank.alive == kept
    models = [0, 2, 3, 5, 6, 8]
    assert_same_solutions(solutions(bank, case), [expected[model] for model in models])
    found, all_found = advance(bank, case), advance(whole, case)
    np.testing.assert_allclose(found.losses, all_found.losses[:, models], rtol=1e-11, atol=1e-13)


def test_a_branch_begins_where_its_origin_is():
    case, bank = trained(22)
    expected = solutions(bank, case)
    others = [Candidate(1.0, 0.5), Candidate(1.0, 5.0)]
    bank.branch(CANDIDATES[1], others)
    origin = [1, 4, 7]
    assert_same_solutions(solutions(bank, case), expected + [expected[model] for model in origin] * 2)
    assert bank.candidates[9:] == [others[0]] * 3 + [others[1]] * 3
    assert bank.folds[9:] == [ALL_ROWS, 0, 1] * 2
    assert bank.alive == [*CANDIDATES, *others]
    assert bank.models_of(others[1]) == {ALL_ROWS: 12, 0: 13, 1: 14}
    with_steps(bank)
    found = advance(bank, case)
    before_steps = found.losses[0]
    assert np.array_equal(before_steps[9:], np.tile(before_steps[origin], 2))
    assert not np.allclose(found.losses[-1, 9:12], found.losses[-1, 12:15])


def test_any_selection_keeps_each_models_solution():
    case, bank = trained(23)
    expected = solutions(bank, case)
    chosen = np.array([7, 0, 0, 5, 8])
    plans = bank.plans[chosen]
    bank._select(chosen)
    assert_same_solutions(solutions(bank, case), [expected[model] for model in chosen])
    assert bank.candidates == [CANDIDATES[k % 3] for k in chosen]
    assert bank.folds == [1, ALL_ROWS, ALL_ROWS, 0, 1]
    assert np.array_equal(bank.plans, plans)
    assert bank.weights.flags.c_contiguous


def test_folds_are_left_when_they_have_done_their_work():
    case, bank = trained(30)
    expected = solutions(bank, case)[:3]
    bank.leave_folds()
    assert (bank.candidates, bank.folds) == ([*CANDIDATES], [ALL_ROWS] * 3)
    assert_same_solutions(solutions(bank, case), expected)


def test_rows_held_out_are_learnt_from_by_none_until_they_are_released():
    case = random_case(33, TASKS["softmax of 3"])
    case.folds[case.folds == 1] = NO_FOLD
    bank, never = case.bank(), forked(case.bank(), 1)
    bank.hold_out()
    assert bank.holds_out
    assert [bank.main(candidate) for candidate in CANDIDATES] == [0, 1, 2]
    advance(bank, case)
    advance(never, case)
    without = solutions(never, case)[3:]
    assert_same_solutions(solutions(bank, case), without)
    bank.fork(1)
    assert not bank.holds_out
    assert bank.candidates == [*CANDIDATES] * 2
    assert bank.folds == [ALL_ROWS] * 3 + [0] * 3
    assert [bank.main(candidate) for candidate in CANDIDATES] == [0, 1, 2]
    assert_same_solutions(solutions(bank, case), without * 2)
    learnt = bank.steps
    held = np.flatnonzero(case.folds == 0).astype(np.uint64)
    bank.advance(replace(case.block, order=held, upcoming=held), case.folds, 0, held.size)
    assert_same_solutions(solutions(bank, case)[3:], without)
    assert not np.allclose(predictions(bank, case)[:3], predictions(bank, case)[3:])
    assert bank.steps == learnt + np.count_nonzero(case.weights[held.astype(int)]) == np.count_nonzero(case.weights)


def test_a_copy_shares_nothing_that_changes():
    case, bank = trained(24)
    copy, expected = bank.copy(), solutions(bank, case)
    advance(copy, case)
    copy.keep(CANDIDATES[:1])
    assert_same_solutions(solutions(bank, case), expected)
    assert bank.n_models == 9


# ---- units ----


def iterates(bank, case):
    """Predictions of every model's iterate."""
    half = bank.weights.shape[1] // 2
    scale = np.repeat(bank.numbers[:, SCALE], case.task.n_outputs)
    return case.rows_learnt_in @ (scale * bank.weights[:, :half]) + bank.intercepts[0]


@dense_or_csr
@a_few_tasks
@hypothesis_settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_other_units_leave_every_prediction_as_it_is(task, dense, seed):
    case, bank = trained(seed, task, dense, n_rows=60)
    rng = np.random.default_rng(seed)
    shift = 3.0 * rng.standard_normal(6) if dense else None
    other = replace(case, scaling=Scaling(10.0 ** rng.uniform(-3, 3, 6), shift))
    expected, expected_iterates = predictions(bank, case), iterates(bank, case)
    bank.change_units(case.scaling, other.scaling)
    np.testing.assert_allclose(predictions(bank, other), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(iterates(bank, other), expected_iterates, rtol=1e-10, atol=1e-10)
    bank.change_units(other.scaling, case.scaling)
    np.testing.assert_allclose(predictions(bank, case), expected, rtol=1e-10, atol=1e-10)


@dense_or_csr
def test_a_column_that_has_had_no_spread_begins_at_0(dense):
    """Whatever the start said of it: nothing was ever predicted from it."""
    case = random_case(25, TASKS["softmax of 3"], dense)
    flat = replace(case, scaling=Scaling(np.where(np.arange(6) == 4, np.inf, case.scaling.scale), case.scaling.shift))
    bank = case.bank()
    advance(bank, flat)
    expected = predictions(bank, flat)
    bank.change_units(flat.scaling, case.scaling)
    assert np.array_equal(bank.weights[4], np.zeros(18))
    np.testing.assert_allclose(predictions(bank, case), expected, rtol=1e-10, atol=1e-10)
    advance(bank, case)
    assert np.all(bank.weights[4] != 0.0)


@dense_or_csr
def test_a_column_without_spread_may_stay_so(dense):
    case = random_case(26, TASKS["softmax of 3"], dense)
    case.scaling.scale[1] = np.inf
    bank = case.bank()
    advance(bank, case)
    expected = predictions(bank, case)
    other = replace(case, scaling=Scaling(2.0 * case.scaling.scale, case.scaling.shift))
    bank.change_units(case.scaling, other.scaling)
    np.testing.assert_allclose(predictions(bank, other), expected, rtol=1e-10, atol=1e-10)


# ---- step sizes ----


def test_step_sizes_fall_with_the_rows_learnt_from():
    case = random_case(27, TASKS["logistic"])
    bank = case.bank()
    bank.set_steps(0.25, 9.0, 1.0, [0.1, 0.2, 0.3])
    assert bank.step_size(1) == pytest.approx(4.0 / (0.25 * 9.0) / np.sqrt(1.0 + 1.0 / 90.0), rel=1e-15)
    advance(bank, case)
    learnt = np.count_nonzero(case.weights)
    assert bank.step_size(1) == pytest.approx(4.0 / (0.25 * 9.0) / np.sqrt(1.0 + (learnt + 1.0) / 90.0), rel=1e-15)


def test_a_bank_begins_with_all_models_alike():
    task = TASKS["one-vs-rest of 3"]
    coef, intercept = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0])
    bank = Bank.at(task, CANDIDATES, np.dtype(np.float32), coef, intercept)
    assert bank.weights.dtype == np.float32
    assert bank.steps == 0
    assert bank.numbers[:, [SCALE, OWN, SHARE]].tolist() == [[1.0, 1.0, 0.0]] * 3
    for model in range(3):
        found = bank.solution(model, Scaling(np.array([1.0, 2.0]), np.array([10.0, 20.0])))
        np.testing.assert_allclose(found[0], coef / [1.0, 2.0], rtol=1e-15)
        np.testing.assert_allclose(found[1], intercept - coef @ [10.0, 10.0], rtol=1e-15)
