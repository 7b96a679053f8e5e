"""Every method with a single model: the same rows, however they are stored, cut or called, give the same model.

A new method is one more line of `METHODS`, and has to pass all of this; tests of a method alone are in a file of its
own. The loops run as plain Python in the fast tier.
"""

import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import sparse

import sgdone
from problems import random_problem
from running import run, with_new_rule
from sgdone import SGDClassifier, losses, solvers, steps, stopping
from sgdone.interfaces.method import names
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource, Scaling
from sgdone.rows.faults import BadRowError
from sgdone.solvers import (
    GD,
    ISGD,
    OLBFGS,
    SGD,
    SGD2,
    SGDQN,
    SVRG,
    Averaged,
    Catoni,
    Halving,
    Liblinear,
    MarginMoments,
    MedianOfMeans,
    Newton,
    Pegasos,
    SingleModel,
    Truncated,
)
from sgdone.stopping import Distance, MarginTest, MaxPasses, MaxSamples, Pflug, ProgressiveLoss, SmallValidationSet
from tiers import NIGHTLY, at_night, grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()


@dataclass(frozen=True)
class Case:
    """A method and how to call it."""

    solver: SingleModel
    options: dict = field(default_factory=dict)
    #: Rules that it lets look at each sample, at each update, or not at all.
    watched: str = "samples"
    #: Whether its coefficients depend on the rows in this many digits only.
    digits: float = 1e-10
    #: Whether a model is continued by the next rows, as if it had never stopped.
    continues: bool = True
    centres: bool = True
    #: Step size with which it diverges.
    too_large: float | None = 1e4

    @property
    def needs_all_rows(self):
        return self.solver.needs.all_rows

    def run(self, source, stop, loss=LOGISTIC, **options):
        return run(source, loss, self.solver, stop, **{"alpha": 0.1} | self.options | options)

    def estimator(self, **options):
        given = {name: value for name, value in self.options.items() if name == "step"}
        if self.solver.offers.l1_penalty:
            given["penalty"] = "l1"
        return SGDClassifier(
            **{"solver": self.solver, "alpha": 0.1, "shuffle": False, "random_state": 0} | given | options
        )


STEP = {"step": steps.Constant(0.05)}
METHODS = {
    "sgd": Case(SGD()),
    "isgd": Case(ISGD(), too_large=None),
    "asgd": Case(solvers.asgd()),
    "aisgd": Case(solvers.aisgd(), too_large=None),
    "averaged after 30": Case(Averaged(SGD(), 30), STEP),
    "sgd-half": Case(Halving(SGD(), Pflug(20)), STEP),
    "truncated": Case(
        Truncated(every=7), {"step": steps.Constant(0.05), "l1_ratio": 0.5}, centres=False, too_large=None
    ),
    "sgd2": Case(SGD2(5)),
    "sgdqn": Case(SGDQN(5), centres=False, digits=1e-8),
    "svrg": Case(SVRG(), STEP, "updates", continues=False),
    "svrg, option II": Case(SVRG(7, "II"), STEP, "updates", continues=False),
    "gd": Case(GD(), {}, "nothing"),
    "catoni": Case(Catoni(), STEP, "nothing"),
    "median of means": Case(MedianOfMeans(3), STEP, "nothing"),
    "margin moments": Case(MarginMoments(), STEP, "nothing"),
    "pegasos": Case(Pegasos(), too_large=None),
    "pegasos of 7": Case(Pegasos(7), {}, "nothing", too_large=None),
    "olbfgs": Case(OLBFGS(7, epsilon=0.05, damping=0.1), {}, "nothing", digits=1e-8, too_large=1e7),
    "newton": Case(Newton(), {}, "nothing", centres=False, continues=False, too_large=None, digits=1e-8),
    "liblinear": Case(Liblinear(tol=1e-10), {}, "nothing", centres=False, continues=False, too_large=None, digits=1e-3),
}
every_method = pytest.mark.parametrize("case", METHODS.values(), ids=list(METHODS))
#: Where each further method would only take time to compile other forms of its loop.
DAY = ("sgd", "aisgd", "sgdqn", "olbfgs", "pegasos of 7", "newton", "liblinear")
METHODS_BY_DAY = [*DAY, *at_night(set(METHODS) - set(DAY))]
by_day = pytest.mark.parametrize("case", [METHODS[name] for name in METHODS_BY_DAY], ids=METHODS_BY_DAY)
BAD_VALUES = pytest.mark.parametrize(("row", "value"), [(0, np.nan), (57, -np.inf), (100, 1e200)])


