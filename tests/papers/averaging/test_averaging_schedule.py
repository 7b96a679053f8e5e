"""The recommended steps, how long their average takes, and steps that are too large: Xu (2011)."""

import re

import numpy as np
import pytest

from sgdone import losses
from sgdone.losses.base import Loss
from sgdone.papers.assumptions import AssumptionError
from sgdone.papers.averaging.theory import (
    Schedule,
    asymptotic_samples,
    asymptotic_samples_as_printed,
    averaged_error_bound,
    divergence_step,
    recommended_schedule,
)
from sgdone.registry import names
from sgdone.steps import Xu

GIVEN = {"lambda0": 0.02, "gamma0": 0.5, "a": 0.02, "c": 2 / 3}
GRIDS = {
    "lambda0": ([0.01, 0.02, 0.03, 0.05], -1),
    "gamma0": ([0.01, 0.1, 0.5, 1.0], -1),
    "a": ([0.02, 0.03, 0.04, 0.05], 1),
}


@pytest.mark.parametrize("function", [asymptotic_samples, asymptotic_samples_as_printed])
@pytest.mark.parametrize("name", GRIDS)
def test_less_curvature_smaller_steps_and_a_sooner_fall_take_more_samples(name, function):
    grid, direction = GRIDS[name]
    found = [function(**{**GIVEN, name: value}) for value in grid]
    assert np.all(direction * np.diff(found) > 0)


def test_the_samples_scale_with_lambda0_if_a_does_too():
    counts = [asymptotic_samples_as_printed(lambda0=v, gamma0=0.1, a=v, c=0.75) * v * 0.1 for v in (0.001, 0.1, 1.0)]
    assert counts == pytest.approx([16.0] * 3)
    counts = [asymptotic_samples(lambda0=v, gamma0=1e-6, a=v, c=0.75) * v * 1e-6 for v in (0.001, 0.1, 1.0)]
    assert counts == pytest.approx([counts[0]] * 3, rel=1e-5)


@pytest.mark.parametrize("c", [0.3, 0.5, 2 / 3, 0.75])
@pytest.mark.parametrize("a", [0.02, 0.03])
def test_the_second_term_is_as_large_as_the_first_there(a, c):
    given = {"A": [[0.02]], "S": [[1.0]], "start_error": [0.0], "gamma0": 0.5, "a": a, "c": c}
    t = asymptotic_samples(lambda0=0.02, gamma0=0.5, a=a, c=c)
    assert t > 100
    around = [int(t) * averaged_error_bound(int(t), **given), int(t + 1) * averaged_error_bound(int(t + 1), **given)]
    asymptote = 1.0 / 0.02
    assert around[0] >= 2 * asymptote >= around[1]


def test_constant_steps_need_no_samples():
    for a, c in ((0.0, 0.5), (0.1, 0.0), (0.001, 0.5)):
        assert asymptotic_samples(lambda0=0.02, gamma0=1.0, a=a, c=c) == 0.0
    assert asymptotic_samples_as_printed(lambda0=0.02, gamma0=1.0, a=0.0, c=0.5) == 0.0


@pytest.mark.parametrize("function", [asymptotic_samples, asymptotic_samples_as_printed])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"c": 1.0, "a": 0.01}, "Corollary 4 assumes c < 1; found c=1: the second term never falls"),
        ({"a": 0.1}, "Theorem 1 assumes (2c − 1)a < λ₀; found (2c − 1)a = 0.03333 (a=0.1, c=0.666667) and λ₀ = 0.02"),
        ({"gamma0": 60.0}, "Theorem 1 assumes γ₀λ₁ ≤ 1; found γ₀λ₁ = 1.2"),
    ],
)
def test_samples_are_refused_where_theorem_1_says_nothing(function, changed, message):
    with pytest.raises(AssumptionError, match=re.escape(message)):
        function(**{**GIVEN, **changed})


@pytest.mark.parametrize("name", names(Loss, losses))
def test_the_recipe_is_the_papers_for_every_loss(name):
    expected = Schedule(1 / 40.0, 0.01, 2 / 3 if name == "squared" else 3 / 4)
    assert recommended_schedule(name, M=40.0, lambda0=0.01) == expected
    assert recommended_schedule(names(Loss, losses)[name](), M=40.0, lambda0=0.01) == expected


def test_the_recipe_is_what_the_step_size_rule_takes():
    schedule, t = recommended_schedule("squared", M=3.0, lambda0=0.1), np.arange(1, 1000)
    np.testing.assert_allclose(Xu(*schedule)(t), schedule(t), rtol=1e-14)


def test_the_recipe_refuses_what_makes_no_sense():
    with pytest.raises(AssumptionError, match=re.escape("λ₀/M = 50 (lambda0=0.1, M=0.002): scale the features up")):
        recommended_schedule("hinge", M=0.002, lambda0=0.1)
    with pytest.raises(ValueError, match=r"unknown loss 'squred'\. Did you mean 'squared'\?"):
        recommended_schedule("squred", M=1.0, lambda0=0.1)
    with pytest.raises(ValueError, match=r"loss=2 is neither a name nor a sgdone\.losses\.Loss"):
        recommended_schedule(2, M=1.0, lambda0=0.1)
    with pytest.raises(ValueError, match=r"M=0\.0 is not a positive finite number"):
        recommended_schedule("hinge", M=0.0, lambda0=0.1)


@pytest.mark.parametrize(("factor", "diverges"), [(1.02, True), (0.98, False)])
def test_constant_steps_diverge_beyond_lemma_12_alone(factor, diverges, rng):
    M, features, runs = 5.0, 4, 300
    gamma = factor * divergence_step(M)
    error = np.full((runs, features), 0.5)
    sizes = []
    for _ in range(2000):
        x = rng.standard_normal((runs, features))
        x *= np.sqrt(M / np.sum(x * x, axis=1))[:, None]
        residual = np.sum(x * error, axis=1) - 0.1 * rng.standard_normal(runs)
        error = error - (gamma * residual)[:, None] * x
        sizes.append(np.mean(np.sum(error**2, axis=1)))
    if diverges:
        assert sizes[-1] > 1e6 * sizes[999] > 1e12
    else:
        # 1 − (2γ − Mγ²)M/d shrinks, γ²·tr(S) = γ²·0.1²·M is added.
        limit = gamma * 0.01 * features / (2 - M * gamma)
        assert np.mean(sizes[1000:]) == pytest.approx(limit, rel=0.1)
