"""How far implicit SGD with a constant step ends from the optimum."""

from sgdone.papers.assumptions import assume, non_negative, positive, whole

__all__ = ["isgd_error_bound"]


def isgd_error_bound(
    n: int,
    initial_squared_error: float,
    gamma: float,
    *,
    trace_min: float,
    trace_max: float,
    curvature_min: float,
    lipschitz: float,
    gradient_noise: float,
) -> float:
    """Bound on E‖θ_n − θ*‖² after n implicit steps of constant size.

    Chee & Toulis (2018), Theorem 8, θ_{n−1} on its right read as θ₀.

    Assumes a convex, twice differentiable loss; (b) b ≤ tr ∇²ℓ ≤ t almost surely, which no Gaussian design meets, and
    Fisher information of at least λ; (c) E‖∇ℓ(θ*)‖² ≤ σ²; (d) E‖∇ℓ(θ) − ∇ℓ(θ′)‖² ≤ L²‖θ − θ′‖²; (e) γL²(1 + γt) <
    λ(1 + γb)². The proof also takes the shrinkage of a step as independent of the noise: true of the squared loss.

    Parameters
    ----------
    n : int
        Steps made.
    initial_squared_error : float
        E‖θ₀ − θ*‖².
    gamma : float
        The step size γ.
    trace_min, trace_max : float
        b and t, bounds on the trace of a sample's Hessian; on ‖x‖² for the squared loss.
    curvature_min : float
        λ, the smallest eigenvalue of the Fisher information; of E[xxᵀ] for the squared loss.
    lipschitz : float
        L; for the squared loss L² is the largest eigenvalue of E[‖x‖²xxᵀ].
    gradient_noise : float
        σ², a bound on E‖∇ℓ(θ*)‖²; the variance of y − xᵀθ* times E‖x‖² for the squared loss.

    Returns
    -------
    float
        (1 − 2γλ/(1 + γt) + 2γ²L²/(1 + γb)²)ⁿ·E‖θ₀ − θ*‖² + γσ²(1 + γt)/(λ(1 + γb)² − γL²(1 + γt)).

    Examples
    --------
    >>> sphere = {"trace_min": 4.0, "trace_max": 4.0, "curvature_min": 1.0, "lipschitz": 2.0}
    >>> [round(isgd_error_bound(n, 10.0, 0.1, gradient_noise=4.0, **sphere), 4) for n in (0, 10, 1000)]
    [10.4, 3.8085, 0.4]
    """
    n, start, gamma = (
        whole("n", n, 0),
        non_negative("initial_squared_error", initial_squared_error),
        positive("gamma", gamma),
    )
    b, t = positive("trace_min", trace_min), positive("trace_max", trace_max)
    weakest, L = positive("curvature_min", curvature_min), positive("lipschitz", lipschitz)
    noise = non_negative("gradient_noise", gradient_noise)
    assume(b <= t, "assumption (b) of Theorem 8 is trace_min ≤ trace_max", f"trace_min={b:g}, trace_max={t:g}")
    assume(
        weakest <= min(L, t),
        "assumptions (b) and (d) of Theorem 8 make curvature_min at most lipschitz and at most trace_max",
        f"curvature_min={weakest:g}, lipschitz={L:g}, trace_max={t:g}",
    )
    stretched, margin = gamma * L**2 * (1.0 + gamma * t), weakest * (1.0 + gamma * b) ** 2
    assume(
        stretched < margin,
        "assumption (e) of Theorem 8 is γL²(1 + γt) < λ(1 + γb)²",
        f"{stretched:.4g} on the left and {margin:.4g} on the right at gamma={gamma:g}: take a smaller step",
    )
    factor = 1.0 - 2.0 * gamma * weakest / (1.0 + gamma * t) + 2.0 * (gamma * L / (1.0 + gamma * b)) ** 2
    return factor**n * start + gamma * noise * (1.0 + gamma * t) / (margin - stretched)
