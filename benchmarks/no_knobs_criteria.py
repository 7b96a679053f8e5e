"""What is asked of a fit with nothing set, and whether it is reached on a set."""

from dataclasses import dataclass

import numpy as np

from no_knobs_outcome import Outcome

#: The mean paired difference in loss, as a share of the reference's, beside two standard errors; and at worst, for sets
#: that are not small.
LOSS_EXCESS, LOSS_WORST = 0.01, 0.03
#: The mean paired difference in error, beside two standard errors.
ERROR_EXCESS = 0.003
STANDARD_ERRORS = 2.0
#: Our seconds over those of the five fits: above so many rows, below, and for regression (one of the five).
MANY_ROWS, TIME_MANY, TIME_FEW, TIME_REGRESSION = 20_000, 0.1, 1.0, 0.2
IN_WORDS = (
    f"Criteria. Loss: at most {100 * LOSS_EXCESS:g} % + {STANDARD_ERRORS:g} standard errors (SE) above the reference, "
    f"and at most {100 * LOSS_WORST:g} % if the reference is the best of five C. Error: at most "
    f"{100 * ERROR_EXCESS:g} points + {STANDARD_ERRORS:g} SE above the least error of the reference. Time: at most "
    f"{TIME_MANY:g} of the five fits above {MANY_ROWS:,} rows, all five below, one of the five for regression. SE are "
    "those of paired differences: over the splits, or over the test rows if there is one split."
)


@dataclass(frozen=True)
class Criterion:
    """A number, the most that it may be, and whether it is."""

    number: float
    limit: float

    @property
    def met(self) -> bool | None:
        """None if there is nothing to compare."""
        return None if np.isnan(self.number) else self.number <= self.limit


_NOTHING = Criterion(float("nan"), float("nan"))


def loss(outcome: Outcome) -> Criterion:
    """The difference in loss as a share of the reference's loss."""
    difference = outcome.difference("loss")
    if difference is None:
        return _NOTHING
    limit = LOSS_EXCESS + STANDARD_ERRORS * difference.relative_error
    return Criterion(difference.relative, limit if outcome.is_small else min(limit, LOSS_WORST))


def error(outcome: Outcome) -> Criterion:
    """The difference in the share of wrong predictions; not asked of regressions."""
    difference = outcome.difference("error")
    if difference is None or outcome.is_regression:
        return _NOTHING
    return Criterion(difference.mean, ERROR_EXCESS + STANDARD_ERRORS * difference.error)


def seconds(outcome: Outcome) -> Criterion:
    """Our seconds over those of the five fits."""
    if outcome.is_regression:
        return Criterion(outcome.time_ratio, TIME_REGRESSION)
    return Criterion(outcome.time_ratio, TIME_MANY if outcome.n_rows > MANY_ROWS else TIME_FEW)
