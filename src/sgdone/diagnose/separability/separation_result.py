"""What is found out about a problem's optimum."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.diagnose.separability import coefficient_signs, max_margin, subspaces
from sgdone.diagnose.separability.certificate import Certificate, Kind
from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.finite_part import LossName, find_finite_part, find_finite_part_large
from sgdone.diagnose.separability.separation_text import told
from sgdone.diagnose.separability.split import Split
from sgdone.diagnose.separability.threads import single_thread

Array = NDArray[np.float64]


class Weights(NamedTuple):
    """Coefficients and intercept of a linear predictor."""

    coef: Array
    intercept: float


class Subspace(NamedTuple):
    """An orthonormal basis of S as columns (the intercept's entry last, if there is one), and their number."""

    basis: Array
    rank: int


@final
@dataclass(frozen=True, eq=False)
class Separation:
    """Whether a linear model of two classes has an optimum, and what its shape is where it has none.

    Ji and Telgarsky (2018), Theorem 3.1: the rows fall into those that some direction separates (A_c) and the rest
    (A_S). Without a penalty the coefficients run to infinity along ū and stay at v̄ within S, the span of the rest; the
    loss tends to that of the rest at v̄.

    Everything behind ``certificate`` is computed when it is first asked for, and the data are kept for it.

    Attributes
    ----------
    kind : {"none", "quasi-complete", "complete", "undecided"}
        Of separation: that of no row (a finite optimum exists), of some, of all; or no proof was found.
    reason : str
        Why it is undecided; empty otherwise.
    separable_rows : mask
        A_c. Rows of weight 0 are in neither part.
    certificate : Certificate or None
        The proof; none if undecided.
    feature_names : list of str
    classes : tuple
        The label of y = −1 and that of y = 1.
    loss : {"logistic", "exponential"}
        Of ``finite_part`` and ``infimum``.
    fit_intercept : bool
    """

    kind: Kind
    reason: str
    separable_rows: NDArray[np.bool_]
    certificate: Certificate | None
    feature_names: list[str]
    classes: tuple[Any, Any]
    loss: LossName
    fit_intercept: bool
    design: Design = field(repr=False)
    part: Split | None = field(repr=False)
    sample_weight: Array = field(repr=False)

    @cached_property
    def _direction(self) -> tuple[Array, float]:
        part = self._decided()
        if not part.separable.any():
            return np.zeros(self.design.width), 0.0
        with single_thread():
            if self._large:
                return max_margin.widest_margin_large(
                    self._matrix, part.separable, self.design.column_scale * part.direction
                )
            return max_margin.widest_margin(self.design, part, self._spaces)

    @property
    def direction(self) -> Weights:
        """ū: the direction of the coefficients on their way, of length 1 (the intercept counted); zero if kind is none.

        Among all that separate these rows, it has the widest margin (to 1e-6 for very many rows and features).
        """
        return self._weights(self._direction[0])

    @property
    def margin(self) -> float:
        """γ: the smallest of −A_i·ū over the separable rows, in the user's units; 0 if there are none."""
        return self._direction[1]

    @cached_property
    def infinite(self) -> NDArray[np.int8]:
        """Per coefficient the infinity it runs to.

        1 or −1 if all directions (in the span of the rows) that separate the separable rows agree on its sign, 0 if all
        of them leave it in place, 2 if they do not agree. At most one feasibility problem a coefficient.
        """
        return self.infinite_of(np.arange(self.design.n_features))

    @cached_property
    def infinite_intercept(self) -> int:
        """The same for the intercept; 0 if there is none."""
        return int(self.infinite_of([self.design.n_features])[0]) if self.fit_intercept else 0

    def infinite_of(self, columns: ArrayLike) -> NDArray[np.int8]:
        """`infinite` of some coefficients only, by number: with very many features each takes seconds."""
        part, numbers = self._decided(), np.asarray(columns, dtype=np.intp)
        if not part.separable.any():
            return np.zeros(numbers.size, dtype=np.int8)
        with single_thread():
            if self._large:
                inside = self.design.column_scale * part.direction
                return coefficient_signs.signs_large(self._matrix, part.separable, inside, numbers)
            return coefficient_signs.signs(
                self.design, part, self._spaces, self.design.column_scale * part.direction, numbers
            )

    @cached_property
    def _finite_part(self) -> tuple[Array, float]:
        fixed = ~self._decided().separable
        with single_thread():
            if self._large:
                return find_finite_part_large(self._matrix, fixed, self.sample_weight, self.loss)
            return find_finite_part(self.design, fixed, self._spaces, self.sample_weight, self.loss)

    @property
    def finite_part(self) -> Weights:
        """v̄: the minimiser in S of the loss on the rows that are not separable. If kind is none, the optimum itself."""
        return self._weights(self._finite_part[0])

    @property
    def infimum(self) -> float:
        """The infimum of the weighted mean loss: attained if kind is none, approached otherwise."""
        return self._finite_part[1]

    @cached_property
    def subspace(self) -> Subspace:
        """S, the span of the rows that are not separable. Refused for very many rows and features."""
        basis = self._spaces.strong
        return Subspace(basis, basis.shape[1])

    @cached_property
    def margins(self) -> Array:
        """−A_i·ū, a row each (of weight 0 too: NaN): positive where separable, zero elsewhere."""
        out = np.full(self.separable_rows.size, np.nan)
        images = self.design.times(self._direction[0] / self.design.column_scale) / self.design.row_scale
        out[self._used] = -images
        return out

    def __str__(self) -> str:
        return told(self)

    def plot(self) -> "NDArray[Any]":
        """Draw the margins of the separable rows, and the coefficients that run to infinity beside those that do not.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Two panels; ``axes[0].figure.savefig("separation.png")`` stores them.
        """
        from sgdone.diagnose.separability.plot import draw

        axes: NDArray[Any] = draw(self)
        return axes

    @cached_property
    def _used(self) -> NDArray[np.intp]:
        if self.certificate is None:
            return np.arange(self.separable_rows.size)
        return np.flatnonzero(self.certificate.used_rows)

    @property
    def _large(self) -> bool:
        return self.design.sparse and min(self.design.width, self.design.n_rows) > subspaces.WIDEST // 3

    @cached_property
    def _spaces(self) -> subspaces.Spaces:
        part = self._decided()
        with single_thread():
            return subspaces.spaces_of(self.design, part.separable)

    @cached_property
    def _matrix(self) -> Any:
        """A as a CSR matrix in the user's units."""
        from sgdone.diagnose.separability.dual_weights import rows_times

        scaled = rows_times(1.0 / self.design.row_scale, self.design.matrix())
        scaled.data /= self.design.column_scale[scaled.indices]
        return scaled

    def _weights(self, u: Array) -> Weights:
        n = self.design.n_features
        return Weights(u[:n], float(u[n]) if self.fit_intercept else 0.0)

    def _decided(self) -> Split:
        if self.part is None:
            raise ValueError(f"the separation of these data is undecided: {self.reason}")
        return self.part