def those(**facts):
    """Methods of which facts are true."""
    kept = {
        name: case
        for name, case in METHODS.items()
        if all(
            getattr(case, fact) in (value if isinstance(value, tuple) else (value,)) for fact, value in facts.items()
        )
    }
    return pytest.mark.parametrize("case", kept.values(), ids=list(kept))


@pytest.fixture
def problem():
    """Some rows are empty, some of weight 0."""
    return random_problem(3, LOGISTIC, n_rows=101, n_features=4)


def source_of(problem, form=np.asarray, **options):
    return ArraySource(form(problem.X), problem.y, problem.weights, **{"shuffle": False} | options)


def close(found, expected, digits):
    scale = max(1.0, np.abs(expected.coef).max(), abs(expected.intercept))
    np.testing.assert_allclose(found.coef, expected.coef, rtol=0, atol=digits * scale)
    assert found.intercept == pytest.approx(expected.intercept, rel=0, abs=digits * scale)


def same_bits(found, expected):
    assert found.coef.tobytes() == expected.coef.tobytes()
    assert found.intercept == expected.intercept
    assert (found.verdict.step, found.verdict.rule) == (expected.verdict.step, expected.verdict.rule)


def test_every_method_is_here():
    assert {name.replace("_", "-") for name in names(SingleModel, solvers)} - {"isgd-half"} <= {
        name.replace(" ", "-") for name in METHODS
    }


# ---- rows ----


@interpreted
@every_method
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_block_size_changes_no_bit(form, case, problem):
    stop = MaxPasses(3)
    whole = case.run(source_of(problem, form, shuffle=True), stop)
    for block_size in (1, 13):
        parts = case.run(source_of(problem, form, shuffle=True), stop, block_size=block_size)
        same_bits(parts, whole)
        assert parts.verdict.reason == whole.verdict.reason


@interpreted
@every_method
@pytest.mark.parametrize("centre", [False, True])
def test_sparse_rows_equal_dense_ones(centre, case, problem):
    """Centred rows are those of a copy that is moved, without an intercept."""
    if centre and not case.centres:
        with pytest.raises(ValueError, match=r"center|centred"):
            case.run(source_of(problem, sparse.csr_array), MaxPasses(3), center=True)
        return
    forms = np.asarray, sparse.csr_array
    dense, csr = (case.run(source_of(problem, form), MaxPasses(5), center=centre) for form in forms)
    close(csr, dense, case.digits)
    assert csr.verdict.step == dense.verdict.step or isinstance(case.solver, Liblinear)
    if centre:
        shift = dense.state.scaling.shift
        moved = ArraySource(problem.X - shift, problem.y, problem.weights, shuffle=False)
        expected = case.run(moved, MaxPasses(5), fit_intercept=False)
        np.testing.assert_allclose(dense.coef, expected.coef, rtol=1e-9, atol=1e-9)
        assert dense.intercept == pytest.approx(-float(expected.coef @ shift), rel=1e-9)


@interpreted
@every_method
def test_rows_of_weight_0_are_not_there(case, problem):
    """Whatever they hold."""
    used = problem.weights > 0
    problem.X[~used] = np.nan
    found = case.run(source_of(problem), MaxPasses(4))
    absent = ArraySource(problem.X[used], problem.y[used], problem.weights[used], shuffle=False)
    close(found, case.run(absent, MaxPasses(4)), 1e-12)
    problem.weights[:] = 0.0
    with pytest.raises(ValueError, match=r"positive weight|both classes"):
        case.run(source_of(problem), MaxPasses(4))


