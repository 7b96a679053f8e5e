"""What Chee & Toulis (2018), section 3, say about Figure 1."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sgdone.papers.claims import Claim
from sgdone.papers.diagnostics.geometry import Array, PflugRegion, Polygon, directions, ellipse_misfit, overlap
from sgdone.papers.experiment import Row

#: θ*.
OPTIMUM = np.array([1.0, 1.0])
#: Share of the iterates, nearest to their mean, whose convex hull is the convergence region.
CENTRAL = 0.95
#: Intersection over union from which on one region is said to approximate the other very well.
ENOUGH = 0.5


def errors_of(rows: Sequence[Row], correlation: float) -> Array:
    """θ − θ* at the end of each simulation of a design."""
    ends = np.array([(row["theta_1"], row["theta_2"]) for row in rows if row["correlation"] == correlation])
    return np.asarray(ends - OPTIMUM)


def overlap_claim(errors: Array, region: PflugRegion) -> Claim:
    """How well the region approximates the polygon."""
    share = overlap(region, Polygon.around(errors, CENTRAL))
    of_all = overlap(region, Polygon.around(errors, 1.0))
    inside = float(np.mean(region.drift(errors) < 0))
    holds = share >= ENOUGH
    return Claim(
        f"correlation {region.correlation:g}: intersection over union of Pflug's region and the polygon ≥ {ENOUGH:g}",
        "the Pflug region approximates very well the convergence region of SGD (section 3.1)",
        f"{share:.2f} ({of_all:.2f} with the hull of all iterates); {inside:.0%} of the iterates in the region",
        holds,
        "" if holds else _why_not(region.correlation),
    )


def shape_claims(region: PflugRegion) -> list[Claim]:
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
