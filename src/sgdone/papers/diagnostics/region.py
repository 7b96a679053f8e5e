"""Where Pflug's diagnostic is about to fire, beside where SGD oscillates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from scipy.spatial import ConvexHull

from sgdone.losses import Squared
from sgdone.papers.claims import Claim
from sgdone.papers.diagnostics.models import GaussianModel, normal
from sgdone.papers.diagnostics.theory import gaussian_design, pflug_drift
from sgdone.papers.drawing import Axes, Figure
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.runs import fit
from sgdone.papers.tables import Array
from sgdone.solvers import SGD
from sgdone.steps import Constant
from sgdone.stopping import MaxSamples

#: Directions, equally spaced, along which regions are measured.
DIRECTIONS = 720
#: θ*.
OPTIMUM = np.array([1.0, 1.0])
#: Share of the iterates, nearest to their mean, whose convex hull is the convergence region.
CENTRAL = 0.95
#: Intersection over union from which on one region is said to approximate the other very well.
ENOUGH = 0.5
#: Simulations in a task.
_BATCH = 50


@final
@dataclass(frozen=True)
class PflugRegion:
    """Where the drift of Theorem 3 is negative, for x ~ N(0, Σ) with unit variances and one correlation.

    Parameters
    ----------
    correlation, gamma, noise : float
        Of the two features; the step size γ; the variance σ² of the noise.

    Examples
    --------
    >>> region = PflugRegion(correlation=0.0, gamma=0.01, noise=1.0)
    >>> region.radii(np.array([0.0])).round(3), round(region.largest_elliptic_step, 3)
    (array([0.144]), 0.25)
    """

    correlation: float
    gamma: float
    noise: float

    @property
    def covariance(self) -> Array:
        """Σ."""
        return np.array([[1.0, self.correlation], [self.correlation, 1.0]])

    def drift(self, errors: Array) -> Array:
        """The drift at each θ − θ* (the last axis)."""
        moments = gaussian_design(self.covariance)._asdict()
        flat = [pflug_drift(error, self.gamma, noise=self.noise, **moments) for error in errors.reshape(-1, 2)]
        return np.array(flat).reshape(errors.shape[:-1])

    def radii(self, angles: Array) -> Array:
        """How far the region goes in each direction: the drift is −b + a·r²; infinite where a ≤ 0."""
        bottom = -self.drift(np.zeros((1, 2)))
        growth = self.drift(directions(angles)) + bottom
        return np.asarray(np.sqrt(np.divide(bottom, growth, out=np.full(growth.shape, np.inf), where=growth > 0)))

    @property
    def largest_elliptic_step(self) -> float:
        """The γ at which C − γD is no longer positive definite: from there on the region has no end."""
        design = gaussian_design(self.covariance)
        return float(1.0 / np.linalg.eigvals(np.linalg.solve(design.C, design.D)).real.max())


@final
@dataclass(frozen=True)
class Polygon:
    """A convex polygon that holds θ*, by its corners relative to θ*, in order."""

    corners: Array
    #: Outward normals and offsets: inside is normal·point + offset ≤ 0.
    sides: Array

    @classmethod
    def around(cls, errors: Array, share: float) -> "Polygon":
        """The convex hull of that share of the points that is nearest to their mean (Mahalanobis distance)."""
        centred = errors - errors.mean(axis=0)
        distances = np.einsum("ij,ij->i", centred @ np.linalg.inv(np.cov(centred.T)), centred)
        kept = errors[np.argsort(distances)[: max(3, round(share * len(errors)))]]
        hull = ConvexHull(kept)
        return cls(kept[hull.vertices], hull.equations)

    def radii(self, angles: Array) -> Array:
        """How far it goes from θ* in each direction."""
        along = directions(angles) @ self.sides[:, :2].T
        reach = np.divide(-self.sides[:, 2], along, out=np.full(along.shape, np.inf), where=along > 0)
        return np.asarray(np.maximum(reach, 0.0).min(axis=1))


def directions(angles: Array) -> Array:
    """Unit vectors."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def overlap(region: PflugRegion, polygon: Polygon) -> float:
    """Area of the intersection over that of the union; both are star-shaped about θ*.

    Examples
    --------
    >>> region = PflugRegion(0.0, 0.01, 1.0)
    >>> corners = 0.01 * directions(np.linspace(0, 2 * np.pi, 1000))
    >>> round(overlap(region, Polygon.around(corners, 1.0)), 4)
    0.0048
    """
    angles = np.linspace(0.0, 2 * np.pi, DIRECTIONS, endpoint=False)
    ours, theirs = region.radii(angles), polygon.radii(angles)
    return float(np.sum(np.minimum(ours, theirs) ** 2) / np.sum(np.maximum(ours, theirs) ** 2))


