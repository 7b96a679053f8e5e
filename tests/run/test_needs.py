"""What does not fit together is refused before the first row is used, with what to use instead."""

import re

import numpy as np
import pytest

from sgdone import losses, solvers, steps, stopping
from sgdone.bank import Bank
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import Needs
from sgdone.rows import ArraySource
from sgdone.run import RunOptions, run

LOGISTIC = Objective(losses.Logistic(), 0.1)
REGRESSION = Objective(losses.Squared(), 0.1, predicts="target")
ONE_PASS = stopping.MaxPasses(1)


def source(**options):
    return ArraySource(np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), **options)


MISMATCHES = {
    "implicit steps of a loss that is not convex": (
        (Objective(losses.MarginDistribution(), 0.1), solvers.ISGD(), ONE_PASS),
        "isgd makes implicit steps, which need a convex loss, and 'margin_distribution' is not convex: use ",
    ),
    "slopes of a loss that changes": (
        (Objective(losses.MarginPursuit(scale="adaptive"), 0.1), solvers.SVRG(), ONE_PASS),
        "scale='adaptive' changes the loss during the fit, but svrg stores",
    ),
    "a scale that nobody finds": (
        (Objective(losses.MarginPursuit(scale="auto"), 0.1), Bank(), ONE_PASS),
        "the scale of the loss 'margin_pursuit' is found by methods with a single model: give it as a number, or use ",
    ),
    "no step for an L1 penalty": (
        (Objective(losses.Logistic(), 0.1, l1_ratio=1.0), solvers.SGD(), ONE_PASS),
        'SGD() does not support an L1 penalty: use Truncated(SGD()), or SGDClassifier(solver="sgd", penalty="l1")',
    ),
    "no penalty": (
        (Objective(losses.Logistic()), solvers.SGD(), ONE_PASS),
        "sgd does not choose the penalty: give alpha",
    ),
    "several scores of a single model": (
        (Objective.of_classes(losses.Logistic(), 3, 0.1), solvers.SGD(), ONE_PASS),
        "sgd trains one model with one score; for 3 classes train one model a class",
    ),
    "centring of several models": (
        (Objective(losses.Logistic(), 0.1, center=True), Bank(), ONE_PASS),
        "center=True is for methods with a single model, not for the default fit: use SGDClassifier",
    ),
    "all rows of a stream": (
        (LOGISTIC, solvers.GD(), ONE_PASS),
        "must be able to read all rows at any time: a stream is not enough. Use fit, not partial_fit",
    ),
    "a step size that is not taken": (
        (LOGISTIC, Bank(), ONE_PASS),
        "the default fit has no step size: remove step=Constant(gamma=0.1",
    ),
    "a rule for classes": (
        (REGRESSION, solvers.SGD(), stopping.MarginTest() | ONE_PASS),
        "needs two classes, and this is a regression: use another rule",
    ),
    "a rule for validation rows": (
        (LOGISTIC, solvers.SGD(), stopping.Gain() & ONE_PASS),
        "needs a method that evaluates its model on validation rows, and sgd does not: use LinearClassifier or ",
    ),
    "a rule for an iterate": (
        (LOGISTIC, Bank(), stopping.Pflug()),
        "watches the iterate of a single model, and this fit trains several side by side: use SGDClassifier or ",
    ),
    "a rule for validation rows with a rule for an iterate": (
        (LOGISTIC, Bank(), stopping.Gain() & stopping.MarginTest()),
        "combines Gain, which is for LinearClassifier and LinearRegressor, with a rule that watches a single model",
    ),
    "a penalty that is needed": (
        (Objective(losses.Logistic(), 0.0), solvers.Pegasos(), ONE_PASS),
        "needs a positive alpha: its steps are 1/(alpha·t)",
    ),
    "a loss that is not supported": (
        (Objective(losses.Exponential(), 0.1), solvers.Liblinear(), ONE_PASS),
        "cannot do the loss 'exponential': it can do hinge, squared_hinge and logistic. Use one of them",
    ),
    "margins of a regression": (
        (REGRESSION, solvers.SGD(), ONE_PASS),
        "monitors=['margins'] need classes and a method with a single model: use SGDClassifier",
    ),
    "margins of several models": (
        (LOGISTIC, Bank(), ONE_PASS),
        "monitors=['margins'] need classes and a method with a single model: use SGDClassifier",
    ),
}
OPTIONS = {
    "a step size that is not taken": RunOptions(step=steps.Constant(0.1)),
    "margins of a regression": RunOptions(monitors=["margins"]),
    "margins of several models": RunOptions(monitors=["margins"]),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_a_mismatch_says_what_to_use(name):
    arguments, message = MISMATCHES[name]
    rows = source(part_of_stream=name == "all rows of a stream")
    with pytest.raises(ValueError, match=re.escape(message)):
        run(rows, *arguments, OPTIONS.get(name))


def test_a_source_that_is_not_in_memory_is_not_enough_for_all_rows():
    rows = source()
    rows.in_memory = False
    with pytest.raises(ValueError, match="must be able to read all rows at any time"):
        run(rows, LOGISTIC, solvers.SVRG(), ONE_PASS)


def test_rules_say_what_their_parts_need():
    both, either, then = (
        stopping.MarginTest() & stopping.Gain(),
        ONE_PASS | stopping.MarginTest(),
        stopping.MarginTest().then(2),
    )
    watches_margins = Needs(classes=True, iterate=True)
    assert either.needs == then.needs == watches_margins
    assert both.needs == watches_margins | Needs(judgement=True)
    assert ONE_PASS.needs == Needs()


def test_the_first_reason_for_a_penalty_is_kept():
    first, second = Needs(why_positive_alpha="a"), Needs(why_positive_alpha="b")
    assert (Needs(all_rows=True) | first | second) == Needs(all_rows=True, why_positive_alpha="a")


def test_a_method_around_another_needs_what_that_one_does():
    margins = solvers.Halving(solvers.ISGD(), stopping.MarginTest())
    assert solvers.Averaged(solvers.ISGD()).needs == solvers.ISGD().needs == Needs(convex_loss=True)
    assert margins.needs == Needs(convex_loss=True, classes=True, iterate=True)
    with pytest.raises(ValueError, match="is for two classes, whose rows have margins: use another solver"):
        run(source(), REGRESSION, margins, ONE_PASS)
