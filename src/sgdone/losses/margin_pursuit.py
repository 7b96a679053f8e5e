"""Margin pursuit loss, s²ρ((γ − yz)/s): it is smallest at the margin γ."""

import math
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Self, final

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters, real_or_nan
from sgdone.losses.scale_rules import BY_NAME, AdaptiveScale, ScaleRule

_ROOT2 = math.sqrt(2.0)
#: ψ(√2), the largest value of ψ.
_STEEPEST = 2.0 * _ROOT2 / 3.0
#: Below this distance from γ, in units of s, the loss is quadratic up to rounding: u²/6 < 2⁻⁵³.
_QUADRATIC = 2e-8


@inlined
def value(z: float, y: float, p: Parameters) -> float:
    """Eq. (4), (5): d²(½ − u²/24) for |u| ≤ √2, else s(|d|·2√2/3 − s/2); d = γ − yz, u = d/s, γ = p[0], s = p[1]."""
    gamma: float = p[0]
    scale: float = p[1]
    d = gamma - y * z
    u = abs(d) / scale
    if u > _ROOT2:
        return scale * (_STEEPEST * abs(d) - 0.5 * scale)
    return d * d * (0.5 - u * u / 24.0)


@inlined
def slope(z: float, y: float, p: Parameters) -> float:
    """−y·s·ψ(u), eq. (3), with s·ψ(u) = d(1 − u²/6) for |u| ≤ √2."""
    gamma: float = p[0]
    scale: float = p[1]
    d = gamma - y * z
    u = abs(d) / scale
    if u > _ROOT2:
        return -y * math.copysign(_STEEPEST * scale, d)
    return -y * d * (1.0 - u * u / 6.0)


@inlined
def curvature(z: float, y: float, p: Parameters) -> float:
    """1 − u²/2 for |u| ≤ √2, else 0."""
    u: float = (p[0] - y * z) / p[1]
    return max(1.0 - 0.5 * u * u, 0.0)


@inlined
def implicit(z: float, y: float, q: float, p: Parameters) -> float:
    """−y·s·w with w = ψ(x), where the new distance x from γ, in units of s, solves x + qψ(x) = u.

    For 0 ≤ u < √2 + qψ(√2) this is the cubic x³ − 3k²x + 6u/q = 0 with k² = 2(1 + q)/q. The solution is the middle one
    of its three real roots, 2k·sin(⅓·arcsin(3u/(qk³))). One Newton step makes it accurate to rounding. An error of x is
    multiplied by ψ′ ≤ 1 in w = ψ(x), and by 1/q in w = (u − x)/q.
    """
    gamma: float = p[0]
    scale: float = p[1]
    d = gamma - y * z
    u = abs(d) / scale
    if u >= _ROOT2 + q * _STEEPEST:
        return -y * math.copysign(_STEEPEST * scale, d)
    if u <= _QUADRATIC:
        return -y * d / (1.0 + q)
    if q <= 0.0:
        return slope(z, y, p)
    grown = 1.0 + q
    x = u
    if q > _QUADRATIC:
        sine = 3.0 * u * math.sqrt(q / (2.0 * grown)) / (2.0 * grown)
        x = 2.0 * math.sqrt(2.0 * grown / q) * math.sin(math.asin(min(sine, 1.0)) / 3.0)
    x = min(x, _ROOT2)
    x += (u - x * (grown - q * x * x / 6.0)) / (grown - 0.5 * q * x * x)
    w = (u - x) / q if q >= 1.0 else x * (1.0 - x * x / 6.0)
    return -y * math.copysign(w * scale, d)


@final
@dataclass(frozen=True)
class MarginPursuit(Loss):
    """Holland's loss of a margin m = yz, ``s²ρ((γ − m)/s)``: quadratic near the margin γ, linear far from it.

    Margins above γ are penalised like margins below γ. The margins of the minimiser have a small variance around γ,
    and γ is close to their Catoni location (`sgdone.diagnose.catoni_location`). The slope is constant for margins
    further than √2·s from γ, so the influence of outliers is bounded.

    Parameters
    ----------
    gamma : float
        γ, the target margin; positive. Holland (2018) uses 1.
    scale : float, {"auto", "adaptive"}, AutoScale or AdaptiveScale
        s, in units of the margin. A large s gives least squares on the labels ±γ, a small s the absolute deviation
        |γ − m| times 2√2/3·s. With "auto" (`AutoScale`) and "adaptive" (`AdaptiveScale`) a fit estimates s from the
        data; `with_scale` sets a number.

    Examples
    --------
    >>> from sgdone.losses import MarginPursuit
    >>> MarginPursuit(gamma=1.0, scale=2.0).slope([-9.0, 0.0, 1.0, 9.0], 1.0).round(4)
    array([-1.8856, -0.9583, -0.    ,  1.8856])
    >>> MarginPursuit(scale="auto").with_scale(3.0)
    MarginPursuit(gamma=1.0, scale=3.0)
    """

    name: ClassVar[str] = "margin_pursuit"
    task: ClassVar[LossTask] = "classification"
    kernel: ClassVar[LossKernel] = LossKernel(value, slope, curvature, implicit)
    smoothness: ClassVar[float] = 1.0  # the curvature at the margin γ, for every scale

    gamma: float = 1.0
    scale: float | str | ScaleRule = 1.0

    def __post_init__(self) -> None:
        if not 0 < real_or_nan(self.gamma) < inf:
            raise ValueError(
                f"gamma={self.gamma!r} of MarginPursuit is not a positive number: give the target margin "
                "(with γ ≤ 0 the loss does not separate the classes)"
            )
        if isinstance(self.scale, str) and self.scale in BY_NAME:
            object.__setattr__(self, "scale", BY_NAME[self.scale]())
        if not isinstance(self.scale, ScaleRule) and not 0 < real_or_nan(self.scale) < inf:
            raise ValueError(
                f"scale={self.scale!r} of MarginPursuit is not valid: give a positive number in units of the margin, "
                '"auto" or "adaptive"'
            )

    def with_scale(self, scale: float) -> Self:
        """Return this loss with a number as its scale."""
        return replace(self, scale=scale)

    @property
    def is_open(self) -> bool:
        """Whether the scale is found from the rows."""
        return self.rule is not None

    @property
    def changes_during_fit(self) -> bool:
        """Whether the scale is reset during the fit."""
        return isinstance(self.scale, AdaptiveScale)

    @property
    def rule(self) -> ScaleRule | None:
        """The rule with which a fit sets the scale; None if the scale is a number."""
        return self.scale if isinstance(self.scale, ScaleRule) else None

    @property
    def parameters(self) -> Parameters:
        """γ and s. Raises if the scale is not yet a number."""
        return np.array([float(self.gamma), self._scale()])

    @property
    def lipschitz(self) -> float:
        """2√2/3·s: the absolute slope far from γ."""
        return _STEEPEST * self._scale()

    def _scale(self) -> float:
        scale = self.scale.found if isinstance(self.scale, ScaleRule) else self.scale
        if scale is None:
            raise ValueError(
                f"scale={self.scale.name!r} of MarginPursuit is not a number before a fit: "  # type: ignore[union-attr]
                "give a number, for example with_scale(1.0), or fit with a solver that sets the scale"
            )
        return float(scale)