@interpreted
@by_day
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.slow
def test_scaled_rows_equal_a_scaled_copy(shifted, case, problem):
    scale, shift = np.array([0.5, 2.0, 3.0, 1.0]), np.array([0.3, -1.0, 0.0, 0.2]) if shifted else None
    centre = np.zeros(4) if shift is None else shift
    copy = ArraySource((problem.X - centre) / scale, problem.y, problem.weights, shuffle=False)
    copied = case.run(copy, MaxPasses(2))
    coef = copied.coef / scale
    for form in (np.asarray, sparse.csr_array):
        if shifted and form is sparse.csr_array and not case.centres:
            continue
        found = case.run(source_of(problem, form, scaling=Scaling(scale, shift)), MaxPasses(2))
        np.testing.assert_allclose(found.coef, coef, rtol=10 * case.digits, atol=10 * case.digits)
        assert found.intercept == pytest.approx(copied.intercept - coef @ centre, abs=10 * case.digits)


@interpreted
@by_day
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.slow
def test_single_precision(form, case, problem):
    single = source_of(problem, lambda X: form(X.astype(np.float32)))
    found, expected = case.run(single, MaxPasses(3)), case.run(source_of(problem, form), MaxPasses(3))
    assert found.coef.dtype == np.float32
    close(found, expected, 1e-3)


