import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.special import expit

from cluster_fits import fit_model, summarise_partitions
from inference.summary_problems import assert_within, groups_of, kinds, several_classes, targets, two_classes
from sgdone import LinearClassifier, LinearRegressor
from sgdone.cluster import LocalEngine, Partition, PartitionError, Rounds
from sgdone.cluster.partition import LabelCoding
from sgdone.cluster.summary import LevelSums, PartitionedSample, SummaryProblem
from sgdone.inference import estimate, sample, separation, sums_at_model
from sgdone.inference.factors import EncodedLevels
from sgdone.inference.sample import Sample
from sgdone.inference.sample_rows import SampleRows
from sgdone.inference.sums_at_model import LargestChange
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.sums.row_sum import ArraySum, RowSum, merged, message
from sgdone.sums.system import System
from tiers import interpreted, slow


def rounds_of(X, y, n_partitions=4, sample_weight=None, groups=None):
    """Rounds over partitions of consecutive rows; partition 2 of several is empty."""
    parts = np.array_split(np.arange(len(y)), n_partitions)
    if n_partitions > 2:
        parts.insert(2, np.arange(0))
    made = [
        Partition(
            number,
            X.take(rows) if isinstance(X, pa.Table) else X[rows],
            y[rows],
            None if sample_weight is None else sample_weight[rows],
            groups=None if groups is None else groups[rows],
        )
        for number, rows in enumerate(parts)
    ]
    return Rounds(LocalEngine(made, merges=n_partitions > 4))


def both(model, X, y, sample_weight=None, groups=None, n_partitions=4, **options):
    """The summary on one machine, and that of partitions."""
    here = model.summary(X, y, sample_weight, groups=groups, **options)
    return here, summarise_partitions(rounds_of(X, y, n_partitions, sample_weight, groups), model, **options)


def assert_same(here, there, tol=1e-8):
    """The same numbers, up to a share of their standard errors, the same refusals and the same head."""
    assert there.names == here.names
    assert {k: (own.kind, own.detail) for k, own in there.refused.items()} == {
        k: (own.kind, own.detail) for k, own in here.refused.items()
    }
    np.testing.assert_allclose(there.std_err, here.std_err, rtol=tol)
    for name in ("coef", "low", "high"):
        assert_within(getattr(there, name), getattr(here, name), here.std_err, tol)
    np.testing.assert_allclose(there.z, here.z, rtol=tol, atol=tol)
    # The logarithm of p changes by z times the change of z.
    assert_within(there.p, here.p, np.maximum(here.p * (1.0 + here.z**2), 1e-300), tol)
    assert (there.df, there.level, there.left_out, there.references) == (
        here.df,
        here.level,
        here.left_out,
        here.references,
    )
    for name, value in vars(here.head).items():
        mine = getattr(there.head, name)
        assert mine == pytest.approx(value, rel=1e-8) if isinstance(value, float) else mine == value, name


PROBLEMS = {
    "two classes": lambda: (LinearClassifier(), *two_classes(300)),
    "several classes": lambda: (LinearClassifier(), *several_classes(n_rows=450)),
    "one against the rest": lambda: (LinearClassifier(loss="squared_hinge"), *several_classes(n_rows=300)),
    "regression": lambda: (LinearRegressor(), *targets(300)),
    "huber": lambda: (LinearRegressor(loss="huber"), *targets(300)),
    "no intercept": lambda: (LinearClassifier(fit_intercept=False), *two_classes(300)),
}


@pytest.mark.parametrize("cov", ["robust", "classical"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_summary_is_that_of_one_machine(problem, cov):
    if (problem, cov) == ("one against the rest", "classical"):
        pytest.skip("it has no likelihood")
    model, X, y = PROBLEMS[problem]()
    model.fit(X, y)
    for n_partitions in (1, 7):
        assert_same(*both(model, X, y, n_partitions=n_partitions, cov=cov))


@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.astype(np.float32), lambda X: X * [1e-80, 1.0, 1e70]])
def test_forms_of_rows(form):
    X, y = two_classes(300)
    X = form(np.where(np.abs(X) > 0.5, X, 0.0))
    assert_same(*both(LinearClassifier().fit(X, y), X, y))


