"""Where the loss has no minimum, the verdict says so, names who is to blame, and costs little."""

import numpy as np
import pytest
from automatic_problems import in_both_forms
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from sgdone import LinearClassifier, SGDClassifier, diagnose
from tiers import fast_first


@pytest.fixture
def separable(rng):
    X = rng.standard_normal((300, 3))
    X[:, 0] += np.sign(X[:, 0])
    return X, X[:, 0] > 0


@pytest.fixture
def quasi(rng):
    """The first feature is 0, or 1 for rows of the second class alone; the others overlap."""
    X = rng.standard_normal((300, 3))
    y = X[:, 1] + rng.standard_normal(300) > 0
    X[:, 0] = (rng.random(300) < 0.3) & y
    return X, y


@in_both_forms
@pytest.mark.parametrize("loss", fast_first(1, ["logistic", "exponential"]))
def test_complete_separation_without_a_penalty(form, loss, separable):
    X, y = separable
    verdict = LinearClassifier(loss, alpha=0, random_state=0).fit(form(X), y).verdict_
    assert verdict.status == "no finite optimum"
    assert "complete separation: some direction classifies all 300 rows without error" in str(verdict)
    assert verdict.evidence["separation"] == "complete"
    assert "alpha" in verdict.advice


@in_both_forms
@pytest.mark.parametrize("mode", ["fast", "thorough"])
def test_quasi_complete_separation_names_the_feature(form, mode, quasi):
    X, y = quasi
    verdict = LinearClassifier(alpha=0, check_optimum=mode, random_state=0).fit(form(X), y).verdict_
    assert verdict.status == "no finite optimum"
    assert "quasi-complete separation" in verdict.reason
    assert ("(column 0)" if mode == "fast" else "(column 0 → +∞)") in verdict.reason


@pytest.mark.usefixtures("without_finish")
def test_without_a_penalty_the_check_goes_further_than_the_fit_did():
    """The fit still makes errors on these rows, which can be classified without any."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LinearClassifier(alpha=0, random_state=0).fit(X, y)
    assert model.score(X, y) < 1
    assert model.verdict_.status == "no finite optimum"
    assert model.verdict_.evidence["separable_rows"] == 569


def test_names_of_columns_are_used(quasi):
    pandas = pytest.importorskip("pandas")
    X, y = quasi
    frame = pandas.DataFrame(X, columns=["treated", "age", "dose"])
    assert "(treated)" in LinearClassifier(alpha=0, random_state=0).fit(frame, y).verdict_.reason


def test_a_penalty_that_alone_holds_the_coefficients_is_named(separable, quasi):
    for X, y in (separable, quasi):
        verdict = LinearClassifier(random_state=0).fit(X, y).verdict_
        assert verdict.status != "no finite optimum"
        assert "only the penalty keeps the coefficients" in verdict.advice


def test_overlap_other_losses_and_a_check_switched_off_say_nothing(rng, separable):
    X, y = separable
    assert "separation" not in LinearClassifier("hinge", alpha=0, random_state=0).fit(X, y).verdict_.evidence
    unchecked = LinearClassifier(alpha=0, check_optimum=False, random_state=0).fit(X, y)
    assert unchecked.verdict_.status != "no finite optimum"
    flipped = rng.random(300) < 0.2
    overlap = LinearClassifier(alpha=0, check_optimum="thorough", random_state=0).fit(X, y ^ flipped)
    assert "separation" not in overlap.verdict_.evidence


def test_each_of_several_classes_is_asked(rng):
    X = np.repeat(np.eye(3) * 5, 40, axis=0) + 0.1 * rng.standard_normal((120, 3))
    model = SGDClassifier(solver="asgd", alpha=0, random_state=0).fit(X, np.repeat(list("abc"), 40))
    verdict = model.verdict_
    assert verdict.status == "no finite optimum"
    assert {part.status for part in verdict.per_class.values()} == {"no finite optimum"}


def test_rows_of_weight_zero_do_not_count(separable):
    X, y = separable
    y = y.copy()
    y[:10] = ~y[:10]
    weight = np.ones(300)
    weight[:10] = 0
    verdict = LinearClassifier(alpha=0, random_state=0).fit(X, y, sample_weight=weight).verdict_
    assert "all 290 rows" in verdict.reason


def test_an_interrupted_check_keeps_the_model(separable, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(diagnose, "fast_check", interrupt)
    X, y = separable
    assert LinearClassifier(alpha=0, random_state=0).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("wrong", [True, None, "slow", 1])
def test_a_wrong_mode_is_an_error(wrong, separable):
    with pytest.raises(ValueError, match=r"check_optimum=.* is not"):
        LinearClassifier(check_optimum=wrong).fit(*separable)
