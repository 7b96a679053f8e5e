import random
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
import pytest
from partitions import logistic_problem, split
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from cluster_fits import fit_partitions
from sgdone.cluster import Engine, LocalEngine, Partition, PartitionError, partition_work
from sgdone.interfaces.stop_rule import Status
from sgdone.losses import Hinge, Huber, Logistic, SquaredHinge
from sgdone.stopping import Gain, MarginTest, MaxPasses, MaxSamples
from tiers import fast_first, interpreted

#: A decrement of 5e-9 puts every coefficient within 1e-4 standard errors of the exact one; scores differ by less.
CLOSE = 1e-4

ORDERS = {
    "random": lambda X, y: np.random.default_rng(1).permutation(len(y)),
    "by class": lambda X, y: np.argsort(y, kind="stable"),
    "by a feature": lambda X, y: np.argsort(X[:, 0], kind="stable"),
}


def scores(fit, X):
    return X @ fit.model.coef.T + fit.model.intercept


def objective_of(coef, intercept, X, y, alpha):
    """Mean logistic loss and penalty, on scaled features."""
    margins = np.where(y == "yes", 1.0, -1.0) * (X @ coef + intercept)
    return np.logaddexp(0.0, -margins).mean() + 0.5 * alpha * coef @ coef


def excess(fit, X, y):
    """By how much the objective exceeds the minimum that scikit-learn finds."""
    scaler = StandardScaler().fit(X)
    Z, alpha = scaler.transform(X), fit.objective.alpha
    exact = LogisticRegression(C=1.0 / (alpha * len(y)), tol=1e-10, solver="newton-cholesky").fit(Z, y)
    best = objective_of(exact.coef_[0], exact.intercept_[0], Z, y, alpha)
    coef = fit.model.coef[0] * scaler.scale_
    return objective_of(coef, fit.model.intercept[0] + fit.model.coef[0] @ scaler.mean_, Z, y, alpha) - best


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n_partitions", fast_first(2, [1, 4, 16, 64]))
def test_the_model_is_the_optimum_of_all_rows_however_they_are_divided(n_partitions, order):
    X, y = logistic_problem()
    parts = split(X, y, n_partitions, order=ORDERS[order](X, y))
    fit = fit_partitions(LocalEngine(parts))
    assert fit.verdict.status is Status.CONVERGED
    assert fit.verdict.rule == "Decrement"
    assert abs(excess(fit, X, y)) <= 1e-3 * X.shape[1] / (2 * len(y))


def test_the_penalty_does_not_depend_on_the_partitions():
    X, y = logistic_problem(3_000)
    alphas = {
        fit_partitions(LocalEngine(split(X, y, k, order=order(X, y)))).objective.alpha
        for k in (1, 16)
        for order in ORDERS.values()
    }
    assert len(alphas) == 1


@pytest.mark.slow
def test_averaging_alone_is_not_the_answer():
    """One round of averaging leaves more than the noise; the verdict says what is left to gain."""
    X, y = logistic_problem()
    parts = split(X, y, 64)
    early = fit_partitions(LocalEngine(parts), alpha=1e-5, stop=Gain() | MaxPasses(5))
    fit = fit_partitions(LocalEngine(parts), alpha=1e-5)
    assert early.verdict.status is Status.BUDGET_SPENT
    assert early.verdict.evidence["gain"] > early.verdict.evidence["noise"]
    assert early.verdict.evidence["gain"] == pytest.approx(excess(early, X, y), rel=0.5)
    assert fit.verdict.evidence["gain"] < 1e-6 * fit.verdict.evidence["noise"]


def test_a_budget_leaves_the_model_so_far():
    """Also where penalties are being compared, on the rows without the validation rows."""
    X, y = logistic_problem(400)
    losses = []
    for allowed in (4, 6):
        fit = fit_partitions(LocalEngine(split(X, y, 3)), stop=MaxPasses(allowed))
        assert fit.verdict.status is Status.BUDGET_SPENT
        assert len(fit.rounds) == len(fit.trace) == fit.verdict.passes == allowed
        scores = np.where(y == fit.classes[1], 1.0, -1.0) * (X @ fit.model.coef[0] + fit.model.intercept[0])
        losses.append(np.logaddexp(0.0, -scores).mean())
        assert fit.verdict.evidence["loss"] == pytest.approx(losses[-1], rel=0.05)
    assert losses[1] < losses[0]


