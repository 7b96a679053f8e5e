"""LIBLINEAR behind the interface of the other methods: the same objective, its intercept not penalised."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from problems import random_problem
from running import run, with_new_rule
from sgdone import SGDClassifier, SGDRegressor, losses
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource
from sgdone.solvers.liblinear import Liblinear
from sgdone.stopping import MarginTest, MaxPasses, MaxSamples
from tiers import fast_first

SMOOTH = [losses.Logistic(), losses.SquaredHinge()]
HINGE = losses.Hinge()
FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])


def objective(problem, loss, alpha, w, b):
    """The mean of v·ℓ over rows of positive weight, and ½α‖w‖²: written out here once more."""
    used = problem.weights > 0
    z, v = problem.X[used] @ w + b, problem.weights[used]
    return float(v @ loss.value(z, problem.y[used])) / np.count_nonzero(used) + 0.5 * alpha * float(w @ w)


def least_smooth(problem, loss, alpha, intercept):
    """The minimum by Newton's method with halved steps, to a gradient of 1e-13."""
    used = np.flatnonzero(problem.weights)
    y, v, n = problem.y[used], problem.weights[used], len(used)
    Z = np.column_stack([problem.X[used], np.ones(n)])[:, : problem.X.shape[1] + intercept]
    penalty = np.append(np.full(problem.X.shape[1], alpha), 0.0)[: Z.shape[1]]

    def value(theta):
        return float(v @ loss.value(Z @ theta, y)) / n + 0.5 * float(penalty @ theta**2)

    theta = np.zeros(Z.shape[1])
    for _ in range(200):
        z = Z @ theta
        gradient = Z.T @ (v * loss.slope(z, y)) / n + penalty * theta
        if np.linalg.norm(gradient) < 1e-13:
            break
        hessian = (Z.T * (v * loss.curvature(z, y))) @ Z / n + np.diag(penalty)
        step = np.linalg.lstsq(hessian, -gradient, rcond=None)[0]
        while value(theta + step) > value(theta) and np.linalg.norm(step) > 1e-15:
            step /= 2
        theta = theta + step
    assert np.linalg.norm(gradient) < 1e-12
    return value(theta)


def below_hinge(problem, alpha):
    """A lower bound of the hinge's objective with an intercept: the dual value of a feasible point, found by LIBSVM."""
    used = np.flatnonzero(problem.weights)
    X, y, v, n = problem.X[used], problem.y[used], problem.weights[used], len(used)
    machine = SVC(kernel="linear", C=1 / (alpha * n), tol=1e-9).fit(X, y, sample_weight=v)
    signed = np.zeros(n)
    signed[machine.support_] = alpha * machine.dual_coef_[0]
    assert abs(signed.sum()) < 1e-12
    assert np.all((signed * y > -1e-15) & (signed * y <= v / n * (1 + 1e-12)))
    return float(np.abs(signed).sum()) - 0.5 / alpha * float(np.sum((X.T @ signed) ** 2))


def solve(problem, loss, solver=None, *, form=np.asarray, alpha=0.01, **options):
    source = ArraySource(form(problem.X), problem.y, problem.weights)
    return run(source, loss, solver or Liblinear(), MaxPasses(1), alpha=alpha, **options)


def off_centre(seed, loss=HINGE, n_rows=300):
    """Unbalanced classes, rows that are not centred and weights of which some are 0: the intercept matters."""
    problem = random_problem(seed, loss, n_rows=n_rows, n_features=6)
    problem.X[:, :3] += 2.0
    threshold = np.random.default_rng(seed).normal(-2.5, 1.0, n_rows)
    problem.y = np.where(problem.X @ np.linspace(-1, 1, 6) > threshold, 1.0, -1.0)
    return problem


# --- The optimum --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("dual", "alpha"), [(False, 1.0), (False, 0.01), (False, 1e-4), (True, 1.0), (True, 0.01)])
@pytest.mark.parametrize("loss", fast_first(1, SMOOTH), ids=lambda loss: loss.name)
@FORMS
def test_it_reaches_the_minimum_of_smooth_losses(form, loss, dual, intercept, alpha):
    for seed in range(3):
        problem = off_centre(seed, loss)
        result = solve(problem, loss, Liblinear(dual), form=form, alpha=alpha, fit_intercept=intercept)
        least = least_smooth(problem, loss, alpha, intercept)
        assert -1e-12 < objective(problem, loss, alpha, result.coef, result.intercept) / least - 1 < 1e-7
        assert result.verdict.status is Status.CONVERGED


