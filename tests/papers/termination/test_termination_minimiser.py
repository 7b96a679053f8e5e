"""Lemma 2 against direct minimisation of the expected loss."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from sgdone.papers.termination.theory import minimiser_scale

LOSSES = {"logistic": lambda z: np.logaddexp(0.0, -z), "hinge": lambda z: np.maximum(0.0, 1.0 - z)}


@pytest.mark.parametrize("ratio", [0.4, 0.75, 1.0, 1.3, 3.0, 20.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_minimises_the_expected_loss(loss, ratio):
    mean_norm = 0.7
    sigma = ratio * mean_norm

    def expected_loss(scale):
        # ξᵀθ at θ = scale·μ/σ² is normal.
        centre, spread = scale / ratio**2, scale / ratio
        kinks = [z for z in ((1.0 - centre) / spread, -centre / spread) if abs(z) < 12]
        return quad(
            lambda z: LOSSES[loss](centre + spread * z) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi),
            -12.0, 12.0, points=kinks, limit=500, epsabs=1e-14, epsrel=1e-13,
        )[0]  # fmt: skip

    best = minimize_scalar(expected_loss, bounds=(1e-3, 50.0), method="bounded", options={"xatol": 1e-9}).x
    assert minimiser_scale(loss, mean_norm, sigma) * sigma**2 == pytest.approx(best, rel=2e-6)


def test_the_gradient_of_sampled_losses_vanishes_there(rng):
    mean, sigma = np.array([0.6, -0.8]), 1.3
    xi = mean + sigma * rng.standard_normal((1_000_000, 2))
    for loss, slope in {"logistic": lambda z: -1 / (1 + np.exp(z)), "hinge": lambda z: -1.0 * (z <= 1.0)}.items():
        gradients = slope(xi @ mean * minimiser_scale(loss, 1.0, sigma))[:, None] * xi
        assert np.all(np.abs(gradients.mean(axis=0)) < 3 * gradients.std(axis=0) / 1000)


@pytest.mark.parametrize("ratio", ["1e-9", "1e-6", "1e-3", "0.1", "0.2498", "0.2502", "1.2533", "1.26", "1e3", "1e12"])
def test_the_hinge_is_right_to_rounding_at_every_ratio(ratio):
    with mpmath.workdps(60):
        s = mpmath.mpf(ratio)

        def slope(log_scale):
            """E[z·1{z ≤ 1/ρ}] of z = μᵀξ is σ‖μ‖(Φ(w)/s − φ(w)): how far apart the logarithms of both parts are."""
            w = s / mpmath.exp(log_scale) - 1 / s
            return mpmath.log(mpmath.ncdf(w)) - mpmath.log(s) - mpmath.log(mpmath.npdf(w))

        start = mpmath.log(s / (mpmath.sqrt(2 * mpmath.log(s)) + 1 / s)) if s > 2 else mpmath.log(1 + s**2 / 2)
        expected = mpmath.exp(mpmath.findroot(slope, start))
        assert float(abs(minimiser_scale("hinge", 1.0, float(s)) * float(s) ** 2 / expected - 1)) < 2e-14


def test_extreme_ratios_neither_overflow_nor_fail():
    assert minimiser_scale("hinge", 1e300, 1.0) == pytest.approx(1.0)
    assert minimiser_scale("hinge", 1e-300, 1.0) == pytest.approx(
        1e300 / np.sqrt(2 * np.log(1e300 / np.sqrt(2 * np.pi)))
    )


def test_the_scale_only_needs_the_ratio_and_sigma():
    assert minimiser_scale("hinge", 10.0, 5.0) == pytest.approx(minimiser_scale("hinge", 1.0, 0.5) / 100.0, rel=1e-14)


def test_other_losses_are_refused():
    with pytest.raises(ValueError, match=r"loss='hinges' is not one .* Did you mean 'hinge'\? Known: logistic, hinge"):
        minimiser_scale("hinges", 1.0, 1.0)
    with pytest.raises(ValueError, match=r"sigma=0\.0 is not a positive finite number"):
        minimiser_scale("hinge", 1.0, 0.0)
