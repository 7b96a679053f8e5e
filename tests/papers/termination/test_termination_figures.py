"""The figures of Baghal et al. (2021): generated rows, runs, claims that can fail, and pictures."""

import itertools

import numpy as np
import pytest
from scipy import stats

from sgdone.losses import Hinge, Logistic
from sgdone.papers.sgd_reference import explicit
from sgdone.papers.termination.comparison import SVS_SIZES, Reasons, claims_of_comparison
from sgdone.papers.termination.gaussian import TerminationGaussian
from sgdone.papers.termination.heavy_tails import TerminationHeavyTails, _normal_counterpart
from sgdone.papers.termination.images import TerminationCifar
from sgdone.papers.termination.reference import centre, class_scale, margin_test
from sgdone.papers.termination.runs import LONGER, MARGIN, five_tests, homogeneous_run, svs
from sgdone.papers.termination.sigma import TerminationSigma
from sgdone.papers.termination.two_classes import (
    gaussian,
    gaussian_accuracy,
    optimal_gaussian_accuracy,
    student_t,
    two_classes,
)
from sgdone.stopping import MarginTest, MaxSamples


def rows_of(stream, seed, blocks):
    taken = list(itertools.islice(stream.blocks(np.random.default_rng(seed)), blocks))
    return np.concatenate([block.rows.arrays[0] for block in taken]), np.concatenate([block.labels for block in taken])


@pytest.mark.parametrize(
    ("noise", "distribution"), [(gaussian, stats.norm(scale=0.3)), (student_t, stats.t(2, scale=0.3))]
)
def test_rows_are_drawn_as_the_paper_says(noise, distribution):
    X, y = rows_of(two_classes(4, 0.3, noise), 1, 8)
    assert stats.binomtest(int((y > 0).sum()), y.size).pvalue > 1e-3
    noise_alone = X - np.outer(y > 0, np.eye(4)[0])
    for column in noise_alone.T:
        assert stats.kstest(column, distribution.cdf).pvalue > 1e-3
    assert stats.spearmanr(noise_alone[:, 0], noise_alone[:, 1]).pvalue > 1e-3


def test_a_stream_has_no_end_and_follows_its_seed():
    stream = two_classes(2, 1.0)
    assert stream.n_rows is None
    X, y = rows_of(stream, 7, 20)
    again, labels = rows_of(stream, 7, 20)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert len(np.unique(X[:, 0])) == X.shape[0]


def test_the_accuracy_is_that_of_many_rows():
    coef, intercept = np.array([1.0, 0.4, -0.2]), -0.3
    X, y = rows_of(two_classes(3, 0.7), 2, 100)
    right = ((X @ coef + intercept > 0) == (y > 0)).sum()
    assert stats.binomtest(int(right), y.size, gaussian_accuracy(coef, intercept, 0.7)).pvalue > 1e-3


def test_no_classifier_beats_the_optimal_one(rng):
    best = optimal_gaussian_accuracy(0.7)
    assert gaussian_accuracy(np.array([2.0, 0.0]), -1.0, 0.7) == pytest.approx(best)
    for coef in rng.standard_normal((50, 2)):
        assert gaussian_accuracy(coef, rng.standard_normal(), 0.7) <= best
    assert gaussian_accuracy(np.zeros(2), 0.0, 0.7) == 0.5


@pytest.mark.parametrize("loss", [Logistic(), Hinge()])
def test_a_run_is_the_papers(loss):
    seed = np.random.SeedSequence(11)
    stream = two_classes(20, 0.5)
    result = homogeneous_run(stream, loss.name, 1 / 16, MarginTest(), seed)
    X, y = rows_of(stream, seed, 4)
    weights, offset = np.ones(y.size), centre(X, y, np.ones(y.size))
    step = 1 / 16 / class_scale(X, y, weights)
    k, coef, _ = margin_test(X - offset, y, weights, lambda t: step, explicit(loss, 0.0, False))
    assert result.verdict.step == k
    np.testing.assert_allclose(result.model.coef[0], coef, rtol=1e-9)
    assert result.model.intercept[0] == pytest.approx(-coef @ offset, rel=1e-9)


@pytest.mark.slow
def test_five_tests_end_one_random_run():
    stream, seed = two_classes(20, 0.5), np.random.SeedSequence(3)
    sizes = (8, 32, 128)
    rows = five_tests(stream, "hinge", 1 / 200, sizes, MaxSamples(100_000), lambda coef, intercept: coef[0], seed)
    by_test = {row["test"]: row for row in rows}
    assert list(by_test) == [svs(8), svs(32), svs(128), MARGIN, LONGER]
    assert all(row["fired"] == 1 for row in rows)
    for size in sizes:
        k = by_test[svs(size)]["iterations"]
        assert k % (2 * size) == 0
        assert 4 * size <= k <= 2 * size * (size + 1), "the fraction correct rises at most p times"
    assert by_test[LONGER]["iterations"] == np.ceil(1.5 * by_test[MARGIN]["iterations"])
    alone = homogeneous_run(stream, "hinge", 1 / 200, MarginTest(), seed)
    assert (by_test[MARGIN]["iterations"], by_test[MARGIN]["accuracy"]) == (alone.verdict.step, alone.model.coef[0, 0])


