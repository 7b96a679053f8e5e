"""How many samples averaged SGD needs to be near its asymptote."""

from sgdone.papers.assumptions import assume, positive
from sgdone.papers.averaging.theory._linear import assume_steps, schedule_of, second_term
from sgdone.papers.averaging.theory.schedule import Schedule

__all__ = ["asymptotic_samples", "asymptotic_samples_as_printed"]


def asymptotic_samples(*, lambda0: float, gamma0: float, a: float, c: float) -> float:
    """Samples after which the second term of Theorem 1's bound is no larger than the first, the asymptotic one.

    Xu (2011), Corollaries 3 and 4 by the criterion of their proofs.

    Assumes Theorem 1's assumptions, of which γ₀λ₀ ≤ 1 and (2c − 1)a < λ₀ can be seen here, and c < 1. The start is
    forgotten like 1/t², sooner than the noise. With a = λ₀ it is K/(λ₀γ₀), K depending on c and λ₀γ₀ (Corollary 3).

    Parameters
    ----------
    lambda0 : float
        λ₀, the smallest eigenvalue of A.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c.

    Returns
    -------
    float
        (((2c₀ + c₀²)/c)^(1/(1−c)) − 1)/(aγ₀), or 0 if that is negative or steps are constant.

    Examples
    --------
    >>> [round(asymptotic_samples(lambda0=0.02, gamma0=1.0, a=a, c=0.5)) for a in (0.02, 0.1, 1.0)]
    [270, 5886, 8776405]
    """
    schedule, lambda0 = _checked(lambda0, gamma0, a, c)
    at_start = second_term(0, schedule, lambda0)
    if at_start <= 1:
        return 0.0
    return float((at_start ** (1.0 / (1.0 - schedule.c)) - 1.0) / (schedule.a * schedule.gamma0))


def asymptotic_samples_as_printed(*, lambda0: float, gamma0: float, a: float, c: float) -> float:
    """Printed order of the samples to reach the asymptotic region; see `asymptotic_samples`.

    Xu (2011), Corollary 4.

    Assumes what `asymptotic_samples` does. It is an order of magnitude: the proof neglects c₀², sets c₀/c = a/λ₀, and
    at its end puts λ₀γ₀ where the line before has aγ₀, a factor of a/λ₀.

    Parameters
    ----------
    lambda0 : float
        λ₀, the smallest eigenvalue of A.
    gamma0, a, c : float
        The step sizes γ_t = γ₀(1 + aγ₀t)^−c.

    Returns
    -------
    float
        (2a/λ₀)^(1/(1−c))/(λ₀γ₀): with a = λ₀, K/(λ₀γ₀) with K = 2^(1/(1−c)).

    Examples
    --------
    >>> [round(asymptotic_samples_as_printed(lambda0=0.02, gamma0=1.0, a=a, c=0.5)) for a in (0.02, 0.1, 1.0)]
    [200, 5000, 500000]
    """
    schedule, lambda0 = _checked(lambda0, gamma0, a, c)
    return float((2.0 * schedule.a / lambda0) ** (1.0 / (1.0 - schedule.c)) / (lambda0 * schedule.gamma0))


def _checked(lambda0: float, gamma0: float, a: float, c: float) -> tuple[Schedule, float]:
    schedule, lambda0 = schedule_of(gamma0, a, c), positive("lambda0", lambda0)
    assume(schedule.c < 1, "Corollary 4 assumes c < 1", f"c={schedule.c:g}: the second term never falls")
    assume_steps("Theorem 1", schedule, lambda0, lambda0)
    return schedule, lambda0
