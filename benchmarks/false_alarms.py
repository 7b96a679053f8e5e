"""How often Pflug's diagnostic and the distance test fire while SGD is still on its way.

Run as ``python benchmarks/false_alarms.py [--out PICTURE.png] [--runs 200] [--seed 0]``. Explicit SGD with a constant
step γ from θ = 0 on a stream x ~ N(0, I) in 20 features: y = xᵀθ* + ε with ε ~ N(0, 1) and the squared loss, or
P(y = 1) = 1/(1 + exp(−xᵀθ*)) and the logistic loss. The excess risk is exact at every θ. Its stationary mean is that
of the second half of 16/(γμ) samples, μ the smallest curvature at θ*.

n* is the first sample at which the mean risk of the runs is within twice the stationary mean, "median n" the median of
those at which a run's own risk is. A rule that fires before n* raises a false alarm. Of the runs that a rule ended:
the fraction whose own risk was then above twice the stationary mean ("too high"), and the medians of the ratio of the
two risks and of the sample. "Distance, k ≥ 12" judges slopes from 1.5¹² ≈ 130 samples on, the default from 1.5⁵ ≈ 8.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import expit

from sgdone.interfaces.stop_rule import Status
from sgdone.losses import Logistic, Loss, Squared
from sgdone.papers.diagnostics.models import GaussianModel, binary, decaying, normal
from sgdone.papers.runs import fit
from sgdone.run import Hook, Result
from sgdone.solvers import SGD
from sgdone.steps import Constant
from sgdone.stopping import Distance, MaxSamples, Pflug, Progress, StopRule

FEATURES, BUDGET, POINTS = 20, 50_000, 600
RULES: dict[str, StopRule] = {
    "Pflug, 50": Pflug(50),
    "Pflug, 500": Pflug(500),
    "Distance": Distance(),
    "Distance, k ≥ 12": Distance(first=12),
}
COLOURS = ("tab:red", "tab:orange", "tab:blue", "tab:cyan")

Array = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class Problem:
    """A stream, its loss and the exact excess risk."""

    name: str
    loss: Loss
    model: GaussianModel
    excess_risk: Callable[[Array], float]
    #: Smallest curvature of the risk at θ*.
    curvature: float
    steps: tuple[float, ...]


def quadratic() -> Problem:
    optimum = decaying(FEATURES)
    return Problem(
        "quadratic",
        Squared(),
        GaussianModel(optimum, np.eye(FEATURES), normal(1.0)),
        lambda theta: 0.5 * float(np.sum((theta - optimum) ** 2)),
        1.0,
        (0.001, 0.003, 0.01),
    )


def logistic() -> Problem:
    """θ* of length 2: E[log(1 + exp(−y·xᵀθ))] = E[log(1 + exp(‖θ‖Z))] − θᵀθ*·E[q′(‖θ*‖Z)] (Stein), Z ~ N(0, 1)."""
    optimum = decaying(FEATURES)
    optimum *= 2.0 / np.linalg.norm(optimum)
    q = expit(2.0 * NODES)
    mean_slope = float(WEIGHTS @ (q * (1.0 - q)))

    def risk(theta: Array) -> float:
        return float(WEIGHTS @ np.logaddexp(0.0, np.linalg.norm(theta) * NODES) - mean_slope * (theta @ optimum))

    least = risk(optimum)
    along = float(WEIGHTS @ (q * (1.0 - q) * NODES**2))
    model = GaussianModel(optimum, np.eye(FEATURES), binary)
    return Problem("logistic", Logistic(), model, lambda theta: risk(theta) - least, along, (0.003, 0.01, 0.03))


@dataclass(frozen=True)
class Course:
    """The mean excess risk along the runs, its stationary value, and n*, where it first is within twice that."""

    samples: Array
    mean: Array
    stationary: float
    reached: int
    #: The median over the runs of where their own risk first is.
    median_reached: float


@dataclass(frozen=True)
class Firing:
    """Where a rule fired in each run (NaN: not within the budget), and the excess risk there."""

    samples: Array
    risks: Array


def one_run(
    problem: Problem,
    gamma: float,
    stop: StopRule,
    seed: np.random.SeedSequence,
    block_size: int | None = None,
    hook: Hook | None = None,
) -> Result:
    task = "regression" if problem.loss.quadratic else "classification"
    return fit(
        problem.model.stream(),
        problem.loss,
        SGD(),
        stop,
        np.random.default_rng(seed),
        step=Constant(gamma),
        fit_intercept=False,
        task=task,
        block_size=block_size,
        hook=hook,
    )


def course_of(problem: Problem, gamma: float, seeds: list[np.random.SeedSequence]) -> Course:
    """Mean over the runs at equally spaced samples, a power of two apart: blocks of the stream end there too."""
    length = 16 / (gamma * problem.curvature)
    stretch = 2 ** max(0, round(np.log2(length / POINTS)))
    samples = np.arange(0, length + stretch, stretch)
    courses = []
    for seed in seeds:
        risks = [problem.excess_risk(np.zeros(FEATURES))]

        def evaluate(progress: Progress, risks: list[float] = risks) -> None:
            risks.append(problem.excess_risk(progress.solution().coef[0]))

        one_run(problem, gamma, MaxSamples(int(samples[-1])), seed, stretch, evaluate)
        courses.append(risks)
    mean = np.mean(courses, axis=0)
    stationary = float(mean[mean.size // 2 :].mean())
    own = samples[np.argmax(np.array(courses) < 2 * stationary, axis=1)]
    reached = int(samples[np.argmax(mean < 2 * stationary)])
    return Course(samples, mean, stationary, reached, float(np.median(own)))


def firing_of(problem: Problem, gamma: float, rule: StopRule, seeds: list[np.random.SeedSequence]) -> Firing:
    results = [one_run(problem, gamma, rule | MaxSamples(BUDGET), seed) for seed in seeds]
    fired = [result.verdict.status in (Status.CONVERGED, Status.STALLED) for result in results]
    samples = [result.verdict.step if f else np.nan for result, f in zip(results, fired, strict=True)]
    risks = [
        problem.excess_risk(result.model.coef[0]) if f else np.nan for result, f in zip(results, fired, strict=True)
    ]
    return Firing(np.array(samples), np.array(risks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", help="where to write the picture")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    seeds = np.random.SeedSequence(arguments.seed).spawn(arguments.runs)
    table = Table(title=f"False alarms in {arguments.runs} runs, budget {BUDGET:,} samples")
    words = ("problem", "rule")
    headings = (
        "γ",
        "stationary",
        "n*",
        "median n",
        "rule",
        "false alarms",
        "too high",
        "risk ratio",
        "median firing",
        "never",
    )
    for heading in ("problem", *headings):
        table.add_column(heading, justify="left" if heading in words else "right", no_wrap=True)
    panels = []
    for problem in (quadratic(), logistic()):
        for gamma in problem.steps:
            course = course_of(problem, gamma, seeds)
            firings = {name: firing_of(problem, gamma, rule, seeds) for name, rule in RULES.items()}
            panels.append((f"{problem.name}, γ = {gamma:g}", course, firings))
            about = [problem.name, f"{gamma:g}", f"{course.stationary:.2e}", f"{course.reached:,}"]
            about.append(f"{course.median_reached:,.0f}")
            for name, firing in firings.items():
                table.add_row(*about, name, *summary(course, firing))
                about = [""] * 5
            table.add_section()
    Console(width=140).print(table)
    if arguments.out:
        draw(panels, arguments.runs, arguments.out)


def summary(course: Course, firing: Firing) -> list[str]:
    """Cells of the table: false alarms and silence of all runs, the others of those that fired."""
    fired = np.isfinite(firing.samples)
    if not fired.any():
        return ["0%", "–", "–", "–", "100%"]
    ratios = firing.risks[fired] / course.stationary
    return [
        f"{np.mean(firing.samples < course.reached):.0%}",
        f"{np.mean(ratios > 2):.0%}",
        f"{np.median(ratios):,.1f}",
        f"{np.median(firing.samples[fired]):,.0f}",
        f"{np.mean(~fired):.0%}",
    ]


def draw(panels: list[tuple[str, Course, dict[str, Firing]]], runs: int, path: str) -> None:
    """The mean risk of each problem and step size, and how many runs each rule has ended by then."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.0, 8.0), layout="constrained")
    for axis, (title, course, firings) in zip(figure.subplots(2, 3).flat, panels, strict=True):
        axis.plot(course.samples[1:], course.mean[1:], color="black", label="mean excess risk")
        axis.axhline(
            2 * course.stationary, color="0.5", linestyle="--", linewidth=0.9, label="twice its stationary mean"
        )
        axis.axvline(course.reached, color="0.5", linestyle=":", linewidth=1.2, label="n*")
        axis.set(xscale="log", yscale="log", xlabel="samples", title=title, xlim=(5, BUDGET))
        fractions = axis.twinx()
        for colour, (name, firing) in zip(COLOURS, firings.items(), strict=True):
            fired = np.sort(firing.samples[np.isfinite(firing.samples)])
            heights = np.arange(1, fired.size + 1) / runs
            fractions.step(
                [5, *fired, BUDGET], [0, *heights, heights[-1] if fired.size else 0], where="post", color=colour
            )
            axis.plot([], [], color=colour, label=f"{name}: fraction of runs ended")
        fractions.set_ylim(0, 1.02)
        if axis.get_subplotspec().is_first_col():
            axis.set_ylabel("excess risk")
        if axis.get_subplotspec().is_last_col():
            fractions.set_ylabel("fraction of runs ended")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=4, frameon=False)
    figure.suptitle(f"Where the rules fire, {runs} runs of SGD with constant steps, {FEATURES} features")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