@pytest.mark.parametrize("weights", ["frequency", "sampling"])
def test_sample_weights(weights):
    X, y = two_classes(300)
    rng = np.random.default_rng(0)
    model = LinearClassifier().fit(X, y)
    shares = rng.uniform(0, 3, 300)
    for sample_weight in (rng.integers(0, 4, 300).astype(float), shares, 1e-6 * shares):
        assert_same(*both(model, X, y, sample_weight, weights=weights))


def test_class_weights():
    X, y = two_classes(300)
    for class_weight in ("balanced", {0: 3.0}):
        model = LinearClassifier(class_weight=class_weight).fit(X, y)
        assert_same(*both(model, X, y, weights="sampling"))
    with pytest.raises(ValueError, match="class weights are not numbers of rows"):
        summarise_partitions(rounds_of(X, y), model)


@pytest.mark.parametrize("label", [int, str])
def test_groups_may_be_in_several_partitions(label):
    X, y = several_classes(n_rows=450)
    groups = groups_of(450).astype(label)
    model = LinearClassifier().fit(X, y)
    assert_same(*both(model, X, y, groups=groups, cov="cluster"))
    few = groups_of(450, 10)
    assert_same(*both(model, X, y, groups=few, cov="cluster"))
    neighbours = np.sort(groups_of(450)).astype(label)
    assert_same(*both(model, X, y, groups=neighbours, cov="cluster"))
    with pytest.raises(PartitionError, match="partition 0: cov='cluster' needs the groups"):
        summarise_partitions(rounds_of(X, y), model, cov="cluster")


def test_groups_in_several_partitions_may_be_too_many(monkeypatch):
    X, y = two_classes(300)
    model = LinearClassifier().fit(X, y)
    monkeypatch.setattr(sums_at_model, "_MOST_NUMBERS", 20)
    found = summarise_partitions(rounds_of(X, y, groups=np.arange(300) // 5), model, cov="cluster")
    assert not found.refused  # no group is divided
    with pytest.raises(PartitionError, match="partition 0: 60 groups of its rows are in other partitions too"):
        summarise_partitions(rounds_of(X, y, groups=np.arange(300) % 60), model, cov="cluster")


def test_columns_level_and_reference():
    X, y = several_classes(n_rows=450)
    model = LinearClassifier().fit(X, y)
    assert_same(*both(model, X, y, columns=[1], level=0.9, reference=2))


def test_columns_without_a_coefficient_are_refused():
    X, y = two_classes(300)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(300, 2.5)])
    here, there = both(LinearClassifier().fit(X, y), X, y)
    assert_same(here, there)
    assert kinds(there)["x4"] == "constant"
    assert kinds(there)["x3"] == "collinear"
    assert [own.reason for own in there.refused.values()] == [own.reason for own in here.refused.values()]


def test_a_sparse_column_that_is_nearly_constant():
    X, y = two_classes(300)
    nearly = np.full(300, 1e4)
    nearly[250] -= 1e-3
    for last in (nearly, np.full(300, 1e4)):
        S = sparse.csr_array(np.column_stack([X, last]))
        model = LinearClassifier().fit(S, y)
        here, there = both(model, S, y)
        assert kinds(there) == kinds(here)


def test_too_little_is_known():
    X, y = two_classes(300)
    model = LinearClassifier().fit(X, y)
    assert_same(*both(model, X[:20], y[:20]))
    rare = X.copy()
    rare[:, 1] = np.arange(300) < 5
    here, there = both(LinearClassifier().fit(rare, y), rare, y)
    assert_same(here, there)
    assert kinds(there) == {"x1": "few_nonzeros"}
    Z, _ = targets(100)
    exact = Z @ [1.0, 2.0, 3.0]
    rounds = rounds_of(Z, exact)
    found = summarise_partitions(rounds, LinearRegressor().fit(Z, exact))
    assert set(kinds(found).values()) == {"no_errors"}
    assert len(rounds.records) < 15  # rounding errors are not searched for a minimum


