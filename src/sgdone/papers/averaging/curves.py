"""Excess risk against samples, measured in trials and expected: what Figures 1 and 2 of Xu (2011) have in common."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.claims import AlsoTried, span
from sgdone.papers.drawing import Axes, Figure, grid_lines
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.tables import Array, Points, by_run, checkpoints, column

BATCH = "batch"
DECADES = (1000, 10_000, 100_000, 1_000_000)
_COLOURS = {"ASGD": "tab:red", "ASGD_BAD": "tab:orange", "SGD": "tab:blue", BATCH: "black"}


@final
@dataclass(frozen=True)
class Curve:
    """The excess risk of one method.

    Parameters
    ----------
    samples : array, (points,)
        Where it was measured.
    risks : array, (trials, points)
        Excess risk, by trial.
    expected : array, (points,)
        Its exact expectation.
    """

    samples: Array
    risks: Array
    expected: Array

    def over(self, batch: "Curve") -> "Curve":
        """The excess risk in units of the batch method's expected one at the same samples."""
        return Curve(self.samples, self.risks / batch.expected, self.expected / batch.expected)

    @property
    def means(self) -> Array:
        """Mean over the trials."""
        return np.asarray(self.risks.mean(axis=0))

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the means."""
        return np.asarray(self.risks.std(axis=0, ddof=1) / np.sqrt(len(self.risks)))

    def at(self, samples: int) -> int | None:
        """The index of a number of samples, if it was measured there."""
        places = np.flatnonzero(self.samples == samples)
        return int(places[0]) if places.size else None


class Task(NamedTuple):
    """A trial of all methods, or the expectation of one."""

    method: str | None
    trial: int | None


@dataclass(frozen=True)
class RiskCurves(Experiment[Task, None]):
    """Excess risk of several methods and of the batch method, on the same samples; expectations have no trial."""

    trials: int = 100
    samples: int = 1_000_000
    #: All methods, the batch method last.
    methods: ClassVar[tuple[str, ...]]
    #: Values from elsewhere of the excess risk over the batch method's expected one, by method and number of samples.
    independent: ClassVar[Mapping[str, Mapping[int, float]]]
    #: The number of samples from which on there are measurements.
    first_point: ClassVar[int] = 1
    figure_size = (13.0, 6.0)

    @abstractmethod
    def expected_risks(self, method: str, points: Points) -> Array:
        """Expected excess risk at numbers of samples."""

    @abstractmethod
    def trial_risks(self, points: Points, seed: np.random.SeedSequence) -> Mapping[str, Iterable[float]]:
        """Excess risk of every method at numbers of samples, all on the same samples."""

    def tasks(self) -> Sequence[Task]:
        """Expectations, then trials."""
        return [Task(method, None) for method in self.methods] + [Task(None, k) for k in range(self.trials)]

    def measure(self, task: Task, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """One of them."""
        points = checkpoints(self.first_point, self.samples)
        if task.method is not None:
            measured: Mapping[str, Iterable[float]] = {task.method: self.expected_risks(task.method, points)}
        else:
            measured = self.trial_risks(points, seed)
        return [
            {"method": method, "samples": int(t), "trial": task.trial, "excess_risk": float(risk)}
            for method, risks in measured.items()
            for t, risk in zip(points, risks, strict=True)
        ]

    def curves(self, rows: Sequence[Row]) -> dict[str, Curve]:
        """The measurements by method."""
        return {method: _curve_of(rows, method) for method in self.methods}

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """The paper's panel, and the same in units of the batch method's expected excess risk."""
        curves = self.curves(rows)
        left, right = figure.subplots(1, 2)
        for method, curve in curves.items():
            _draw_curve(left, curve, method)
            _draw_curve(right, curve.over(curves[BATCH]), method)
        cross = {"marker": "x", "linestyle": "none", "markersize": 9, "markeredgewidth": 1.5}
        for method, values in self.independent.items():
            known = {t: value for t, value in values.items() if t <= self.samples}
            right.plot(list(known), list(known.values()), color=_COLOURS[method], **cross)
        right.plot([], [], color="black", label="known from elsewhere", **cross)
        left.plot([], [], ".", color="0.4", label="mean of the trials ± standard error")
        left.plot([], [], color="0.4", linewidth=0.6, alpha=0.6, label="one trial")
        right.axhline(2.0, color="0.7", linestyle="--", linewidth=0.8, zorder=0)
        for axis, what in ((left, "excess risk"), (right, "excess risk over the batch method's, expected")):
            axis.set(xscale="log", yscale="log", xlabel="samples t", ylabel=what)
            grid_lines(axis)
            axis.legend(fontsize="small")
        return f"{self.trials} trials"


def _curve_of(rows: Sequence[Row], method: str) -> Curve:
    trials = [row for row in rows if row["method"] == method and row["trial"] is not None]
    samples, expected = (column(rows, name, method=method, trial=None) for name in ("samples", "excess_risk"))
    return Curve(samples, by_run(trials, "trial", "excess_risk"), expected)


def _draw_curve(axis: Axes, curve: Curve, method: str) -> None:
    colour = _COLOURS[method]
    axis.plot(curve.samples, curve.risks[0], color=colour, linewidth=0.6, alpha=0.5)
    axis.plot(curve.samples, curve.expected, color=colour, linewidth=1.3, label=f"{method}, expected")
    axis.errorbar(
        curve.samples,
        curve.means,
        curve.standard_errors,
        color=colour,
        marker=".",
        markersize=5,
        linestyle="none",
        linewidth=1.0,
    )


def settles_below(samples: Array, values: Array, level: float) -> float:
    """Where a curve falls below a level for good, interpolated between logarithms; infinite if it does not.

    Examples
    --------
    >>> round(settles_below(np.array([1.0, 10.0, 100.0]), np.array([100.0, 1.0, 0.5]), 10.0), 3)
    3.162
    """
    above = np.flatnonzero(values > level)
    if above.size == 0:
        return float(samples[0])
    k = above[-1]
    if k == values.size - 1:
        return float("inf")
    share = np.log(values[k] / level) / np.log(values[k] / values[k + 1])
    return float(samples[k] * (samples[k + 1] / samples[k]) ** share)


def power_of_ten(samples: int) -> str:
    """A decade as the paper writes it.

    Examples
    --------
    >>> power_of_ten(10_000)
    '10⁴'
    """
    return "10" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[round(np.log10(samples))]


def ratios_tried(
    method: str, ratio: Curve, values: Mapping[int, float], source: str, other_trials: float = float("inf")
) -> list[AlsoTried]:
    """Ratio of the mean excess risk to the batch method's, with its sampling error, and values from elsewhere.

    Parameters
    ----------
    method : str
        Its name.
    ratio : Curve
        Its excess risk in those units.
    values : mapping
        The given ones by number of samples; those beyond the last sample are left out.
    source : str
        Where they come from.
    other_trials : float
        Trials behind the given values; infinite if they are exact.
    """
    found = []
    for samples, value in values.items():
        place = ratio.at(samples)
        if place is not None:
            error = ratio.standard_errors[place] * np.sqrt(1 + len(ratio.risks) / other_trials)
            what = f"{method} at {power_of_ten(samples)} samples: mean excess risk over the batch method's"
            measured = (
                f"{ratio.means[place]:.3g} ± {error:.2g}, exactly {ratio.expected[place]:.4g}; {source} {value:g}"
            )
            found.append(AlsoTried(what, measured))
    return found


def expectations_tried(curves: Mapping[str, Curve]) -> AlsoTried:
    """Every method's mean excess risk at every decade compared with its exact expectation."""
    ratios = [
        curve.means[place] / curve.expected[place]
        for curve in curves.values()
        for samples in DECADES
        if (place := curve.at(samples)) is not None
    ]
    trials = len(next(iter(curves.values())).risks)
    what = "mean excess risks at the powers of ten over their exact expectations (recursion of second moments)"
    return AlsoTried(what, f"{span(ratios, '.2f')} in {len(ratios)} comparisons, means of {trials} trials")
