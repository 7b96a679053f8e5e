"""Table 1 of Chee & Toulis (2018): its lines from the runs, and what section 3.2 says about them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from sgdone.papers.claims import Claim, Sentence, pooled, share_with_interval
from sgdone.papers.diagnostics.coefficients import Coefficient, least_squares
from sgdone.papers.experiment import Row
from sgdone.papers.tables import distinct, where

#: Table 1 as printed: γ, then the coefficients of E₀ with their marks, at τ/2 and at 2τ.
PRINTED = {
    0.02: ("0.17 **", "0.01 ."),
    0.05: ("0.20 ***", "-0.008"),
    0.1: ("0.09 **", "-0.0007"),
    0.2: ("0.06 **", "0.005"),
    0.5: ("0.09 ***", "-0.008"),
    1.0: ("0.06 *", "0.02 *"),
    2.0: ("0.06 **", "0.009"),
    5.0: ("0.07 **", "-0.012"),
}
_PLACE = "section 3.2"
_SIGNIFICANT = Sentence(
    "the regression coefficient corresponding to E_{τ/2} is always positive and statistically significant", _PLACE
)
_NOT_SIGNIFICANT = Sentence("the coefficient is mostly not significant for E_{2τ}", _PLACE)
_HIGHER = Sentence(
    "we should expect a much higher correlation between E_{τ/2} and E₀ than between E_{2τ} and E₀", _PLACE
)
_TABLE = Sentence("the regression coefficients of E₀ in the two model fits", "Table 1")
_TAU = Sentence("larger values for τ are correlated with smaller error", _PLACE)
_FEW_RUNS = "100 runs do not decide all eight coefficients: which of them are significant changes with the seed"


class Design(NamedTuple):
    """Number of rows, burn-in, and whether a run is one pass in which 2τ must lie."""

    n_rows: int
    burn_in: int
    one_pass: bool

    @property
    def label(self) -> str:
        """Name in tables."""
        return f"N = {self.n_rows}, burn-in {self.burn_in}"


@final
@dataclass(frozen=True)
class Line:
    """One line of the table: coefficients of E₀ and of τ in the regressions at τ/2 and at 2τ."""

    gamma: float
    half: Coefficient
    double: Coefficient
    half_on_tau: Coefficient
    median_tau: float

    @property
    def label(self) -> str:
        """Name in claims."""
        return f"γ = {self.gamma:g}"


def lines_of(rows: Sequence[Row]) -> dict[str, list[Line]]:
    """Lines of each design, one per γ, over the runs in which the diagnostic fired."""
    lines: dict[str, list[Line]] = {}
    for n_rows, burn_in, gamma in distinct(rows, "n_rows", "burn_in", "gamma"):
        runs = where(rows, n_rows=n_rows, burn_in=burn_in, gamma=gamma, fired=1)
        tau, start, half, double = ([row[name] for row in runs] for name in ("tau", "E_0", "E_half", "E_double"))
        at_half, on_tau = least_squares(half, start, tau)
        at_double, _ = least_squares(double, start, tau)
        own = lines.setdefault(Design(n_rows, burn_in, one_pass=True).label, [])
        own.append(Line(gamma, at_half, at_double, on_tau, float(np.median(tau))))
    return lines


def printed(gamma: float, column: int) -> float:
    """A coefficient of Table 1, without its mark."""
    return float(PRINTED[gamma][column].split()[0])


def claims_of(lines: Sequence[Line]) -> list[Claim]:
    """The sentences about the table."""
    halves, doubles = ([getattr(line, name).estimate for line in lines] for name in ("half", "double"))
    quiet = share_with_interval((not line.double.significant for line in lines), of="γ")
    agreeing = {
        (line.label, name): _agree(getattr(line, name), printed(line.gamma, column))
        for line in lines
        for column, name in enumerate(("half", "double"))
    }
    return [
        pooled(
            _SIGNIFICANT,
            "β at τ/2 is positive and significant at 5 %; the interval asks for all eight γ",
            {line.label: line.half.estimate > 0 and line.half.significant for line in lines},
            f"; β {_numbers(halves)}",
            _FEW_RUNS,
            of="γ",
        ),
        Claim(
            _NOT_SIGNIFICANT,
            "β at 2τ is not significant at 5 % for more than half of the γ",
            f"not significant for {quiet.words}; β {_numbers(doubles)}",
            2 * sum(not line.double.significant for line in lines) > len(lines),
        ),
        pooled(
            _HIGHER,
            "β at τ/2 is more than twice as large as |β| at 2τ",
            {line.label: line.half.estimate > 2 * abs(line.double.estimate) for line in lines},
            of="γ",
        ),
        pooled(
            _TABLE,
            "β is the printed one, within the 95 % interval of a difference of two such estimates",
            agreeing,
            of="coefficients",
        ),
        pooled(
            _TAU,
            "in the regression at τ/2 the coefficient of τ is negative",
            {line.label: line.half_on_tau.estimate < 0 for line in lines},
            f", significant at 5 % for {sum(line.half_on_tau.significant for line in lines)}",
            of="γ",
        ),
    ]


def summary(lines: Sequence[Line]) -> str:
    """How many coefficients are significant, and those at τ/2."""
    significant = sum(line.half.estimate > 0 and line.half.significant for line in lines)
    quiet = sum(not line.double.significant for line in lines)
    return (
        f"β at τ/2 positive and significant for {significant} of {len(lines)} γ "
        f"({_numbers([line.half.estimate for line in lines])}), β at 2τ not significant for {quiet}"
    )


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


def _agree(ours: Coefficient, theirs: float) -> bool:
    """Both are estimates from as many runs, so that their difference has √2 times the standard error of one."""
    return abs(ours.estimate - theirs) <= math.sqrt(2.0) * (ours.high - ours.estimate)
