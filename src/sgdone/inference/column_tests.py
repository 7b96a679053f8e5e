"""One test for all levels of a category or of a part of a date."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.reference_coding import LevelContrasts
from sgdone.inference.summary import Summary
from sgdone.inference.wald import WaldTest, rows_of_positions, wald_test

Array = NDArray[np.float64]

_ONE_LEVEL = "the rows have one level only"
_SIMULATED = "the covariance was estimated with random numbers; name the column in columns for an exact test"
_SINGULAR = "the covariance of its coefficients is singular, as it is with no more groups of rows than levels"


@final
@dataclass(frozen=True, eq=False)
class ColumnTest:
    """Wald's test that all levels of a column have the same effect, in all classes.

    Attributes
    ----------
    column : str
        A category, or a part of a date: ``dteday.month``.
    reference : str or None
        The level that the others are compared with; None if each level has a coefficient.
    levels : int
        Number of levels that rows have.
    levels_tested : int
        Number of those that the test covers: levels whose coefficients are refused, and levels that other columns
        determine, are not covered.
    test : WaldTest or None
        (levels tested − 1) · (classes − 1) degrees of freedom if nothing is refused.
    reason : str
        Why there is no test, or why it does not cover all levels; otherwise empty.
    """

    column: str
    reference: str | None
    levels: int
    levels_tested: int
    test: WaldTest | None
    reason: str = ""

    @property
    def df(self) -> int:
        """Degrees of freedom; 0 if there is no test."""
        return 0 if self.test is None else self.test.df

    @property
    def statistic(self) -> float:
        """χ², or F if the quantiles are those of t; NaN if there is no test."""
        if self.test is None:
            return np.nan
        return self.test.statistic / (self.test.df if np.isfinite(self.test.df_residual) else 1.0)

    @property
    def p(self) -> float:
        """Probability of a larger statistic if all levels have the same effect; NaN if there is no test."""
        return np.nan if self.test is None else self.test.p


def column_tests(summary: Summary) -> dict[str, ColumnTest]:
    """The tests of the columns whose levels are all in the summary, by name."""
    coding = summary.coding
    if coding is None:
        return {}
    positions: dict[str, list[int]] = {}
    for k, feature in enumerate(summary.features):
        positions.setdefault(feature, []).append(k)
    found = {}
    for own in coding.contrasts:
        names = [coding.names[j] for j in own.features.tolist()]
        if own.name in coding.left_out or not all(name in positions for name in names):
            continue
        if names or len(positions) >= len(coding.names):
            found[own.name] = _test(summary, own, [positions[name] for name in names])
    return found


def _test(summary: Summary, own: LevelContrasts, of_levels: list[list[int]]) -> ColumnTest:
    """Test the coefficients of levels, a list of positions each, that are not refused."""
    covered = [[k for k in positions if k not in summary.refused] for positions in of_levels]
    covered = [positions for positions in covered if positions]
    reasons = dict.fromkeys(summary.refused[k].reason for level in of_levels for k in level if k in summary.refused)
    reason = " ".join(reasons)
    tested = len(covered) + (own.reference is not None)
    if not of_levels or summary.monte_carlo_error > 0:
        return ColumnTest(own.name, own.reference, own.levels, 0, None, _SIMULATED if of_levels else _ONE_LEVEL)
    positions = [k for level in covered for k in level]
    matrix = rows_of_positions(summary, positions) if own.reference is not None else _differences(summary, positions)
    if not len(matrix):
        return ColumnTest(own.name, own.reference, own.levels, 0, None, reason or _ONE_LEVEL)
    try:
        test = wald_test(summary, matrix, 0.0)
    except ValueError:
        return ColumnTest(own.name, own.reference, own.levels, 0, None, _SINGULAR)
    return ColumnTest(own.name, own.reference, own.levels, tested, test, reason)


def _differences(summary: Summary, positions: list[int]) -> Array:
    """Differences of the coefficients of levels from that of the first level, class by class."""
    classes = [None] * len(summary) if summary.classes is None else list(summary.classes)
    first: dict[Any, int] = {}
    for k in positions:
        first.setdefault(classes[k], k)
    others = [k for k in positions if first[classes[k]] != k]
    return rows_of_positions(summary, others) - rows_of_positions(summary, [first[classes[k]] for k in others])
