"""What Chee & Toulis (2018), section 3.2, say about Table 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from sgdone.papers.claims import Claim, every
from sgdone.papers.diagnostics.regression import Coefficient, least_squares
from sgdone.papers.experiment import Row

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
_SMALL_BURN_IN = (
    "at large γ an implicit step leaves 1 − 1/p of E, which makes 0.28 of E₀ at half of τ = 51; a burn-in of 100 gives "
    "the 0.05 to 0.08 that are printed there"
)


@final
@dataclass(frozen=True)
class Line:
    """A line of the table: coefficients of E₀ and of τ in the regressions at τ/2 and at 2τ."""

    burn_in: int
    gamma: float
    half: Coefficient
    double: Coefficient
    half_on_tau: Coefficient
    #: Samples at which the diagnostic fired, run by run.
    taus: tuple[int, ...]
    #: Median of E at τ/2 over E at 2τ.
    ratio: float

    @property
    def median_tau(self) -> float:
        """The middle one."""
        return float(np.median(self.taus))

    @property
    def label(self) -> str:
        """As a claim names it."""
        return f"γ = {self.gamma:g}"


def lines_of(rows: Sequence[Row]) -> list[Line]:
    """A line for each burn-in and γ, over the runs in which the diagnostic fired."""
    lines = []
    for burn_in, gamma in dict.fromkeys((row["burn_in"], row["gamma"]) for row in rows):
        fired = [row for row in rows if (row["burn_in"], row["gamma"], row["fired"]) == (burn_in, gamma, 1)]
        tau, start, half, double = ([row[name] for row in fired] for name in ("tau", "E_0", "E_half", "E_double"))
        at_half, on_tau = least_squares(half, start, tau)
        at_double, _ = least_squares(double, start, tau)
        ratio = float(np.median(np.divide(half, double)))
        lines.append(Line(burn_in, gamma, at_half, at_double, on_tau, tuple(tau), ratio))
    return lines


def printed(gamma: float, column: int) -> float:
    """A coefficient of Table 1, without its mark."""
    return float(PRINTED[gamma][column].split()[0])


def claims_of_table(rows: Sequence[Row], n_rows: int) -> list[Claim]:
    """The same claims for either burn-in."""
    lines = lines_of(rows)
    burn_ins = dict.fromkeys(line.burn_in for line in lines)
    return [
        claim
        for burn_in in burn_ins
        for claim in _claims_of([line for line in lines if line.burn_in == burn_in], f"{burn_in / n_rows:g}·N")
    ]


def _claims_of(lines: Sequence[Line], label: str) -> list[Claim]:
    halves = [line.half.estimate for line in lines]
    doubles = [line.double.estimate for line in lines]
    quiet = [line.label for line in lines if not line.double.significant]
    label = f"burn-in {lines[0].burn_in} ({label})"
    why = _why(lines)
    return [
        every(
            f"{label}: β at τ/2 is positive and significant at 5 %",
            "always positive and statistically significant",
            {line.label: line.half.estimate > 0 and line.half.significant for line in lines},
            f", β from {min(halves):.3g} to {max(halves):.3g}",
            why,
        ),
        Claim(
            f"{label}: β at 2τ is not significant at 5 % for more than half of the γ",
            "mostly not significant (7 of 8 at 5 %)",
            f"not significant for {len(quiet)} of {len(lines)}, β from {min(doubles):.3g} to {max(doubles):.3g}",
            2 * len(quiet) > len(lines),
        ),
        every(
            f"{label}: β at τ/2 is more than twice as large as |β| at 2τ",
            "a much higher correlation between E at τ/2 and E₀ than between E at 2τ and E₀",
            {line.label: line.half.estimate > 2 * abs(line.double.estimate) for line in lines},
            "",
            why,
        ),
        every(
            f"{label}: β at τ/2 is the printed one, within the 95 % interval of a difference",
            ", ".join(PRINTED[line.gamma][0] for line in lines),
            {line.label: _agree(line.half, printed(line.gamma, 0)) for line in lines},
            "",
            _SMALL_BURN_IN if _still_moving(lines) else why,
        ),
        every(
            f"{label}: β at 2τ is the printed one, within the 95 % interval of a difference",
            ", ".join(PRINTED[line.gamma][1] for line in lines),
            {line.label: _agree(line.double, printed(line.gamma, 1)) for line in lines},
        ),
        every(
            f"{label}: the coefficient of τ at τ/2 is negative",
            "larger values for τ are correlated with smaller error",
            {line.label: line.half_on_tau.estimate < 0 for line in lines},
            f", significant at 5 % for {sum(line.half_on_tau.significant for line in lines)}",
            "" if _still_moving(lines) else why,
        ),
    ]


def _agree(ours: Coefficient, theirs: float) -> bool:
    """Both are estimates from as many runs, so that their difference has √2 times the standard error of one."""
    return abs(ours.estimate - theirs) <= math.sqrt(2.0) * (ours.high - ours.estimate)


def _still_moving(lines: Sequence[Line]) -> bool:
    """Whether E at τ/2 is mostly well above what it is at 2τ."""
    return float(np.median([line.ratio for line in lines])) > 1.5


def _why(lines: Sequence[Line]) -> str:
    """Why E at τ/2 does not show where the run started."""
    if not _still_moving(lines):
        ratio = np.median([line.ratio for line in lines])
        return (
            f"τ is at least {lines[0].burn_in + 1}, and by half of that implicit SGD has forgotten where it started: "
            f"the median of E at τ/2 over E at 2τ is {ratio:.2f}"
        )
    worst = max(lines, key=lambda line: line.half.p)
    return (
        f"{worst.label}: τ goes from {min(worst.taus):,} to {max(worst.taus):,}, its half from the transient to the "
        f"stationary phase; β = {worst.half.estimate:.2f} ± {worst.half.error:.2f} then depends on the draw"
    )