class AskedBy(Engine):
    """An engine of a function that answers a request."""

    def __init__(self, ask):
        self._ask = ask

    def ask(self, parts, *, in_order=False):
        return self._ask(parts)

    def encode(self, encoder):
        raise AssertionError("the rows are arrays")


def test_the_same_bits_whatever_the_order_of_answers():
    X, y = logistic_problem(4_000, 5)
    parts = split(X, y, 37)
    expected = fit_partitions(LocalEngine(parts))
    shuffled = random.Random(0)

    def in_threads(request):
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(partition_work, request, part) for part in shuffled.sample(parts, len(parts))]
            return [job.result() for job in as_completed(jobs)]

    def without_memory(request):
        """Partitions are read again for each round, as after the loss of a worker."""
        fresh = split(X, y, 37)
        return [partition_work(request, part) for part in reversed(fresh)]

    for engine in (AskedBy(in_threads), AskedBy(without_memory), LocalEngine(parts, merges=True)):
        fit = fit_partitions(engine)
        assert fit.model.coef.tobytes() == expected.model.coef.tobytes()
        assert fit.model.intercept.tobytes() == expected.model.intercept.tobytes()
        assert (fit.bytes_sent, fit.bytes_received) == (expected.bytes_sent, expected.bytes_received)


@interpreted
@pytest.mark.parametrize("loss", [SquaredHinge(), Huber(1.0)])
def test_other_losses_choose_the_penalty_by_validation_rows(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_200, 5))
    targets = X[:, 0] + 0.5 * rng.standard_normal(1_200)
    task = "regression" if loss.task == "regression" else "classification"
    y = targets if task == "regression" else (targets > 0).astype(int)
    fits = [fit_partitions(LocalEngine(split(X, y, k)), task=task, loss=loss) for k in (1, 6)]
    assert fits[0].verdict.status is fits[1].verdict.status is Status.CONVERGED
    np.testing.assert_allclose(scores(fits[0], X), scores(fits[1], X), atol=CLOSE)


def test_many_features_take_rounds_of_products():
    rng = np.random.default_rng(0)
    X = sparse.random_array((3_000, 1_500), density=0.01, format="csr", rng=rng)
    y = (X @ rng.standard_normal(1_500) * 2.0 + rng.logistic(size=3_000) > 0).astype(int)
    fit = fit_partitions(LocalEngine(split(X, y, 5, order=np.argsort(y, kind="stable"))))
    kinds = {record.request for record in fit.rounds}
    assert {"CurvatureProduct", "LossesAt"} <= kinds
    assert fit.verdict.status is Status.CONVERGED
    one = fit_partitions(LocalEngine(split(X, y, 1)), alpha=fit.objective.alpha)
    np.testing.assert_allclose(scores(fit, X), scores(one, X), atol=CLOSE)


def test_a_separable_problem_without_a_penalty_has_no_optimum():
    X = np.linspace(-1.0, 1.0, 100)[:, None]
    fit = fit_partitions(LocalEngine(split(X, (X[:, 0] > 0).astype(int), 4)), alpha=0.0, stop=Gain() | MaxPasses(20))
    assert fit.verdict.status is Status.NO_OPTIMUM
    assert "Complete separation: some direction classifies all 100 rows without error" in fit.verdict.reason


def test_more_coefficients_than_rows_without_a_penalty():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 100)), rng.standard_normal(40)
    fit = fit_partitions(LocalEngine(split(X, y, 3)), task="regression", alpha=0.0)
    assert len(fit.rounds) < 60
    np.testing.assert_allclose(scores(fit, X)[:, 0], y, atol=1e-8)


def test_rows_that_are_all_validation_rows():
    """Copies of a row are in the same set, and this seed draws that row."""
    X, y = np.ones((60, 3)), np.arange(60) % 3 == 0
    fit = fit_partitions(LocalEngine(split(X, y, 2)), random_state=54)
    assert fit.verdict.status is Status.CONVERGED
    assert fit.model.intercept == pytest.approx([np.log(0.5)])


