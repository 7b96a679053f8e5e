"""What section 6.2 of Xu (2011) says of averaged SGD."""

from collections.abc import Mapping

import numpy as np

from sgdone.papers.averaging.claims import DECADES, power_of_ten
from sgdone.papers.averaging.curves import BATCH, Curve, settles_below
from sgdone.papers.averaging.regression_problem import (
    AVERAGED,
    EIGENVALUES,
    OPTIMUM,
    PLAIN,
    SCHEDULES,
    expected_risks,
)
from sgdone.papers.averaging.theory import expected_regression_errors
from sgdone.papers.claims import Claim


def closeness_claims(ratio: Curve) -> list[Claim]:
    """How close ASGD is to least squares, decade by decade."""
    found, exact = (settles_below(ratio.samples, values, 2.0) for values in (ratio.means, ratio.expected))
    decades = [(t, place) for t in DECADES if t >= 10_000 and (place := ratio.at(t)) is not None]
    means = [float(ratio.means[place]) for _, place in decades]
    shown = ", ".join(f"{mean:.3g} at {power_of_ten(t)}" for (t, _), mean in zip(decades, means, strict=True))
    close = found <= 10_000
    return [
        Claim(
            "at 10⁴ samples ASGD is within twice the batch method's expected excess risk",
            "after about 10⁴ examples, the accuracy of ASGD starts to be close to batch solution",
            f"{shown} times it; within twice after {found:,.0f} samples (expected: {exact:,.0f})",
            close,
            "" if close else _why_not_yet(10_000),
        ),
        Claim(
            "the ratio of ASGD's excess risk to the batch method's falls from decade to decade from 10⁴ on",
            "asymptotic optimality of ASGD",
            shown,
            means == sorted(means, reverse=True),
        ),
    ]


def quotient_claims(curves: Mapping[str, Curve]) -> list[Claim]:
    """How much worse SGD is than ASGD."""
    averaged = curves[AVERAGED]
    quotient = curves[PLAIN].means / averaged.means
    exact = curves[PLAIN].expected / averaged.expected
    since = settles_below(averaged.samples, 1.0 / quotient, 0.1)
    claims = []
    for samples in DECADES:
        place = averaged.at(samples)
        if samples < 10_000 or place is None:
            continue
        holds = bool(quotient[place] > 10)
        claims.append(
            Claim(
                f"at {power_of_ten(samples)} samples SGD's mean excess risk is more than 10 times ASGD's",
                "after about 10⁴ examples … SGD remains more than 10 times worse than ASGD",
                f"{quotient[place]:.3g} times (expected: {exact[place]:.3g}); more than 10 times from {since:,.0f} on",
                holds,
                "" if holds else _why_not_yet(samples),
            )
        )
    return claims


def _why_not_yet(samples: int) -> str:
    """What ASGD's start leaves of its excess risk, beside the batch method's."""
    points, schedule = np.array([samples]), SCHEDULES[AVERAGED]
    silent = expected_regression_errors(
        points, A=np.diag(EIGENVALUES), noise=0.0, start_error=-OPTIMUM, **schedule._asdict()
    )
    share = 0.5 * silent.averaged[0] / expected_risks(BATCH, points)[0]
    return (
        f"1/(λ₀γ₀) is {1 / (EIGENVALUES[0] * schedule.gamma0):,.0f} samples, and the start is not forgotten soon "
        f"after: without the noise ε, ASGD's excess risk at {power_of_ten(samples)} would be {share:.2f} times the "
        "batch method's already"
    )
