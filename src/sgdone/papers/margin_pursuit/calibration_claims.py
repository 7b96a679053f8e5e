"""What Holland (2018) says about H, Ψ and its inverse."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sgdone.papers.claims import Claim, every
from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.theory import rho

Array = NDArray[np.float64]
#: Rounding of second differences of a curve.
_ROUNDING = 1e-13
#: One step of the paper's grid.
_GRID_STEP = 1 / 2499
#: A curve has bottomed out at a positive value if over the last decade it falls by less than this share.
_LEVEL = 0.05


def curves_of(rows: Sequence[Row]) -> dict[str, dict[float, tuple[Array, Array]]]:
    """By panel and curve: where, and what."""
    gathered: dict[str, dict[float, list[tuple[float, float]]]] = {}
    for row in rows:
        gathered.setdefault(row["panel"], {}).setdefault(row["curve"], []).append((row["x"], row["value"]))
    return {
        panel: {curve: (table[:, 0], table[:, 1]) for curve, table in _arrays(curves)}
        for panel, curves in gathered.items()
    }


def _arrays(curves: dict[float, list[tuple[float, float]]]) -> list[tuple[float, Array]]:
    return [(curve, np.array(points)) for curve, points in curves.items()]


def claims_of_calibration(rows: Sequence[Row]) -> list[Claim]:
    """One claim a sentence."""
    curves = curves_of(rows)
    transforms = curves["Ψ"]
    levels = sorted(transforms)
    inverses = [values for _, (_, values) in sorted(curves["Ψ⁻¹"].items())]
    grid = max(abs(row["value"] - row["on_grid"]) for row in rows if row["on_grid"] != "")
    ends = max(max(abs(values[0]), abs(values[-1] - rho(gamma))) for gamma, (_, values) in transforms.items())
    gains = [
        (float(values[0] - values[values.size // 2]), float(values[values.size // 2] - values[-1]))
        for values in inverses
    ]
    return [
        every(
            "H is concave",
            "a concave function H (Lemma 8)",
            {f"γ = {gamma:.3f}": bool(np.all(np.diff(v, 2) <= _ROUNDING)) for gamma, (_, v) in curves["H"].items()},
        ),
        every(
            "Ψ is convex",
            "convexity of Ψ can be clearly observed",
            {f"γ = {gamma:.3f}": bool(np.all(np.diff(v, 2) >= -_ROUNDING)) for gamma, (_, v) in transforms.items()},
        ),
        every(
            "Ψ grows with γ at every u",
            "its monotonic dependence on γ can be clearly observed",
            {
                f"γ = {low:.3f} and {high:.3f}": bool(np.all(transforms[low][1][1:] < transforms[high][1][1:]))
                for low, high in pairwise(levels)
            },
        ),
        Claim("Ψ(0) = 0 and Ψ(1) = ρ(γ)", "Remark 9", f"off by {ends:.1e} at most", ends <= 1e-12),
        Claim(
            "Ψ⁻¹(a) falls as γ grows and as a falls",
            "the same excess surrogate risk leads to better generalization with a larger γ; a better one to smaller "
            "excess misclassification risk",
            f"{len(inverses)} curves, least fall between neighbours "
            f"{min(float(-np.diff(values).max()) for values in inverses):.1e}",
            all(bool(np.all(np.diff(values) < 0)) for values in inverses)
            and all(bool(np.all(low < high)) for low, high in pairwise(inverses)),
        ),
        Claim(
            "Ψ⁻¹(a) falls more over the first half of the range of γ than over the second, for each a",
            "this positive impact diminishes quickly as γ gets large",
            ", ".join(f"{first:.3f} and {second:.3f}" for first, second in gains),
            all(first > second for first, second in gains),
        ),
        _bottom(curves["ε/s"], "Ψ⁻¹(ε/s)", "Ψ tends to ½γ²u² as s grows, and its inverse at ε/s to √(2ε/s)/γ: to 0"),
        _bottom(curves["ε"], "Ψ⁻¹(ε), without the division by s,", ""),
        Claim(
            "inverses read off the paper's grid of 2500 points are within a step of the exact ones",
            "computation of the inverse is approximate (Fig. 2)",
            f"largest difference {grid:.2e}, a step is {_GRID_STEP:.2e}",
            grid <= _GRID_STEP + 1e-12,
        ),
    ]


def _bottom(curves: dict[float, tuple[Array, Array]], what: str, reason: str) -> Claim:
    told, words = {}, []
    for gamma, (scales, values) in sorted(curves.items()):
        before = float(np.interp(np.log(scales[-1] / 10), np.log(scales), values))
        told[f"γ = {gamma:.3f}"] = bool(values[-1] > 0 and values[-1] >= (1 - _LEVEL) * before)
        words.append(f"{before:.3g} to {values[-1]:.3g}")
    return every(
        f"{what} falls by less than {_LEVEL:.0%} over the last decade of s, to 10⁴",
        "in the limit as s gets large, this quantity bottoms out quickly at a positive value",
        told,
        f" ({', '.join(words)})",
        reason,
    )
