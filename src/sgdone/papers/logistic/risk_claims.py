"""What Theorems 1.1 and 1.2 say of the risk, beside what was measured."""

from collections.abc import Sequence

import numpy as np

from sgdone.papers.claims import Claim, every
from sgdone.papers.experiment import Row
from sgdone.papers.logistic.descent import STEPS
from sgdone.papers.logistic.problems import PROBLEMS
from sgdone.papers.logistic.risk_courses import ROUNDING, RiskCourse, course_of
from sgdone.papers.logistic.theory import sgd_norm_bound

#: The rate of Theorem 1.2, part 1, by the steps: the power of t beside ln(t)².
_POWERS = dict(zip(STEPS, (-1.0, -0.5), strict=True))
#: A rate is looked at from here on.
_FROM = 100


def risk_claims(rows: Sequence[Row], delta: float) -> list[Claim]:
    """All of them."""
    courses = {(name, steps): course_of(rows, name, steps) for name in PROBLEMS for steps in STEPS}
    sgd = course_of(rows, "separable", "sgd")
    return [
        _bound_claim(courses),
        *(_rate_claim(steps, courses) for steps in STEPS),
        *(_separable_rate_claim(steps, courses["separable", steps]) for steps in STEPS),
        *_sgd_claims(sgd, delta),
    ]


def _bound_claim(courses: dict[tuple[str, str], RiskCourse]) -> Claim:
    within = {
        f"{name}, η = {steps}": bool(np.all(course.excess[0] <= course.bound))
        for (name, steps), course in courses.items()
    }
    ratios = [course.bound[-1] / course.excess[0, -1] for course in courses.values() if course.excess[0, -1] > ROUNDING]
    return every(
        "gradient descent's risk above the infimum is within the bound at every t",
        "Theorem 3.2",
        within,
        f"; at the end the bound is {min(ratios):.0f} to {max(ratios):.0f} times what is measured",
    )


def _rate_claim(steps: str, courses: dict[tuple[str, str], RiskCourse]) -> Claim:
    """O(rate) shows as a ratio to the rate that has its largest value early."""
    falling, ends = {}, []
    for (name, own), course in courses.items():
        if own != steps:
            continue
        late = course.t >= _FROM
        ratio = course.excess[0, late] / (np.log(course.t[late]) ** 2 * course.t[late] ** _POWERS[steps])
        half = len(ratio) // 2
        falling[name] = bool(ratio[half:].max() <= ratio[:half].max())
        ends.append(max(ratio[-1], 0.0))
    rate = "ln(t)²/t" if _POWERS[steps] == -1.0 else "ln(t)²/√t"
    return every(
        f"with steps {steps} the risk over {rate} is never larger in the later half of t ≥ {_FROM} (on a log axis)",
        f"Theorem 1.2, part 1: O({rate})",
        falling,
        f"; at the end it is {min(ends):.2g} to {max(ends):.2g}",
    )


def _separable_rate_claim(steps: str, course: RiskCourse) -> Claim:
    """The rate is met but for logarithms, which make the slope up to 2·2/ln(t) flatter."""
    found, power = course.exponent(), _POWERS[steps]
    return Claim(
        f"on separable data and steps {steps} the risk falls as t to the power of {power:g}, within 0.1",
        "Õ(1/t)" if power == -1.0 else "Õ(1/√t)",
        f"{found:.3f} over the last two decades",
        abs(found - power) <= 0.1,
    )


def _sgd_claims(course: RiskCourse, delta: float) -> list[Claim]:
    over = np.mean(course.excess > course.bound, axis=0)
    worst = np.max(course.excess, axis=0)
    margin = PROBLEMS["separable"].margin
    norms = course.norms.max(axis=0)
    bound = np.asarray(sgd_norm_bound(course.t, margin))
    found = course.exponent()
    return [
        Claim(
            f"at every t no more than {delta:.0%} of the runs of SGD have a mean iterate beyond the bound",
            "Theorem 1.1 with Theorem 2.1's constants",
            f"{over.max():.1%}; the worst run is {np.min(course.bound / worst):.0f} times below it or more",
            bool(over.max() <= delta),
        ),
        Claim(
            "the risk of SGD's mean iterate falls as t to the power of −1, within 0.15",
            "Theorem 1.1: O(ln(t)²/t)",
            f"{found:.3f} over the last two decades",
            abs(found + 1.0) <= 0.15,
        ),
        Claim(
            "no run of SGD leaves ‖w_t‖ ≤ 2·ln(t)/γ + 2",
            "Lemma 2.3",
            f"at most {np.max(norms / bound):.2f} of it; at the end {norms[-1]:.1f} of {bound[-1]:.1f}",
            bool(np.all(norms <= bound)),
        ),
    ]
