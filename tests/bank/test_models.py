"""Models trained side by side: each equals its slow reference, and operations on them keep the others unchanged."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_bank
from model_cases import CANDIDATES, FEW_OBJECTIVES, OBJECTIVES, advance, forked, predictions, random_case, with_steps
from sgdone.bank.evaluation import Candidate
from sgdone.bank.models import Models
from sgdone.kernels.bank import ALL_ROWS, NO_FOLD, OWN, RECORDS_LOSSES, SCALE, SHARE, STEPS
from sgdone.kernels.model import AVERAGE_FLOOR
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, NOT_SOUND
from sgdone.rows import Scaling
from tiers import examples, fast_first, slow

ARRAYS = ("weights", "intercepts", "numbers", "plans")
dense_or_csr = pytest.mark.parametrize("dense", fast_first(1, [True, False]), ids=["dense", "csr"])
each_objective = pytest.mark.parametrize("objective", fast_first(1, OBJECTIVES.values()), ids=OBJECTIVES)
a_few_objectives = pytest.mark.parametrize("objective", fast_first(1, FEW_OBJECTIVES.values()), ids=FEW_OBJECTIVES)


def assert_equals_reference(models, found, case, start=None):
    """Every model has the solution and the progressive losses of its slow reference."""
    for model in range(models.n_models):
        coef, intercept, losses = case.reference(models, model, start)
        fast_coef, fast_intercept = models.solution(model, case.scaling)
        np.testing.assert_allclose(fast_coef, coef, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(fast_intercept, intercept, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.losses[:, model], losses, rtol=1e-10, atol=1e-10)


def assert_same_bits(models, other):
    for name in ARRAYS:
        assert np.array_equal(getattr(models, name), getattr(other, name)), name


def trained(seed=0, objective=OBJECTIVES["softmax of 3"], dense=True, **options):
    """A case, and models with folds trained on it."""
    case = random_case(seed, objective, dense, **options)
    models = forked(case.models())
    advance(models, case)
    return case, models


def solutions(models, case):
    return [models.solution(model, case.scaling) for model in range(models.n_models)]


def assert_same_solutions(found, expected):
    for (coef, intercept), (other_coef, other_intercept) in zip(found, expected, strict=True):
        assert np.array_equal(coef, other_coef)
        assert np.array_equal(intercept, other_intercept)


# ---- the slow reference ----


@pytest.mark.parametrize("n_dense", [6, pytest.param(0, marks=slow), 2], ids=["dense", "csr", "mixed"])
@each_objective
@examples(3)
@given(seed=st.integers(0, 10**6))
def test_every_model_equals_its_reference(objective, n_dense, seed):
    """One model, and so many that the loops over them differ."""
    few, more = ((CANDIDATES[:1], 0), (CANDIDATES[:2], 0)), ((CANDIDATES[:2], 2),)
    for candidates, folds in (*few, *more) if n_dense == 2 else more:
        case = random_case(seed, objective, n_dense=n_dense)
        models = forked(case.models(candidates), folds) if folds else case.models(candidates)
        found = advance(models, case)
        assert (found.position, found.outcome) == (30, CONTINUE)
        assert len(found.losses) == np.count_nonzero(case.weights)
        assert_equals_reference(models, found, case)


@pytest.mark.parametrize(("n_rows", "n_features", "n_dense"), [(1, 2, 1), (9, 12, 11), (9, 12, 1)])
def test_few_columns_of_a_kind(n_rows, n_features, n_dense):
    case = random_case(4, OBJECTIVES["logistic"], n_rows=n_rows, n_features=n_features, n_dense=n_dense)
    models = case.models()
    assert_equals_reference(models, advance(models, case), case)


@dense_or_csr
@examples(12)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 60),
    n_features=st.integers(1, 11),
    gain=st.floats(-3, 3),
    penalty=st.floats(-6, 3),
)
def test_a_softmax_equals_its_reference_at_any_step_size(dense, seed, n_rows, n_features, gain, penalty):
    case = random_case(seed, OBJECTIVES["softmax of 3"], dense, n_rows, n_features)
    models = case.models([Candidate(10.0**gain, 10.0**penalty)])
    assert_equals_reference(models, advance(models, case), case)


@dense_or_csr
@a_few_objectives
def test_a_start_other_than_zero(objective, dense, rng):
    case = random_case(3, objective, dense, n_rows=20)
    start = rng.standard_normal((objective.n_outputs, 6)), rng.standard_normal(objective.n_outputs)
    models = case.models(CANDIDATES[:2], start)
    (coef, _), _ = solutions(models, case)
    np.testing.assert_allclose(coef * case.scaling.scale, start[0], rtol=1e-14)
    assert_equals_reference(models, advance(models, case), case, start)


@dense_or_csr
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 2.0])
def test_a_long_run(dense, alpha):
    """Least squares, whose implicit step has a closed form; scales are folded into the vectors many times."""
    objective = OBJECTIVES["squared"]
    case = random_case(4, objective, dense, n_rows=6000, n_features=3)
    models = case.models([Candidate(0.5, alpha)])

    def update(W, b, x, label, v, gamma):
        shrink = 1.0 / (1.0 + gamma * alpha)
        s = (shrink * W @ x + b - label) / (1.0 + gamma * v * (shrink * x @ x + 1.0))
        return shrink * (W - gamma * v * np.outer(s, x)), b - gamma * v * s

    closed_form = reference_bank.Outputs(update, lambda z, label: 0.5 * (z[0] - label) ** 2)
    object.__setattr__(case, "outputs", lambda _: closed_form)
    found = advance(models, case)
    assert_equals_reference(models, found, case)
    scale, own, share, steps = models.numbers[0]
    assert steps == np.count_nonzero(case.weights)
    assert AVERAGE_FLOOR / 5 < scale <= 1.0
    assert AVERAGE_FLOOR / 5 < own <= 1.0
    assert 0.0 < share <= 1.0


@dense_or_csr
@pytest.mark.parametrize("penalty", [1e3, 1e9, 1e300])
def test_a_penalty_that_leaves_nothing_of_the_weights(dense, penalty):
    """A single row shrinks the scale below its floor: it is folded into the vectors at every row."""
    case = random_case(5, OBJECTIVES["logistic"], dense, n_rows=15)
    models = case.models([Candidate(1.0, penalty)])
    assert_equals_reference(models, advance(models, case), case)
    assert np.max(np.abs(models.solution(0, case.scaling)[0])) < 10.0 / penalty


@dense_or_csr
@pytest.mark.parametrize("name", fast_first(1, ["softmax of 5 without intercept", "squared hinge without intercept"]))
def test_rows_of_zeros_without_an_intercept_change_nothing(name, dense):
    """There is no direction to step in, whatever the slope."""
    case = replace(random_case(6, OBJECTIVES[name], dense), weights=np.ones(30))
    if dense:
        case = replace(case, scaling=Scaling(case.scaling.scale, np.zeros(6)))
    case.X[::4] = 0.0
    models = case.models(CANDIDATES[:1])
    found = advance(models, case)
    assert np.all(np.isfinite(models.weights))
    assert_equals_reference(models, found, case)
    assert np.array_equal(models.intercepts, np.zeros_like(models.intercepts))


def test_columns_without_spread_have_no_weight(rng):
    case = random_case(7, OBJECTIVES["softmax of 3"])
    case.scaling.scale[2] = np.inf
    case.X[:, 2] = 1e6 + rng.standard_normal(30)
    models = case.models()
    found = advance(models, case)
    assert_equals_reference(models, found, case)
    assert np.array_equal(models.weights[2], np.zeros(models.weights.shape[1]))


# ---- rows ----


@dense_or_csr
@a_few_objectives
def test_stretches_do_not_change_a_bit(objective, dense):
    case, whole = trained(9, objective, dense, n_rows=200)
    models = forked(case.models())
    found = [advance(models, case, first, last) for first, last in ((0, 1), (1, 38), (38, 38), (38, 141), (141, 200))]
    assert_same_bits(models, whole)
    assert [part.position for part in found] == [1, 38, 38, 141, 200]
    assert sum(len(part.losses) for part in found) == np.count_nonzero(case.weights)


def test_rows_are_used_in_the_order_of_the_block(rng):
    case = random_case(10, OBJECTIVES["softmax of 3"])
    order = rng.permutation(30)
    turned = replace(
        case, X=case.X[order], labels=case.labels[order], weights=case.weights[order], folds=case.folds[order]
    )
    models, other = forked(case.models()), forked(turned.models())
    block = case.block.ordered(order.astype(np.uint64))
    models.advance(block, case.folds, 0, 30)
    advance(other, turned)
    assert_same_bits(models, other)


def test_one_weight_for_all_rows():
    case = replace(random_case(11, OBJECTIVES["logistic"]), weights=np.array([0.7]))
    other = replace(case, weights=np.full(30, 0.7))
    models, other_models = case.models(), other.models()
    found = advance(models, case)
    advance(other_models, other)
    assert_same_bits(models, other_models)
    assert len(found.losses) == 30


def test_rows_of_weight_0_are_not_read():
    case = random_case(12, OBJECTIVES["softmax of 3"])
    spoilt = replace(case, X=np.where(case.weights[:, None] == 0, np.nan, case.X))
    models, other = case.models(), case.models()
    advance(models, case)
    assert advance(other, spoilt).outcome == CONTINUE
    assert_same_bits(models, other)


@dense_or_csr
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_row_that_is_not_finite_ends_the_stretch_before_any_update(bad, dense):
    case = replace(random_case(13, OBJECTIVES["softmax of 3"], dense), weights=np.ones(30))
    case.X[17, 3] = bad
    models, other = case.models(), case.models()
    found = advance(models, case)
    assert (found.position, found.outcome, len(found.losses)) == (17, NOT_FINITE, 17)
    advance(other, case, 0, 17)
    assert_same_bits(models, other)


def test_a_label_that_is_too_large_ends_the_stretch():
    case = replace(random_case(14, OBJECTIVES["squared"]), weights=np.ones(30))
    case.labels[5] = 1e200
    found = advance(case.models(), case)
    assert (found.position, found.outcome) == (5, NOT_FINITE)


@pytest.mark.slow
def test_an_index_outside_the_matrix_ends_the_stretch():
    case = replace(random_case(15, OBJECTIVES["logistic"], dense=False), weights=np.ones(30))
    block = case.block
    data, indices, *others = block.rows.arrays
    wrong = indices.copy()
    wrong[int(others[0][11])] = 6
    broken = replace(block, rows=replace(block.rows, arrays=(data, wrong, *others)))
    models, other = case.models(), case.models()
    found = models.advance(broken, case.folds, 0, 30)
    assert (found.position, found.outcome) == (11, NOT_SOUND)
    advance(other, case, 0, 11)
    assert_same_bits(models, other)


@dense_or_csr
@pytest.mark.slow
def test_single_precision(dense):
    case, models = trained(16, dense=dense, n_rows=200)
    single = replace(case, X=case.X.astype(np.float32))
    other = forked(single.models())
    found = advance(other, single)
    assert other.weights.dtype == np.float32
    assert found.outcome == CONTINUE
    np.testing.assert_allclose(predictions(other, case), predictions(models, case), rtol=1e-3, atol=1e-4)


# ---- evaluating without training ----


@dense_or_csr
@each_objective
def test_evaluating_changes_nothing_and_uses_the_averages(objective, dense):
    case = random_case(17, objective, dense, n_rows=60)
    models = forked(case.models())
    advance(models, case)
    before = models.copy()
    found = advance(models, case, learn=False)
    assert_same_bits(models, before)
    used = case.weights != 0
    z, labels = predictions(models, case)[:, :, used], case.labels[used]
    cost = case.outputs(0.0).cost
    losses = [[cost(z[model, :, i], labels[i]) for model in range(models.n_models)] for i in range(len(labels))]
    np.testing.assert_allclose(found.losses, losses, rtol=1e-10, atol=1e-12)
    if objective.is_regression:
        misses = np.sum((z[:, 0] - labels) ** 2, axis=1)
    elif objective.n_outputs == 1:
        misses = np.sum(np.sign(z[:, 0]) != labels, axis=1)
    else:
        misses = np.sum(np.argmax(z, axis=1) != labels, axis=1)
    np.testing.assert_allclose(found.misses, misses, rtol=1e-10)


def test_a_fold_model_never_trains_on_its_fold():
    """Other labels in the fold change all models but the fold's own."""
    case, models = trained(18)
    other_labels = replace(case, labels=np.where(case.folds == 1, (case.labels + 1) % 3, case.labels))
    other = forked(case.models())
    advance(other, other_labels)
    for model in range(models.n_models):
        same = np.array_equal(models.solution(model, case.scaling)[0], other.solution(model, case.scaling)[0])
        assert same == (models.folds[model] == 1)
    used = case.weights != 0
    trained_on = {ALL_ROWS: used.sum(), 0: np.sum(used & (case.folds != 0)), 1: np.sum(used & (case.folds != 1))}
    assert models.numbers[:, STEPS].tolist() == [trained_on[fold] for fold in models.folds]
    assert models.steps == used.sum()


