"""What Holland (2018), section 4, says about Figure 5."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from sgdone.papers.claims import Claim, every
from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.data import Array

#: The penalty is this share of the best one: "less than 1/100th", a power of ten.
SHARE = 1e-3
#: Ways to set s, as the CSV file has them.
PLAIN, FOLLOWS, KEEPS = "s = 1", "s reset, steps with it", "s reset, steps as before"
#: The test error has caught up if it ends within this factor of the best-regularised one.
_CAUGHT_UP = 1.1
_WEAK_DIRECTIONS = (
    "it is on its way: a direction of variance μ is put right as t^(−μ/√λ), and what the first steps, 1/√λ long, left "
    "in directions of little variance is still there at the end"
)


@final
@dataclass(frozen=True, eq=False)
class Panel:
    """One set and reading: test errors, trials × points, of the best λ, of its thousandth, and of that with a reset."""

    alpha: float
    small: float
    reset: float
    gradients: Array
    best: Array
    under: Array
    rescaled: dict[str, Array]


def panels_of(rows: Sequence[Row], grid: Sequence[float]) -> dict[tuple[str, str], Panel]:
    """By set and reading of the step size; the best λ of the grid is that of the lowest mean test error anywhere."""
    gathered: dict[tuple[str, str], dict[tuple[str, float], dict[int, list[float]]]] = {}
    resets = {row["data"]: row["reset_at"] for row in rows}
    points = {data: sorted({row["gradients"] for row in rows if row["data"] == data}) for data in resets}
    for row in rows:
        runs = gathered.setdefault((row["data"], row["steps"]), {})
        runs.setdefault((row["scale"], row["lambda"]), {}).setdefault(row["trial"], []).append(row["test_error"])
    panels = {}
    for (data, steps), runs in gathered.items():
        courses = {key: np.array(list(trials.values())) for key, trials in runs.items()}
        alpha = min(grid, key=lambda each: float(courses[PLAIN, float(f"{each:.6g}")].mean(axis=0).min()))
        small = min((key[1] for key in courses), key=lambda each: abs(np.log(each / (SHARE * alpha))))
        panels[data, steps] = Panel(
            float(alpha),
            small,
            float(resets[data]),
            np.array(points[data], dtype=np.float64),
            courses[PLAIN, float(f"{alpha:.6g}")],
            courses[PLAIN, small],
            {scale: courses[scale, small] for scale in (KEEPS, FOLLOWS) if (scale, small) in courses},
        )
    return panels


def claims_of_scaling(rows: Sequence[Row], grid: Sequence[float]) -> list[Claim]:
    """Each sentence for every reading."""
    panels = panels_of(rows, grid)
    readings = list(dict.fromkeys(steps for _, steps in panels))
    claims = []
    for steps in readings:
        own = {data: panel for (data, reading), panel in panels.items() if reading == steps}
        claims.append(
            every(
                f"steps {steps}, λ a thousandth of the best, s = 1: the error ends above {_CAUGHT_UP:g} times the best",
                "when highly under-regularized, and without scaling, the learning algorithm just wanders about",
                {data: _end(panel.under) > _CAUGHT_UP * _end(panel.best) for data, panel in own.items()},
                "; "
                + "; ".join(
                    f"{data} {_words(panel.under)} (λ = {panel.small:g}), "
                    f"best {_words(panel.best)} (λ = {panel.alpha:g})"
                    for data, panel in own.items()
                ),
            )
        )
        for scale in next(iter(own.values())).rescaled:
            claims += _rescaled(own, steps, scale)
    return claims


def _rescaled(own: dict[str, Panel], steps: str, scale: str) -> list[Claim]:
    ends = "; " + "; ".join(
        f"{data} {_words(panel.rescaled[scale])}, without {_words(panel.under)}, best {_words(panel.best)}"
        for data, panel in own.items()
    )
    return [
        every(
            f"steps {steps}, {scale}: the error ends below that without the reset",
            "using the data-driven scaling procedure, the learning algorithm is almost immediately accelerated",
            {data: _end(panel.rescaled[scale]) < _end(panel.under) for data, panel in own.items()},
            ends,
            _why_no_faster(scale, steps),
        ),
        every(
            f"steps {steps}, {scale}: the error ends within a factor of {_CAUGHT_UP:g} of the best-regularised one",
            "in less time essentially catches up with the performance achieved under the best regularization possible",
            {data: _end(panel.rescaled[scale]) <= _CAUGHT_UP * _end(panel.best) for data, panel in own.items()},
            ends,
            _why_no_faster(scale, steps) or _WEAK_DIRECTIONS,
        ),
    ]


def _why_no_faster(scale: str, steps: str) -> str:
    """Why a reset does not help; of that which helps, nothing."""
    if scale == FOLLOWS:
        return (
            "with s in the step size an update is ψ(u/s)/(√λ·t), about u/(s√λ·t): s·√λ = √(n·v/(2·log(1/δ))) makes all "
            "steps after the reset small, and the error stays about where it is"
        )
    if "√" not in steps:
        return "steps of 1/(λt) times slopes that s no longer cuts are too long until t is of the size of ‖x‖²/λ"
    return ""


def _end(errors: Array) -> float:
    return float(errors[:, -1].mean())


def _words(errors: Array) -> str:
    last = errors[:, -1]
    spread = last.std(ddof=1) / np.sqrt(last.size) if last.size > 1 else 0.0
    return f"{last.mean():.2%} ± {spread:.2%}"
