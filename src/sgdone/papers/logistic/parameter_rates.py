"""Where the parameters go, and how fast: to v̄ along S, and in direction to ū."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from sgdone.diagnose import constrained_optimum
from sgdone.papers.claims import AlsoTried, Claim, Sentence, every
from sgdone.papers.drawing import Axes, Figure, grid_lines, legend_below
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.logistic.descent import descend, mean_loss
from sgdone.papers.logistic.problems import PROBLEMS, LogisticProblem
from sgdone.papers.logistic.theory import (
    direction_bound,
    finite_part_bound,
    gd_norm_bounds,
    inverse_root_step_sum,
    parameter_bound_start,
    parameter_rates,
)
from sgdone.papers.tables import Array, checkpoints, column

#: Step sizes of Theorem 3.6.
STEPS = "1/√(j+1)"
DESCENT, OPTIMAL = WHO = "w_t", "optimal iterate"
#: Rates are checked from this step on; squares of distances below this are rounding.
FROM, ROUNDING = 100, 1e-24
_FINITE = [name for name, problem in PROBLEMS.items() if problem.axes]
_INFINITE = [name for name, problem in PROBLEMS.items() if problem.direction]
_STYLES = {WHO[0]: ("-", "tab:red"), WHO[1]: ("-.", "tab:purple")}
_RATES = {"finite_part": "ln(t)²/√t", "direction": "ln(ln(t))/ln(t)"}


@final
@dataclass(frozen=True)
class LogisticParameterRates(Experiment[str, None]):
    """Theorem 1.2, part 2: the squares of ‖Π_S w_t − v̄‖ and ‖w_t/‖w_t‖ − ū‖ with steps 1/√(j + 1), logistic loss.

    S, v̄ and ū are known exactly. Beside gradient descent's w_t there is the optimal iterate, the minimiser over
    ‖w‖ ≤ ‖w_t‖. Bounds with known constants are Lemmas D.1 and D.5; the theorem itself gives rates.
    """

    steps: int = 1_000_000
    name = "logistic-parameter-rates"
    title = "Parameters of gradient descent with steps 1/√(j + 1): distances to v̄ and ū, and their rates"
    paper = "Ji, Telgarsky (2018), Theorem 1.2, part 2"
    quick: ClassVar = {"steps": 100_000}
    smoke: ClassVar = {"steps": 3000}
    random = False
    figure_size = (16.0, 11.0)

    def tasks(self) -> Sequence[str]:
        """The five problems."""
        return list(PROBLEMS)

    def measure(self, task: str, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """Both distances, both bounds, and norms, at each recorded step."""
        problem = PROBLEMS[task]
        points = checkpoints(1, self.steps)
        iterates = descend(problem.rows, STEPS, points).iterates
        radii = np.linalg.norm(iterates, axis=1)
        best = constrained_optimum(problem.rows * problem.labels[:, None], problem.labels, radii)
        finite_bound = self._finite_bound(problem, points)
        rows = []
        for who, places in ((DESCENT, iterates), (OPTIMAL, best.coef)):
            inside = places @ problem.subspace
            across = np.linalg.norm(places - inside @ problem.subspace.T, axis=1)
            finite = np.sum((inside - problem.v() @ problem.subspace) ** 2, axis=1)
            excess = mean_loss(problem.rows, places) - problem.infimum()
            direction, bound = _directions(problem, places, np.linalg.norm(inside, axis=1), excess)
            rows += [
                {
                    "problem": task,
                    "who": who,
                    "t": int(t),
                    "norm": float(radii[k]),
                    "norm_across_S": float(across[k]),
                    "norm_in_S": float(np.linalg.norm(inside[k])),
                    "finite_part_squared": float(finite[k]) if problem.axes else None,
                    "finite_part_bound": float(finite_bound[k]) if problem.axes else None,
                    "direction_squared": float(direction[k]) if problem.direction else None,
                    "direction_bound": float(bound[k]) if problem.direction else None,
                }
                for k, t in enumerate(points)
            ]
        return rows

    @staticmethod
    def _finite_bound(problem: LogisticProblem, points: Any) -> Array:
        if not problem.axes:
            return np.full(len(points), math.nan)
        v_norm = float(np.linalg.norm(problem.v()))
        return np.asarray(finite_part_bound(points, v_norm, problem.margin, problem.modulus()))

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Bounds, rates and norms."""
        return [
            _bound_claim(rows, "finite_part", "Lemma D.1", _FINITE),
            _bound_claim(rows, "direction", "Lemma D.5", _INFINITE),
            _rate_claim(rows, "finite_part", "ln(t)²/√t", _FINITE),
            _rate_claim(rows, "direction", "ln(ln(t))/ln(t)", _INFINITE),
            _norm_claim(rows),
            _growth_claim(rows),
        ]

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """The faster rate that the paper leaves open, and when the condition of Theorem 3.6 holds."""
        return [_faster(rows), _condition(rows)]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """Distances to v̄ above, to ū in the middle, norms below."""
        panels: Any = figure.subplots(3, len(PROBLEMS), sharex=True)
        for name, panel in zip(PROBLEMS, panels.T, strict=True):
            panel[0].set_title(name)
            for axis, part in zip(panel, _RATES, strict=False):
                _draw_distances(axis, rows, name, part)
            _draw_norms(panel[2], rows, name)
            panel[2].set_xlabel("t")
        for axis, label in zip(panels[:, 0], ("‖Π_S w − v̄‖²", "‖w/‖w_t‖ − ū‖²", "norms of w_t"), strict=True):
            axis.set_ylabel(label)
        for axis in panels.ravel():
            axis.set_xscale("log")
            grid_lines(axis)
            axis.minorticks_off()
        legend_below(figure, *panels[:, -1], columns=5)
        return ""


