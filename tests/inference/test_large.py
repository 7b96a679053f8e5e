"""Many coefficients: conjugate gradients and simulation find what factors find."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from inference.summary_problems import groups_of, kinds
from sgdone import LinearClassifier, LinearRegressor
from sgdone.inference import estimate, optimum, sample
from tiers import fast_first, slow

N_ROWS, N_FEATURES = 3000, 24
#: The residual of the systems of chosen columns: a form of the solution is right to its square, a sandwich to itself.
RELATIVE = {"classical": 1e-5, "robust": 1e-3, "cluster": 1e-3}


@pytest.fixture
def iterative(monkeypatch):
    """Compute as with thousands of coefficients, with a preconditioner that is not the inverse."""

    def patch():
        monkeypatch.setattr(estimate, "MOST_FACTORISED", 1)
        monkeypatch.setattr(sample, "_FREQUENT", 5)

    return patch


def sparse_rows(seed=0):
    """Columns of unequal frequency, the first ones in most rows."""
    rng = np.random.default_rng(seed)
    often = np.linspace(0.9, 0.35, N_FEATURES)
    X = rng.exponential(size=(N_ROWS, N_FEATURES)) * (rng.random((N_ROWS, N_FEATURES)) < often)
    X[:, 3] += X[:, 2]
    return sparse.csr_array(X), rng.standard_normal(N_FEATURES) * 0.4, rng


def problem(name):
    """A model with its rows."""
    X, coef, rng = sparse_rows()
    scores = X @ coef - 0.5
    if name in ("squared", "huber"):
        y = scores + rng.standard_normal(N_ROWS) * (0.2 + X[:, [0]].toarray().ravel())
        return LinearRegressor(loss="huber" if name == "huber" else "squared").fit(X, y), X, y
    if name == "softmax":
        y = np.column_stack([scores, 0.5 * scores[::-1], np.zeros(N_ROWS)]) + rng.gumbel(size=(N_ROWS, 3))
        y = y.argmax(axis=1)
    else:
        y = rng.random(N_ROWS) < expit(scores)
    if name == "dense":
        X = X.toarray() + 3.0
    return LinearClassifier().fit(X, y), X, y


MODELS = ["logistic", "squared", "dense", "softmax", "huber"]
#: Several classes take as many products, each a reading of the rows.
SIMULATED = [("logistic", cov) for cov in ("robust", "classical", "cluster")]
SIMULATED += [("squared", "classical"), ("dense", "robust")]
OTHERS = [(name, cov) for name in MODELS for cov in ("robust", "classical", "cluster") if (name, cov) not in SIMULATED]
PAIRS = [*SIMULATED, *(pytest.param(*pair, marks=slow) for pair in OTHERS)]


@pytest.mark.parametrize("cov", ["robust", "classical", "cluster"])
@pytest.mark.parametrize("name", fast_first(2, MODELS))
def test_chosen_columns_are_solved_for(name, cov, iterative):
    model, X, y = problem(name)
    options = {"cov": cov, "columns": [0, 7, 3], "groups": groups_of(N_ROWS) if cov == "cluster" else None}
    factorised = model.summary(X, y, **options)
    iterative()
    found = model.summary(X, y, **options)
    assert np.abs((found.coef - factorised.coef) / factorised.std_err).max() < 0.01
    np.testing.assert_allclose(found.std_err, factorised.std_err, rtol=RELATIVE[cov])
    assert found.monte_carlo_error == 0
    np.testing.assert_allclose(found.wald(["x0", "x7"]).statistic, factorised.wald(["x0", "x7"]).statistic, rtol=0.01)


def test_chosen_columns_with_sampling_weights(iterative):
    model, X, y = problem("logistic")
    weight = np.random.default_rng(3).integers(0, 5, N_ROWS)
    options = {"sample_weight": weight, "weights": "sampling", "columns": [0, 7]}
    factorised = model.summary(X, y, **options)
    iterative()
    np.testing.assert_allclose(model.summary(X, y, **options).std_err, factorised.std_err, rtol=RELATIVE["robust"])


@pytest.mark.parametrize(("name", "cov"), PAIRS)
def test_all_columns_are_simulated_with_an_honest_error(name, cov, iterative):
    model, X, y = problem(name)
    options = {"cov": cov, "groups": groups_of(N_ROWS) if cov == "cluster" else None}
    factorised = model.summary(X, y, **options)
    iterative()
    found = model.summary(X, y, **options)
    apart = found.std_err / factorised.std_err - 1.0
    assert 0 < found.monte_carlo_error < 0.06
    assert np.abs(apart).max() < 5.0 * found.monte_carlo_error
    assert 0.5 < np.sqrt(np.mean(apart**2)) / found.monte_carlo_error < 2.0


@pytest.mark.parametrize("cov", ["robust", "classical"])
@pytest.mark.parametrize("name", fast_first(2, ["dense", "squared", "softmax", "logistic"]))
def test_intervals_of_predictions(name, cov, iterative):
    model, X, y = problem(name)
    exact = model.predict_interval(X[:50], model.summary(X, y, cov=cov))
    iterative()
    found = model.predict_interval(X[:50], model.summary(X, y, cov=cov))
    np.testing.assert_allclose(found.estimate, exact.estimate, rtol=0.01, atol=0.002)
    wide, expected = found.high - found.low, exact.high - exact.low
    # 200 draws: an error of 5 %.
    assert np.sqrt(np.mean((wide / expected - 1.0) ** 2)) < 0.1


@slow
@pytest.mark.parametrize(
    "options",
    [{"cov": "classical"}, {"cov": "cluster"}, {}, {"weights": "sampling"}],
    ids=["classical", "cluster", "robust", "sampling"],
)
def test_weights_are_simulated(options, iterative):
    model, X, y = problem("logistic")
    weight = np.random.default_rng(3).integers(0, 9, N_ROWS)
    groups = groups_of(N_ROWS) if options.get("cov") == "cluster" else None
    factorised = model.summary(X, y, weight, groups=groups, **options)
    iterative()
    found = model.summary(X, y, weight, groups=groups, **options)
    assert np.abs(found.std_err / factorised.std_err - 1.0).max() < 5.0 * found.monte_carlo_error


@pytest.mark.parametrize("cov", ["robust", "classical"])
def test_columns_that_are_nearly_orthogonal_have_a_small_error(cov, iterative):
    rng = np.random.default_rng(5)
    X = sparse.csr_array(rng.choice([-1.0, 1.0], (N_ROWS, 10)) * (rng.random((N_ROWS, 10)) < 0.3))
    y = (rng.random(N_ROWS) < expit(0.3 * X.sum(axis=1))).astype(int)
    model = LinearClassifier().fit(X, y)
    factorised = model.summary(X, y, cov=cov)
    iterative()
    found = model.summary(X, y, cov=cov)
    assert found.monte_carlo_error < 0.01
    apart = found.std_err / factorised.std_err - 1.0
    assert 0.5 < np.sqrt(np.mean(apart**2)) / found.monte_carlo_error < 2.0


def test_separated_rows_are_found(iterative):
    _, X, y = problem("logistic")
    first = np.arange(N_ROWS) < 200
    labels = np.where(first, True, y)
    both = sparse.csr_array(sparse.hstack([X, sparse.csr_array(first[:, None].astype(float))]))
    model = LinearClassifier().fit(both, labels)
    expected = model.summary(both, labels)
    iterative()
    found = model.summary(both, labels)
    assert kinds(found) == kinds(expected) == {"x24": "infinite"}
    assert found.coef[-1] == np.inf
    assert np.nanmax(np.abs(found.std_err / expected.std_err - 1.0)) < 5.0 * found.monte_carlo_error


def test_the_same_summary_twice_has_the_same_bits(iterative):
    iterative()
    model, X, y = problem("logistic")
    first, second = (model.summary(X, y) for _ in range(2))
    assert first.coef.tobytes() == second.coef.tobytes()
    assert first.std_err.tobytes() == second.std_err.tobytes()


def test_equal_columns_are_refused_and_the_others_given(iterative):
    _, X, y = problem("logistic")
    without = LinearClassifier().fit(X, y).summary(X, y, columns=[0, 7])
    both = sparse.csr_array(sparse.hstack([X, X[:, [4]]]))
    model = LinearClassifier().fit(both, y)
    iterative()
    found = model.summary(both, y, columns=[0, 4, 7, 24])
    assert kinds(found) == {"x4": "collinear", "x24": "collinear"}
    assert "2 columns are linearly dependent (x4, x24)" in found.refused[2].reason
    np.testing.assert_allclose(found.std_err[[0, 1, 3]], without.std_err, rtol=RELATIVE["robust"])
    assert found.head.coefficients == N_FEATURES + 1
    assert set(kinds(model.summary(both, y))) == {"x4", "x24"}


@pytest.mark.parametrize("columns", [None, [0, 7]])
def test_systems_that_are_not_solved_are_refused(columns, iterative, monkeypatch):
    model, X, y = problem("logistic")
    iterative()
    monkeypatch.setattr(optimum, "MOST_PRODUCTS", 1)
    found = model.summary(X, y, columns=columns)
    assert set(kinds(found).values()) == {"not_converged"}
    assert len(found.refused) == len(found)
    assert np.isnan(found.std_err).all()
    assert "Conjugate gradients" in found.refused[0].reason or "conjugate gradients" in found.refused[0].reason


def test_a_system_without_a_solution_stays_finite_and_leaves_the_others_alone():
    curvature = np.diag([1.0, 2.0, 3.0, 0.0])
    found = optimum.LargeOptimum(
        system=None,
        model=np.zeros((4, 1)),
        sums=None,
        penalties=np.zeros(4),
        product=lambda vectors: np.einsum("ij,jam->iam", curvature, vectors),
        precondition=lambda vectors: vectors.copy(),
        identification=None,
    )
    right = np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]]).T[:, None, :]
    solution, solved = optimum.solve(found, right)
    assert solved.tolist() == [False, False, True]
    assert np.isfinite(solution).all()
    np.testing.assert_allclose(solution[:, 0, 2], [1.0, 0.5, 1.0 / 3.0, 0.0], rtol=1e-3, atol=1e-12)


def test_a_summary_of_some_columns_has_no_intervals_of_predictions(iterative):
    model, X, y = problem("logistic")
    iterative()
    with pytest.raises(ValueError, match="it is of some columns only"):
        model.predict_interval(X, model.summary(X, y, columns=[0]))
