"""SGD2 and SGD-QN, whose steps are 1/(α(t + t₀)): equal to their slow twins, their parameters, rules and optima."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from problems import random_problem
from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, solvers, steps, stopping
from sgdone.losses import Logistic, Squared
from sgdone.papers.averaging import reference as averaged_sgd
from sgdone.papers.averaging import rivals
from sgdone.rows import ArraySource
from sgdone.solvers.bottou_schedule import skip_of
from sgdone.solvers.sgd2 import SGD2, _alphas
from sgdone.solvers.sgdqn import SGDQN
from sgdone.steps.bottou import Bottou, typical_t0
from sgdone.steps.step_size import Preliminary
from tiers import examples, fast_first, grid, interpreted

pytestmark = grid

LOSSES = [losses.Logistic(), losses.SquaredHinge(), losses.Squared()]


def hundred_cases(test):
    """Call ``test(case)`` with a hundred random cases, always the same.

    SGD-QN divides by small differences: of some ten thousand cases one differs by more than 1e-10 from its slow twin.
    """
    options = {
        "seed": st.integers(0, 10**6),
        "loss": st.sampled_from(LOSSES),
        "as_csr": st.booleans(),
        "intercept": st.booleans(),
        "alpha": st.sampled_from([0.003, 0.05, 1.0]),
        "caution": st.floats(0.6, 100.0),
        "skip": st.integers(1, 40),
        "passes": st.integers(1, 3),
        "block_size": st.sampled_from([1, 7, 100, None]),
    }
    return examples(100, derandomize=True)(given(case=st.builds(Case, **options))(test))


class Case:
    """A problem read several times in order; t₀ such that the first step is stable for every row."""

    def __init__(self, seed, loss, as_csr, intercept, alpha, caution, skip, passes, block_size):
        self.problem = random_problem(seed, loss)
        self.loss, self.as_csr, self.intercept, self.alpha = loss, as_csr, intercept, alpha
        self.skip, self.passes, self.block_size = skip, passes, block_size
        energy = np.max(self.problem.weights * (np.sum(self.problem.X**2, axis=1) + 1.0))
        self.t0 = max(1.0, caution * loss.smoothness * energy / alpha)

    def fast(self, solver, step=None, stop=None, **options):
        options = {"block_size": self.block_size, "fit_intercept": self.intercept} | options
        return run(
            self.problem.source(as_csr=self.as_csr, shuffle=False),
            self.loss,
            solver,
            (stop or stopping.MaxPasses(self.passes)) | stopping.MaxPasses(self.passes),
            alpha=self.alpha,
            step=step or Bottou(self.t0),
            task="regression" if self.loss.name == "squared" else "classification",
            **options,
        )

    def rows(self, passes=None):
        """Rows, labels and weights of all passes, one after the other."""
        problem, passes = self.problem, passes or self.passes
        return np.tile(problem.X, (passes, 1)), np.tile(problem.y, passes), np.tile(problem.weights, passes)

    def slow(self, twin, t0=None, passes=None):
        return twin(*self.rows(passes), self.loss, self.alpha, t0 or self.t0, self.skip, self.intercept)

    def objective(self, w, b):
        """Over the first 1000 rows of positive weight."""
        used = np.flatnonzero(self.problem.weights)[:1000]
        X, y, v = self.problem.X[used], self.problem.y[used], self.problem.weights[used]
        return float(np.mean(v * self.loss.value(X @ w + b, y))) + 0.5 * self.alpha * float(w @ w)


def assert_same(result, expected):
    w, b = expected
    scale = max(1.0, np.max(np.abs(w)), abs(b))
    assert np.max(np.abs(result.coef - w)) <= 1e-10 * scale
    assert abs(result.intercept - b) <= 1e-10 * scale


def two_classes(n_rows=400, n_features=5):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_rows, n_features))
    return X, np.where(X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows) > -0.3, 1.0, -1.0)


# ---- parameters, the optimum and rules of both ----


LOGISTIC = losses.Logistic()
of_both = pytest.mark.parametrize("method", [SGD2, SGDQN], ids=["sgd2", "sgdqn"])
by_both_names = pytest.mark.parametrize("name", ["sgd2", "sgdqn"])
in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array], upto=1))


def fit(problem, solver, stop, *, as_csr=False, **options):
    source = problem.source(as_csr=as_csr, shuffle=False)
    return run(source, LOGISTIC, solver, stop, **{"alpha": 0.01, "step": Bottou(200.0)} | options)


@pytest.fixture
def problem():
    return random_problem(3, LOGISTIC, n_rows=300, n_features=4)


# --- Parameters ---------------------------------------------------------------------------------------------------


@of_both
@pytest.mark.parametrize("skip", [0, -3, 2.5, True, "all", None])
def test_a_skip_that_is_none(method, skip):
    with pytest.raises(ValueError, match=r"skip=.*: give the samples between two shrinkages, 1 or more"):
        method(skip)


@pytest.mark.parametrize("X", [np.ones((3, 7)), np.eye(10), np.zeros((2, 3)), np.eye(50, 40)])
def test_the_automatic_skip_is_the_twins_of_sparse_rows(X):
    assert skip_of(ArraySource(sparse.csr_array(X), np.ones(len(X))).rows) == min(rivals.skip_of(X), 1000)
    assert skip_of(ArraySource(X, np.ones(len(X))).rows) == 16


def test_the_automatic_skip_is_no_longer_than_a_pass_or_a_thousand_samples():
    for n_rows, skip in ((10, 1000), (3000, 3000), (20_000, 16_000)):
        X = sparse.csr_array((np.ones(n_rows), (np.arange(n_rows), np.zeros(n_rows, int))), shape=(n_rows, 1000))
        assert skip_of(ArraySource(X, np.ones(n_rows)).rows) == skip


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.SquaredHinge(), losses.Hinge(), losses.Squared()])
@pytest.mark.parametrize("alpha", [1e-7, 1e-3, 1.0, 16.0])
def test_the_typical_t0_is_the_twins(loss, alpha):
    t0 = rivals.typical_t0(loss, alpha)
    assert typical_t0(loss, alpha) == pytest.approx(t0, rel=1e-14)
    for energy in (1.0, 30.0):
        step = Bottou().resolve(Preliminary(loss, alpha, energy, energy))
        assert step.t0 == pytest.approx(energy * t0)
        assert step(np.arange(1, 4)) == pytest.approx(1 / (alpha * (np.arange(3) + energy * t0)))
    assert Bottou().resolve(Preliminary(loss, alpha, 1e-9, 1e-9)).t0 >= 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t0": 0.5}, "t0=0.5 is below 1"),
        ({"t0": -1.0}, "t0=-1.0 is not a positive finite number"),
        ({"t0": np.nan}, "t0=nan is not a positive"),
        ({"t0": "typical"}, "t0='typical' is neither a number"),
        ({"alpha": 0.0}, "alpha=0.0 is not a positive finite number"),
    ],
)
def test_step_sizes_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        Bottou(**options)


@by_both_names
@pytest.mark.parametrize("step", ["auto", "bottou"])
def test_no_penalty_is_an_error(name, step):
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"needs? a positive alpha"):
        SGDClassifier(solver=name, alpha=0.0, step=step).fit(X, y)


@interpreted
@by_both_names
def test_a_step_by_name_is_the_typical_one(name):
    X, y = two_classes()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    options = {"alpha": 1e-4, "fit_intercept": False, "stop": 1}
    model = SGDClassifier(solver=name, step="bottou", **options).fit(X, y)
    assert model.verdict_.evidence["t0"] == pytest.approx(1000.0)
    assert "t₀ = 1e+03" in model.verdict_.reason


# --- The optimum --------------------------------------------------------------------------------------------------


@in_both_forms
@pytest.mark.parametrize(("name", "alpha"), [("sgd2", 0.01), ("sgdqn", 0.001)])
@pytest.mark.slow
def test_it_reaches_the_optimum_of_the_logistic_loss(name, alpha, form):
    X, y = two_classes()
    exact = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, max_iter=1000).fit(X, y)
    model = SGDClassifier(solver=name, alpha=alpha, stop=50, random_state=0).fit(form(X), y)

    def objective(it):
        w = it.coef_[0]
        return np.mean(LOGISTIC.value(X @ w + it.intercept_[0], y)) + 0.5 * alpha * w @ w

    assert objective(model) == pytest.approx(objective(exact), rel=1e-3)


@pytest.mark.slow
@in_both_forms
@pytest.mark.parametrize(("name", "alpha"), [("sgd2", 0.05), ("sgdqn", 0.005)])
def test_it_reaches_the_optimum_of_the_squared_hinge(name, alpha, form):
    X, y = two_classes()
    loss = losses.SquaredHinge()
    exact = LinearSVC(C=0.5 / (alpha * len(y)), fit_intercept=False, tol=1e-10, dual=False).fit(X, y)
    options = {"solver": name, "alpha": alpha, "fit_intercept": False, "stop": 50, "random_state": 0}
    model = SGDClassifier(loss, **options).fit(form(X), y)

    def objective(it):
        w = it.coef_[0]
        return np.mean(loss.value(X @ w, y)) + 0.5 * alpha * w @ w

    assert objective(model) == pytest.approx(objective(exact), rel=1e-3)


@pytest.mark.slow
@by_both_names
def test_regressions_too(name):
    X, _ = two_classes()
    rng = np.random.default_rng(0)
    y = X @ [1.0, 2.0, 3.0, 4.0, 5.0] + 0.1 * rng.standard_normal(400) - 1.0
    model = SGDRegressor(solver=name, alpha=1e-3, stop=50, random_state=0).fit(X, y)
    assert np.allclose(model.coef_, [1, 2, 3, 4, 5], atol=0.1)
    assert model.intercept_[0] == pytest.approx(-1.0, abs=0.1)


# --- Rules --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@of_both
def test_rows_held_out_are_in_no_sample(method, problem):
    """They are rows of weight 0 for the choice of t₀, too."""
    used = np.flatnonzero(problem.weights)[:40]
    stop = stopping.SmallValidationSet(40, every=10**9) | stopping.MaxPasses(1)
    held = fit(problem, method(), stop, step=None)
    problem.weights[used] = 0.0
    without = fit(problem, method(), stopping.MaxPasses(1), step=None)
    assert held.coef.tobytes() == without.coef.tobytes()
    assert held.verdict.evidence["t0"] == without.verdict.evidence["t0"]


# ---- rows of both ----


@pytest.mark.slow
@of_both
def test_a_sample_is_a_thousand_rows_of_positive_weight(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    weights = np.zeros(20_000)
    # The first block (of 16,384 rows) has nothing to learn from, and the second more than a sample.
    weights[-1500:] = 1.0
    late = run(ArraySource(X, y, weights, shuffle=False), LOGISTIC, method(), stopping.MaxPasses(1), alpha=0.01)
    few = run(ArraySource(X[-1500:], y[-1500:], shuffle=False), LOGISTIC, method(), stopping.MaxPasses(1), alpha=0.01)
    assert late.verdict.step == 1500
    assert late.coef.tobytes() == few.coef.tobytes()
    # Labels beyond the first thousand of those rows have no say in t₀.
    y[-500:] = 1.0
    other = run(ArraySource(X, y, weights, shuffle=False), LOGISTIC, method(), stopping.MaxPasses(1), alpha=0.01)
    assert other.verdict.evidence["t0"] == late.verdict.evidence["t0"]
    assert other.coef.tobytes() != late.coef.tobytes()


# --- Bad data -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@by_both_names
def test_a_column_beyond_all_steps_ends_in_a_verdict(name):
    X, y = two_classes()
    X[:, 2] *= 1e60
    model = SGDRegressor(solver=name, alpha=0.01, stop=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Diverged after 0 samples.*scale the features"):
        model.fit(X, y)
    assert not np.any(model.coef_)


# ---- SGD2: its schedule, and within averaging and halving ----


@pytest.mark.slow
@hundred_cases
def test_sgd2_equals_its_slow_twin(case):
    result = case.fast(SGD2(case.skip))
    assert_same(result, case.slow(rivals.sgd2)[-1])
    assert result.verdict.step == case.passes * np.count_nonzero(case.problem.weights)


@pytest.mark.slow
@hundred_cases
def test_the_t0_of_sgd2_is_the_one_that_does_best_on_the_first_rows(case):
    t0 = rivals.t0_on_sample(lambda t0: case.slow(rivals.sgd2, t0, passes=1), case.objective)
    result = case.fast(SGD2(case.skip), step=Bottou("sample"))
    assert result.verdict.evidence["t0"] == t0
    assert_same(result, case.slow(rivals.sgd2, t0)[-1])


@pytest.mark.slow
@examples(200)
@given(
    gamma=st.floats(1e-6, 2.0),
    alpha=st.floats(1e-6, 2.0),
    skip=st.integers(1, 50),
    first=st.integers(1, 1000),
    count=st.integers(1, 200),
)
def test_shrinkages_are_those_of_the_twin_wherever_a_block_begins(gamma, alpha, skip, first, count):
    state = SimpleNamespace(step=steps.Constant(gamma), objective=SimpleNamespace(penalty=alpha))
    shrinkages = 1.0 - gamma * _alphas(state, skip, first, count)
    t = np.arange(first, first + count)
    expected = np.where(t % skip == 0, rivals.shrinkage(gamma * alpha, skip), 1.0)
    assert np.allclose(shrinkages, expected, rtol=1e-13, atol=1e-13)


@interpreted
def test_a_pass_has_as_many_shrinkages_as_whole_skips():
    """With slopes of 0 nothing but the penalty moves the weights."""
    X = np.zeros((50, 1))
    for skip, times in ((1, 50), (7, 7), (50, 1), (51, 0)):
        result = run(
            ArraySource(X, np.ones(50)),
            Logistic(),
            SGD2(skip),
            stopping.MaxPasses(1),
            alpha=0.1,
            step=steps.Constant(0.01),
            coef=np.ones(1),
        )
        assert result.coef[0] == pytest.approx((1 - skip * 0.001) ** times, rel=1e-12)


@pytest.mark.slow
def test_of_a_step_size_of_another_kind_it_takes_every_value():
    X, y = two_classes()
    step = steps.InverseTime(gamma0=0.1, a=0.01)
    result = run(ArraySource(X, y, shuffle=False), Logistic(), SGD2(1), stopping.MaxPasses(1), alpha=1e-4, step=step)
    plain = run(
        ArraySource(X, y, shuffle=False), Logistic(), solvers.SGD(), stopping.MaxPasses(1), alpha=1e-4, step=step
    )
    # The two differ by γ²α·ℓ′ a step.
    assert np.allclose(result.coef, plain.coef, rtol=1e-4)
    assert not np.array_equal(result.coef, plain.coef)
    assert "t₀" not in result.verdict.reason


@pytest.mark.slow
def test_without_a_penalty_and_with_given_steps_it_is_sgd():
    X, y = two_classes()
    options = {"alpha": 0.0, "step": 0.1, "stop": 2, "random_state": 0}
    ours, plain = (SGDClassifier(solver=solver, **options).fit(X, y) for solver in ("sgd2", "sgd"))
    assert np.allclose(ours.coef_, plain.coef_, rtol=1e-12)


@pytest.mark.slow
@examples(50)
@given(seed=st.integers(0, 10**6), as_csr=st.booleans(), after=st.integers(0, 20), skip=st.integers(1, 40))
def test_its_iterates_can_be_averaged(seed, as_csr, after, skip):
    case = Case(seed, Logistic(), as_csr, True, 0.05, 1.0, skip, 2, 50)
    path = case.slow(rivals.sgd2)
    result = case.fast(solvers.Averaged(SGD2(case.skip), after))
    assert_same(result, averaged_sgd.average(path, after))


@pytest.mark.slow
def test_averaging_by_name_brings_its_own_steps():
    X, y = two_classes()
    model = SGDClassifier(solver="sgd2", average=True, alpha=0.01, stop=20, random_state=0).fit(X, y)
    like = SGDClassifier(solver="asgd", alpha=0.01, stop=20, random_state=0).fit(X, y)
    assert np.allclose(model.coef_, like.coef_, rtol=0.02)
    with pytest.raises(ValueError, match='t0="sample" works only with SGD2\\(\\) and SGDQN\\(\\), not averaged'):
        model.set_params(step=Bottou("sample")).fit(X, y)


@pytest.mark.slow
def test_its_step_can_be_halved_if_the_skip_is_given():
    X, y = two_classes()
    options = {"alpha": 0.01, "step": 0.1, "stop": 20, "random_state": 0}
    halved = SGDClassifier(solver=solvers.Halving(SGD2(4)), **options).fit(X, y)
    assert len(halved.verdict_.evidence["halvings"]) > 0
    with pytest.raises(ValueError, match=r"SGD2\(skip='auto'\) within another method.*give it a number"):
        SGDClassifier(solver=solvers.Halving(SGD2()), **options).fit(X, y)


# ---- SGD-QN: what it learns, and from where its steps start ----


@pytest.mark.slow
@hundred_cases
def test_sgdqn_equals_its_slow_twin(case):
    result = case.fast(SGDQN(case.skip))
    assert_same(result, case.slow(rivals.sgdqn)[-1])
    assert result.verdict.step == case.passes * np.count_nonzero(case.problem.weights)


@pytest.mark.slow
@hundred_cases
def test_the_t0_of_sgdqn_is_the_one_that_does_best_on_the_first_rows(case):
    """Of those that do not let the first shrinkage change signs."""
    tried = [t0 for t0 in 10.0 ** np.arange(11) if t0 >= case.skip]
    with np.errstate(all="ignore"):
        costs = [case.objective(*case.slow(rivals.sgdqn, t0, passes=1)[-1]) for t0 in tried]
    t0 = tried[int(np.argmin(np.where(np.isfinite(costs), costs, np.inf)))]
    result = case.fast(SGDQN(case.skip), step=Bottou("sample"))
    assert result.verdict.evidence["t0"] == t0
    assert_same(result, case.slow(rivals.sgdqn, t0)[-1])


@interpreted
def test_no_t0_below_the_skip_is_taken():
    X, y = two_classes()
    for skip, t0 in ((1, 10.0), (100, 100.0), (101, 1000.0), (10**11, 1e11)):
        model = SGDClassifier(solver=SGDQN(skip), alpha=1.0, stop=1, random_state=0).fit(X, y)
        assert model.verdict_.evidence == {"passes": 1, "t0": t0, "skip": skip}


@pytest.mark.slow
def test_of_any_step_size_the_first_value_starts_the_diagonal():
    X, y = two_classes()
    results = [
        run(ArraySource(X, y), Logistic(), SGDQN(5), stopping.MaxPasses(3), alpha=0.01, step=step)
        for step in (Bottou(200.0), steps.Constant(0.5), steps.InverseSqrt(0.5))
    ]
    for other in results[1:]:
        assert np.allclose(other.coef, results[0].coef, rtol=1e-12)


@pytest.mark.slow
def test_it_learns_larger_steps_for_smaller_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2)) * [1.0, 0.1]
    y = X @ [1.0, 10.0] + 0.1 * rng.standard_normal(4000)
    for form in (np.asarray, sparse.csr_array):
        source = ArraySource(form(X), y)
        options = {"step": Bottou(100.0), "fit_intercept": False, "task": "regression"}
        result = run(source, Squared(), SGDQN(4), stopping.MaxPasses(1), alpha=0.01, **options)
        steep, flat = result.state.vector(1)
        assert flat > 3 * steep
        assert result.trace[-1].step_size == pytest.approx((steep + flat) / 2)


@pytest.mark.slow
def test_centred_sparse_rows_are_refused():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"sgdqn cannot learn from centred sparse rows.*dense array"):
        SGDClassifier(solver="sgdqn", center=True).fit(sparse.csr_array(X), y)
    model = SGDClassifier(solver="sgdqn", center=True, random_state=0).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="sgdqn cannot learn from centred sparse rows"):
        model.partial_fit(sparse.csr_array(X), y)
