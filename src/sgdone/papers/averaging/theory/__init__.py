"""Averaged SGD: Xu (2011).

The step at the sample t is γ_t = γ₀(1 + aγ₀t)^−c (eq. 3), θ̄_t = (θ₁ + … + θ_t)/t, ‖v‖²_A = vᵀAv, and λ₀ and λ₁ are the
smallest and the largest eigenvalue of A, the Hessian of the expected loss at its minimiser θ*. ``start_error`` is the
vector θ₀ − θ*, and S the covariance of the gradient's noise at θ*. Errors are expectations of ‖θ − θ*‖²_A: twice the
excess of a quadratic expected loss.
"""

from sgdone.papers.averaging.theory.averaging import *  # noqa: F403
from sgdone.papers.averaging.theory.exact import *  # noqa: F403
from sgdone.papers.averaging.theory.gradients import *  # noqa: F403
from sgdone.papers.averaging.theory.schedule import *  # noqa: F403
