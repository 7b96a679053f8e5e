"""Regions of the plane about θ*: where Pflug's diagnostic is about to fire, and where SGD oscillates."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.spatial import ConvexHull

from sgdone.papers.diagnostics.theory import gaussian_design, pflug_drift
from sgdone.papers.tables import Array

#: Directions, equally spaced, along which regions are measured.
DIRECTIONS = 720


@final
@dataclass(frozen=True)
class PflugRegion:
    """Where the drift of Theorem 3 is negative, for x ~ N(0, Σ) with unit variances and one correlation.

    Parameters
    ----------
    correlation, gamma, noise : float
        Correlation of the two features, step size γ, and variance σ² of the noise.

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


def boundary_misfit(region: PflugRegion) -> float:
    """How far the boundary is from an ellipse; infinite if it has no end."""
    angles = np.linspace(0.0, 2 * np.pi, 360, endpoint=False)
    radii = region.radii(angles)
    return ellipse_misfit(directions(angles) * radii[:, None]) if np.isfinite(radii).all() else float(np.inf)
