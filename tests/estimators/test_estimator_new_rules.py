"""Rules and methods that know when to stop, through the estimators: labels, chunks, refusals, callbacks, copies."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sgdone import SGDClassifier, SGDRegressor
from sgdone.interfaces.stop_rule import Status
from sgdone.stopping import Distance, MarginTest, MaxPasses, Pflug, SmallValidationSet
from tiers import fast_first, grid, interpreted

pytestmark = grid


def model(stop, **options):
    options = {"solver": "sgd", "step": 0.1, "alpha": 0.01, "random_state": 0} | options
    return SGDClassifier(stop=stop, **options)


RULES = {
    "margin": MarginTest(),
    "fresh margin": MarginTest(fresh=True),
    "validation set": SmallValidationSet(8),
    "pflug": Pflug(20),
    "distance": Distance(),
    "then": MarginTest().then(1.5),
    "both": MarginTest() & Pflug(20),
    "either": MarginTest(2.5) | Pflug(20),
}
every_rule = pytest.mark.parametrize("rule", fast_first(1, RULES.values()), ids=RULES)


@interpreted
@pytest.mark.parametrize(("name", "rule"), [("margin", MarginTest()), ("pflug", Pflug()), ("distance", Distance())])
@pytest.mark.slow
def test_short_names(name, rule, binary, same_model):
    same_model(model(name).fit(*binary), model(rule).fit(*binary))
    assert model("small-validation-set").fit(*binary).verdict_.rule == "SmallValidationSet"


@interpreted
@every_rule
def test_several_classes_are_as_many_runs(rule, several):
    X, y = several
    together = model(rule, n_jobs=2).fit(X, y)
    for k in range(4):
        alone = model(rule).fit(X, y == k)
        assert together.coef_[k].tobytes() == alone.coef_[0].tobytes()
        assert together.verdict_.per_class[k] == alone.verdict_


@interpreted
@every_rule
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array], upto=1))
@pytest.mark.parametrize("cuts", [(20, 21, 22, 60, 61), tuple(range(10, 300, 10))], ids=["few", "many"])
def test_chunks_stop_where_one_pass_does(rule, form, cuts, binary):
    """Parity, last gradients, origins and rows held out go on from call to call."""
    X, y = binary
    whole = model(rule | MaxPasses(1), shuffle=False).fit(form(X), y)
    chunks = model(rule, shuffle=False)
    for start, end in zip((0, *cuts), (*cuts, 300), strict=True):
        chunks.partial_fit(form(X[start:end]), y[start:end], classes=[0, 1])
        if chunks.verdict_.rule:
            break
    assert (chunks.verdict_.rule == "") == (whole.verdict_.rule == "MaxPasses")
    assert chunks.verdict_.step == whole.verdict_.step
    assert np.allclose(chunks.coef_, whole.coef_, rtol=1e-12, atol=1e-13)


@interpreted
@pytest.mark.slow
def test_most_of_these_rules_do_stop_within_the_pass(binary):
    stopped = [name for name, rule in RULES.items() if model(rule | MaxPasses(1)).fit(*binary).verdict_.passes < 1]
    assert len(stopped) >= 6


@interpreted
@every_rule
def test_partial_fit_refuses_after_a_stop_and_goes_on_if_told_to(rule, binary):
    X, y = binary
    ended = model(rule, shuffle=False).fit(X, y)
    coef, step = ended.coef_.copy(), ended.verdict_.step
    with pytest.raises(ValueError, match=r"has ended this model .*: pass resume=True to partial_fit to continue"):
        ended.partial_fit(X, y)
    assert np.array_equal(ended.coef_, coef)
    ended.partial_fit(X[:100], y[:100], resume=True)
    assert ended.verdict_.step == step + 100
    assert ended.verdict_.rule == ""
    if not rule.hold_out and "fresh=True" not in repr(rule):
        rows = np.append(np.arange(step) % 300, np.arange(100))
        expected = model(1, shuffle=False).fit(X[rows], y[rows])
        assert np.allclose(ended.coef_, expected.coef_, rtol=1e-12)


@interpreted
@pytest.mark.slow
def test_a_distance_is_not_taken_from_nowhere(binary):
    """A checkpoint that rows with resume=True went past is looked at with the weights of the model."""
    X, y = binary
    learner = model(Distance(first=50), shuffle=False).partial_fit(X[:20], y[:20], classes=[0, 1])
    learner.partial_fit(X[20:100], y[20:100], resume=True)
    learner.partial_fit(X[100:], y[100:])
    assert learner.verdict_.step == 300
    way = learner._fitted.results[0].rule_state
    assert way.origin.shape == (6,)
    assert way.distance == pytest.approx(np.sum(learner.coef_**2) + learner.intercept_[0] ** 2, rel=0.5)


@interpreted
@pytest.mark.slow
def test_another_rule_starts_again(binary):
    X, y = binary
    learner = model(MarginTest(), shuffle=False).fit(X, y)
    step = learner.verdict_.step
    learner.set_params(stop=Pflug(50)).partial_fit(X, y)
    assert step + 50 < learner.verdict_.step <= step + 300
    held = model(MarginTest(), shuffle=False).fit(X, y).set_params(stop=SmallValidationSet(8, 10**6))
    assert held.partial_fit(X, y).verdict_.step == step + 292


@interpreted
def test_rows_are_held_out_even_if_the_rule_is_not_asked_yet(binary):
    X, y = binary
    learner = model(SmallValidationSet(8, 50), shuffle=False)
    learner.partial_fit(X[:100], y[:100], classes=[0, 1], resume=True)
    assert (learner.verdict_.step, learner.verdict_.rule) == (92, "")
    assert learner.partial_fit(X[100:], y[100:]).verdict_.rule == "SmallValidationSet"


@interpreted
def test_a_set_larger_than_the_first_chunk(binary):
    X, y = binary
    with pytest.raises(ValueError, match="a validation set of 32 rows leaves no rows for training"):
        model("small-validation-set").partial_fit(X[:32], y[:32], classes=[0, 1])


@interpreted
@pytest.mark.parametrize("solver", fast_first(1, ["sgd-half", "isgd-half"]))
def test_halving_goes_on_in_partial_fit(solver, binary):
    X, y = binary
    learner = model("auto", solver=solver, step=0.5).fit(X, y)
    before = learner.verdict_.evidence["halvings"]
    learner.partial_fit(X, y)
    after = learner.verdict_.evidence["halvings"]
    assert before == after[: len(before)]
    assert learner._fitted.results[0].state.step.gamma == 0.5 ** (1 + len(after))


@interpreted
@every_rule
@pytest.mark.parametrize("size", [1e-150, 1e150])
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_huge_and_tiny_rows(form, size, rule, binary):
    """Whatever happens is said in the verdict; no weight is ever NaN."""
    X, y = binary
    fitted = model(rule | MaxPasses(2), step="auto").fit(form(size * X), y)
    assert fitted.verdict_.status in (Status.CONVERGED, Status.BUDGET_SPENT)
    assert np.all(np.isfinite(fitted.coef_))
    with pytest.warns(ConvergenceWarning, match="Diverged") if size > 1 else nullcontext():
        constant = model(rule | MaxPasses(2)).fit(form(size * X), y)
    assert np.all(np.isfinite(constant.coef_))


@interpreted
@pytest.mark.slow
def test_regressions(numbers):
    X, y = numbers
    y = y + np.random.default_rng(4).standard_normal(300)
    for stop in (Pflug(50), Distance(first=12)):
        fitted = SGDRegressor(solver="sgd", step=0.05, alpha=0, stop=stop, random_state=0).fit(X, y)
        assert fitted.verdict_.rule == type(stop).__name__
        assert fitted.score(X, y) > 0.7
    fitted = SGDRegressor(solver="isgd-half", step=0.5, alpha=0, stop=20, random_state=0).fit(X, y)
    assert fitted.verdict_.evidence["halvings"]
    assert fitted.score(X, y) > 0.8


@interpreted
def test_a_class_that_has_ended_waits_for_the_others():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4))
    y = np.argmax(X + 0.5 * rng.standard_normal((600, 4)), axis=1)
    model = SGDClassifier(solver="sgd", step=0.05, alpha=0, stop=MarginTest(1.5), shuffle=False)
    ended = {}
    with pytest.raises(ValueError, match=r"has ended this model .*: pass resume=True"):  # noqa: PT012
        for first in range(0, 600, 30):
            model.partial_fit(X[first : first + 30], y[first : first + 30], range(4))
            for k, verdict in model.verdict_.per_class.items():
                if k in ended:
                    assert np.array_equal(model.coef_[k], ended[k])
                elif verdict.rule == "MarginTest":
                    ended[k] = model.coef_[k].copy()
    assert sorted(ended) == [0, 1, 2, 3]


@interpreted
@pytest.mark.parametrize(
    "rule", [MarginTest(), SmallValidationSet(5), MarginTest() | MaxPasses(2), MarginTest().then(2)]
)
def test_rules_for_classes_are_refused_in_a_regression(rule):
    X = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.raises(ValueError, match="needs two classes, and this is a regression"):
        SGDRegressor(stop=rule).fit(X, X[:, 0])
