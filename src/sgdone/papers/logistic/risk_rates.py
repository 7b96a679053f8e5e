"""How fast the risk falls, with SGD on separable data and with gradient descent on any."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim, Sentence, every
from sgdone.papers.drawing import Axes, Figure
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.logistic.descent import STEPS, descend, mean_loss, perceptron_means
from sgdone.papers.logistic.problems import PROBLEMS
from sgdone.papers.logistic.theory import gd_risk_bound, sgd_norm_bound, sgd_risk_bound
from sgdone.papers.tables import Array, by_run, checkpoints, column, where

SGD = "sgd"
#: With a confidence of 1 − DELTA.
DELTA = 0.05
#: Below this a difference of two risks is rounding.
ROUNDING = 1e-14
#: The rate of Theorem 1.2, part 1, by the steps: the power of t beside ln(t)².
_POWERS = dict(zip(STEPS, (-1.0, -0.5), strict=True))
#: Rates are checked from this step on.
_FROM = 100
_BOUND = Sentence("the bound on the empirical risk of gradient descent above its infimum", "Theorem 3.2")
_SGD_BOUND = Sentence("with probability at least 1 − δ the sum of the risks is within the bound", "Theorem 2.1")
_SGD_RATE = Sentence("SGD with constant step sizes minimizes the population risk R_log at rate Õ(1/t)", "Theorem 1.1")
_SGD_NORM = Sentence("For any t ≥ 1, |w_t| ≤ 2 ln(t)/γ + 2", "Theorem 2.1")
_COLOURS = dict(zip(STEPS, ("tab:red", "tab:orange"), strict=True))


class Task(NamedTuple):
    """Gradient descent on a problem, or one run of SGD on the separable one."""

    problem: str
    steps: str
    run: int | None


@final
@dataclass(frozen=True)
class LogisticRiskRates(Experiment[Task, None]):
    """Theorems 1.1 and 1.2, part 1: the logistic risk above its infimum, which is known exactly, and the bounds.

    SGD with steps of 1 draws the seven rows of the separable problem, each as likely as the others, so that the
    expected loss is a mean over them; its risk is that of the mean of its iterates. The bound holds with probability
    1 − δ at each t. Gradient descent runs on separable, strongly convex and mixed data.
    """

    runs: int = 100
    samples: int = 100_000
    steps: int = 1_000_000
    name = "logistic-risk-rates"
    title = "The logistic risk above its infimum, and its bounds"
    paper = "Ji, Telgarsky (2018), Theorems 1.1 and 1.2, part 1"
    quick: ClassVar = {"runs": 40, "samples": 30_000, "steps": 100_000}
    smoke: ClassVar = {"runs": 10, "samples": 1000, "steps": 3000}
    figure_size = (15.0, 9.0)

    def tasks(self) -> Sequence[Task]:
        """Descents, then runs."""
        descents = [Task(problem, steps, None) for problem in PROBLEMS for steps in STEPS]
        return descents + [Task("separable", SGD, k) for k in range(self.runs)]

    def measure(self, task: Task, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """Risk above the infimum, bound and norm, at each recorded step."""
        problem = PROBLEMS[task.problem]
        if task.steps == SGD:
            points = checkpoints(1, self.samples)
            picks = np.random.default_rng(seed).integers(len(problem.rows), size=self.samples)
            iterates, evaluated = perceptron_means(problem.rows, picks, points)
            bound = sgd_risk_bound(points, problem.margin, DELTA)
        else:
            points = checkpoints(1, self.steps)
            descent = descend(problem.rows, task.steps, points)
            iterates = evaluated = descent.iterates
            v_norm = float(np.linalg.norm(problem.v()))
            bound = gd_risk_bound(points, descent.step_sums, v_norm, problem.margin)
        excess = mean_loss(problem.rows, evaluated) - problem.infimum()
        norms = np.linalg.norm(iterates, axis=1)
        return [
            {
                "problem": task.problem,
                "steps": task.steps,
                "run": task.run,
                "t": int(t),
                "excess_risk": float(excess[k]),
                "bound": float(bound[k]),
                "norm": float(norms[k]),
            }
            for k, t in enumerate(points)
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Bounds, rates and norms."""
        curves = {(name, steps): curve_of(rows, name, steps) for name in PROBLEMS for steps in STEPS}
        return [
            _bound_claim(curves),
            *(_rate_claim(steps, curves) for steps in STEPS),
            *_sgd_claims(curve_of(rows, "separable", SGD)),
        ]

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """The power of t on separable data, where logarithms make the slope a little flatter."""
        powers = {steps: curve_of(rows, "separable", steps).exponent() for steps in STEPS}
        return [
            AlsoTried(
                f"gradient descent, separable data, steps {steps}: power of t over the last two decades",
                f"{power:.3f}, the rate without logarithms has {_POWERS[steps]:g}",
            )
            for steps, power in powers.items()
        ]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """A panel per problem, and one of SGD."""
        panels: Any = figure.subplots(2, 3, sharex=False)
        first, *others = panels.ravel()
        _draw_sgd(first, curve_of(rows, "separable", SGD))
        for axis, name in zip(others, PROBLEMS, strict=True):
            lowest = np.inf
            for steps, colour in _COLOURS.items():
                curve = curve_of(rows, name, steps)
                shown = np.where(curve.excess[0] > ROUNDING, curve.excess[0], np.nan)
                axis.plot(curve.t, shown, color=colour, linewidth=1.6, label=f"gradient descent, η = {steps}")
                axis.plot(curve.t, curve.bound, "--", color=colour, linewidth=1.1, label="Theorem 3.2")
                lowest = min(lowest, float(np.nanmin(shown)))
            axis.set(title=f"gradient descent, {name}", ylim=(lowest / 3, None))
        for axis in panels.ravel():
            axis.set(xscale="log", yscale="log")
            axis.grid(color="0.93")
            axis.set_axisbelow(True)
            axis.minorticks_off()
        for axis in (first, others[0]):
            axis.legend(fontsize="small", loc="lower left")
        for axis in panels[:, 0]:
            axis.set_ylabel("risk above its infimum")
        for axis in panels[1]:
            axis.set_xlabel("t")
        return f"{self.runs} runs of SGD"


