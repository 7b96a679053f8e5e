"""Short names, numbers and objects as parameters."""

import inspect

import numpy as np
import pytest

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, losses, solvers, steps, stopping
from sgdone.interfaces.method import names
from sgdone.solvers import SingleModel
from tiers import fast_first, interpreted


@interpreted
@pytest.mark.parametrize(
    ("name", "value", "same"),
    [
        pytest.param("loss", "squared-hinge", "squared_hinge", marks=pytest.mark.slow),
        pytest.param("loss", "Squared_Hinge", losses.SquaredHinge(), marks=pytest.mark.slow),
        ("loss", "logistic", losses.Logistic()),
        ("solver", "asgd", solvers.asgd()),
        ("solver", "sgd", solvers.SGD()),
        ("solver", "ISGD", solvers.ISGD()),
        pytest.param("solver", "aisgd", solvers.Averaged(solvers.ISGD()), marks=pytest.mark.slow),
        ("step", 0.25, steps.Constant(0.25)),
        ("step", np.float32(0.25), 0.25),
        ("step", 1, 1.0),
        ("step", "inverse-time", "inverse_time"),
        ("step", "inverse_sqrt", steps.InverseSqrt()),
        ("step", "xu", steps.Xu()),
        ("stop", 3, stopping.MaxPasses(3)),
        ("stop", np.int64(3), 3),
        ("stop", 2.5, stopping.MaxPasses(2.5)),
        ("stop", "one-pass", 1),
        ("stop", "progressive", stopping.ProgressiveLoss()),
        ("stop", "auto", stopping.ProgressiveLoss(1e-3) | stopping.MaxPasses(10)),
        ("alpha", 0, 0.0),
        ("alpha", np.float64(0.5), 0.5),
        ("alpha", "auto", 1 / 300),
        ("average", True, None),
        ("average", np.True_, True),
        ("average", 50, {"solver": solvers.Averaged(after=50)}),
        ("average", {"solver": "sgd", "average": True, "step": 0.1}, {"step": 0.1}),
        ("average", {"solver": "isgd", "average": True, "step": 0.1}, {"solver": "aisgd", "step": 0.1}),
        ("average", {"solver": "sgd", "average": False}, {"solver": "sgd"}),
        ("average", {"solver": "sgd", "average": np.False_}, {"solver": "sgd"}),
        ("average", {"solver": "isgd", "average": np.int64(7)}, {"solver": solvers.Averaged(solvers.ISGD(), after=7)}),
    ],
)
def test_two_ways_to_say_the_same(name, value, same, binary, same_model):
    options = [{"solver": "asgd"} | (given if isinstance(given, dict) else {name: given}) for given in (value, same)]
    first, second = (SGDClassifier(**each, random_state=0).fit(*binary) for each in options)
    same_model(first, second)
    assert first.verdict_.step == second.verdict_.step


def test_averaging_matters(binary):
    fits = [SGDClassifier(average=k, random_state=0, stop=1).fit(*binary).coef_ for k in (True, 1, 50, 200)]
    assert len({coef.tobytes() for coef in fits}) == 4


@pytest.mark.parametrize("solver", fast_first(1, ["asgd", "aisgd", "Asgd", solvers.Averaged(after=3)]), ids=str)
def test_an_averaging_solver_told_not_to(solver, binary):
    with pytest.raises(ValueError, match=r"average=False contradicts the averaging solver .*: use sgd or isgd"):
        SGDClassifier(solver=solver, average=False).fit(*binary)


def known(package, interface, task=None):
    """The names that a message lists."""
    found = names(interface, package).items()
    return ", ".join(sorted(name for name, one in found if task is None or one.task in (task, "both")))