def test_columns_and_labels_that_differ_between_partitions():
    X, y = logistic_problem(100, 3)
    half = Partition(0, X[:50], y[:50])
    with pytest.raises(PartitionError, match="partition 1 has 2 columns, partition 0 has 3"):
        fit_partitions(LocalEngine([half, Partition(1, X[50:, :2], y[50:])]))
    with pytest.raises(PartitionError, match="partition 1 has 0 dense columns"):
        fit_partitions(LocalEngine([half, Partition(1, sparse.csr_array(X[50:]), y[50:])]))
    with pytest.raises(PartitionError, match="partition 1 has labels that are numbers, those of partition 0 are text"):
        fit_partitions(LocalEngine([half, Partition(1, X[50:], np.arange(50) % 2)]))
    named = [Partition(k, X, y, names=names) for k, names in enumerate([["a", "b", "c"], ["a", "c", "b"]])]
    with pytest.raises(PartitionError, match="partition 1 has the column 'c' at place 1, partition 0 has 'b'"):
        fit_partitions(LocalEngine(named))


def test_nothing_to_fit():
    X, y = logistic_problem(100, 3)
    with pytest.raises(ValueError, match="no partitions"):
        fit_partitions(LocalEngine([]))
    with pytest.raises(ValueError, match="X has 0 columns"):
        fit_partitions(LocalEngine([Partition(0, X[:, :0], y)]))
    with pytest.raises(PartitionError, match=r"partition 0: column 0 of X holds no value above .* underflow"):
        fit_partitions(LocalEngine(split(1e-200 * X, y, 1)))
    with pytest.raises(ValueError, match=r"0\.5, which is not a class"):
        fit_partitions(LocalEngine(split(X, np.where(y == "yes", 0.5, 1.0), 2)))
    with pytest.raises(ValueError, match="the targets are of size"):
        fit_partitions(LocalEngine(split(X, X[:, 0] * 1e-200, 3)), task="regression")
    with pytest.raises(ValueError, match="smooth convex loss"):
        fit_partitions(LocalEngine(split(X, y, 2)), loss=Hinge())
    with pytest.raises(ValueError, match="ends at the optimum or at a budget"):
        fit_partitions(LocalEngine(split(X, y, 2)), stop=MarginTest())
    with pytest.raises(ValueError, match="ends at the optimum or at a budget"):
        fit_partitions(LocalEngine(split(X, y, 2)), stop=MaxSamples(100))
    with pytest.raises(ValueError, match=r"joined by \|"):
        fit_partitions(LocalEngine(split(X, y, 2)), stop=Gain() | (MaxPasses(3) & MaxPasses(4)))


def test_an_engine_that_loses_a_partition():
    X, y = logistic_problem(100, 3)
    parts, calls = split(X, y, 4), []

    def loses_one(request):
        calls.append(request)
        kept = parts if len(calls) < 3 else parts[:3]
        return [partition_work(request, part) for part in kept]

    with pytest.raises(PartitionError, match="partition 3"):
        fit_partitions(AskedBy(loses_one))
    with pytest.raises(PartitionError, match="partition 0: the engine returned two answers"):
        fit_partitions(LocalEngine([parts[0], parts[0]]))


def test_bytes_do_not_grow_with_rows():
    sizes = []
    for n_rows in (500, 5_000):
        X, y = logistic_problem(n_rows, 6)
        fit = fit_partitions(LocalEngine(split(X, y, 4)), alpha=1e-3, loss=Logistic())
        newton = [record for record in fit.rounds if record.request == "SecondOrderAt"]
        sizes.append((newton[0].bytes_sent, newton[0].bytes_received))
    assert np.allclose(*sizes, rtol=0.05)


def test_an_optimum_that_is_not_unique_is_reached():
    """Indicators of all levels sum to the intercept: along one direction there is neither curvature nor gradient."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 300)
    X = np.column_stack([np.eye(3)[level], rng.standard_normal(300)])
    y = (X[:, 0] + X[:, 3] + rng.logistic(size=300) > 0).astype(int)
    fit = fit_partitions(LocalEngine(split(X, y, 3)), alpha=0.0)
    assert fit.verdict.status is Status.CONVERGED
