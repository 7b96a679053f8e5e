"""Wald's test of linear combinations of coefficients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, stats

from sgdone.message_text import did_you_mean

if TYPE_CHECKING:
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