def test_a_test_that_does_not_fire_is_reported():
    stream, seed = two_classes(20, 0.5), np.random.SeedSequence(3)
    rows = five_tests(stream, "hinge", 1 / 200, (8,), MaxSamples(40), lambda coef, intercept: 0.5, seed)
    assert [(row["fired"], row["iterations"]) for row in rows[1:]] == [(0, 40), (0, 40)]


#: Iterations of the margin test by 1/α̃.
K = {16: 1000, 10: 600, 200: 12_000}


def comparison(data="σ = 1"):
    """Runs of which everything is true that the paper says."""
    rows = []
    for loss in ("logistic", "hinge"):
        for inverse, sizes in SVS_SIZES.items():
            for trial in range(4):
                wobble = (-1) ** trial
                panel = {"data": data, "loss": loss, "step": f"1/{inverse}", "trial": trial}
                ended = {svs(p): (8 * p * (2 + wobble), 0.7 + 0.01 * wobble) for p in sizes}
                accuracy = 0.9 - 0.1 / inverse + 0.001 * wobble
                ended |= {
                    MARGIN: (K[inverse] + wobble, accuracy),
                    LONGER: (1.5 * (K[inverse] + wobble), accuracy + 0.001),
                }
                rows += [
                    panel | {"test": test, "fired": 1, "iterations": k, "accuracy": accuracy}
                    for test, (k, accuracy) in ended.items()
                ]
    return rows


def changed(rows, test, *steps, **changes):
    """The same rows with columns of some changed by functions; the test "SVS" is all of them."""
    return [
        row | {name: change(row[name]) for name, change in changes.items()}
        if test in (row["test"], row["test"][:3]) and row["step"] in steps
        else row
        for row in rows
    ]


def fails(rows):
    return [claim.claim for claim in claims_of_comparison(rows, Reasons()) if not claim.holds]


def test_what_the_paper_says_holds_of_such_runs():
    equal = changed(comparison(), svs(128), "1/16", accuracy=lambda a: a + 0.19)
    assert fails(equal) == []