@interpreted
@every_method
@pytest.mark.slow
def test_a_seed_draws_the_order(case, problem):
    first, same, other = (
        case.run(source_of(problem, shuffle=True), MaxPasses(2), rng=np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    same_bits(first, same)
    assert case.needs_all_rows or not np.array_equal(first.coef, other.coef)


@interpreted
@by_day
@pytest.mark.slow
def test_small_data(case):
    rng = np.random.default_rng(0)
    for X in (np.ones((3, 1)), np.zeros((5, 2)), rng.standard_normal((3, 20)), np.ones((8, 2))):
        y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
        for form in (np.asarray, sparse.csr_array):
            result = case.run(ArraySource(form(X), y), MaxPasses(7))
            assert np.all(np.isfinite(result.coef))
            assert np.isfinite(result.intercept)


# ---- bad rows ----


@interpreted
@every_method
@BAD_VALUES
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_a_bad_row_is_named(form, row, value, case, problem):
    if isinstance(case.solver, (GD, Newton)) and value == 1e200:
        return  # the step of one is small enough, and the other has units of its own
    problem.X[row, 2], problem.weights[row] = value, 1.0
    words = "is too large" if value == 1e200 else f"holds {'NaN' if np.isnan(value) else 'infinity'} in column 2"
    with pytest.raises(BadRowError, match=f"row {row} of X {words}"):
        case.run(source_of(problem, form), MaxPasses(1))


@interpreted
@every_method
@pytest.mark.parametrize("block_size", [5, None])
def test_an_index_out_of_range_is_named(block_size, case, problem):
    X = sparse.csr_array(problem.X)
    assert X.has_canonical_format  # what SciPy remembers, and the loop cannot rely on
    row = int(np.flatnonzero((np.diff(X.indptr) > 0) & (problem.weights > 0))[-1])
    X.indices[X.indptr[row]] = 4
    source = ArraySource(X, problem.y, problem.weights, shuffle=False)
    with pytest.raises(ValueError, match=f"row {row} of the CSR matrix X has the column index 4"):
        case.run(source, MaxPasses(1), block_size=block_size)


@interpreted
@every_method
def test_a_label_that_is_not_finite_is_named(case, problem):
    problem.y[57], problem.weights[57] = np.nan, 1.0
    with pytest.raises(ValueError, match=r"the label of row 57 is nan|labelled -1 and 1"):
        case.run(source_of(problem), MaxPasses(1))


@interpreted
@every_method
@pytest.mark.slow
def test_steps_that_are_too_large_diverge(case, problem):
    if case.too_large is None:
        return
    rows = ArraySource(1e2 * problem.X, 1e4 * problem.X[:, 0])
    options = {
        "step": steps.Constant(case.too_large),
        "alpha": 0.0 if not case.solver.needs.why_positive_alpha else 0.1,
    }
    if case.solver.needs.classes:
        return
    result = case.run(rows, MaxPasses(50), losses.Squared(), task="regression", **options)
    assert result.verdict.status is Status.DIVERGED
    assert np.all(np.isfinite(result.coef))
    assert "step" in result.verdict.advice


# ---- going on ----


@interpreted
@those(continues=True)
@pytest.mark.parametrize("forms", [(False, False), (True, True), (False, True)], ids=str)
def test_a_run_goes_on_where_it_ended(forms, case, problem):
    form = [(np.asarray, sparse.csr_array)[as_csr] for as_csr in forms]
    first = case.run(source_of(problem, form[0]), MaxPasses(1))
    kept = first.result.state.copy()
    stored = pickle.dumps(kept)
    both = case.run(source_of(problem, form[1]), MaxPasses(3), resume=with_new_rule(first))
    whole = case.run(source_of(problem, form[0]), MaxPasses(3))
    assert pickle.dumps(kept) == stored  # a copy shares nothing that changes
    if forms[0] == forms[1]:
        assert both.coef.tobytes() == whole.coef.tobytes()
    if isinstance(case.solver, Halving):  # a product of gradients is missing where the storage changes
        return
    close(both, whole, max(case.digits, 1e-9))
    assert both.verdict.step == whole.verdict.step


@interpreted
@every_method
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_a_model_file_and_further_rows(form, case, problem, tmp_path):
    X, y = form(problem.X), problem.y
    model = case.estimator()
    if case.needs_all_rows:
        with pytest.raises(ValueError, match=r"must be able to read all rows at any time.*Use fit, not partial_fit"):
            model.partial_fit(X, y, classes=[-1, 1])
        model.fit(X, y)
    else:
        model.partial_fit(X[:30], y[:30], classes=[-1, 1])
    sgdone.save(model, tmp_path / "model")
    other = sgdone.load(tmp_path / "model")
    assert other.coef_.tobytes() == model.coef_.tobytes()
    assert other.verdict_ == model.verdict_
    assert repr(other.solver) == repr(model.solver)
    if case.needs_all_rows:
        return
    for part in (slice(30, 33), slice(33, 101)):
        model.partial_fit(X[part], y[part])
        other.partial_fit(X[part], y[part])
    assert other.verdict_ == model.verdict_
    assert other.coef_.tobytes() == model.coef_.tobytes()
    assert other.intercept_.tobytes() == model.intercept_.tobytes()


@interpreted
@those(needs_all_rows=True)
def test_streams_are_refused(case, problem):
    with pytest.raises(ValueError, match="must be able to read all rows at any time: a stream is not enough"):
        case.run(source_of(problem, part_of_stream=True), MaxPasses(1))


@interpreted
@every_method
def test_three_classes_called_by_texts(case, rng):
    X = rng.standard_normal((120, 4))
    y = np.array(["a lily", "a rose", "an iris"])[np.argmax(X[:, :3], axis=1)]
    arrays = [X, y]
    for array in arrays:
        array.flags.writeable = False
    budget = {} if isinstance(case.solver, (Liblinear, Newton)) else {"stop": 10}
    model = case.estimator(alpha=0.01, **budget).fit(X, y)
    assert model.classes_.tolist() == ["a lily", "a rose", "an iris"]
    assert model.coef_.shape == (3, 4)
    assert model.score(X, y) > 0.7
    assert set(model.verdict_.per_class) == set(model.classes_)


# ---- rules ----


@interpreted
@every_method
@pytest.mark.parametrize(
    "rule",
    [MarginTest(0.5), MarginTest(0.5, fresh=True), Pflug(10), SmallValidationSet(8), Distance(), ProgressiveLoss(0.05)],
    ids=repr,
)
def test_a_rule_fires_at_the_same_sample_or_is_refused(rule, case, problem, request):
    if request.node.callspec.params["loops"] == "compiled" and not NIGHTLY and case is not METHODS["sgd"]:
        return  # each rule is another loop of each method: by day they run as plain Python
    refused = {"samples": (), "updates": (SmallValidationSet,), "nothing": (MarginTest, Pflug, SmallValidationSet)}
    if isinstance(rule, refused[case.watched]):
        with pytest.raises(ValueError, match=r"a rule that checks .* cannot be used with"):
            case.run(source_of(problem), rule)
        return
    if isinstance(case.solver, Truncated) and isinstance(rule, SmallValidationSet):
        request.applymarker(pytest.mark.xfail(strict=True, reason="thresholds that are owed count in sparse rows only"))
    if isinstance(case.solver, Liblinear):  # it ends by itself
        return
    whole = case.run(source_of(problem), rule | MaxPasses(6))
    for form, block_size in ((np.asarray, 1), (np.asarray, 30), (sparse.csr_array, None)):
        other = case.run(source_of(problem, form), rule | MaxPasses(6), block_size=block_size)
        assert (other.verdict.step, other.verdict.rule) == (whole.verdict.step, whole.verdict.rule)
        if form is np.asarray:
            assert other.coef.tobytes() == whole.coef.tobytes()


@interpreted
@those(watched=("samples", "updates"))
def test_a_margin_returns_the_iterate_without_its_sample(case, problem):
    result = case.run(source_of(problem), MarginTest(0.2) | MaxPasses(9))
    k = result.verdict.step
    assert result.verdict.rule == "MarginTest"
    assert k > 0
    close(result, case.run(source_of(problem), MaxSamples(k)), 1e-12)


@interpreted
@every_method
def test_budgets(case, problem):
    if isinstance(case.solver, Liblinear):
        return
    for samples in (1, 5, 30):
        result = case.run(source_of(problem), MaxSamples(samples))
        ended = result.verdict.rule not in ("", "MaxSamples", "MaxPasses")
        assert result.verdict.step == samples or (ended and result.verdict.step < samples)
    seen = []

    def hook(progress):
        seen.append(progress.step)
        return "enough" if len(seen) == 2 else None

    result = case.run(source_of(problem), MaxPasses(300), hook=hook, block_size=40)
    assert result.verdict.status in (Status.STOPPED, Status.CONVERGED)
    assert result.verdict.step == seen[-1]


@interpreted
@every_method
def test_an_interruption_keeps_the_model(case, problem):
    calls = []

    def hook(progress):
        calls.append(progress.step)
        if len(calls) == 2:
            raise KeyboardInterrupt

    result = case.run(source_of(problem), MaxPasses(300), hook=hook, block_size=40)
    if len(calls) == 2:
        assert result.verdict.status is Status.INTERRUPTED
    assert np.all(np.isfinite(result.coef))


# ---- parameters ----


@interpreted
@every_method
def test_a_method_is_what_it_says(case):
    assert eval(repr(case.solver), {**vars(solvers), **vars(stopping)}) == case.solver


@interpreted
@every_method
def test_what_cannot_be_combined(case, problem):
    X, y = problem.X, problem.y
    if not isinstance(case.solver, (SGD, ISGD, SGD2, Averaged, Truncated)):
        if not isinstance(case.solver, Halving):
            with pytest.raises(TypeError):
                Halving(case.solver)
        with pytest.raises(TypeError):
            Averaged(case.solver)
        with pytest.raises(ValueError, match="cannot be averaged"):
            case.estimator(average=True).fit(X, y)
    if not case.solver.offers.l1_penalty and not isinstance(case.solver, SGD):
        with pytest.raises(ValueError, match="make weights exactly 0, which"):
            SGDClassifier(solver=case.solver, penalty="l1", alpha=0.1).fit(X, y)
        with pytest.raises(TypeError):
            Truncated(case.solver)
    if case.solver.needs.why_positive_alpha:
        for options in ({}, {"step": 0.1}):
            with pytest.raises(ValueError, match="needs a positive alpha"):
                case.estimator(alpha=0.0, **options).fit(X, y)