@pytest.mark.parametrize("alpha", [1.0, 0.01, 1e-3])
@FORMS
def test_it_reaches_the_minimum_of_the_hinge(form, alpha):
    for seed in range(3):
        problem = off_centre(seed)
        result = solve(problem, HINGE, form=form, alpha=alpha)
        below = below_hinge(problem, alpha)
        assert 0 < below < objective(problem, HINGE, alpha, result.coef, result.intercept) * (1 + 1e-12)
        assert objective(problem, HINGE, alpha, result.coef, result.intercept) / below - 1 < 1e-6
        assert result.verdict.status is Status.CONVERGED


def test_the_intercept_is_not_penalised():
    """Rows that are shifted have the same weights, although their intercept is tens of times as large."""
    problem = off_centre(0)
    for loss in (*SMOOTH, HINGE):
        near = solve(problem, loss)
        problem.X += 50.0
        far = solve(problem, loss)
        problem.X -= 50.0
        assert np.allclose(far.coef, near.coef, rtol=1e-3, atol=1e-4)
        assert far.intercept == pytest.approx(near.intercept - 50.0 * near.coef.sum(), rel=1e-3)


def test_an_intercept_of_zero_settles():
    X = np.random.default_rng(0).standard_normal((40, 2)) + 0.5
    symmetric = np.vstack([X, -X])
    y = np.repeat([1.0, -1.0], 40)
    result = run(ArraySource(symmetric, y), HINGE, Liblinear(), MaxPasses(1), alpha=0.1)
    assert result.verdict.status is Status.CONVERGED
    assert abs(result.intercept) < 1e-3


def test_weights_count_like_rows():
    problem = off_centre(1)
    problem.weights = np.random.default_rng(0).integers(0, 4, 300).astype(float)
    repeats = problem.weights.astype(int)
    many = ArraySource(np.repeat(problem.X, repeats, axis=0), np.repeat(problem.y, repeats))
    used, n = np.count_nonzero(repeats), repeats.sum()
    for loss in (*SMOOTH, HINGE):
        weighted = solve(problem, loss, alpha=0.01)
        # The mean is over rows of positive weight, so that repeated rows have a penalty smaller by as much.
        repeated = run(many, loss, Liblinear(), MaxPasses(1), alpha=0.01 * used / n)
        assert np.allclose(weighted.coef, repeated.coef, rtol=1e-4, atol=1e-6)
        assert weighted.intercept == pytest.approx(repeated.intercept, rel=1e-3, abs=1e-4)


def test_centred_dense_rows():
    problem = off_centre(3)
    result = solve(problem, SMOOTH[0], center=True)
    shift = result.state.scaling.shift
    problem.X = problem.X - shift
    least = least_smooth(problem, SMOOTH[0], 0.01, intercept=False)
    assert objective(problem, SMOOTH[0], 0.01, result.coef, 0.0) == pytest.approx(least, rel=1e-9)
    assert result.intercept == pytest.approx(-result.coef @ shift)


# --- Verdict and trace --------------------------------------------------------------------------------------------


def test_it_ends_by_itself_whatever_the_rule():
    problem = off_centre(0)
    for rule in (MaxPasses(1), MaxPasses(0.1), MaxSamples(1), MaxPasses(float("inf"))):
        result = run(problem.source(), SMOOTH[0], Liblinear(), rule, alpha=0.01)
        assert (result.verdict.rule, result.verdict.status) == ("LIBLINEAR", Status.CONVERGED)
        iterations = result.verdict.evidence["iterations"]
        assert result.verdict.passes == iterations > 1
        assert result.verdict.step == iterations * np.count_nonzero(problem.weights)
        assert f"made {iterations} iterations of Newton's method and has reached tol = 1e-08" in str(result.verdict)


def test_the_hinge_says_how_many_rounds_it_took():
    verdict = solve(off_centre(0), HINGE).verdict
    assert verdict.evidence["rounds"] > 1
    assert f"in {verdict.evidence['rounds']} rounds, for the intercept's sake" in verdict.reason
    assert solve(off_centre(0), HINGE, fit_intercept=False).verdict.evidence["rounds"] == 1


def test_too_few_iterations_are_said_to_be():
    for loss in (SMOOTH[0], HINGE):
        verdict = solve(off_centre(0), loss, Liblinear(max_iter=2)).verdict
        assert verdict.status is Status.BUDGET_SPENT
        assert "has not reached tol = 1e-08" in verdict.reason
        assert "max_iter" in verdict.advice


