"""The default fit on rows that are part dense, part sparse: each part as it is alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, sparse

import reference_bank as slow
from model_cases import OBJECTIVES, advance, random_case
from running import objective_of
from sgdone.bank import Bank
from sgdone.kernels.outcome import NOT_FINITE, NOT_SOUND
from sgdone.losses import Logistic, Squared
from sgdone.matrices.mixed_matrix import MixedMatrix, with_dense_columns
from sgdone.newton import counted_work, exact_path, exact_phase
from sgdone.newton.exact_phase import ExactInMemory
from sgdone.rows import ArraySource
from sgdone.rows.faults import drift_advice
from sgdone.run import RunOptions, run
from sgdone.stopping import Gain, MaxPasses
from sgdone.sums.units import LIFT, Units
from storage_forms import duplicated, long_indices, unsorted
from tiers import fast_first, grid

pytestmark = grid


def block_of(X, n_dense, labels=None, weights=None):
    labels = np.ones(X.shape[0]) if labels is None else labels
    source = ArraySource(with_dense_columns(X, n_dense), labels, weights, shuffle=False)
    return next(source.blocks(np.random.default_rng(0)))


def table(seed=0, n_rows=400, n_dense=3, n_sparse=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_dense + n_sparse))
    X[:, :n_dense] = X[:, :n_dense] * 10.0 ** rng.uniform(-2, 2, n_dense) + 5.0
    X[:, n_dense:] *= rng.random((n_rows, n_sparse)) < 0.3
    X[0, n_dense:] = 0.0
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal(X.shape[1])
    return X, np.where(scores + rng.logistic(size=n_rows) > 0, 1.0, -1.0)


# ---- the loop ----


def test_rows_that_cannot_be_used():
    case = random_case(7, OBJECTIVES["logistic"], n_dense=2)
    case.weights[:] = 1.0
    for column in (1, 4):
        X = case.X.copy()
        X[12, column] = np.nan
        bad = replace(case, X=X)
        found = advance(case.models(), bad)
        assert (found.position, found.outcome) == (12, NOT_FINITE)
    block = case.block
    block.rows.mixed[1].arrays[1].flags.writeable = True
    block.rows.mixed[1].arrays[1][-1] = 4
    found = case.models().advance(block, case.folds, 0, 30)
    assert found.outcome == NOT_SOUND


# ---- units ----


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("windows", [1, 3])
def test_units_are_those_of_each_part(windows, centred, rng):
    X, _ = table(1, 200)
    X[:, 1], X[:, 5] = 7.0, 0.0
    weights = rng.choice([0.0, 1.0], 200)
    block, units = block_of(X, 3, weights=weights), Units(3, centred, 7)
    for rows in np.array_split(np.arange(200, dtype=np.uint64), windows):
        units.observe(block, rows)
        units.renew()
    used = X[weights > 0]
    scale, shift = slow.column_units(used[:, :3], True, centred)
    np.testing.assert_allclose(units.spreads[:3], scale, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(units.spreads[3:], np.sqrt(np.mean(used[:, 3:] ** 2, axis=0)), rtol=1e-10)
    if windows == 1:
        scale = np.append(scale, slow.column_units(used[:, 3:], False)[0])
        np.testing.assert_allclose(units.scale, scale, rtol=1e-10, atol=1e-12)
        known = np.append(shift, np.zeros(4)) if centred else np.empty(0)
        np.testing.assert_allclose(units.shift, known, rtol=1e-10)


@pytest.mark.parametrize("column", [0, 5])
def test_columns_whose_squares_underflow(column):
    X, _ = table(3, 50)
    tiny = X.copy()
    tiny[:, column] *= 1e-200
    block = block_of(tiny, 3)
    for units in (Units.of_all_rows(block, centred=True), Units(3, True, 7)):
        if not units.rows:
            units.observe(block, block.all_used())
            units.renew()
        assert (units.lift[column], units.lift[6]) == (LIFT, 1.0)
        expected = Units.of_all_rows(block_of(X, 3), centred=True)
        np.testing.assert_allclose(units.scale[column], 1e-200 * expected.scale[column], rtol=1e-9)


def test_rows_sorted_by_a_dense_column(rng):
    """Sparse columns are not compared."""
    block = block_of(np.column_stack([np.arange(4000.0), rng.random(4000) < 0.1]), 1)
    units = Units(1, True, 2, ordered=True)
    for rows in np.array_split(block.all_used(), 8):
        units.observe(block, rows)
    assert drift_advice(units.groups, ["time", "word"]).startswith("The rows are sorted by time")


# ---- folds and copies ----


def source_of(X, labels, **options):
    return ArraySource(X, labels, **options)


def fit(X, labels, exact=None, objective=None, **options):
    objective = objective_of(Logistic(), 2) if objective is None else objective
    return run(source_of(X, labels), objective, Bank(), Gain(), RunOptions(optional=exact, **options))


@pytest.mark.parametrize("exact", [None, ExactInMemory()])
@pytest.mark.parametrize("n_dense", [0, 7])
def test_without_one_part_it_is_the_other(n_dense, exact):
    X, labels = table(5)
    mixed = MixedMatrix(np.ascontiguousarray(X[:, :n_dense]), sparse.csr_array(X[:, n_dense:]))
    found, expected = fit(mixed, labels, exact), fit(with_dense_columns(X, n_dense), labels, exact)
    assert np.array_equal(found.model.coef, expected.model.coef)
    assert np.array_equal(found.model.intercept, expected.model.intercept)


@pytest.mark.parametrize("change", fast_first(2, [unsorted, duplicated, long_indices]))
def test_other_forms_of_the_sparse_part(change):
    X, labels = table(6)
    matrix = with_dense_columns(X, 3)
    found = fit(MixedMatrix(matrix.dense, change(matrix.sparse)), labels)
    np.testing.assert_allclose(found.model.coef, fit(matrix, labels).model.coef, rtol=1e-6, atol=1e-9)


def test_the_size_of_blocks_changes_nothing():
    X, labels = table(7, 700)
    found = [fit(with_dense_columns(X, 3), labels, block_size=size).model for size in (None, 37)]
    assert np.array_equal(found[0].coef, found[1].coef)


def test_the_order_of_columns_within_a_part_hardly_matters():
    X, labels = table(8)
    order = np.array([2, 0, 1, 6, 4, 3, 5])
    found, other = (fit(with_dense_columns(rows, 3), labels).model.coef[0] for rows in (X, X[:, order]))
    np.testing.assert_allclose(other, found[order], rtol=1e-6)


@pytest.mark.parametrize("n_first", [3, 5], ids=["dense columns only", "mixed"])
def test_features_that_are_appended(n_first):
    """As if they had been there from the first row on, without entries."""
    X, labels = table(14, 6000)
    X[:3000, n_first:] = 0.0
    models = []
    for known in (n_first, 7):
        first, then = X[:3000, :known], X[3000:]
        options = {"shuffle": False, "part_of_stream": True}
        source = source_of(with_dense_columns(first, 3), labels[:3000], **options)
        result = run(source, objective_of(Logistic(), 2), Bank(), MaxPasses(1))
        result.state.append_features(np.zeros(7 - known, dtype=np.int32))
        source = source_of(with_dense_columns(then, 3), labels[3000:], **options)
        models.append(run(source, objective_of(Logistic(), 2), Bank(), MaxPasses(2), RunOptions(resume=result)).model)
    assert models[0].coef[0, n_first:].all()
    np.testing.assert_allclose(models[0].coef, models[1].coef, rtol=1e-9)
    np.testing.assert_allclose(models[0].intercept, models[1].intercept, rtol=1e-9)


# ---- the exact optimum ----


def minimum(X, labels, scaling, alpha, loss):
    """The minimum of the mean loss and the penalty in the units of a scaling, by SciPy."""
    scaled = (X - scaling.shift) / scaling.scale

    def objective(model):
        z, v = scaled @ model[:-1] + model[-1], 1.0 / len(labels)
        gradient = v * np.append(scaled.T @ loss.slope(z, labels), loss.slope(z, labels).sum())
        gradient[:-1] += alpha * model[:-1]
        return loss.value(z, labels).mean() + 0.5 * alpha * model[:-1] @ model[:-1], gradient

    found = optimize.minimize(objective, np.zeros(X.shape[1] + 1), jac=True, method="BFGS", options={"gtol": 1e-11})
    coef = found.x[:-1] / scaling.scale
    return coef, found.x[-1] - scaling.shift @ coef


@pytest.mark.parametrize("loss", [Logistic(), Squared()])
def test_the_finish_in_the_span_of_the_rows_is_the_minimum(loss):
    X, labels = table(11, 40, n_sparse=60)
    objective = replace(objective_of(loss, 2 if loss == Logistic() else None), alpha=0.02)
    result = fit(with_dense_columns(X, 3), labels, ExactInMemory(), objective)
    assert result.verdict.finish_passes > 0
    scaling = Units.of_all_rows(block_of(X, 3), centred=True).scaling
    coef, intercept = minimum(X[:, np.isfinite(scaling.scale)], labels, scaling, 0.02, loss)
    np.testing.assert_allclose(result.model.coef[0], coef, rtol=1e-5, atol=1e-6 * np.abs(coef).max())
    np.testing.assert_allclose(result.model.intercept, intercept, rtol=1e-5)


@pytest.mark.slow
def test_the_finish_by_folds_is_the_minimum(monkeypatch):
    """Where the curvature is too large to be factorised."""
    X, labels = table(12, 300)
    for module in (counted_work, exact_path, exact_phase):
        monkeypatch.setattr(module, "factorises", lambda *arguments: False)
    monkeypatch.setattr(ExactInMemory, "replaces_bank", lambda *arguments: True)
    result = fit(with_dense_columns(X, 3), labels, ExactInMemory())
    scaling = Units.of_all_rows(block_of(X, 3), centred=True).scaling
    coef, intercept = minimum(X, labels, scaling, result.objective.alpha, Logistic())
    np.testing.assert_allclose(result.model.coef[0], coef, rtol=1e-4, atol=1e-5 * np.abs(coef).max())
    np.testing.assert_allclose(result.model.intercept, intercept, rtol=1e-4)


@pytest.mark.parametrize("column", [0, 5])
def test_columns_whose_products_would_overflow(column):
    X, labels = table(13)
    large = X.copy()
    large[:, column] *= 1e100
    found, expected = (fit(with_dense_columns(rows, 3), labels, ExactInMemory()).model.coef[0] for rows in (large, X))
    found[column] *= 1e100
    np.testing.assert_allclose(found, expected, rtol=1e-5)
