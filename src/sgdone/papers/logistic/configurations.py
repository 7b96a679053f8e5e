"""Four configurations of rows, what Theorem 3.1 says about them, and the path of gradient descent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from sgdone.diagnose import separation
from sgdone.papers.claims import Claim, Sentence, every
from sgdone.papers.drawing import Axes, Figure
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.logistic.descent import STEPS, descend, mean_loss
from sgdone.papers.logistic.problems import PLANE, PROBLEMS, LogisticProblem
from sgdone.papers.tables import Array, checkpoints, where

#: How well the diagnosis must know what is known by construction.
_EXACT = 1e-8
_PATHS = dict(zip(STEPS, ("tab:red", "tab:orange"), strict=True))
_IN_S, _APART = "tab:blue", "tab:green"
_STRUCTURE = Sentence(
    "There exists a unique partition of rows of A into matrices (A_S, A_c), and a corresponding pair of orthogonal "
    "subspaces (S, S⊥)",
    "Theorem 3.1",
)
_FINITE_PART = Sentence("convergence to v̄ ∈ S over the strongly convex part S (Π_S w_t → v̄)", "section 3.3")
_DIRECTION = Sentence(
    "convergence in direction (convergence of the normalized iterates) to ū ∈ S⊥ over the separable part S⊥",
    "section 3.3",
)


@final
@dataclass(frozen=True)
class LogisticConfigurations(Experiment[str, None]):
    """Figure 1 (a)–(d), with numbers of our own: the paper's are not given.

    The rows are chosen so that S, ū, γ and v̄ are known exactly; `sgdone.diagnose.separation` finds them again from the
    data, and gradient descent with steps 1 and 1/√(j + 1) runs on the logistic loss from 0.
    """

    steps: int = 1_000_000
    name = "logistic-configurations"
    title = "Four configurations of data, and the path of gradient descent"
    paper = "Ji, Telgarsky (2018), Fig. 1"
    quick: ClassVar = {"steps": 100_000}
    smoke: ClassVar = {"steps": 2000}
    random = False
    figure_size = (16.0, 8.4)

    def tasks(self) -> Sequence[str]:
        """The four configurations."""
        return [problem.name for problem in PLANE]

    def measure(self, task: str, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """Data, what was found of them, and the two paths."""
        problem = PROBLEMS[task]
        found = separation(problem.rows * problem.labels[:, None], problem.labels, fit_intercept=False)
        rows = [
            _row(task, "separable row" if apart else "row of S", None, k, point)
            for k, (point, apart) in enumerate(zip(problem.rows, found.separable_rows, strict=True))
        ]
        rows.append(_row(task, "direction", None, 0, found.direction.coef, found.margin))
        rows.append(_row(task, "finite part", None, 0, found.finite_part.coef, found.infimum))
        rows += [_row(task, "basis of S", None, k, axis) for k, axis in enumerate(found.subspace.basis.T)]
        points = np.append(0, checkpoints(1, self.steps))
        for steps in STEPS:
            descent = descend(problem.rows, steps, points)
            risks = mean_loss(problem.rows, descent.iterates)
            seen = zip(points.tolist(), descent.iterates, risks, strict=True)
            rows += [_row(task, "path", steps, t, point, float(risk)) for t, point, risk in seen]
        return rows

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The structure found compared with the known one, and the limits of the paths."""
        return [_structure_claim(rows), _finite_part_claim(rows), _direction_claim(rows)]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """The data above, the parameters below."""
        panels: Any = figure.subplots(2, len(PLANE))
        for letter, problem, (above, below) in zip("abcd", PLANE, panels.T, strict=True):
            _draw_data(above, problem, rows)
            above.set_title(f"({letter}) {problem.name}", fontsize="medium")
            _draw_paths(below, problem, rows)
        panels[0, 0].set(xlabel="x₁", ylabel="x₂")
        panels[1, 0].set(xlabel="w₁", ylabel="w₂")
        _legend(figure)
        return f"{self.steps:,} steps"


