"""Region in which Pflug's diagnostic is about to fire, and region in which SGD oscillates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.losses import Squared
from sgdone.papers.claims import AlsoTried, Claim, Sentence
from sgdone.papers.diagnostics.models import GaussianModel, normal
from sgdone.papers.diagnostics.pflug_region import (
    DIRECTIONS,
    PflugRegion,
    Polygon,
    boundary_misfit,
    directions,
    overlap,
)
from sgdone.papers.drawing import Axes, Figure
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.runs import fit
from sgdone.papers.tables import Array
from sgdone.solvers import SGD
from sgdone.steps import Constant
from sgdone.stopping import MaxSamples

#: θ*.
OPTIMUM = np.array([1.0, 1.0])
#: Share of the iterates, nearest to their mean, whose convex hull is the convergence region.
CENTRAL = 0.95
#: Intersection over union from which on one region is said to approximate the other very well.
ENOUGH = 0.5
_NEAR_OPTIMUM = Sentence(
    "when θ_n is close enough to θ*, the diagnostic is guaranteed to decrease in expectation", "section 3, remarks"
)
_ELLIPSE = Sentence(
    "the boundary surface that separates the two regions where the test statistic S_n increases or decreases in "
    "expectation looks like an ellipse, for large enough γ",
    "section 3, remarks",
)
_FARTHER = Sentence(
    "the farther we move away from the center of that region, the larger the expected increase of the diagnostic "
    "becomes",
    "section 3.1",
)
_APPROXIMATES = Sentence("the Pflug region approximates very well the convergence region of SGD", "section 3.1")
#: Simulations in a task.
_BATCH = 50


class Batch(NamedTuple):
    """Some simulations of one design."""

    correlation: float
    first: int
    last: int


@final
@dataclass(frozen=True)
class DiagnosticsRegion(Experiment[Batch, None]):
    """Figure 1: the region where Theorem 3's drift is negative, and the polygon in which iterates end.

    The paper gives no parameters. Here x ~ N(0, Σ) has two features of variance 1 and correlation 0.3, γ = 0.02,
    σ = 1, and explicit SGD starts at 0, θ* = (1, 1); the polygon is the convex hull of the central 95 % of the last
    iterates, long after the start is forgotten. Other correlations are measured in addition.
    """

    simulations: int = 1000
    samples: int = 10_000
    grid: int = 121
    #: The first is drawn large.
    correlations: tuple[float, ...] = (0.3, 0.0, 0.6, 0.9)
    gamma: float = 0.02
    noise: float = 1.0
    name = "diagnostics-region"
    title = "Pflug's region and the convergence region of SGD in the plane"
    paper = "Chee, Toulis (2018), Fig. 1"
    quick: ClassVar = {"simulations": 100, "samples": 5000, "correlations": (0.3, 0.9)}
    smoke: ClassVar = {"simulations": 50, "samples": 2000, "grid": 41}
    figure_size = (11.5, 7.5)

    def tasks(self) -> Sequence[Batch]:
        """Simulations by the batch."""
        starts = range(0, self.simulations, _BATCH)
        return [Batch(c, i, min(i + _BATCH, self.simulations)) for c in self.correlations for i in starts]

    def measure(self, task: Batch, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """The last iterate of each simulation."""
        region = self._region(task.correlation)
        model = GaussianModel(
            OPTIMUM, np.asarray(np.linalg.cholesky(region.covariance), np.float64), normal(np.sqrt(self.noise))
        )
        numbers = range(task.first, task.last)
        ends = np.array([self._end(model, own) for own in seed.spawn(len(numbers))])
        drifts = region.drift(ends - OPTIMUM)
        return [
            {
                "correlation": task.correlation,
                "gamma": self.gamma,
                "noise": self.noise,
                "simulation": number,
                "samples": self.samples,
                "theta_1": float(end[0]),
                "theta_2": float(end[1]),
                "drift": float(drift),
            }
            for number, end, drift in zip(numbers, ends, drifts, strict=True)
        ]

    def _end(self, model: GaussianModel, seed: np.random.SeedSequence) -> Array:
        settings: dict[str, Any] = {"step": Constant(self.gamma), "fit_intercept": False, "task": "regression"}
        result = fit(model.stream(), Squared(), SGD(), MaxSamples(self.samples), seed, **settings)
        return np.asarray(result.model.coef[0], dtype=np.float64)

    def _region(self, correlation: float) -> PflugRegion:
        return PflugRegion(correlation, self.gamma, self.noise)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of section 3 about the region, and how well it approximates the polygon."""
        region = self._region(self.correlations[0])
        return [*shape_claims(region), _overlap_claim(errors_of(rows, region.correlation), region)]

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """Other correlations, of which the paper says nothing, and the shape at the γ of the figure."""
        first, *others = (self._region(correlation) for correlation in self.correlations)
        tried = [
            AlsoTried(
                f"correlation {region.correlation:g}: intersection over union of the two regions",
                f"{_overlaps(errors_of(rows, region.correlation), region)}; {_why_not(region.correlation)}",
            )
            for region in others
        ]
        what = f"γ = {self.gamma:g}: misfit of the region's boundary to an ellipse"
        return [*tried, AlsoTried(what, f"{boundary_misfit(first):.1e}")]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """The paper's panel, and smaller ones of the other correlations."""
        first, *others = self.correlations
        parts: Any = figure.subfigures(1, 2, width_ratios=(2.6, 1.0))
        left, right = parts
        axis = left.subplots()
        colours = self._draw_panel(axis, rows, first, detailed=True)
        left.colorbar(colours, ax=axis, shrink=0.8, label="expected change of Pflug's sum, Theorem 3")
        axis.legend(loc="upper left", fontsize="small", facecolor="0.8", framealpha=0.95)
        for panel, correlation in zip(np.atleast_1d(right.subplots(len(others))), others, strict=True):
            self._draw_panel(panel, rows, correlation, detailed=False)
        return f"γ = {self.gamma:g}, σ² = {self.noise:g}, {self.simulations} simulations"

    def _draw_panel(self, axis: Axes, rows: Sequence[Row], correlation: float, detailed: bool) -> Any:
        errors, region = errors_of(rows, correlation), self._region(correlation)
        polygon = Polygon.around(errors, CENTRAL)
        angles = np.linspace(0.0, 2 * np.pi, DIRECTIONS)
        edge = directions(angles) * region.radii(angles)[:, None]
        reach = 1.25 * max(np.abs(errors).max(), *(np.abs(corners).max() for corners in (edge, polygon.corners)))
        line = np.linspace(-reach, reach, self.grid)
        drifts = region.drift(np.stack(np.meshgrid(line, line), axis=-1))
        colours = axis.pcolormesh(
            line + OPTIMUM[0], line + OPTIMUM[1], drifts, cmap="YlGnBu_r", shading="gouraud", rasterized=True
        )
        axis.fill(
            *(edge + OPTIMUM).T, facecolor="black", alpha=0.45, edgecolor="black", label="Pflug's region: drift < 0"
        )
        axis.fill(
            *(polygon.corners + OPTIMUM).T,
            facecolor="none",
            edgecolor="white",
            hatch="//",
            linewidth=1.2,
            label=f"convergence region: hull of the central {CENTRAL:.0%} of last iterates",
        )
        if detailed:
            axis.plot(*(errors + OPTIMUM).T, ".", color="orange", markersize=2, alpha=0.6, label="last iterates")
            axis.set(xlabel="θ₁", ylabel="θ₂")
        axis.plot(*OPTIMUM, "*", color="red", markersize=14 if detailed else 9, label="θ*")
        axis.set_title(f"correlation {correlation:g}: overlap {overlap(region, polygon):.2f}", fontsize="medium")
        axis.set_aspect("equal")
        return colours