def test_a_large_bias_is_refused():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 60))
    y = rng.random(3000) < 1.0 / (1.0 + np.exp(3.5 - X[:, 0]))
    here, there = both(LinearClassifier().fit(X, y), X, y, n_partitions=2)
    assert "biased" in kinds(there).values()
    assert kinds(there) == kinds(here)


def many_columns(n_rows=2000, n_features=20, density=0.4):
    """Sparse rows of two classes."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n_rows, n_features), density=density, format="csr", rng=rng)
    return X, (rng.random(n_rows) < expit(X @ rng.standard_normal(n_features) * 0.3)).astype(int)


@pytest.fixture
def iterative(monkeypatch):
    """Compute as with thousands of coefficients, on one machine and on several."""
    for name in ("MOST_FACTORISED", "MOST_SUMMED"):
        monkeypatch.setattr(estimate, name, 1)
    monkeypatch.setattr(separation, "MOST_SUMMED", 1)
    monkeypatch.setattr(sample, "_FREQUENT", 5)


#: The same steps, draws and systems; sums of other parts round differently, which conjugate gradients amplify.
SOLVED = 1e-4


@pytest.mark.parametrize("columns", [None, [0, 7]])
@pytest.mark.parametrize("cov", ["robust", "classical", "cluster"])
@pytest.mark.usefixtures("iterative")
def test_many_coefficients_are_those_of_one_machine(cov, columns):
    X, y = many_columns()
    groups = groups_of(2000) if cov == "cluster" else None
    weight = np.random.default_rng(1).integers(0, 3, 2000)
    model = LinearClassifier().fit(X, y)
    here, there = both(model, X, y, weight, groups, cov=cov, columns=columns)
    assert there.monte_carlo_error == pytest.approx(here.monte_carlo_error, rel=1e-3)
    assert (there.monte_carlo_error > 0) == (columns is None)
    assert not there.refused
    np.testing.assert_allclose(there.std_err, here.std_err, rtol=SOLVED)
    assert_within(there.coef, here.coef, here.std_err, SOLVED)


@pytest.mark.parametrize("problem", [name for name in PROBLEMS if name != "two classes"])
@pytest.mark.usefixtures("iterative")
def test_many_coefficients_of_other_models(problem):
    model, X, y = PROBLEMS[problem]()
    model.fit(X, y)
    for cov in ("robust",) if problem == "one against the rest" else ("robust", "classical"):
        here, there = both(model, X, y, cov=cov)
        assert kinds(there) == kinds(here)
        np.testing.assert_allclose(there.std_err, here.std_err, rtol=SOLVED)


@slow
def test_1500_coefficients():
    X, y = many_columns(20_000, 1500, 0.02)
    model = LinearClassifier().fit(X, y)
    rounds = rounds_of(X, y)
    here, there = model.summary(X, y), summarise_partitions(rounds, model)
    assert not there.refused
    assert_within(there.coef, here.coef, here.std_err, 0.01)
    apart = there.std_err / here.std_err - 1.0
    assert 0 < there.monte_carlo_error < 0.06
    assert np.nanmax(np.abs(apart)) < 5.0 * there.monte_carlo_error
    largest = max(record.bytes_received for record in rounds.records) / 4
    assert largest < 8 * 1501**2  # no partition has sent a curvature
    some = {"columns": [0, 7, 1400]}
    here, there = model.summary(X, y, **some), summarise_partitions(rounds_of(X, y), model, **some)
    np.testing.assert_allclose(there.std_err, here.std_err, rtol=1e-3)


@pytest.mark.usefixtures("iterative")
def test_equal_columns_of_many_are_refused():
    X, y = many_columns()
    dense = X.toarray()
    nearly = dense[:, 4].copy()
    nearly[1999] += 1e-12
    X = np.column_stack([dense, dense[:, 4], nearly])
    model = LinearClassifier().fit(X[:, :21], y)
    here, there = both(model, X[:, :21], y, columns=[0, 4, 20])
    assert kinds(there) == kinds(here) == {"x4": "collinear", "x20": "collinear"}
    # The last column has the same rows in other partitions.
    X = np.column_stack([X, np.roll(dense[:, 7], 1000)])
    for form in (np.asarray, sparse.csr_array):
        assert sample_of(rounds_of(form(X), y, 2), model, 23).repeated_columns() == [(4, 20)]


@pytest.mark.usefixtures("iterative")
def test_separation_with_many_coefficients():
    X, y, level = rare_level()
    X = np.column_stack([X, level])
    here, there = both(LinearClassifier().fit(X, y), X, y)
    assert kinds(there) == kinds(here) == {"x3": "infinite"}
    y = (X[:, 0] > 0.1).astype(int)
    there = summarise_partitions(rounds_of(X, y), LinearClassifier().fit(X, y))
    assert set(kinds(there).values()) == {"infinite"}


def sample_of(rounds, model, n_features):
    """The sample of a model of two classes."""
    objective, names = model._fitted.objective(), [f"x{j}" for j in range(n_features)]
    problem = SummaryProblem(objective, LabelCoding(model.classes_), None, names, grouped=False)
    return Sample.of(objective, PartitionedSample(rounds, problem))


@message
@dataclass(frozen=True)
class WrongRows(RowSum):
    """Weights of the rows that a model predicts wrong, by class."""

    system: System
    model: np.ndarray

    def of(self, rows):
        pieces = rows.pieces(self.system)
        return merged(map(self._of_piece, pieces)) if pieces.n_rows else None

    def _of_piece(self, piece):
        wrong = piece.weights * (piece.rows.times(self.model)[:, 0] * piece.labels < 0)
        return ArraySum(np.bincount((piece.labels > 0).astype(int), wrong, minlength=2))


def test_a_new_statistic_is_one_sum():
    X, y = two_classes(300)
    model = LinearClassifier().fit(X, y)
    whole = Sample.of(model._fitted.objective(), SampleRows.of(X, np.where(y, 1.0, -1.0)))
    request = WrongRows(whole.system, whole.model_in_units(model.coef_, model.intercept_))
    expected = [np.sum((model.predict(X) != y) & (y == label)) for label in (0, 1)]
    assert whole.sum(request).values.tolist() == expected
    assert sample_of(rounds_of(X, y), model, 3).sum(request).values.tolist() == expected


def rare_level(n_rows=400):
    """Rows of two classes, of which those with a level are all of the second."""
    X, y = two_classes(n_rows)
    level = np.random.default_rng(3).random(n_rows) < 0.1
    return X, np.where(level, 1, y), level


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("is_reference", [False, True])
def test_quasi_complete_separation(form, is_reference):
    """The direction of a level, or of the intercept and all other levels."""
    X, y, level = rare_level()
    X = form(np.column_stack([X, ~level if is_reference else level]))
    here, there = both(LinearClassifier().fit(X, y), X, y)
    assert_same(here, there)
    names = ["(intercept)", "x3"] if is_reference else ["x3"]
    assert kinds(there) == dict.fromkeys(names, "infinite")
    assert {k: own.sign for k, own in there.refused.items()} == {k: own.sign for k, own in here.refused.items()}
    reason = next(iter(there.refused.values())).reason
    assert f"predicts {level.sum()} of 400 rows without error (verified in all partitions)" in reason
    assert f"tend to infinity: {', '.join(names)}." in reason


def test_rows_on_the_boundary_of_numbers():
    """0.5 − x is 0 without rounding errors in the rows that both classes have."""
    X, y = two_classes(300)
    X = X[:, :1].round(1)
    y = np.where(X[:, 0] == 0.5, y, X[:, 0] > 0.5)
    here, there = both(LinearClassifier().fit(X, y), X, y)
    assert kinds(there) == kinds(here) == {"(intercept)": "infinite", "x0": "infinite"}
    assert there.head.log_likelihood == pytest.approx(here.head.log_likelihood)


def test_separated_after_others_are_left_out():
    X, y, level = rare_level()
    other = (np.random.default_rng(4).random(400) < 0.1) & ~level
    X, y = np.column_stack([X, level, other]), np.where(other, 0, y)
    here, there = both(LinearClassifier().fit(X, y), X, y)
    assert_finite_parts_are_same(here, there)
    assert kinds(there) == {"x3": "infinite", "x4": "infinite"}


def assert_finite_parts_are_same(here, there):
    assert kinds(there) == kinds(here)
    np.testing.assert_allclose(there.std_err, here.std_err, rtol=1e-8)


def test_complete_separation():
    X, _ = two_classes(200)
    y = (X[:, 0] > 0.1).astype(int)
    here, there = both(LinearClassifier().fit(X, y), X, y)
    assert kinds(there) == kinds(here)
    assert "complete separation, a direction predicts 200 of 200 rows" in there.refused[1].reason


def test_separation_of_several_classes():
    X, y = several_classes(n_rows=450)
    level = np.random.default_rng(3).random(450) < 0.1
    X, y = np.column_stack([X, level]), np.where(level, 2, y)
    here, there = both(LinearClassifier().fit(X, y), X, y)
    infinite = [k for k, own in there.refused.items() if own.kind == "infinite"]
    assert sorted(infinite) == sorted(here.refused)
    assert set(kinds(there).values()) == {"infinite", "not_converged"}
    assert "use model.summary(X, y) on one machine" in there.refused[0].reason


def test_a_direction_that_is_wrong_in_one_row_proves_nothing(monkeypatch):
    """The optimum is far away, and the search is given up before it is found."""
    X, y, level = rare_level()
    y = y.copy()
    y[np.flatnonzero(level)[-1]] = 0
    X = np.column_stack([X, level])
    model = LinearClassifier().fit(X, y)
    found = estimate.find_optimum

    def separated(sample, start):
        optimum = found(sample, start)
        raise estimate.NoOptimumError("given up", optimum.model + 1e3 * np.eye(5)[3][:, None])

    monkeypatch.setattr(estimate, "find_optimum", separated)
    there = summarise_partitions(rounds_of(X, y), model)
    assert set(kinds(there).values()) == {"not_converged"}
    assert "no direction that separates the classes could be verified: given up" in there.refused[0].reason


def table(n_rows=500, seed=0):
    """Nested categories, a number that one of them determines, missing values, and dates."""
    rng = np.random.default_rng(seed)
    region = rng.choice(4, n_rows, p=[0.1, 0.3, 0.4, 0.2])
    return pa.table(
        {
            "region": np.array(["a", "b", "c", "d"])[region],
            "zone": np.array(["north", "north", "south", "south"])[region],
            "code": np.array([1.0, 5.0, 5.0, 2.0])[region],
            "age": pa.array(rng.standard_normal(n_rows), mask=rng.random(n_rows) < 0.1),
            "day": pa.array(np.datetime64("2024-01-01") + rng.integers(0, 80, n_rows), mask=np.arange(n_rows) % 9 == 0),
        }
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_tables_are_compared_with_reference_levels(fit_intercept):
    X, y = table(), np.random.default_rng(1).integers(0, 2, 500)
    model = LinearClassifier(fit_intercept=fit_intercept).fit(X, y)
    here, there = both(model, X, y, n_partitions=6)
    # Dates that are not centred are nearly collinear with the levels.
    tol = 1e-8 if fit_intercept else 1e-6
    assert_same(here, there, tol)
    assert there.left_out["code"] == "determined by region"
    tests = [[(name, own.df, own.reason) for name, own in found.column_tests.items()] for found in (here, there)]
    assert tests[0] == tests[1]
    for name, own in here.column_tests.items():
        assert there.column_tests[name].statistic == pytest.approx(own.statistic, rel=1e-6, abs=1e-6, nan_ok=True)
    assert there.wald("region").p == pytest.approx(here.wald("region").p, rel=1e-6 if fit_intercept else 1e-3)
    mine, theirs = model.predict_interval(X, there), model.predict_interval(X, here)
    assert_within(np.stack(mine), np.stack(theirs), theirs.high - theirs.low, 10 * tol)


@interpreted
def test_a_model_of_the_same_partitions():
    """Tables that the fit has encoded, and a column without levels."""
    X, y = table(), np.random.default_rng(1).standard_normal(500)
    engine = LocalEngine([Partition(k, X.slice(100 * k, 100), y[100 * k : 100 * k + 100]) for k in range(5)])
    model = LinearRegressor()
    fit_model(model, engine)
    assert_same(model.summary(X, y), summarise_partitions(Rounds(engine), model))


def test_a_frame_of_numbers():
    X, y = two_classes(300)
    frame = pa.table({name: X[:, j] for j, name in enumerate("abc")})
    model = LinearClassifier().fit(frame, y)
    here, there = both(model, frame, y)
    assert_same(here, there)
    assert there.features == ["(intercept)", "a", "b", "c"]


@pytest.mark.parametrize("seed", range(8))
def test_facts_about_levels_are_those_of_all_rows(seed):
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 4]
    codes = [rng.integers(0, size + 1, 12) for size in sizes]
    features = np.split(np.arange(9), np.cumsum(sizes)[:-1])
    dense = np.column_stack([codes[0] * 1.5, rng.integers(0, 2, 12), np.ones(12), np.repeat([1.0, 2.0, 3.0], 4)])
    entries = np.zeros((12, 9))
    for own, size, places in zip(codes, sizes, features, strict=True):
        known = own < size
        entries[np.flatnonzero(known), places[own[known]]] = 1.0
    rows = MixedMatrix(dense, sparse.csr_array(entries))
    classes, weight = rng.integers(0, 3, 12), rng.integers(0, 3, 12).astype(float)
    weight[[0, 5, 9]] = 1.0

    def facts(chosen):
        shifted = [own + 4 for own in features]
        return LevelSums.of(EncodedLevels(rows[chosen], shifted, classes[chosen], weight[chosen]), 3)

    whole = facts(np.arange(12))
    parts = merged([facts(chosen) for chosen in np.split(np.arange(12), [4, 8])])
    for of in range(3):
        assert parts.n_classes(of).tolist() == whole.n_classes(of).tolist()
        assert parts.weights[of].tolist() == whole.weights[of].tolist()
        for by in range(3):
            mine, theirs = parts.map(of, by), whole.map(of, by)
            assert mine.levels.tolist() == theirs.levels.tolist()
            for name in ("found", "mixed", "open"):
                assert getattr(mine, name).tolist() == getattr(theirs, name).tolist()
    for column in range(4):
        assert parts.is_constant(column) == whole.is_constant(column)
        for division in range(3):
            mine, theirs = parts.values(column, division), whole.values(column, division)
            assert (mine is None) == (theirs is None)
            np.testing.assert_array_equal([] if mine is None else mine, [] if theirs is None else theirs)


def test_the_largest_change_is_that_of_all_rows():
    X, y = two_classes(300)
    model = LinearClassifier().fit(X, y)
    X = X[np.argsort(X[:, 0])]
    parts = sample_of(rounds_of(X, y), model, 3)
    whole = Sample.of(model._fitted.objective(), SampleRows.of(X, np.where(y, 1.0, -1.0)))
    for step in np.vstack([np.eye(4), -np.eye(4)])[:, :, None] + np.eye(4)[3][:, None]:
        change = LargestChange(whole.system, step)
        assert parts.sum(change).value == pytest.approx(whole.sum(change).value)


def test_rows_that_are_not_those_of_the_model():
    X, y = two_classes(300)
    model = LinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match="the partitions have 2 columns, but the model has 3"):
        summarise_partitions(rounds_of(X[:, :2], y), model)
    with pytest.raises(ValueError, match="no partition has a row of the class 1"):
        summarise_partitions(rounds_of(X, np.zeros(300, dtype=int)), model)
    with pytest.raises(PartitionError, match="partition 0: y holds the label 2"):
        summarise_partitions(rounds_of(X, y + 1), model)
    with pytest.raises(ValueError, match="fitted to arrays"):
        summarise_partitions(rounds_of(table(), np.zeros(500, dtype=int)), model)
    bad = X.copy()
    bad[299, 1] = np.nan
    with pytest.raises(PartitionError, match=re.escape("partition 4: row 74 of X holds NaN in column 'x1'")):
        summarise_partitions(rounds_of(bad, y), model)