class RiskCurve(NamedTuple):
    """One method on one problem: numbers at each t, of each run in a row."""

    t: Array
    excess: Array
    bound: Array
    norms: Array

    def exponent(self, decades: float = 2.0) -> float:
        """The slope of the mean excess risk over the last decades, on log axes."""
        late = self.t >= self.t[-1] / 10**decades
        mean = np.maximum(self.excess.mean(axis=0), ROUNDING)[late]
        return float(np.polyfit(np.log(self.t[late]), np.log(mean), 1)[0])


def curve_of(rows: Sequence[Row], problem: str, steps: str) -> RiskCurve:
    """The measurements of a problem and steps."""
    here = where(rows, problem=problem, steps=steps)
    t, bound = (column(here, name, run=here[0]["run"]) for name in ("t", "bound"))
    return RiskCurve(t, by_run(here, "run", "excess_risk"), bound, by_run(here, "run", "norm"))


def _draw_sgd(axis: Axes, curve: RiskCurve) -> None:
    median, high = np.quantile(curve.excess, [0.5, 1.0 - DELTA], axis=0)
    axis.fill_between(curve.t, curve.excess.min(axis=0), curve.excess.max(axis=0), color="tab:blue", alpha=0.15)
    axis.plot(curve.t, median, color="tab:blue", linewidth=1.6, label="SGD, mean iterate: median (and all runs)")
    axis.plot(curve.t, high, ":", color="tab:blue", linewidth=1.4, label=f"{1 - DELTA:.0%} of the runs are below")
    axis.plot(curve.t, curve.bound, "--", color="tab:blue", linewidth=1.1, label=f"Theorem 2.1 over t, δ = {DELTA:g}")
    rate = np.log(curve.t) ** 2 / curve.t
    late = curve.t >= 100
    axis.plot(curve.t[late], (rate * median[-1] / rate[-1])[late], color="0.6", linewidth=1.0, label="ln(t)²/t, scaled")
    axis.set(title="SGD with steps of 1, separable")


def _bound_claim(curves: dict[tuple[str, str], RiskCurve]) -> Claim:
    within = {
        f"{name}, η = {steps}": bool(np.all(curve.excess[0] <= curve.bound)) for (name, steps), curve in curves.items()
    }
    ratios = [curve.bound[-1] / curve.excess[0, -1] for curve in curves.values() if curve.excess[0, -1] > ROUNDING]
    return every(
        _BOUND,
        "gradient descent's risk above the infimum is within the bound at every t",
        within,
        f"; at the end the bound is {min(ratios):.0f} to {max(ratios):.0f} times what is measured",
    )


def _rate_claim(steps: str, curves: dict[tuple[str, str], RiskCurve]) -> Claim:
    """O(rate) shows as a ratio to the rate that has its largest value early."""
    falling, ends = {}, []
    for (name, own), curve in curves.items():
        if own != steps:
            continue
        late = curve.t >= _FROM
        ratio = curve.excess[0, late] / (np.log(curve.t[late]) ** 2 * curve.t[late] ** _POWERS[steps])
        half = len(ratio) // 2
        falling[name] = bool(ratio[half:].max() <= ratio[:half].max())
        ends.append(max(ratio[-1], 0.0))
    rate = "ln(t)²/t" if _POWERS[steps] == -1.0 else "ln(t)²/√t"
    return every(
        Sentence(f"the risk above its infimum is O({rate})", "Theorem 1.2, part 1"),
        f"with steps {steps} the risk over {rate} is never larger in the later half of t ≥ {_FROM} (on a log axis)",
        falling,
        f"; at the end it is {min(ends):.2g} to {max(ends):.2g}",
    )


def _sgd_claims(curve: RiskCurve) -> list[Claim]:
    over = np.mean(curve.excess > curve.bound, axis=0)
    worst = np.max(curve.excess, axis=0)
    margin = PROBLEMS["separable"].margin
    norms = curve.norms.max(axis=0)
    bound = np.asarray(sgd_norm_bound(curve.t, margin))
    found = curve.exponent()
    return [
        Claim(
            _SGD_BOUND,
            f"at every t no more than {DELTA:.0%} of the runs of SGD have a mean iterate beyond the bound",
            f"{over.max():.1%}; the worst run is {np.min(curve.bound / worst):.0f} times below it or more",
            bool(over.max() <= DELTA),
        ),
        Claim(
            _SGD_RATE,
            "the risk of SGD's mean iterate falls as t to the power of −1, within 0.15",
            f"{found:.3f} over the last two decades",
            abs(found + 1.0) <= 0.15,
        ),
        Claim(
            _SGD_NORM,
            "no run of SGD leaves ‖w_t‖ ≤ 2·ln(t)/γ + 2",
            f"at most {np.max(norms / bound):.2f} of it; at the end {norms[-1]:.1f} of {bound[-1]:.1f}",
            bool(np.all(norms <= bound)),
        ),
    ]