@pytest.mark.parametrize("average", [0, -3, 2.5, "yes"])
def test_average_that_is_none_of_these(average, binary):
    with pytest.raises(ValueError, match="give True, False, or the number of samples to leave out"):
        SGDClassifier(average=average).fit(*binary)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"loss": "logit"},
            rf"unknown loss 'logit'. Did you mean 'logistic'\? Known: {known(losses, losses.Loss, 'classification')}; "
            "or give a sgdone.CustomLoss",
        ),
        (
            {"loss": "huber"},
            f"loss 'huber' is not for classification. Known: {known(losses, losses.Loss, 'classification')}",
        ),
        ({"loss": losses.Huber()}, "loss 'huber' is for regression, not for classification. Known: exponential"),
        ({"solver": "agsd"}, rf"unknown solver 'agsd'. Did you mean 'asgd'\? Known: {known(solvers, SingleModel)}"),
        ({"step": "inverse"}, f"unknown step size 'inverse'.* Known: {known(steps, steps.StepSize)}"),
        ({"stop": "early"}, f"unknown stopping rule 'early'. Known: {known(stopping, stopping.StopRule)}"),
        ({"step": 0.0}, 'step must be a positive finite number, a name or "auto"; got 0.0'),
        ({"step": -1}, 'step must be a positive finite number, a name or "auto"; got -1'),
        ({"step": np.nan}, 'step must be a positive finite number, a name or "auto"; got nan'),
        ({"stop": 0}, "stop must be a positive number of passes, a name or a rule; got 0"),
        ({"stop": -2.0}, "stop must be a positive number of passes, a name or a rule; got -2.0"),
        ({"stop": np.nan}, "stop must be a positive number of passes, a name or a rule; got nan"),
        ({"alpha": -1e-3}, "alpha=-0.001 is negative: give 0 or more"),
        ({"alpha": np.nan}, 'alpha must be a finite number of 0 or more, or "auto"; got nan'),
        ({"alpha": np.inf}, 'alpha must be a finite number of 0 or more, or "auto"; got inf'),
        ({"alpha": None}, 'alpha must be a finite number of 0 or more, or "auto"; got None'),
        ({"alpha": True}, 'alpha must be a finite number of 0 or more, or "auto"; got True'),
        ({"alpha": "small"}, "alpha must be a finite number of 0 or more, or \"auto\"; got 'small'"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_values(method, options, message, binary):
    classes = {"classes": [0, 1]} if method == "partial_fit" else {}
    model = SGDClassifier(**options)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(*binary, **classes)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": 3}, "loss=3 is neither a name"),
        ({"loss": losses.Logistic}, "is neither a name"),
        ({"solver": None}, "solver=None is neither a name nor a method of sgdone.solvers"),
        ({"step": None}, "step=None is neither a name, a number nor a sgdone.steps.StepSize"),
        ({"step": True}, "step=True is neither"),
        ({"stop": None}, "stop=None is neither a name, a number of passes nor a sgdone.stopping.StopRule"),
        ({"stop": False}, "stop=False is neither"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False; got 1"),
        ({"shuffle": "no"}, "shuffle must be True or False; got 'no'"),
    ],
)
def test_values_of_a_wrong_type(options, message, binary):
    with pytest.raises(TypeError, match=message):
        SGDClassifier(**options).fit(*binary)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "exponential", losses.Hinge()], ids=str)
def test_losses_for_classification_in_a_regression(loss, numbers):
    with pytest.raises(ValueError, match="Known: " + known(losses, losses.Loss, "regression")):
        LinearRegressor(loss=loss).fit(*numbers)


@pytest.mark.parametrize(
    "loss", fast_first(1, ["squared", "huber", "epsilon-insensitive", losses.EpsilonInsensitive(0.01)]), ids=str
)
@pytest.mark.parametrize("solver", fast_first(1, ["asgd", "aisgd"]))
def test_losses_for_regression(loss, solver, numbers):
    X, y = numbers
    model = SGDRegressor(loss, solver=solver, random_state=0, stop=60).fit(X, y)
    assert model.score(X, y) > 0.98


@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor])
def test_all_parameters_but_the_loss_are_given_by_name(make):
    parameters = inspect.signature(make).parameters
    assert [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY] == ["loss"]


def test_parameters_are_checked_by_fit_not_before():
    model = LinearClassifier(loss="nonsense", alpha=-1)
    assert model.get_params()["loss"] == "nonsense"
    assert "nonsense" in repr(model)


