"""Wald's tests: of linear combinations of coefficients, and of all levels of a column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, stats

from sgdone.message_text import did_you_mean

if TYPE_CHECKING:
    from sgdone.inference.reference_coding import LevelContrasts
    from sgdone.inference.summary import Summary


Array = NDArray[np.float64]

#: Smallest pivot of the correlation matrix of combinations that are not multiples of each other.
_SINGULAR = 1e-10


@final
@dataclass(frozen=True, eq=False)
class WaldTest:
    """The test that linear combinations Rβ of the coefficients have given values.

    Attributes
    ----------
    estimate, std_err : ndarray
        Rβ and its standard errors.
    statistic : float
        (Rβ − r)ᵀ(RVRᵀ)⁻¹(Rβ − r): χ² distributed, or F after division by ``df`` if ``df_residual`` is finite.
    df : int
        Number of combinations.
    df_residual : float
        Degrees of freedom of the residuals; infinite unless the quantiles are those of t.
    p : float
        Probability of a larger statistic if Rβ = r.
    """

    estimate: Array
    std_err: Array
    statistic: float
    df: int
    df_residual: float
    p: float

    def __str__(self) -> str:
        shown = [
            f"{value:.4g} (std. err. {error:.4g})" for value, error in zip(self.estimate, self.std_err, strict=True)
        ]
        if np.isfinite(self.df_residual):
            test = f"F({self.df}, {self.df_residual:g}) = {self.statistic / self.df:.4g}"
        else:
            test = f"χ²({self.df}) = {self.statistic:.4g}"
        return f"{', '.join(shown)}: {test}, p = {self.p:.3g}"


def restrictions(summary: "Summary", given: Any) -> Array:
    """The combinations as a matrix, one per row; raise for names and shapes that do not fit."""
    if isinstance(given, Mapping):
        row = np.zeros(len(summary))
        for name, factor in given.items():
            row[position(summary, name)] += float(factor)
        return row[None, :]
    if isinstance(given, str):
        given = [given]
    if isinstance(given, (list, tuple)) and given and all(isinstance(name, str) for name in given):
        return np.concatenate([_rows_of(summary, name) for name in given])
    if isinstance(given, (list, tuple)) and not given:
        raise ValueError("R is empty: name at least one feature, or give one row of numbers")
    try:
        matrix = np.atleast_2d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"R cannot be read as numbers or names of features: {error}") from error
    if matrix.ndim != 2 or matrix.shape[1] != len(summary) or not matrix.shape[0]:
        raise ValueError(
            f"R has shape {matrix.shape}, but the summary has {len(summary)} coefficients: give one number for each, "
            "in the order of summary.names"
        )
    if not np.all(np.isfinite(matrix)):
        raise ValueError("R contains NaN or infinity")
    return matrix


def position(summary: "Summary", name: Any) -> int:
    """The position of the one coefficient with this name."""
    found = [k for k, own in enumerate(summary.names) if own == name]
    found = found or [k for k, own in enumerate(summary.features) if own == name]
    if not found:
        near = did_you_mean(str(name), summary.names)
        raise ValueError(f"the summary has no coefficient {name!r}.{near}{_hint(str(name))}")
    if len(found) > 1:
        raise ValueError(f"{name!r} has a coefficient for each class: name one, as {summary.names[found[0]]!r}")
    return found[0]


def _hint(name: str) -> str:
    return " For a combination give a mapping, as {'a': 1, 'b': -1} for a = b." if "=" in name else ""


def _rows_of(summary: "Summary", name: str) -> Array:
    """One row for each coefficient of a feature or column: several if there are several classes or levels."""
    try:
        return rows_of_positions(summary, summary.positions(name))
    except ValueError as error:
        raise ValueError(f"{error}{_hint(name)}") from error


def rows_of_positions(summary: "Summary", positions: Sequence[int]) -> Array:
    """One row for each of some coefficients."""
    rows = np.zeros((len(positions), len(summary)))
    rows[np.arange(len(positions)), positions] = 1.0
    return rows


def wald_test(summary: "Summary", matrix: Array, value: ArrayLike) -> WaldTest:
    """Test that the combinations have the given values."""
    used = np.flatnonzero(matrix.any(axis=0))
    for k in used.tolist():
        if k in summary.refused:
            raise ValueError(f"the coefficient {summary.names[k]!r} is refused: {summary.refused[k].reason}")
    try:
        given = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    if given.shape not in ((), (len(matrix),)) or not np.all(np.isfinite(given)):
        raise ValueError(f"value={value!r}: give one finite number, or one for each of the {len(matrix)} rows of R")
    values = np.broadcast_to(given, matrix.shape[:1])
    assert summary.covariance is not None
    covariance = summary.covariance.between(matrix)
    estimate = matrix[:, used] @ summary.coef[used]
    errors = np.sqrt(np.diagonal(covariance))
    if not np.all(errors > 0):
        raise ValueError("a row of R is zero: it tests nothing")
    correlation = covariance / errors[:, None] / errors
    if np.linalg.eigvalsh(correlation)[0] < _SINGULAR:
        raise ValueError("the rows of R are linearly dependent: leave out those that follow from the others")
    apart = (estimate - values) / errors
    statistic = float(apart @ linalg.solve(correlation, apart, assume_a="pos"))
    df = len(matrix)
    if np.isfinite(summary.df):
        p = float(stats.f.sf(statistic / df, df, summary.df))
    else:
        p = float(stats.chi2.sf(statistic, df))
    return WaldTest(estimate, errors, statistic, df, summary.df, p)


_ONE_LEVEL = "the rows have one level only"
_SIMULATED = "the covariance was estimated with random numbers; name the column in columns for an exact test"
_NO_COVARIANCE = "the covariance of its coefficients is singular, as it is with no more groups of rows than levels"


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


def column_tests(summary: "Summary") -> dict[str, ColumnTest]:
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


def _test(summary: "Summary", own: "LevelContrasts", of_levels: list[list[int]]) -> ColumnTest:
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
        return ColumnTest(own.name, own.reference, own.levels, 0, None, _NO_COVARIANCE)
    return ColumnTest(own.name, own.reference, own.levels, tested, test, reason)


def _differences(summary: "Summary", positions: list[int]) -> Array:
    """Differences of the coefficients of levels from that of the first level, class by class."""
    classes = [None] * len(summary) if summary.classes is None else list(summary.classes)
    first: dict[Any, int] = {}
    for k in positions:
        first.setdefault(classes[k], k)
    others = [k for k in positions if first[classes[k]] != k]
    return rows_of_positions(summary, others) - rows_of_positions(summary, [first[classes[k]] for k in others])
