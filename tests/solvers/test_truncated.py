"""L1 and elastic net against their slow twins, scikit-learn, and bad input."""

import numpy as np
import pytest
import reference_sparse_penalty as sparse_penalty
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import ElasticNet, LogisticRegression

from problems import random_problem
from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, solvers, steps, stopping
from tiers import examples, fast_first, grid, interpreted

pytestmark = grid

ALPHA = 0.05


@interpreted
@pytest.mark.parametrize("loss", fast_first(1, [losses.Logistic(), losses.Squared()]), ids=lambda loss: loss.name)
@examples(25)
@given(
    options=st.fixed_dictionaries(
        {
            "seed": st.integers(0, 10**6),
            "as_csr": st.booleans(),
            "intercept": st.booleans(),
            "gamma": st.floats(0.01, 0.3),
            "l1_ratio": st.floats(0.0, 1.0),
            "every": st.integers(1, 30),
            "passes": st.integers(1, 3),
            "block_size": st.sampled_from([1, 7, None]),
        }
    )
)
def test_it_equals_its_slow_twin(loss, options):
    problem = random_problem(options["seed"], loss)
    passes, gamma, every, l1_ratio = (options[name] for name in ("passes", "gamma", "every", "l1_ratio"))
    tiled = np.tile(problem.X, (passes, 1)), np.tile(problem.y, passes), np.tile(problem.weights, passes)
    path = sparse_penalty.truncated_sgd(*tiled, lambda t: gamma, loss, ALPHA, l1_ratio, options["intercept"], every)
    owed = (len(path) - 1) % every * gamma * ALPHA * l1_ratio
    w, b = sparse_penalty.soft_threshold(path[-1][0], owed), path[-1][1]
    result = run(
        problem.source(as_csr=options["as_csr"], shuffle=False),
        loss,
        solvers.Truncated(every=every),
        stopping.MaxPasses(passes),
        alpha=ALPHA,
        l1_ratio=l1_ratio,
        step=steps.Constant(gamma),
        fit_intercept=options["intercept"],
        task="classification" if loss.task == "classification" else "regression",
        block_size=options["block_size"],
    )
    scale = max(1.0, np.abs(w).max())
    assert np.allclose(result.coef, w, rtol=1e-10, atol=1e-10 * scale)
    assert result.intercept == pytest.approx(b, rel=1e-10, abs=1e-10 * scale)


@pytest.mark.slow
def test_scales_that_vanish_are_folded_in():
    """γα₂ = 0.45 halves the scale almost every row: it is folded every thirty rows or so."""
    problem = random_problem(1, losses.Squared(), n_rows=300, n_features=5)
    path = sparse_penalty.truncated_sgd(
        problem.X, problem.y, problem.weights, lambda t: 0.05, losses.Squared(), 10.0, 0.1, True, 3
    )
    options = {"alpha": 10.0, "l1_ratio": 0.1, "step": steps.Constant(0.05), "task": "regression"}
    stop = stopping.MaxSamples(3 * ((len(path) - 1) // 3))
    for as_csr in (False, True):
        source = problem.source(as_csr=as_csr, shuffle=False)
        result = run(source, losses.Squared(), solvers.Truncated(every=3), stop, **options)
        assert np.allclose(result.coef, path[result.verdict.step][0], rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 30))
    truth = np.where(np.arange(30) % 7 == 0, rng.uniform(1.0, 2.0, 30), 0.0)
    return X, X @ truth + rng.standard_normal(3000) + 0.5, truth


@pytest.mark.slow
@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize(("penalty", "l1_ratio"), [("l1", 1.0), ("elasticnet", 0.7)])
def test_it_finds_scikit_learns_optimum_and_its_zeros(regression, as_csr, penalty, l1_ratio):
    X, y, truth = regression
    model = SGDRegressor(solver="sgd", penalty=penalty, l1_ratio=0.7, alpha=0.1, stop=60, random_state=0)
    model.fit(sparse.csr_array(X) if as_csr else X, y)
    exact = ElasticNet(alpha=0.1, l1_ratio=l1_ratio, tol=1e-10).fit(X, y)

    def objective(coef, intercept):
        penalty = 0.1 * (l1_ratio * np.abs(coef).sum() + 0.5 * (1 - l1_ratio) * coef @ coef)
        return 0.5 * np.mean((y - X @ coef - intercept) ** 2) + penalty

    best = objective(exact.coef_, exact.intercept_)
    assert objective(model.coef_, model.intercept_[0]) - best < 1e-3 * best
    assert np.all(model.coef_[truth != 0] != 0)
    assert np.mean(model.coef_[truth == 0] == 0) > 0.8
    assert not np.any(np.signbit(model.coef_) & (model.coef_ == 0))


@pytest.mark.slow
def test_classification_in_wide_sparse_rows():
    rng = np.random.default_rng(1)
    X = sparse.random_array((1500, 400), density=0.05, rng=rng, format="csr")
    y = (X[:, [0]].toarray().ravel() - X[:, [1]].toarray().ravel() + 0.05 * rng.standard_normal(1500) > 0).astype(int)
    model = SGDClassifier(solver="sgd", penalty="l1", alpha=2e-3, stop=30, random_state=0).fit(X, y)
    exact = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=1 / (2e-3 * 1500), intercept_scaling=100.0)
    exact.fit(X, y)
    assert abs(model.score(X, y) - exact.score(X, y)) < 0.05
    assert np.mean(model.coef_ == 0) > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l3"}, "penalty='l3': give"),
        ({"penalty": "elasticnet", "l1_ratio": 1.5}, "l1_ratio=1.5 is not between 0"),
        ({"penalty": "elasticnet", "l1_ratio": -0.1}, "l1_ratio=-0.1 is not between 0"),
        ({"penalty": "l1", "solver": "asgd"}, "make weights exactly 0, which asgd"),
        ({"penalty": "l1", "solver": "isgd"}, "implicit steps do not support L1"),
        ({"penalty": "l1", "solver": "sgd", "alpha": -1.0}, "alpha=-1.0 is negative: give 0 or more"),
    ],
)
def test_bad_penalties(options, message):
    with pytest.raises(ValueError, match=message):
        SGDClassifier(**options).fit([[0.0], [1.0]], [0, 1])


def test_bad_truncations(regression):
    with pytest.raises(ValueError, match="every=0: give the rows"):
        solvers.Truncated(every=0)
    with pytest.raises(TypeError, match="has no steps with an L1 penalty"):
        solvers.Truncated(solvers.ISGD())
    X = sparse.csr_array(np.random.default_rng(0).standard_normal((50, 2)))
    with pytest.raises(ValueError, match="centred sparse rows: use center=False"):
        SGDClassifier(solver="sgd", penalty="l1", center=True).fit(X, np.arange(50) % 2)