def _directions(problem: LogisticProblem, places: Array, inside: Array, excess: Array) -> tuple[Array, Array]:
    """Squared distances to ū, and Lemma D.5's bound on them where its assumption holds, else 4."""
    if problem.u is None:
        nothing = np.full(len(places), math.nan)
        return nothing, nothing
    norms = np.linalg.norm(places, axis=1)
    bound = np.full(len(places), 4.0)
    near = excess <= 1.0 / len(problem.rows)
    if near.any():
        bound[near] = direction_bound(norms[near], excess[near], len(problem.rows), problem.margin, inside[near])
    return np.sum((places / norms[:, None] - problem.u) ** 2, axis=1), bound


def series(rows: Sequence[Row], problem: str, who: str, name: str) -> Array:
    """A column of a problem, in the order of t."""
    return column(rows, name, problem=problem, who=who)


def _bound_claim(rows: Sequence[Row], part: str, lemma: str, names: list[str]) -> Claim:
    within = {}
    for name in names:
        for who in WHO:
            found, bound = (series(rows, name, who, f"{part}_{kind}") for kind in ("squared", "bound"))
            within[f"{who}, {name}"] = bool(np.all(found <= bound + ROUNDING))
    point = "v̄" if part == "finite_part" else "ū"
    sentence = Sentence(f"the bound on the distance to {point}", lemma)
    return every(sentence, f"the squared distance to {point} is within {lemma} at every t", within)


def _rate_claim(rows: Sequence[Row], part: str, rate: str, names: list[str]) -> Claim:
    """O(rate) shows as a ratio to the rate that is largest early."""
    falling, ends = {}, []
    for name in names:
        for who in WHO:
            t = series(rows, name, who, "t")
            late = t >= FROM
            ratio = series(rows, name, who, f"{part}_squared")[late] / getattr(parameter_rates(t[late]), part)
            half = len(ratio) // 2
            falling[f"{who}, {name}"] = bool(ratio[half:].max() <= ratio[:half].max() + ROUNDING)
            ends.append(float(ratio[-1]))
    point = "v̄" if part == "finite_part" else "ū"
    return every(
        Sentence(f"the squared distance to {point} is O({rate})", "Theorem 1.2, part 2"),
        f"the squared distance to {point} over {rate} is never larger in the later half of t ≥ {FROM} (on a log axis)",
        falling,
        f"; at the end it is {min(ends):.2g} to {max(ends):.2g}",
    )


def _faster(rows: Sequence[Row]) -> AlsoTried:
    """The power p of ln(t) over the last two decades."""
    powers = {}
    for name in _INFINITE:
        t, found = (series(rows, name, WHO[0], key) for key in ("t", "direction_squared"))
        late = t >= t[-1] / 100
        powers[name] = -float(np.polyfit(np.log(np.log(t[late])), np.log(found[late]), 1)[0])
    return AlsoTried(
        "whether the squared distance to ū falls as 1/ln(t)² on data that are not separable (open, section 4)",
        "as ln(t) to the power of " + ", ".join(f"−{power:.2f} ({name})" for name, power in powers.items()),
    )