@pytest.mark.usefixtures("without_finish")
def test_verbose_prints_every_pass_also_the_last(binary, several, capsys):
    for stop in ({"tol": 0, "stop": 3}, {}):
        model = LinearClassifier(verbose=1, random_state=0, **stop).fit(*binary)
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(":")[0] for line in lines] == [f"pass {k + 1}" for k in range(model.n_iter_)]
        assert all("progressive loss 0." in line for line in lines)
    SGDClassifier(verbose=1, stop=1.5).fit(*binary)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["pass 1", "pass 2, 50% of it"]
    SGDClassifier(solver="asgd", verbose=True, stop=2).fit(*several)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"class {k} pass {p}" for k in range(4) for p in (1, 2)]
    LinearClassifier(stop=2).fit(*binary)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearClassifier("margin_distribution"), 'is not convex: use solver="sgd", .*SGDClassifier'),
        (LinearClassifier(losses.MarginPursuit(scale="auto")), "give it as a number, or use SGDClassifier"),
        (LinearClassifier(stop="margin"), "trains several side by side: use SGDClassifier or SGDRegressor"),
        (
            LinearClassifier(tol=0.1, stop="progressive"),
            r"tol=0.1 has no effect with stop=ProgressiveLoss\(tol=0.001\): remove tol",
        ),
        (LinearClassifier(tol=0.1, stop=stopping.Gain(0.3)), r"give the tolerance to Gain, as Gain\(tol=0.1\)"),
        (SGDClassifier(stop="gain"), "use LinearClassifier or LinearRegressor, or another rule, for example"),
    ],
    ids=repr,
)
def test_a_combination_that_makes_no_sense_says_what_to_use(model, message, binary):
    with pytest.raises(ValueError, match=message):
        model.fit(*binary)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_jobs": 0}, "n_jobs must be None, a positive whole number, or -1 for all processors; got 0"),
        ({"n_jobs": float("nan")}, "n_jobs must be None, .*; got nan"),
        ({"n_jobs": np.array([])}, "n_jobs must be None"),
        ({"n_jobs": "two"}, "n_jobs must be None, .*; got 'two'"),
        ({"n_jobs": 1.5}, "n_jobs must be None, .*; got 1.5"),
        ({"verbose": None}, "verbose must be 0 or a positive whole number; got None"),
        ({"verbose": float("inf")}, "verbose must be 0 or a positive whole number; got inf"),
        ({"step": 10**400}, "step must be a positive finite number"),
        ({"alpha": 10**400}, "alpha must be a finite number of 0 or more"),
        ({"l1_ratio": 10**400}, "l1_ratio=.* is not between 0"),
        ({"stop": 10**400}, "passes=.* is not a positive number"),
        ({"penalty": np.array([0.5, 0.5])}, "penalty=array.*: give"),
        ({"monitors": [np.ones(2)]}, "unknown monitor array"),
    ],
)
def test_numbers_and_arrays_where_they_make_no_sense(options, message, binary):
    with pytest.raises(ValueError, match=message):
        SGDClassifier(**options).fit(*binary)


def test_an_average_that_never_begins_says_so(binary, same_model):
    X, y = binary
    model = SGDClassifier(average=10**9, stop=1, random_state=0).fit(X, y)
    assert "averaging was to begin after sample 1,000,000,000, so the last iterate is returned" in str(model.verdict_)
    same_model(model, SGDClassifier(solver="sgd", step=steps.Xu(), stop=1, random_state=0).fit(X, y))
    assert "averaging" not in str(SGDClassifier(average=10, stop=1).fit(X, y).verdict_)


@pytest.mark.parametrize("value", ["auto", [10**400] * 5, object()])
@pytest.mark.parametrize("name", ["coef_init", "intercept_init", "sample_weight"])
def test_arrays_that_are_not_numbers_are_named(name, value, binary):
    with pytest.raises(ValueError, match=f"{name} cannot be read as numbers"):
        LinearClassifier().fit(*binary, **{name: value})