def errors_of(rows: Sequence[Row], correlation: float) -> Array:
    """θ − θ* at the end of each simulation of a design."""
    ends = np.array([(row["theta_1"], row["theta_2"]) for row in rows if row["correlation"] == correlation])
    return np.asarray(ends - OPTIMUM)


def _overlap_claim(errors: Array, region: PflugRegion) -> Claim:
    """Quality of the approximation of the polygon by the region."""
    return Claim(
        _APPROXIMATES,
        f"correlation 0.3 (the paper gives no design): intersection over union of the two regions ≥ {ENOUGH:g}",
        _overlaps(errors, region),
        overlap(region, Polygon.around(errors, CENTRAL)) >= ENOUGH,
        _why_not(region.correlation),
    )


def _overlaps(errors: Array, region: PflugRegion) -> str:
    share, of_all = (overlap(region, Polygon.around(errors, part)) for part in (CENTRAL, 1.0))
    inside = float(np.mean(region.drift(errors) < 0))
    return f"{share:.2f} ({of_all:.2f} with the hull of all iterates); {inside:.0%} of the iterates in the region"


def shape_claims(region: PflugRegion) -> list[Claim]:
    """Position of the region, and its bounds."""
    centre = float(region.drift(np.zeros((1, 2)))[0])
    angles = np.linspace(0.0, 2 * np.pi, 360, endpoint=False)
    large = replace(region, gamma=2 * region.largest_elliptic_step)
    endless = np.isinf(large.radii(angles))
    radii = region.radii(angles)
    outward = region.drift(directions(angles)[:, None, :] * (np.arange(1, 11) * radii[:, None])[..., None])
    return [
        Claim(
            _NEAR_OPTIMUM,
            "the drift at θ* is negative",
            f"drift {centre:.2e} at θ*",
            centre < 0,
        ),
        Claim(
            _ELLIPSE,
            "at twice the γ at which C − γD is no longer positive definite the boundary is an ellipse",
            f"an ellipse for γ < {region.largest_elliptic_step:.3f}; at twice that endless in {endless.mean():.0%} of "
            f"directions",
            boundary_misfit(large) < 1e-6,
            "D is positive definite: with a large γ, C − γD is not, and the region has no end; the boundary is an "
            "ellipse for small enough γ",
        ),
        Claim(
            _FARTHER,
            "outside the region the drift grows with the distance in every direction, up to ten times its radius",
            f"from {outward[:, 1].min():.1e} at twice the radius to {outward[:, -1].min():.1e} at ten times",
            bool(np.all(np.diff(outward, axis=1) > 0)),
        ),
    ]


def _why_not(correlation: float) -> str:
    return (
        "iterates of small steps have variance γσ²/2 in every direction, whatever Σ is; the region has half-axes of "
        f"about √(γσ²·tr Σ²)/λ, λ the eigenvalues of Σ, here {1 + correlation:g} and {1 - correlation:g}"
    )