def _norm_claim(rows: Sequence[Row]) -> Claim:
    within = {}
    for name in _INFINITE:
        problem = PROBLEMS[name]
        t, across, inside = (series(rows, name, WHO[0], key) for key in ("t", "norm_across_S", "norm_in_S"))
        bounds = gd_norm_bounds(
            t.astype(np.int64),
            inverse_root_step_sum(t),
            float(np.linalg.norm(problem.v())),
            problem.margin,
            float(inside.max()),
            len(problem.rows),
            len(problem.separable),
        )
        within[name] = bool(np.all((bounds.lower <= across) & (across <= bounds.upper)))
    sentence = Sentence("the lower and the upper bound on |Π_⊥ w_t|", "Lemma D.2")
    return every(sentence, "the norm of w_t across S is within Lemma D.2's bounds at every t", within)


def _growth_claim(rows: Sequence[Row]) -> Claim:
    """Θ(ln t) and Θ(1): ratios that stay within a factor of two over the last two decades."""
    steady, ends = {}, []
    for name in _INFINITE:
        t, across, inside = (series(rows, name, WHO[0], key) for key in ("t", "norm_across_S", "norm_in_S"))
        late = t >= t[-1] / 100
        ratio = across[late] / np.log(t[late])
        steady[f"{name}, across S"] = bool(ratio.max() <= 2 * ratio.min())
        ends.append(f"{ratio[-1]:.2f} ({name})")
        if PROBLEMS[name].axes:
            steady[f"{name}, in S"] = bool(inside[late].max() <= 2 * inside[late].min())
    return every(
        Sentence("|Π_⊥ w_t| = Θ(ln(t)) and |Π_S w_t| = Θ(1)", "Theorem 1.2, part 2"),
        "over the last two decades the norm across S over ln(t), and the norm in S, change by less than a factor of 2",
        steady,
        f"; the former ends at {', '.join(ends)}",
    )


def _condition(rows: Sequence[Row]) -> AlsoTried:
    starts = {}
    for name in _INFINITE:
        reach = float(series(rows, name, WHO[0], "norm_in_S").max())
        starts[name] = parameter_bound_start(len(PROBLEMS[name].rows), PROBLEMS[name].margin, reach)
    return AlsoTried(
        "when the condition in the proof of Theorem 3.6, √t/ln(t)³ ≥ n(1 + R)/γ⁴, holds",
        "from " + ", ".join(f"t = {start:.1e} ({name}) on" for name, start in starts.items()),
    )


def _draw_distances(axis: Axes, rows: Sequence[Row], name: str, part: str) -> None:
    """Both distances, the bound, and the rate through the largest ratio from t = 100 on."""
    t = series(rows, name, WHO[0], "t")
    found = {who: series(rows, name, who, f"{part}_squared") for who in WHO}
    if np.isnan(found[WHO[0]]).all():
        axis.text(
            0.5,
            0.5,
            "S = {0}" if part == "finite_part" else "no row is separable",
            ha="center",
            va="center",
            transform=axis.transAxes,
            color="0.4",
        )
        axis.set_yticks([])
        return
    for who, (line, colour) in _STYLES.items():
        shown = np.where(found[who] > ROUNDING, found[who], np.nan)
        axis.plot(t, shown, line, color=colour, linewidth=1.5, label=who)
    bound = series(rows, name, WHO[0], f"{part}_bound")
    lemma = "Lemma D.1" if part == "finite_part" else "Lemma D.5"
    axis.plot(t, bound, "--", color="black", linewidth=1.0, label=f"{lemma}, of w_t")
    late = t >= FROM
    rate = getattr(parameter_rates(t[late]), part)
    constant = float(np.max(found[WHO[0]][late] / rate))
    axis.plot(t[late], constant * rate, color="0.6", linewidth=1.2, label=f"{_RATES[part]}, scaled")
    if part == "direction":
        square = np.log(t[late]) ** -2.0
        axis.plot(t[late], square * found[WHO[0]][-1] / square[-1], ":", color="0.4", label="1/ln(t)², scaled")
    axis.set_yscale("log")


def _draw_norms(axis: Axes, rows: Sequence[Row], name: str) -> None:
    t, across, inside = (series(rows, name, WHO[0], key) for key in ("t", "norm_across_S", "norm_in_S"))
    axis.plot(t, across, color="tab:green", linewidth=1.5, label="‖Π_⊥ w_t‖")
    axis.plot(t, inside, color="tab:blue", linewidth=1.5, label="‖Π_S w_t‖")
    axis.axhline(float(np.linalg.norm(PROBLEMS[name].v())), color="tab:blue", linestyle=":", linewidth=1.0, label="‖v̄‖")
