"""Moments of Gaussian designs by formula, by quadrature and by sampling."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from sgdone.papers.diagnostics.theory import design_of_rows, gaussian_design, gaussian_shrinkage, pflug_drift_implicit

COVARIANCE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])


def test_the_formulas_agree_with_samples(rng):
    x1, x2 = rng.standard_normal((2, 1_000_000, 3)) @ np.linalg.cholesky(COVARIANCE).T
    along = np.sum(x1 * x2, axis=1)
    moments = gaussian_design(COVARIANCE)
    assert abs(np.mean(along**2) - moments.c2) < 4 * np.std(along**2) / 1000
    for i in range(3):
        for j in range(3):
            for sample, exact in (
                (x1[:, i] * x2[:, j] * along, moments.C),
                (x1[:, i] * x1[:, j] * along**2, moments.D),
            ):
                assert abs(sample.mean() - exact[i, j]) < 4 * sample.std() / 1000


def test_rows_of_a_gaussian_design_have_its_moments(rng):
    estimate = design_of_rows(rng.standard_normal((400_000, 3)) @ np.linalg.cholesky(COVARIANCE).T)
    for one, other in zip(estimate, gaussian_design(COVARIANCE), strict=True):
        np.testing.assert_allclose(one, other, rtol=0.03, atol=0.02)


@pytest.mark.parametrize("gamma", [1e-8, 0.01, 0.5, 3.0, 1e6])
@pytest.mark.parametrize(("features", "variance"), [(1, 1.0), (2, 0.3), (5, 2.0), (40, 1.0)])
def test_quadrature_agrees_with_integrals_over_the_chi_square_law(features, variance, gamma):
    """For Σ = vI the length of x and its direction are independent, and ‖x‖²/v is chi-square."""

    def mean(function):
        def integrand(log_q):
            q = np.exp(log_q)
            return function(variance * q) * q * chi2.pdf(q, features)

        return quad(integrand, -110.0, 7.0, points=[-5.0, 0.0, np.log(features)], limit=1000, epsabs=0, epsrel=1e-11)[0]

    assert gaussian_shrinkage(variance * np.eye(features), gamma) == pytest.approx(
        mean(lambda q: 1 / (1 + gamma * q)), rel=1e-9
    )
    error, noise = np.linspace(-1.0, 0.5, features), 0.7
    size = error @ error
    a = mean(lambda q: q / (1 + gamma * q)) / features  # E[λxxᵀ] = aI
    along = size / features * mean(lambda q: q * q / (1 + gamma * q) ** 2)  # E[λ²(xᵀδ)²‖x‖²]
    exact = a * a * size - gamma * a * (along + noise * mean(lambda q: q / (1 + gamma * q) ** 2))
    scale = a * a * size + gamma * a * (along + noise * mean(lambda q: q / (1 + gamma * q) ** 2))
    found = pflug_drift_implicit(error, gamma, covariance=variance * np.eye(features), noise=noise)
    assert abs(found - exact) < 1e-9 * scale


@pytest.mark.parametrize("gamma", [0.02, 0.3, 2.0])
def test_quadrature_agrees_with_integrals_over_the_plane(gamma):
    """The trapezoidal rule on a fine grid is exact to rounding for what is smooth and falls as a Gaussian."""
    variances, error, noise = np.array([2.0, 0.3]), np.array([0.8, -1.1]), 0.7
    steps = np.arange(-10.0, 10.0, 0.04)
    x = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    odds = np.exp(-0.5 * np.sum(x * x, axis=1)) * 0.04**2 / (2 * np.pi)
    x *= np.sqrt(variances)
    shrinkage = 1 / (1 + gamma * np.sum(x * x, axis=1))
    assert gaussian_shrinkage(np.diag(variances), gamma) == pytest.approx(odds @ shrinkage, rel=1e-12)
    A = (x.T * (odds * shrinkage)) @ x
    sizes = np.sum(x @ A * x, axis=1)
    exact = np.sum((A @ error) ** 2) - gamma * odds @ (shrinkage**2 * ((x @ error) ** 2 + noise) * sizes)
    found = pflug_drift_implicit(error, gamma, covariance=np.diag(variances), noise=noise)
    assert found == pytest.approx(exact, rel=1e-11)


def test_the_axes_do_not_matter(rng):
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    error = np.array([1.0, -0.5, 2.0])
    straight = pflug_drift_implicit(error, 0.3, covariance=COVARIANCE, noise=1.0)
    turned = pflug_drift_implicit(turn @ error, 0.3, covariance=turn @ COVARIANCE @ turn.T, noise=1.0)
    assert straight == pytest.approx(turned, rel=1e-12)
