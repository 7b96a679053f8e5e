"""Where Pflug's diagnostic is on its way to fire, beside where SGD oscillates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.losses import Squared
from sgdone.papers.claims import Claim
from sgdone.papers.diagnostics.geometry import DIRECTIONS, Array, PflugRegion, Polygon, directions, overlap
from sgdone.papers.diagnostics.models import GaussianModel, ModelStream, normal
from sgdone.papers.diagnostics.region_claims import CENTRAL, OPTIMUM, errors_of, overlap_claim, shape_claims
from sgdone.papers.experiment import Experiment, Row
from sgdone.run import run
from sgdone.solvers import SGD
from sgdone.steps import Constant
from sgdone.stopping import MaxSamples

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    iterates, long after the start is forgotten. Other correlations are measured beside it.
    """

    simulations: int = 1000
    samples: int = 10_000
    grid: int = 121
    #: The first is drawn large.
    correlations: tuple[float, ...] = (0.3, 0.0, 0.6, 0.9)
    gamma: float = 0.02
    noise: float = 1.0
    name: ClassVar[str] = "diagnostics-region"
    title: ClassVar[str] = "Pflug's region and the convergence region of SGD in the plane"
    paper: ClassVar[str] = "Chee, Toulis (2018), Fig. 1"
    quick: ClassVar[Mapping[str, Any]] = {"simulations": 400}
    smoke: ClassVar[Mapping[str, Any]] = {"simulations": 50, "samples": 2000, "grid": 41}
    figure_size: ClassVar[tuple[float, float]] = (11.5, 7.5)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Rows are drawn as they are needed."""

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
        result = run(
            ModelStream(model),
            Squared(),
            SGD(),
            MaxSamples(self.samples),
            alpha=0.0,
            step=Constant(self.gamma),
            fit_intercept=False,
            task="regression",
            rng=np.random.default_rng(seed),
        )
        return np.asarray(result.coef, dtype=np.float64)

    def _region(self, correlation: float) -> PflugRegion:
        return PflugRegion(correlation, self.gamma, self.noise)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What section 3 says about the region, and how well it approximates the polygon."""
        regions = [self._region(correlation) for correlation in self.correlations]
        return [*shape_claims(regions[0]), *(overlap_claim(errors_of(rows, r.correlation), r) for r in regions)]

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
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
        figure.suptitle(
            f"{self.title}\n{self.paper}; γ = {self.gamma:g}, σ² = {self.noise:g}, {self.simulations} simulations",
            fontsize="large",
        )

    def _draw_panel(self, axis: "Axes", rows: Sequence[Row], correlation: float, detailed: bool) -> Any:
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