def _row(problem: str, what: str, steps: str | None, t: int, point: Array, value: float | None = None) -> Row:
    return {
        "configuration": problem,
        "what": what,
        "steps": steps,
        "t": t,
        "x1": float(point[0]),
        "x2": float(point[1]),
        "value": value,
    }


def points_of(rows: Sequence[Row], problem: str, what: str, steps: str | None = None) -> Array:
    """Coordinates of the rows of one kind."""
    here = where(rows, configuration=problem, what=what, steps=steps)
    return np.array([(row["x1"], row["x2"]) for row in here]).reshape(-1, 2)


def _structure_claim(rows: Sequence[Row]) -> Claim:
    """Theorem 3.1's partition, ū and v̄."""
    found, errors = {}, []
    for problem in PLANE:
        separable = points_of(rows, problem.name, "separable row")
        direction, finite = (points_of(rows, problem.name, what)[0] for what in ("direction", "finite part"))
        known = np.zeros(2) if problem.u is None else problem.u
        errors += [float(np.linalg.norm(direction - known)), float(np.linalg.norm(finite - problem.v()))]
        right = np.array_equal(separable, problem.rows[problem.separable_rows])
        found[problem.name] = bool(right and max(errors[-2:]) < _EXACT)
    return every(
        _STRUCTURE,
        "the diagnosis finds the separable rows, ū and v̄ of the construction, in all four configurations",
        found,
        f"; ū and v̄ to {max(errors):.1e}",
    )


def _finite_part_claim(rows: Sequence[Row]) -> Claim:
    found, away = {}, []
    for problem in (problem for problem in PLANE if problem.axes):
        ends = [points_of(rows, problem.name, "path", s)[-1] @ problem.subspace for s in STEPS]
        size = float(np.linalg.norm(problem.v()))
        distances = [float(np.linalg.norm(end - problem.v() @ problem.subspace)) / size for end in ends]
        found[problem.name] = max(distances) < 0.1
        away.append(f"{problem.name} {' and '.join(f'{distance:.1e}' for distance in distances)}")
    return every(
        _FINITE_PART,
        "the paths with both step sizes end within a tenth of ‖v̄‖ of v̄ along S, where S is not empty",
        found,
        f"; in units of ‖v̄‖ {', '.join(away)}",
    )


def _direction_claim(rows: Sequence[Row]) -> Claim:
    found, shown = {}, []
    for problem in (problem for problem in PLANE if problem.direction):
        for steps in STEPS:
            path = points_of(rows, problem.name, "path", steps)[1:]
            cosines = path @ np.asarray(problem.u) / np.linalg.norm(path, axis=1)
            angle = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
            found[f"{problem.name}, steps {steps}"] = bool(angle[-1] < angle[0] / 2 and angle[-1] < angle[-5])
            shown.append(f"{problem.name} {angle[0]:.1f}° to {angle[-1]:.2f}°")
    return every(
        _DIRECTION,
        "the angle between w_t and ū ends below half of what it was after one step, and is falling",
        found,
        f"; {', '.join(shown)}",
    )


