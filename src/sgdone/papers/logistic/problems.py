"""Small problems of Ji, Telgarsky (2018), Fig. 1, whose S, ū, γ, v̄, infimum and strong convexity are known exactly.

Along each axis of S there are ``for_it`` rows y·x = +a and ``against`` rows y·x = −a: the loss on S is a sum over axes,
with its minimum where a·v is ln(for_it/against), or half of that for the exponential loss. The separable rows' parts
across S have their nearest point of the convex hull to 0 at γ·ū, between two of them; their parts in S are
arbitrary.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from sgdone.papers.tables import Array

LossName = Literal["logistic", "exponential"]


@final
@dataclass(frozen=True)
class Axis:
    """Rows ±a along one axis of S.

    Parameters
    ----------
    size : float
        a.
    for_it, against : int
        Rows y·x = +a and −a.
    """

    size: float
    for_it: int
    against: int

    def optimum(self, loss: LossName) -> float:
        """v̄ along this axis."""
        return math.log(self.for_it / self.against) / self.size / (1.0 if loss == "logistic" else 2.0)

    def total(self, v: float, loss: LossName) -> float:
        """The sum of losses at v."""
        margin = self.size * v
        signed = np.array([-margin, margin])
        right, wrong = np.logaddexp(0.0, signed) if loss == "logistic" else np.exp(signed)
        return float(self.for_it * right + self.against * wrong)

    def least_curvature(self, most: float, loss: LossName) -> float:
        """The smallest second derivative of the sum of losses where that is ``most`` or less."""
        if loss == "exponential":
            # It is a² times the sum itself.
            return self.size**2 * self.total(self.optimum(loss), loss)
        # It is even in v and falls with |v|: smallest at that end of the interval which is farther from 0.
        best = self.optimum(loss)
        ends = []
        for side in (-1.0, 1.0):
            far = side
            while self.total(best + far, loss) < most:
                far *= 2.0
            ends.append(brentq(lambda v: self.total(v, loss) - most, best, best + far, xtol=1e-14))
        margin = self.size * max(map(abs, ends))
        return self.size**2 * (self.for_it + self.against) / (2.0 + 2.0 * math.cosh(margin))


@final
@dataclass(frozen=True)
class LogisticProblem:
    """Rows y·x of norm at most 1, and their values in Theorem 3.1.

    Parameters
    ----------
    name : str
        Name of the problem.
    axes : tuple of Axis
        The axes of S; none if all rows are separable.
    separable : array, (rows, features)
        The other rows y·x, in coordinates whose first are those of S.
    direction : array, (features,)
        ū in these coordinates.
    margin : float
        γ; infinite if no row is separable.
    turn : float
        An angle by which the first and the last coordinate are turned in the end.
    """

    name: str
    axes: tuple[Axis, ...]
    separable: tuple[tuple[float, ...], ...] = ()
    direction: tuple[float, ...] = ()
    margin: float = math.inf
    turn: float = 0.0

    @property
    def n_features(self) -> int:
        """Coordinates."""
        return len(self.direction) or len(self.axes)

    @cached_property
    def rotation(self) -> Array:
        """The columns are the coordinates' axes."""
        axes = np.eye(self.n_features)
        cosine, sine = math.cos(self.turn), math.sin(self.turn)
        axes[[0, 0, -1, -1], [0, -1, 0, -1]] = (cosine, -sine, sine, cosine)
        return axes

    @cached_property
    def rows(self) -> Array:
        """y·x, those along S first."""
        along = [
            sign * axis.size * np.eye(self.n_features)[k]
            for k, axis in enumerate(self.axes)
            for sign, count in ((1.0, axis.for_it), (-1.0, axis.against))
            for _ in range(count)
        ]
        return np.array([*along, *self.separable], dtype=np.float64) @ self.rotation.T

    @cached_property
    def labels(self) -> Array:
        """Labels y, which nothing but a picture depends on: 1 and −1 in turn."""
        return np.where(np.arange(len(self.rows)) % 2, -1.0, 1.0)

    @cached_property
    def separable_rows(self) -> NDArray[np.bool_]:
        """Mask of the separable rows."""
        return np.arange(len(self.rows)) >= len(self.rows) - len(self.separable)

    @property
    def u(self) -> Array | None:
        """ū, if any row is separable."""
        return self.rotation @ np.array(self.direction) if self.direction else None

    @property
    def subspace(self) -> Array:
        """An orthonormal basis of S, in columns."""
        return self.rotation[:, : len(self.axes)]

    def v(self, loss: LossName = "logistic") -> Array:
        """v̄."""
        found: Array = self.subspace @ np.array([axis.optimum(loss) for axis in self.axes])
        return found

    def infimum(self, loss: LossName = "logistic") -> float:
        """Infimum of the mean loss."""
        return sum(axis.total(axis.optimum(loss), loss) for axis in self.axes) / len(self.rows)

    def modulus(self, loss: LossName = "logistic") -> float:
        """λ: the strong convexity on S where the mean loss of the rows in S is 1 or less; infinite if S is {0}."""
        least = self.infimum(loss) * len(self.rows)
        each = [
            axis.least_curvature(len(self.rows) - least + axis.total(axis.optimum(loss), loss), loss)
            for axis in self.axes
        ]
        return min(each, default=math.inf) / len(self.rows)


_SLANT = (0.8, 0.6)


def _beside(margin: float, *sides: float, along: tuple[float, float] = _SLANT) -> tuple[tuple[float, float], ...]:
    """Rows of one margin along a unit vector in the plane, at distances to its side."""
    return tuple((margin * along[0] - side * along[1], margin * along[1] + side * along[0]) for side in sides)


#: Fig. 1 (a)–(d).
PLANE = (
    LogisticProblem(
        "separable",
        (),
        (*_beside(0.3, -0.25, 0.65), *_beside(0.6, 0.7, 0.5, 0.3), *_beside(0.8, 0.4, 0.55)),
        _SLANT,
        0.3,
    ),
    LogisticProblem("strongly convex", (Axis(0.9, 3, 1), Axis(0.6, 2, 1)), turn=0.4),
    LogisticProblem(
        "orthogonal parts", (Axis(0.8, 2, 1),), ((0.0, 0.4), (0.0, 0.6), (0.0, 0.9)), (0.0, 1.0), 0.4, turn=0.3
    ),
    LogisticProblem("general", (Axis(0.8, 2, 1),), ((0.5, 0.4), (-0.7, 0.5), (0.6, 0.7)), (0.0, 1.0), 0.4, turn=0.3),
)
#: S is a line, and across it there is a plane in which a direction must be found.
SPACE = LogisticProblem(
    "mixed in space",
    (Axis(0.8, 2, 1),),
    tuple(
        (s, *row)
        for s, row in zip((0.3, -0.4, 0.5, 0.2), _beside(0.4, -0.2, 0.6) + _beside(0.6, 0.5, 0.3), strict=True)
    ),
    (0.0, *_SLANT),
    0.4,
    turn=0.3,
)
PROBLEMS = {problem.name: problem for problem in (*PLANE, SPACE)}