def test_the_trace_measures_the_solution():
    problem = off_centre(0)
    result = solve(problem, SMOOTH[0])
    used = problem.weights > 0
    z, v = problem.X[used] @ result.coef + result.intercept, problem.weights[used]
    (row,) = result.trace
    assert row.loss == pytest.approx(float(v @ SMOOTH[0].value(z, problem.y[used])) / v.sum())
    assert row.error == pytest.approx(np.mean(z * problem.y[used] <= 0))


def test_it_starts_from_nothing_each_time():
    problem = off_centre(0)
    first = solve(problem, HINGE)
    once_more = with_new_rule(first)
    second = run(problem.source(), HINGE, Liblinear(), MaxPasses(10**9), alpha=0.01, resume=once_more)
    assert second.coef.tobytes() == first.coef.tobytes()
    assert second.verdict.evidence["iterations"] == first.verdict.evidence["iterations"]
    assert solve(problem, HINGE, coef=np.full(6, 9.0)).coef.tobytes() == first.coef.tobytes()


def test_a_seed_is_of_the_order_of_coordinates():
    problem = off_centre(0)
    one, same, other = (solve(problem, HINGE, Liblinear(seed=seed, max_iter=30)).coef for seed in (1, 1, 2))
    assert one.tobytes() == same.tobytes()
    assert one.tobytes() != other.tobytes()


def test_classes_in_threads_are_those_of_one_thread():
    X = np.random.default_rng(0).standard_normal((300, 4))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [-0.5, 0.5, 1.5])
    one, four = (SGDClassifier("hinge", solver="liblinear", n_jobs=jobs).fit(X, y) for jobs in (1, 4))
    assert one.coef_.tobytes() == four.coef_.tobytes()


# --- What it refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", fast_first(1, [losses.Exponential(), losses.Squared()]), ids=lambda loss: loss.name)
def test_a_loss_that_it_cannot_do(loss):
    with pytest.raises(
        ValueError, match=f"cannot do the loss '{loss.name}': it can do hinge, squared_hinge and logistic"
    ):
        SGDClassifier(loss, solver="liblinear").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="cannot do the loss 'squared'"):
        SGDRegressor(solver="liblinear").fit([[0.0], [1.0]], [0.0, 1.0])


def test_a_loss_of_ones_own_is_not_taken_for_another():
    def value(z, y):
        return max(0.0, 1.0 - y * z)

    def slope(z, y):
        return -y if y * z < 1.0 else 0.0

    loss = losses.CustomLoss(value, slope, name="hinge", task="classification", lipschitz=1.0)
    with pytest.raises(ValueError, match="cannot do the loss 'hinge'"):
        SGDClassifier(loss, solver="liblinear").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "liblinear needs a positive alpha: its C is 1/"),
        ({"step": 0.1}, "has no step size: remove step=Constant\\("),
        ({"average": True}, "cannot be averaged"),
        ({"penalty": "l1"}, "make weights exactly 0, which liblinear"),
        ({"loss": "hinge", "solver": Liblinear(dual=False)}, "the hinge in the dual alone: use dual=True"),
    ],
)
def test_what_it_does_not_know(options, message):
    with pytest.raises(ValueError, match=message):
        SGDClassifier(**{"solver": "liblinear"} | options).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"dual": d}, "dual=.* is neither True, False nor") for d in ("yes", 1.5, None)),
        *(({"tol": t}, "tol=.*: give a positive number") for t in (0, -1e-3, np.inf, np.nan, True, "x")),
        *(({"max_iter": k}, "max_iter=.*: give a whole number from 1") for k in (0, 2.5, True, 2**40)),
        *(({"seed": s}, "seed=.*: give a whole number from 0") for s in (-1, 0.5, None)),
    ],
    ids=repr,
)
def test_parameters_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        Liblinear(**options)


def test_rows_of_one_class_are_refused():
    problem = off_centre(0)
    problem.weights = np.where(problem.y > 0, 1.0, 0.0)
    with pytest.raises(ValueError, match="liblinear needs rows of both classes, labelled -1 and 1: found 1"):
        solve(problem, HINGE)


@pytest.mark.parametrize("stop", [1, MarginTest()])
def test_a_rule_without_effect_is_refused(stop):
    message = r"liblinear ends by itself, and stop=.* would have no effect: remove stop"
    with pytest.raises(ValueError, match=message):
        SGDClassifier(solver="liblinear", stop=stop).fit(np.eye(4), [0, 1, 0, 1])