def _draw_data(axis: Axes, problem: LogisticProblem, rows: Sequence[Row]) -> None:
    """The points x of both classes, S shaded, and ū."""
    reach = 1.1
    basis = points_of(rows, problem.name, "basis of S")
    if len(basis) == 2:
        axis.set_facecolor("#eaf1fb")
    elif len(basis) == 1:
        axis.plot(*(np.array([-3, 3])[:, None] * basis[0]).T, color=_IN_S, linewidth=9, alpha=0.15, zorder=0)
    labels = problem.labels.tolist()
    places: Counter[tuple[float, float, bool]] = Counter()
    for k, (point, label) in enumerate(zip(problem.rows, labels, strict=True)):
        x, y = (point * label).tolist()
        apart = bool(problem.separable_rows[k])
        colour = _APART if apart else _IN_S
        style = {"markersize": 7} if label > 0 else {"markersize": 12, "fillstyle": "none", "markeredgewidth": 1.5}
        axis.plot(x, y, "o", color=colour, zorder=3, **style)
        places[(round(x, 9), round(y, 9), label > 0)] += 1
    for (x, y, positive), count in places.items():
        if count > 1:
            side = (8, 6) if positive else (8, -12)
            axis.annotate(f"×{count}", (x, y), side, textcoords="offset points", fontsize="small")
    direction = points_of(rows, problem.name, "direction")[0]
    if direction.any():
        axis.annotate("", direction, (0, 0), arrowprops={"arrowstyle": "-|>", "color": "black", "linewidth": 1.8})
        axis.annotate("ū", direction, (5, 0), textcoords="offset points", fontsize="large")
        across = np.array([-direction[1], direction[0]])
        axis.plot(*(np.array([-3, 3])[:, None] * across).T, "k:", linewidth=1.0, zorder=1)
    axis.plot(0, 0, "k+", zorder=2)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def _draw_paths(axis: Axes, problem: LogisticProblem, rows: Sequence[Row]) -> None:
    """Level lines of the risk above its infimum, the two paths, v̄ and the ray that they follow."""
    paths = {steps: points_of(rows, problem.name, "path", steps) for steps in STEPS}
    v, direction = points_of(rows, problem.name, "finite part")[0], points_of(rows, problem.name, "direction")[0]
    corners = np.vstack([*paths.values(), v])
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = 1.25 * float((high - low).max()) + 0.5
    centre = (low + high) / 2
    lines = [np.linspace(c - size / 2, c + size / 2, 161) for c in centre]
    grid = np.stack(np.meshgrid(*lines), axis=-1)
    excess = mean_loss(problem.rows, grid.reshape(-1, 2)).reshape(161, 161) - problem.infimum()
    shown = np.log10(np.maximum(excess, 1e-12))
    levels = np.linspace(max(float(shown.min()), -6.0), float(shown.max()), 14)
    axis.contour(*lines, shown, levels=levels, colors="0.8", linewidths=0.8, linestyles="solid", zorder=0)
    if direction.any():
        ray = v + np.array([0.0, 3 * size])[:, None] * direction
        axis.plot(*ray.T, "k--", linewidth=1.0, zorder=1)
    if len(points_of(rows, problem.name, "basis of S")):
        axis.plot(*v, "*", color="black", markersize=13, zorder=4)
        axis.annotate("v̄", v, (8, -4), textcoords="offset points", fontsize="large")
    for steps, path in paths.items():
        axis.plot(*path.T, color=_PATHS[steps], linewidth=1.6, zorder=3)
        axis.plot(*path[-1], "s", color=_PATHS[steps], markersize=5, zorder=3)
    axis.plot(0, 0, "k+", zorder=2)
    axis.set(
        xlim=(centre[0] - size / 2, centre[0] + size / 2),
        ylim=(centre[1] - size / 2, centre[1] + size / 2),
        aspect="equal",
    )


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    def line(label: str, **style: Any) -> Line2D:
        return Line2D([], [], label=label, **style)

    figure.legend(
        handles=[
            line("row of A_S (y = 1 filled, −1 a ring)", color=_IN_S, marker="o", linestyle="none"),
            line("row of A_c", color=_APART, marker="o", linestyle="none"),
            line("S", color=_IN_S, linewidth=9, alpha=0.15),
            line("separating line", color="black", linestyle=":"),
            *(line(f"gradient descent, η = {steps}", color=colour) for steps, colour in _PATHS.items()),
            line("v̄ + ρ·ū", color="black", linestyle="--"),
            line("levels of the risk", color="0.8"),
        ],
        loc="outside lower center",
        ncols=8,
        fontsize="small",
    )