CONTRADICTIONS = {
    "α̃ = 1/16: mean accuracy of (12) is equal to": ("SVS", "1/16", {"accuracy": lambda a: a + 0.25}),
    "α̃ = 1/16: where mean accuracies are within 0.01": (MARGIN, "1/16", {"iterations": lambda k: 9 * k}),
    "going on to 1.5k iterations": (LONGER, "1/10", {"accuracy": lambda a: a + 0.01}),
    "the standard deviation of the accuracy": (MARGIN, "1/200", {"accuracy": lambda a: 30 * (a - 0.9) + 0.9}),
    "the standard deviation of the iterations": (MARGIN, "1/200", {"iterations": lambda k: (k - 11_998) ** 9}),
    "α̃ = 1/10: (12) takes fewer iterations": ("SVS", "1/10", {"iterations": lambda k: k // 16}),
    "α̃ = 1/200: (12) takes more iterations": (MARGIN, "1/200", {"iterations": lambda k: k // 4}),
    "α̃ = 1/10: mean accuracy of (12) is higher": ("SVS", "1/10", {"accuracy": lambda a: a + 0.2}),
    "α̃ = 1/200: mean accuracy of (12) is higher": ("SVS", "1/200", {"accuracy": lambda a: a + 0.2}),
    "mean accuracy of (12) is higher for α̃ = 1/200": (MARGIN, "1/200", {"accuracy": lambda a: a - 0.02}),
    "from α̃ = 1/10 to 1/200 the iterations of SVS": ("SVS", "1/200", {"iterations": lambda k: 99 * k}),
}


@pytest.mark.parametrize("claim", CONTRADICTIONS)
def test_each_claim_fails_of_runs_that_contradict_it(claim):
    rows = changed(comparison(), svs(128), "1/16", accuracy=lambda a: a + 0.19)
    test, step, changes = CONTRADICTIONS[claim]
    assert any(failed.startswith(claim) for failed in fails(changed(rows, test, step, **changes)))


def test_runs_that_a_test_did_not_end_do_not_count():
    rows = changed(comparison(), svs(512), "1/10", "1/200", fired=lambda fired: 0, accuracy=lambda a: 1.0)
    claims = {claim.claim: claim for claim in claims_of_comparison(rows, Reasons())}
    higher = claims["α̃ = 1/200: mean accuracy of (12) is higher than that of SVS"]
    assert higher.holds
    assert higher.measured.startswith("in 4 of 4")
    assert claims["α̃ = 1/200: (12) takes more iterations than SVS with p = 512, on average"].measured == (
        "nothing to compare"
    )


def test_reasons_stand_by_what_fails():
    rows = changed(comparison(), "SVS", "1/16", accuracy=lambda a: a + 0.25)
    claims = claims_of_comparison(rows, Reasons(accuracy="few directions"))
    assert [claim.reason for claim in claims if claim.claim.startswith("α̃ = 1/16: mean accuracy")] == ["few directions"]
    assert not any(claim.reason for claim in claims if claim.holds)


@pytest.mark.parametrize(("loss", "k", "holds"), [("logistic", 9700, True), ("logistic", 5000, False)])
def test_iterations_beside_an_independent_run(loss, k, holds):
    rows = [
        {"loss": other, "sigma": 1.0, "trial": trial, "iterations": k + 10 * trial, "accuracy": 0.6}
        for other in ("logistic", "hinge")
        for trial in range(5)
    ]
    (claim,) = (c for c in TerminationSigma().claims(rows) if c.claim.startswith(f"{loss}, σ = 1:"))
    assert claim.holds == holds


@pytest.mark.parametrize(("accuracy", "holds"), [(0.68, True), (0.6, False)])
def test_the_ratio_of_accuracies(accuracy, holds):
    rows = [
        {"loss": loss, "sigma": sigma, "trial": 0, "iterations": 1, "accuracy": accuracy if sigma == 1.0 else 1.0}
        for loss in ("logistic", "hinge")
        for sigma in (0.05, 1.0)
    ]
    claims = TerminationSigma().claims(rows)
    assert [claim.holds for claim in claims] == [holds, holds]
    assert ["σ = 1" in claim.measured for claim in claims] == [True, True]
    assert [bool(claim.reason) for claim in claims] == [False, not holds]


def test_heavy_tails_beside_normal_data_that_overlap_as_much():
    heavy = comparison("β = 0.5")
    normal = changed(
        comparison(_normal_counterpart("β = 0.5")), MARGIN, "1/16", "1/10", "1/200", accuracy=lambda a: 0.9
    )
    experiment = TerminationHeavyTails(betas=(0.5,))
    assert experiment.claims(heavy + normal)[-1].holds
    assert not experiment.claims(changed(heavy, MARGIN, "1/16", accuracy=lambda a: 0.9) + normal)[-1].holds
    assert len(experiment.tasks()) == 2 * len(TerminationGaussian(sigmas=(0.5,)).tasks())


@pytest.mark.parametrize(("panels", "holds"), [((), False), (("1/200",), False), (("logistic", "1/200"), True)])
def test_training_images_that_end_first(panels, holds):
    rows = [
        row | {"fired": int(not (panels and set(panels) <= {row["loss"], row["step"]} and row["test"] == svs(512)))}
        for row in comparison("frog v truck")
    ]
    assert TerminationCifar().claims(rows)[-1].holds == holds


def test_the_scatter_plots_are_the_papers():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    rows = comparison()
    rows[0]["fired"] = 0
    TerminationGaussian().draw(rows, figure)
    figure.canvas.draw()
    assert len(figure.axes) == 2 * 3
    first = figure.axes[0]
    assert first.get_title() == "σ = 1 (l/16)"
    colours = [line.get_color() for line in first.lines]
    assert colours == ["red", "magenta", "cyan", "blue", "green"]
    assert [line.get_label() for line in first.lines][:3] == ["SVS, p = 8", "SVS, p = 32", "SVS, p = 128"]
    assert [len(line.get_xdata()) for line in first.lines] == [3, 4, 4, 4, 4], "what did not fire leaves no marker"
    assert first.get_legend() is not None
    assert "SVS, p = 512" in [text.get_text() for text in figure.axes[1].get_legend().get_texts()]


def test_the_four_panels_of_figure_1():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    rows = [
        {"loss": loss, "sigma": sigma, "trial": 0, "iterations": 1000 * sigma, "accuracy": 0.5, "optimal_accuracy": 0.6}
        for loss in ("logistic", "hinge")
        for sigma in np.linspace(0.05, 2.0, 40)
    ]
    TerminationSigma().draw(rows, figure)
    figure.canvas.draw()
    assert [axis.get_title()[:3] for axis in figure.axes] == ["(a)", "(b)", "(c)", "(d)"]
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert labels == ["test (12)", "optimal classifier", "ratio of means"]
