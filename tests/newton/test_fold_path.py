"""Optima of problems too large to be factorised: those of an exact solver, and a penalty chosen by folds."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge

from sgdone.interfaces.objective import Objective
from sgdone.losses import Logistic, Squared
from sgdone.newton import EXACT
from sgdone.newton.fold_path import FoldPath
from sgdone.newton.penalty_path import has_unit_norms, lam_at
from sgdone.rows import ArraySource
from sgdone.rows.rows import Scaling
from sgdone.rows.validation_rows import ValidationRows
from sgdone.sums.pieces import BlockPieces
from sgdone.sums.second_order import derivatives
from sgdone.sums.system import System, contrasts
from sgdone.sums.units import Units
from tiers import interpreted


def text(n_rows=300, n_words=60, seed=0):
    """Sparse rows with frequent and rare words, an empty row and a word that does not occur."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(3.0 / np.arange(1, n_words + 1), (n_rows, n_words)).astype(float)
    counts[3], counts[:, 7] = 0.0, 0.0
    logits = counts[:, 4:20] @ rng.standard_normal(16)
    return counts, logits - logits.mean(), rng


def found(X, y, objective, weights=None, given_units=False, folds=True):
    """The path after its last evaluation, its model in the user's units and its pieces."""
    rng = np.random.default_rng(0)
    block = next(ArraySource(X, y, weights, shuffle=False).blocks(rng))
    units = Units.of_all_rows(block, centred=objective.fit_intercept)
    scaling = Scaling(np.where(np.isfinite(units.scaling.scale), 1.0, np.inf)) if given_units else units.scaling
    validation = ValidationRows.drawn(block, block.all_used(), rng) if folds else ValidationRows()
    pieces = BlockPieces(block, scaling)
    start = np.zeros((X.shape[1] + 1, objective.n_free_outputs))
    path = FoldPath(System(objective, scaling), pieces, start, validation)
    assert sum(1 for _ in path.evaluations()) > 3
    assert path.best.decrement <= EXACT
    basis = contrasts(objective)
    model = path.best.model if basis is None else path.best.model @ basis.T
    coef = model[:-1] / scaling.scale[:, None]
    intercept = model[-1] if scaling.shift is None else model[-1] - scaling.shift @ coef
    return path, coef, intercept


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_optimum_is_that_of_an_exact_solver(n_classes):
    """In given units, at the penalty that the folds chose."""
    X, logits, rng = text()
    noisy = logits + rng.logistic(size=300)
    y = np.where(noisy > 0, 1.0, -1.0) if n_classes == 2 else np.digitize(noisy, [-1.0, 1.0]).astype(float)
    path, coef, intercept = found(sparse.csr_array(X), y, Objective.of_classes(Logistic(), n_classes), given_units=True)
    exact = LogisticRegression(C=1.0 / path.best.lam, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    assert np.allclose(coef.T, exact.coef_, atol=1e-4)
    assert np.allclose(intercept - intercept.mean() * (n_classes > 2), exact.intercept_, atol=1e-4)
    best = path.grid.best
    assert path.grid.losses[best + 1] > path.grid.losses[best] < path.grid.losses[best - 1]
    assert path.best.rows.size == path.best.losses.size > 100


def test_dense_rows_and_the_squared_loss():
    """The optimum solves the normal equations of centred columns in their units."""
    X, logits, rng = text()
    y = logits + rng.standard_normal(300)
    path, coef, intercept = found(X, y, Objective(Squared(), predicts="target"))
    kept = X.std(axis=0) > 0
    Z = (X - X.mean(axis=0))[:, kept]
    penalties = np.diag(path.best.lam * X.std(axis=0)[kept] ** 2)
    expected = np.linalg.solve(Z.T @ Z + penalties, Z.T @ (y - y.mean()))
    assert np.allclose(coef[kept, 0], expected, atol=1e-5)
    assert not coef[~kept].any()
    assert np.isclose(intercept[0], y.mean() - X.mean(axis=0)[kept] @ expected, atol=1e-5)


def test_sparse_and_dense_rows_of_the_same_units_agree():
    """Without an intercept neither is centred; the units differ, unless they are given."""
    X, logits, rng = text()
    y = np.where(logits + rng.logistic(size=300) > 0, 1.0, -1.0)
    objective = Objective(Logistic(), alpha=0.01, fit_intercept=False)
    models = [found(matrix, y, objective, given_units=True) for matrix in (X, sparse.csr_array(X))]
    assert np.allclose(models[0][1], models[1][1], atol=1e-6)
    assert models[0][2] == models[1][2] == 0.0


def test_a_weight_is_a_frequency():
    """A row of weight 2 is the row twice, and one of weight 0 is not there."""
    X, logits, rng = text()
    y = np.where(logits + rng.logistic(size=300) > 0, 1.0, -1.0)
    weights = rng.integers(0, 3, 300).astype(float)
    copies = np.repeat(np.arange(300), weights.astype(int))
    objective = Objective(Logistic(), alpha=0.01)
    once = found(sparse.csr_array(X), y, objective, weights, given_units=True)
    twice = found(sparse.csr_array(X[copies]), y[copies], objective, given_units=True)
    assert np.allclose(once[1], twice[1], atol=1e-5)
    assert np.isclose(once[0].best.lam, twice[0].best.lam)


@pytest.mark.slow
@interpreted
def test_a_class_of_one_row_is_no_obstacle():
    """Fold models that do not know the class would have an infinite loss."""
    X, logits, rng = text()
    y = np.where(logits + rng.logistic(size=300) > 0, 1.0, 0.0)
    y[11] = 2.0
    path, coef, _ = found(sparse.csr_array(X), y, Objective.of_classes(Logistic(), 3))
    assert np.isfinite(path.best.losses).all()
    assert 11 not in path.best.rows
    assert np.isfinite(coef).all()


@pytest.mark.parametrize("favoured", ["given", "scaled"])
def test_the_given_units_compete_if_all_rows_have_norm_1(favoured):
    """Coefficients of a size that is the same in one of the units make these better."""
    rng = np.random.default_rng(3)
    X = rng.poisson(0.3, (1500, 80)) * np.where(np.arange(80) < 40, 1.0, 0.05)
    X[:, 0] += 0.1
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    coef = rng.standard_normal(80) * (12.0 if favoured == "given" else 2.0)
    coef = np.where(np.arange(80) < 40, coef, 0.0 if favoured == "given" else 20.0 * coef)
    y = np.where(X @ coef - np.median(X @ coef) + rng.logistic(size=1500) > 0, 1.0, -1.0)
    objective = Objective(Logistic())
    path, model, intercept = found(sparse.csr_array(X), y, objective)
    assert path.uses_given_units == (favoured == "given")
    scale = 1.0 if favoured == "given" else path.pieces.scaling.scale[:, None]
    losses = derivatives(objective, X @ model + intercept, y)
    gradient = X.T @ losses.slopes + path.best.lam * model * scale**2
    assert np.abs(gradient).max() < 1e-3
    assert not has_unit_norms(next(ArraySource(sparse.csr_array(2.0 * X), y).blocks(rng)))


@pytest.mark.parametrize(
    "X",
    [
        np.where(np.arange(100)[:, None] % 3 == 0, 1.0, 0.0),
        np.ones((100, 2)),
        np.zeros((100, 3)),
        np.column_stack([np.arange(100) % 5, np.ones(100), np.zeros(100)]),
    ],
    ids=["one column", "constant", "empty", "mixed"],
)
def test_odd_columns(X):
    """The gradient of the objective is 0 in all directions that a model can take."""
    y = np.where(np.arange(100) % 7 < 3, 1.0, -1.0)
    path, coef, intercept = found(sparse.csr_array(X.astype(float)), y, Objective(Logistic(), alpha=0.1))
    scale = np.where(np.isfinite(path.pieces.scaling.scale), path.pieces.scaling.scale, 0.0)

    def objective(model):
        return np.logaddexp(0.0, -y * (X @ model[:-1] + model[-1])).sum() + 5.0 * ((scale * model[:-1]) ** 2).sum()

    model = np.append(coef[:, 0], intercept)
    assert objective(model) <= minimize(objective, np.zeros(model.size), tol=1e-10).fun + 1e-7


def test_without_folds_the_first_penalty_is_used():
    """The losses of new rows are then not known."""
    X, logits, _ = text(n_rows=30)
    path, _, _ = found(sparse.csr_array(X), np.where(logits > 0, 1.0, -1.0), Objective(Logistic()), folds=False)
    assert path.best.lam == pytest.approx(1.0)
    assert not path.best.losses.size


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_one_sequence_of_readings_gives_the_losses_of_all_penalties(form, intercept):
    """Those of ridge regressions without a fold, on its rows."""
    X, logits, rng = text()
    y, weights = logits + rng.standard_normal(300) + 5.0, 0.5 + np.arange(300) % 3
    objective = Objective(Squared(), predicts="target", fit_intercept=intercept)
    path, _, _ = found(form(X), y, objective, weights, given_units=True)
    (held_out, judged), losses = path.held_out, np.empty(300)
    assert judged.size == 300
    assert path.grid.end == ""
    for k, loss in path.grid.losses.items():
        for rows in held_out.T:
            model = Ridge(lam_at(k), solver="cholesky", fit_intercept=intercept)
            model.fit(X[~rows], y[~rows], sample_weight=weights[~rows])
            losses[rows] = 0.5 * (model.predict(X[rows]) - y[rows]) ** 2
        assert loss == pytest.approx(np.average(losses, weights=weights), rel=1e-3)
