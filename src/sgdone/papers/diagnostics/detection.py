"""Whether iterates have forgotten the start when Pflug's diagnostic fires."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.losses import Squared
from sgdone.papers.claims import AlsoTried, Claim
from sgdone.papers.diagnostics.coefficients import Coefficient
from sgdone.papers.diagnostics.detection_claims import PRINTED, Design, Line, claims_of, lines_of, printed, summary
from sgdone.papers.diagnostics.models import GaussianModel, decaying, normal
from sgdone.papers.drawing import Axes, Figure, grid_lines
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.runs import fired, fit, updates
from sgdone.papers.tables import Array
from sgdone.rows import ArraySource
from sgdone.run.result import Result
from sgdone.solvers import ISGD
from sgdone.steps import Constant
from sgdone.stopping import MaxPasses, MaxSamples, Pflug, StopRule

SIGMA = 3.0
#: Standard deviation of the entries of θ₀ − θ*.
START = 2.0
#: A run is drawn again until 2τ lies within the rows, at most this many times.
_ATTEMPTS = 50
_COLOURS = ("tab:red", "tab:blue")
_NAMES = ("τ/2", "2τ")


#: Burn-in 0.1·N with N = 1000, the number of rows that the printed coefficients point to.
MAIN = Design(1000, 100, one_pass=True)
#: Burn-in 0.1·N and 0.01·N with N = 5000 as printed.
AS_PRINTED, SHORTER = Design(5000, 500, one_pass=False), Design(5000, 50, one_pass=False)


class Trial(NamedTuple):
    """One run of Algorithm 1."""

    design: Design
    gamma: float
    number: int


@final
@dataclass(frozen=True)
class DiagnosticsDetection(Experiment[Trial, None]):
    """Table 1: E_n = ‖θ_n − θ*‖² at half and at twice the sample τ where the diagnostic fires, regressed on E₀ and τ.

    p = 20, σ = 3, θ₀ ~ N(θ*, 4I), data and start drawn again for each run, rows in random order, implicit updates: the
    paper does not say which, and explicit ones diverge at the larger γ. The paper prints N = 5000 and a burn-in of
    0.1·N, with which E_{τ/2} no longer depends on E₀. The main reading is N = 1000, burn-in 0.1·N, one pass, and runs
    with 2τ ≤ N. Also tried are the printed burn-in and a tenth of it, in passes without end.
    """

    trials: int = 100
    n_features: int = 20
    gammas: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    designs: tuple[Design, ...] = (MAIN, AS_PRINTED, SHORTER)
    name = "diagnostics-detection"
    title = "Does the error at τ/2 and at 2τ depend on that at the start? τ is where Pflug's diagnostic fires"
    paper = "Chee, Toulis (2018), Table 1"
    quick: ClassVar = {"trials": 50, "designs": (MAIN,)}
    smoke: ClassVar = {"trials": 8, "designs": (MAIN, Design(1000, 50, one_pass=False))}
    figure_size = (13.5, 9.0)

    def tasks(self) -> Sequence[Trial]:
        """Every run."""
        numbers = range(self.trials)
        return [Trial(design, gamma, k) for design in self.designs for gamma in self.gammas for k in numbers]

    def measure(self, task: Trial, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """Find τ, then go to τ/2 and to 2τ through the same rows in the same order."""
        for attempt in seed.spawn(_ATTEMPTS):
            row = self._run(task, attempt)
            if row["fired"] and (not task.design.one_pass or 2 * row["tau"] <= task.design.n_rows):
                break
        else:
            row["fired"] = 0
        return [row]

    def _run(self, task: Trial, seed: np.random.SeedSequence) -> Row:
        for_data, order = seed.spawn(2)
        rng = np.random.default_rng(for_data)
        optimum = decaying(self.n_features)
        model = GaussianModel(optimum, np.eye(optimum.size), normal(SIGMA))
        source = ArraySource(*model.draw(rng, task.design.n_rows))
        start = optimum + START * rng.standard_normal(optimum.size)

        def error(coef: Array) -> float:
            return float(np.sum((coef - optimum) ** 2))

        def run_until(stop: StopRule) -> Result:
            settings: dict[str, Any] = {"fit_intercept": False, "task": "regression", "start": start}
            return fit(source, Squared(), ISGD(), stop, order, step=Constant(task.gamma), **settings)

        detected = run_until(Pflug(task.design.burn_in) | MaxPasses(1 if task.design.one_pass else 100))
        tau = updates(detected)
        return {
            "n_rows": task.design.n_rows,
            "burn_in": task.design.burn_in,
            "gamma": task.gamma,
            "trial": task.number,
            "fired": int(fired(detected)),
            "tau": tau,
            "E_0": error(start),
            "E_half": error(run_until(MaxSamples(tau // 2)).model.coef[0]),
            "E_double": error(run_until(MaxSamples(2 * tau)).model.coef[0]),
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The sentences about the table, under the main reading."""
        return claims_of(lines_of(rows)[self.designs[0].label])

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """The other burn-ins."""
        lines = lines_of(rows)
        return [
            AlsoTried(f"{design.label}, passes without end", summary(lines[design.label]))
            for design in self.designs[1:]
        ]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """Coefficients with 95 % intervals compared with the printed ones, and the table."""
        lines = lines_of(rows)
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.5, 1.0))
        above, below = parts
        panels = above.subplots(1, len(lines), sharey=True, squeeze=False)[0]
        for axis, (label, own) in zip(panels, lines.items(), strict=True):
            _draw_coefficients(axis, own)
            axis.set_title(label, fontsize="medium")
        panels[0].set_ylabel("coefficient of E₀")
        panels[-1].legend(loc="upper right", fontsize="small")
        _write(below.subplots(), lines)
        return f"{self.trials} runs per γ, implicit updates"