def ellipse_misfit(points: Array) -> float:
    """How far points are from the conic that fits them best, relative to their size; infinite if it is no ellipse.

    Examples
    --------
    >>> round(ellipse_misfit(directions(np.linspace(0, 6, 50)) * [3.0, 1.0]), 12)
    0.0
    """
    x, y = points.T
    terms = np.column_stack([x * x, x * y, y * y, x, y])
    conic = np.linalg.lstsq(terms, np.ones(len(points)), rcond=None)[0]
    if conic[1] ** 2 >= 4 * conic[0] * conic[2]:
        return float(np.inf)
    return float(np.abs(terms @ conic - 1.0).max())


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
    name = "diagnostics-region"
    title = "Pflug's region and the convergence region of SGD in the plane"
    paper = "Chee, Toulis (2018), Fig. 1"
    quick: ClassVar = {"simulations": 400}
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
        """What section 3 says about the region, and how well it approximates the polygon."""
        regions = [self._region(correlation) for correlation in self.correlations]
        return [*_shape_claims(regions[0]), *(_overlap_claim(errors_of(rows, r.correlation), r) for r in regions)]

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
    """How well the region approximates the polygon."""
    share = overlap(region, Polygon.around(errors, CENTRAL))
    of_all = overlap(region, Polygon.around(errors, 1.0))
    inside = float(np.mean(region.drift(errors) < 0))
    return Claim(
        f"correlation {region.correlation:g}: intersection over union of Pflug's region and the polygon ≥ {ENOUGH:g}",
        "the Pflug region approximates very well the convergence region of SGD (section 3.1)",
        f"{share:.2f} ({of_all:.2f} with the hull of all iterates); {inside:.0%} of the iterates in the region",
        share >= ENOUGH,
        _why_not(region.correlation),
    )


def _shape_claims(region: PflugRegion) -> list[Claim]:
    """Where the region is and what bounds it."""
    centre = float(region.drift(np.zeros((1, 2)))[0])
    angles = np.linspace(0.0, 2 * np.pi, 360, endpoint=False)
    radii = region.radii(angles)
    bounded = bool(np.isfinite(radii).all())
    misfit = ellipse_misfit(directions(angles) * radii[:, None]) if bounded else np.inf
    endless = np.isinf(replace(region, gamma=2 * region.largest_elliptic_step).radii(angles))
    outward = region.drift(directions(angles)[:, None, :] * (np.arange(1, 11) * radii[:, None])[..., None])
    return [
        Claim(
            "θ* lies in Pflug's region: the drift there is negative",
            "near θ* the diagnostic is guaranteed to decrease in expectation (Theorem 3, remarks)",
            f"drift {centre:.2e} at θ*",
            centre < 0,
        ),
        Claim(
            f"γ = {region.gamma:g}: the region is bounded by an ellipse (largest relative misfit below 1e-6)",
            "the boundary looks like an ellipse (Theorem 3, remarks; Fig. 1)",
            f"misfit {misfit:.1e}",
            misfit < 1e-6,
        ),
        Claim(
            "the boundary is an ellipse for every γ large enough",
            "looks like an ellipse, for large enough γ (Theorem 3, remarks)",
            f"for γ < {region.largest_elliptic_step:.3f}; at twice that endless in {endless.mean():.0%} of directions",
            not endless.any(),
            "D is positive definite: with a large γ, C − γD is not, and the region has no end",
        ),
        Claim(
            "outside, the drift grows with the distance in every direction (up to ten times the region's radius)",
            "the farther from the centre, the larger the expected increase (section 3.1)",
            f"from {outward[:, 1].min():.1e} at twice the radius to {outward[:, -1].min():.1e} at ten times",
            bool(np.all(np.diff(outward, axis=1) > 0)),
        ),
    ]


def _why_not(correlation: float) -> str:
    return (
        "iterates of small steps have variance γσ²/2 in every direction, whatever Σ is; the region has half-axes of "
        f"about √(γσ²·tr Σ²)/λ, λ the eigenvalues of Σ, here {1 + correlation:g} and {1 - correlation:g}"
    )
