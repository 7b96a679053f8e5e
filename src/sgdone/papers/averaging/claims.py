"""Means of trials beside expectations and independent runs."""

from collections.abc import Mapping

import numpy as np
from scipy import stats

from sgdone.papers.averaging.curves import Curve
from sgdone.papers.claims import Claim, every

DECADES = (1000, 10_000, 100_000, 1_000_000)
_WITHIN = "(99.7 % interval of Student's t)"


def power_of_ten(samples: int) -> str:
    """A decade as the paper writes it.

    Examples
    --------
    >>> power_of_ten(10_000)
    '10⁴'
    """
    return "10" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[round(np.log10(samples))]


def ratio_claims(
    method: str, ratio: Curve, values: Mapping[int, float], source: str, other_trials: float = float("inf")
) -> list[Claim]:
    """That the mean excess risk in units of the batch method's is the given one, within sampling error.

    Parameters
    ----------
    method : str
        Its name.
    ratio : Curve
        Its excess risk in those units.
    values : mapping
        The given ones by number of samples; those not reached are left out.
    source : str
        Whose they are.
    other_trials : float
        Trials behind the given values; infinite if they are exact.
    """
    claims = []
    what = "" if np.isinf(other_trials) else " (standard error of the difference)"
    for samples, value in values.items():
        place = ratio.at(samples)
        if place is None:
            continue
        mean, error = ratio.means[place], ratio.standard_errors[place] * np.sqrt(1 + len(ratio.risks) / other_trials)
        claims.append(
            Claim(
                f"{method} at {power_of_ten(samples)} samples: mean excess risk over batch is {value:g} {_WITHIN}",
                f"a plot only; {source} {value:g}",
                f"{mean:.3g} ± {error:.2g}{what}; exactly {ratio.expected[place]:.4g}",
                bool(abs(mean - value) <= _quantile(ratio) * error),
            )
        )
    return claims


def expectation_claim(curves: Mapping[str, Curve]) -> Claim:
    """That every method's mean excess risk at every decade is its expectation, within sampling error."""
    comparisons, largest = {}, 0.0
    for method, curve in curves.items():
        for samples in DECADES:
            place = curve.at(samples)
            if place is not None:
                distance = abs(curve.means[place] - curve.expected[place]) / curve.standard_errors[place]
                comparisons[f"{method} at {power_of_ten(samples)}"] = bool(distance <= _quantile(curve))
                largest = max(largest, float(distance))
    return every(
        f"mean excess risks at the powers of ten are the exact expectations {_WITHIN}",
        "no expectations; here by the recursion of second moments",
        comparisons,
        f", the furthest {largest:.2g} standard errors off",
    )


def _quantile(curve: Curve) -> float:
    return float(stats.t.ppf(0.9985, len(curve.risks) - 1))