def _draw_coefficients(axis: Axes, lines: Sequence[Line]) -> None:
    places = np.arange(len(lines))
    axis.axhline(0.0, color="0.6", linewidth=0.8)
    for column, (colour, name) in enumerate(zip(_COLOURS, _NAMES, strict=True)):
        ours = [(line.half, line.double)[column] for line in lines]
        estimates = np.array([coefficient.estimate for coefficient in ours])
        widths = np.array([coefficient.high - coefficient.estimate for coefficient in ours])
        shift = places + (-0.12, 0.12)[column]
        axis.errorbar(shift, estimates, widths, fmt="o", color=colour, capsize=3, label=f"at {name}, 95 % interval")
        theirs = [printed(line.gamma, column) for line in lines]
        axis.plot(shift, theirs, "x", color=colour, markersize=7, alpha=0.6, label=f"at {name}, as printed")
    axis.set_xticks(places, [f"{line.gamma:g}" for line in lines])
    axis.set_xlabel("γ")
    grid_lines(axis, along="y")


def _write(axis: Axes, lines: dict[str, list[Line]]) -> None:
    """The table, one line per γ; stars as in the paper."""
    heads = ["γ", "τ/2, printed", "2τ, printed"]
    heads += [f"{what}\n{label.replace(', ', chr(10))}" for label in lines for what in ("τ/2,", "2τ,", "median τ,")]
    cells = []
    for own in zip(*lines.values(), strict=True):
        gamma = own[0].gamma
        cells.append([f"{gamma:g}", *PRINTED[gamma]])
        for line in own:
            cells[-1] += [_cell(line.half), _cell(line.double), f"{line.median_tau:,.0f}"]
    from matplotlib.transforms import Bbox

    axis.axis("off")
    table = axis.table(cells, colLabels=heads, cellLoc="center", edges="horizontal", bbox=Bbox.unit())
    table.auto_set_font_size(False)
    table.set_fontsize(9.5)
    for (line_number, _), cell in table.get_celld().items():
        cell.set_edgecolor("0.8")
        if line_number == 0:
            cell.set_height(3.0 * cell.get_height())


def _cell(coefficient: Coefficient) -> str:
    return f"{coefficient.estimate:.3f} {coefficient.stars:<3}"