def test_losses_are_recorded_of_the_models_without_a_fold():
    """While training; an evaluation records those of all models."""
    case = random_case(32, OBJECTIVES["softmax of 3"])
    models, recording = case.models(), forked(case.models())
    models.fork(2)
    found, everything = advance(models, case), advance(recording, case)
    assert np.array_equal(found.losses[:, :3], everything.losses[:, :3])
    assert np.array_equal(found.misses[:3], everything.misses[:3])
    assert not found.losses[:, 3:].any()
    assert not found.misses[3:].any()
    assert np.array_equal(models.weights, recording.weights)
    evaluations = [advance(each, case, learn=False) for each in (models, recording)]
    assert np.array_equal(evaluations[0].losses, evaluations[1].losses)
    assert np.array_equal(evaluations[0].misses, evaluations[1].misses)
    models.record_losses_of(1)
    assert np.array_equal(advance(models, case).losses.any(axis=0), np.arange(9) == 1)
    models.drop_fold_models()
    assert np.array_equal(models.plans[:, RECORDS_LOSSES], np.ones(3))


# ---- several models ----


@dense_or_csr
@each_objective
def test_models_side_by_side_equal_each_alone(objective, dense):
    case = random_case(19, objective, dense, n_rows=150)
    models = forked(case.models())
    found = advance(models, case)
    for model in range(models.n_models):
        alone = forked(case.models())
        alone._select(np.array([model]))
        seen = advance(alone, case)
        np.testing.assert_allclose(seen.losses[:, 0], found.losses[:, model], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(
            predictions(alone, case)[0], predictions(models, case)[model], rtol=1e-11, atol=1e-13
        )
        assert seen.misses[0] == pytest.approx(found.misses[model], rel=1e-11)


def test_a_fork_does_not_change_the_models():
    case = random_case(20, OBJECTIVES["softmax of 3"])
    models = case.models()
    advance(models, case)
    expected = solutions(models, case)
    models.fork(2)
    assert models.candidates == [*CANDIDATES] * 3
    assert models.folds == [ALL_ROWS] * 3 + [0] * 3 + [1] * 3
    assert_same_solutions(solutions(models, case), expected * 3)
    assert models.alive == [*CANDIDATES]
    assert models.models_of(CANDIDATES[1]) == {ALL_ROWS: 1, 0: 4, 1: 7}


def test_keeping_some_candidates_does_not_change_them():
    case, models = trained(21)
    expected = solutions(models, case)
    whole = models.copy()
    kept = [CANDIDATES[0], CANDIDATES[2]]
    models.keep(kept)
    assert models.candidates == kept * 3
    assert models.folds == [ALL_ROWS] * 2 + [0] * 2 + [1] * 2
    assert models.alive == kept
    places = [0, 2, 3, 5, 6, 8]
    assert_same_solutions(solutions(models, case), [expected[model] for model in places])
    found, all_found = advance(models, case), advance(whole, case)
    np.testing.assert_allclose(found.losses, all_found.losses[:, places], rtol=1e-11, atol=1e-13)


def test_a_branch_starts_where_its_origin_is():
    case, models = trained(22)
    expected = solutions(models, case)
    others = [Candidate(1.0, 0.5), Candidate(1.0, 5.0)]
    models.branch(CANDIDATES[1], others)
    origin = [1, 4, 7]
    assert_same_solutions(solutions(models, case), expected + [expected[model] for model in origin] * 2)
    assert models.candidates[9:] == [others[0]] * 3 + [others[1]] * 3
    assert models.folds[9:] == [ALL_ROWS, 0, 1] * 2
    assert models.alive == [*CANDIDATES, *others]
    assert models.models_of(others[1]) == {ALL_ROWS: 12, 0: 13, 1: 14}
    with_steps(models)
    found = advance(models, case)
    before_steps = found.losses[0]
    assert np.array_equal(before_steps[9:], np.tile(before_steps[origin], 2))
    assert not np.allclose(found.losses[-1, 9:12], found.losses[-1, 12:15])


def test_any_selection_keeps_each_models_solution():
    case, models = trained(23)
    expected = solutions(models, case)
    chosen = np.array([7, 0, 0, 5, 8])
    plans = models.plans[chosen]
    models._select(chosen)
    assert_same_solutions(solutions(models, case), [expected[model] for model in chosen])
    assert models.candidates == [CANDIDATES[k % 3] for k in chosen]
    assert models.folds == [1, ALL_ROWS, ALL_ROWS, 0, 1]
    assert np.array_equal(models.plans, plans)
    assert models.weights.flags.c_contiguous


def test_fold_models_are_dropped():
    case, models = trained(30)
    expected = solutions(models, case)[:3]
    models.drop_fold_models()
    assert (models.candidates, models.folds) == ([*CANDIDATES], [ALL_ROWS] * 3)
    assert_same_solutions(solutions(models, case), expected)


def test_no_model_trains_on_held_out_rows_until_they_are_released():
    case = random_case(33, OBJECTIVES["softmax of 3"])
    case.folds[case.folds == 1] = NO_FOLD
    models, never = case.models(), forked(case.models(), 1)
    models.hold_out()
    assert models.holds_out
    assert [models.main(candidate) for candidate in CANDIDATES] == [0, 1, 2]
    advance(models, case)
    advance(never, case)
    without = solutions(never, case)[3:]
    assert_same_solutions(solutions(models, case), without)
    models.fork(1)
    assert not models.holds_out
    assert models.candidates == [*CANDIDATES] * 2
    assert models.folds == [ALL_ROWS] * 3 + [0] * 3
    assert [models.main(candidate) for candidate in CANDIDATES] == [0, 1, 2]
    assert_same_solutions(solutions(models, case), without * 2)
    trained_on = models.steps
    held = np.flatnonzero(case.folds == 0).astype(np.uint64)
    models.advance(case.block.ordered(held), case.folds, 0, held.size)
    assert_same_solutions(solutions(models, case)[3:], without)
    assert not np.allclose(predictions(models, case)[:3], predictions(models, case)[3:])
    assert (
        models.steps == trained_on + np.count_nonzero(case.weights[held.astype(int)]) == np.count_nonzero(case.weights)
    )


def test_a_copy_shares_nothing_that_changes():
    case, models = trained(24)
    copy, expected = models.copy(), solutions(models, case)
    advance(copy, case)
    copy.keep(CANDIDATES[:1])
    assert_same_solutions(solutions(models, case), expected)
    assert models.n_models == 9


# ---- units ----


def iterates(models, case):
    """Predictions of the iterate of every model."""
    half = models.weights.shape[1] // 2
    scale = np.repeat(models.numbers[:, SCALE], case.objective.n_outputs)
    return case.scaled_rows @ (scale * models.weights[:, :half]) + models.intercepts[0]


@dense_or_csr
@a_few_objectives
@examples(5)
@given(seed=st.integers(0, 10**6))
def test_a_change_of_units_does_not_change_predictions(objective, dense, seed):
    case, models = trained(seed, objective, dense, n_rows=60)
    rng = np.random.default_rng(seed)
    shift = 3.0 * rng.standard_normal(6) if dense else None
    other = replace(case, scaling=Scaling(10.0 ** rng.uniform(-3, 3, 6), shift))
    expected, expected_iterates = predictions(models, case), iterates(models, case)
    models.change_units(case.scaling, other.scaling)
    np.testing.assert_allclose(predictions(models, other), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(iterates(models, other), expected_iterates, rtol=1e-10, atol=1e-10)
    models.change_units(other.scaling, case.scaling)
    np.testing.assert_allclose(predictions(models, case), expected, rtol=1e-10, atol=1e-10)


@dense_or_csr
def test_a_column_without_spread_so_far_starts_at_0(dense):
    """Whatever its initial weight was: it never contributed to a prediction."""
    case = random_case(25, OBJECTIVES["softmax of 3"], dense)
    flat = replace(case, scaling=Scaling(np.where(np.arange(6) == 4, np.inf, case.scaling.scale), case.scaling.shift))
    models = case.models()
    advance(models, flat)
    expected = predictions(models, flat)
    models.change_units(flat.scaling, case.scaling)
    assert np.array_equal(models.weights[4], np.zeros(18))
    np.testing.assert_allclose(predictions(models, case), expected, rtol=1e-10, atol=1e-10)
    advance(models, case)
    assert np.all(models.weights[4] != 0.0)


@dense_or_csr
def test_a_column_can_stay_without_spread(dense):
    case = random_case(26, OBJECTIVES["softmax of 3"], dense)
    case.scaling.scale[1] = np.inf
    models = case.models()
    advance(models, case)
    expected = predictions(models, case)
    other = replace(case, scaling=Scaling(2.0 * case.scaling.scale, case.scaling.shift))
    models.change_units(case.scaling, other.scaling)
    np.testing.assert_allclose(predictions(models, other), expected, rtol=1e-10, atol=1e-10)


# ---- step sizes ----


def test_step_sizes_decrease_with_the_rows_trained_on():
    case = random_case(27, OBJECTIVES["logistic"])
    models = case.models()
    models.set_steps(0.25, 9.0, 1.0, [0.1, 0.2, 0.3])
    assert models.step_size(1) == pytest.approx(4.0 / (0.25 * 9.0) / np.sqrt(1.0 + 1.0 / 90.0), rel=1e-15)
    advance(models, case)
    trained_on = np.count_nonzero(case.weights)
    assert models.step_size(1) == pytest.approx(
        4.0 / (0.25 * 9.0) / np.sqrt(1.0 + (trained_on + 1.0) / 90.0), rel=1e-15
    )


def test_all_models_start_equal():
    objective = OBJECTIVES["one-vs-rest of 3"]
    coef, intercept = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0])
    models = Models.at(objective, CANDIDATES, np.dtype(np.float32), coef, intercept)
    assert models.weights.dtype == np.float32
    assert models.steps == 0
    assert models.numbers[:, [SCALE, OWN, SHARE]].tolist() == [[1.0, 1.0, 0.0]] * 3
    for model in range(3):
        found = models.solution(model, Scaling(np.array([1.0, 2.0]), np.array([10.0, 20.0])))
        np.testing.assert_allclose(found[0], coef / [1.0, 2.0], rtol=1e-15)
        np.testing.assert_allclose(found[1], intercept - coef @ [10.0, 10.0], rtol=1e-15)
