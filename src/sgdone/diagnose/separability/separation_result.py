"""Results of the diagnosis of separation, as attributes, text and a plot."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.diagnose.separability import limit
from sgdone.diagnose.separability.certificate import Certificate, SeparationKind
from sgdone.diagnose.separability.design import SignedDesign
from sgdone.diagnose.separability.limit import LossName, find_finite_part, find_finite_part_large
from sgdone.diagnose.separability.partition import ProvedPartition, rows_times
from sgdone.machine.threads import single_thread
from sgdone.message_text import counted, shown_label

Array = NDArray[np.float64]


class RowWeights(NamedTuple):
    """Coefficients and intercept of a linear predictor."""

    coef: Array
    intercept: float


class Subspace(NamedTuple):
    """Orthonormal basis of S as columns (the intercept last, if there is one), and its dimension."""

    basis: Array
    rank: int


@final
@dataclass(frozen=True, eq=False)
class Separation:
    """Whether a linear classifier of two classes has a finite optimum, and how it diverges if not.

    Ji and Telgarsky (2018), Theorem 3.1: the rows are partitioned into separable rows (A_c) and the rest (A_S). Without
    a penalty the coefficients tend to infinity along ū. Their component in S, the span of the rest, tends to v̄, and the
    loss tends to the loss of the rest at v̄.

    Properties are computed on first access; the data are kept for this.

    Attributes
    ----------
    kind : {"none", "quasi-complete", "complete", "undecided"}
        Separation of no row (a finite optimum exists), of some or of all rows; "undecided" if no proof was found.
    reason : str
        Why it is undecided; empty otherwise.
    separable_rows : mask
        A_c. Rows of weight 0 are not included.
    certificate : Certificate or None
        The proof; None if undecided.
    feature_names : list of str
    classes : tuple
        The labels of y = −1 and y = 1.
    loss : {"logistic", "exponential"}
        Loss of ``finite_part`` and ``infimum``.
    fit_intercept : bool
    """

    kind: SeparationKind
    reason: str
    separable_rows: NDArray[np.bool_]
    certificate: Certificate | None
    feature_names: list[str]
    classes: tuple[Any, Any]
    loss: LossName
    fit_intercept: bool
    design: SignedDesign = field(repr=False)
    part: ProvedPartition | None = field(repr=False)
    sample_weight: Array = field(repr=False)

    @cached_property
    def _direction(self) -> tuple[Array, float]:
        part = self._decided()
        if not part.separable.any():
            return np.zeros(self.design.width), 0.0
        with single_thread():
            if self._large:
                return limit.max_margin_direction_large(
                    self._matrix, part.separable, self.design.column_scale * part.direction
                )
            return limit.max_margin_direction(self.design, part, self._spaces)

    @property
    def direction(self) -> RowWeights:
        """ū: the unit direction (intercept included) along which the coefficients diverge; zero if kind is "none".

        It has the maximum margin among all directions that separate the separable rows (to 1e-6 for large data).
        """
        return self._weights(self._direction[0])

    @property
    def margin(self) -> float:
        """γ: the smallest of −A_i·ū over the separable rows, in the user's units; 0 if there are none."""
        return self._direction[1]

    @cached_property
    def infinite(self) -> NDArray[np.int8]:
        """The limit of each coefficient: 1 for +∞, −1 for −∞, 0 if finite, 2 if the sign is not determined.

        1 or −1 if it has this sign in all directions (in the span of the rows) that separate the separable rows, 0 if
        it is 0 in all of them, 2 otherwise. At most one feasibility problem per coefficient.
        """
        return self.infinite_of(np.arange(self.design.n_features))

    @cached_property
    def infinite_intercept(self) -> int:
        """The limit of the intercept, as in `infinite`; 0 without an intercept."""
        return int(self.infinite_of([self.design.n_features])[0]) if self.fit_intercept else 0

    def infinite_of(self, columns: ArrayLike) -> NDArray[np.int8]:
        """`infinite` for the given columns only: with very many features each takes seconds."""
        part, numbers = self._decided(), np.asarray(columns, dtype=np.intp)
        if not part.separable.any():
            return np.zeros(numbers.size, dtype=np.int8)
        with single_thread():
            if self._large:
                inside = self.design.column_scale * part.direction
                return limit.signs_large(self._matrix, part.separable, inside, numbers)
            return limit.signs(self.design, part, self._spaces, self.design.column_scale * part.direction, numbers)

    @cached_property
    def _finite_part(self) -> tuple[Array, float]:
        fixed = ~self._decided().separable
        with single_thread():
            if self._large:
                return find_finite_part_large(self._matrix, fixed, self.sample_weight, self.loss)
            return find_finite_part(self.design, fixed, self._spaces, self.sample_weight, self.loss)

    @property
    def finite_part(self) -> RowWeights:
        """v̄: the minimiser in S of the loss on the rows that are not separable; the optimum if kind is "none"."""
        return self._weights(self._finite_part[0])

    @property
    def infimum(self) -> float:
        """The infimum of the weighted mean loss; it is attained if kind is "none"."""
        return self._finite_part[1]

    @cached_property
    def subspace(self) -> Subspace:
        """S, the span of the rows that are not separable. Raises for very many rows and features."""
        basis = self._spaces.strong
        return Subspace(basis, basis.shape[1])

    @cached_property
    def margins(self) -> Array:
        """−A_i·ū of each row: positive for separable rows, zero for others, NaN for rows of weight 0."""
        out = np.full(self.separable_rows.size, np.nan)
        images = self.design.times(self._direction[0] / self.design.column_scale) / self.design.row_scale
        out[self._used] = -images
        return out

    def __str__(self) -> str:
        rows, used = int(self.separable_rows.sum()), self.design.n_rows
        if self.certificate is None:
            return f"Undecided: {self.reason}."
        exact = "is exact" if self.certificate.exact else f"holds to the tolerance {self.certificate.tolerance:.0e}"
        proof = f"The certificate {exact}."
        if self.kind == "none":
            return f"No separation: the {self.loss} loss has a finite optimum on these {used:,} rows. {proof}"
        if self.kind == "complete":
            head = f"Complete separation: one direction classifies all {used:,} rows without error"
            tail = "The loss tends to 0."
        else:
            head = (
                f"Quasi-complete separation: one direction separates {rows:,} of {used:,} rows and does not change the "
                "scores of the others"
            )
            tail = f"The mean {self.loss} loss tends to {self.infimum:.6g}."
        return f"{head}, so there is no finite optimum. {_coefficients(self)} {tail} {proof}"

    def plot(self) -> NDArray[Any]:
        """Draw the margins of the separable rows, and the coefficients of ū.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Two panels; ``axes[0].figure.savefig("separation.png")`` saves them.
        """
        return draw(self)

    @cached_property
    def _used(self) -> NDArray[np.intp]:
        if self.certificate is None:
            return np.arange(self.separable_rows.size)
        return np.flatnonzero(self.certificate.used_rows)

    @property
    def _large(self) -> bool:
        return self.design.sparse and min(self.design.width, self.design.n_rows) > limit.WIDEST // 3

    @cached_property
    def _spaces(self) -> limit.Spaces:
        part = self._decided()
        with single_thread():
            return limit.spaces_of(self.design, part.separable)

    @cached_property
    def _matrix(self) -> Any:
        """A as a CSR matrix in the user's units."""
        scaled = rows_times(1.0 / self.design.row_scale, self.design.matrix())
        scaled.data /= self.design.column_scale[scaled.indices]
        return scaled

    def _weights(self, u: Array) -> RowWeights:
        n = self.design.n_features
        return RowWeights(u[:n], float(u[n]) if self.fit_intercept else 0.0)

    def _decided(self) -> ProvedPartition:
        if self.part is None:
            raise ValueError(f"the separation of these data is undecided: {self.reason}")
        return self.part


_FROM_BAD_TO_GOOD: tuple[SeparationKind, ...] = ("complete", "quasi-complete", "undecided", "none")


@final
class SeparationByClass(Mapping[Any, Separation]):
    """The separation of each class from the rest, by class label, as in one-vs-rest classification.

    Examples
    --------
    >>> from sgdone.diagnose import separation
    >>> shapes = separation([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], ["a", "a", "b", "b", "c", "c"])
    >>> {label: shape.kind for label, shape in shapes.items()}
    {'a': 'complete', 'b': 'none', 'c': 'complete'}
    """

    def __init__(self, answers: dict[Any, Separation]) -> None:
        self._answers: dict[Any, Separation] = dict(answers)

    def __getitem__(self, label: Any) -> Separation:
        return self._answers[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def kind(self) -> SeparationKind:
        """The worst kind over all classes."""
        return min((answer.kind for answer in self._answers.values()), key=_FROM_BAD_TO_GOOD.index)

    def __str__(self) -> str:
        return "\n".join(texts_of_classes(self))


_MOST_NAMES = 8
#: Largest number of classes that are described one by one.
_MOST_PARAGRAPHS = 4
#: From good to bad: what each kind is called, and what it means for one class and for several.
_KINDS = {
    "none": ("no separation", "has a finite optimum", "have finite optima"),
    "undecided": ("undecided", "may have none", "may have none"),
    "quasi-complete": ("quasi-complete separation", "has no finite optimum", "have no finite optimum"),
    "complete": ("complete separation", "has no finite optimum", "have no finite optimum"),
}
#: Largest number of coefficients for which all signs are computed.
_MOST_SIGNS = 200


def texts_of_classes(answers: Mapping[Any, Separation]) -> list[str]:
    """Describe the separation of each class from the rest: a paragraph per class, or one if there are many."""
    if len(answers) <= _MOST_PARAGRAPHS:
        return [f"Class {shown_label(label)} against the rest. {answer}" for label, answer in answers.items()]
    found = []
    for kind, (name, one, many) in _KINDS.items():
        labels = [shown_label(label) for label, answer in answers.items() if answer.kind == kind]
        if labels:
            means = one if len(labels) == 1 else many
            found.append(f"{counted(len(labels), 'class', 'classes')} ({listed(labels)}): {name}, {means}")
    return [f"Each of {len(answers):,} classes against the rest. {'; '.join(found)}."]


def _coefficients(separation: Separation) -> str:
    names = [*separation.feature_names, *(["the intercept"] if separation.fit_intercept else [])]
    if separation.design.width > _MOST_SIGNS and separation.part is not None:
        strengths = np.abs(separation.part.direction)
        top = np.argsort(-strengths)[:_MOST_NAMES]
        return f"The largest coefficients of the direction: {listed([names[j] for j in top if strengths[j] > 0])}."
    signs = np.append(separation.infinite, [separation.infinite_intercept] * separation.fit_intercept)
    said = []
    for code, one, many in (
        (1, "tends to +∞", "tend to +∞"),
        (-1, "tends to −∞", "tend to −∞"),
        (2, "may tend to +∞ or −∞", "may tend to +∞ or −∞"),
    ):
        here = [names[j] for j in np.flatnonzero(signs == code)]
        if here:
            said.append(f"{listed(here)} {one if len(here) == 1 else many}")
    sentence = "; ".join(said)
    return f"{'T' + sentence[1:] if sentence.startswith('the intercept') else sentence}."


def listed(names: Sequence[str]) -> str:
    """Format names for a sentence, shortened; "none" if there are none.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed([])
    ('a', 'a, b and c', 'none')
    """
    if not names:
        return "none"
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


_MOST_BARS = 20
_COLOURS = {0: "0.6", 1: "tab:red", -1: "tab:blue", 2: "tab:purple"}
_MEANINGS = {0: "finite", 1: "tends to +∞", -1: "tends to −∞", 2: "sign not determined"}


def draw(separation: Separation) -> NDArray[Any]:
    """Draw the margins of the rows along ū on the left, and the coefficients of ū on the right."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting a separation needs matplotlib: pip install 'sgdone[plot]'") from error
    if separation.kind not in ("complete", "quasi-complete"):
        raise ValueError(f"the kind of separation is {separation.kind!r}: there is no separating direction to plot")
    _, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _draw_margins(axes[0], separation)
    _draw_coefficients(axes[1], separation)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return np.asarray(axes)


def _draw_margins(axis: Any, separation: Separation) -> None:
    margins = separation.margins
    separable = separation.separable_rows
    still = np.isfinite(margins) & ~separable
    edges = np.linspace(0.0, float(margins[separable].max()), 31)
    if still.any():
        axis.hist(np.zeros(still.sum()), edges, color="0.75", label=f"overlapping: {still.sum():,} rows at 0")
    axis.hist(margins[separable], edges, color="tab:orange", label=f"separable: {separable.sum():,} rows")
    axis.axvline(
        separation.margin, color="0.25", linestyle="--", linewidth=1.2, label=f"margin γ = {separation.margin:.3g}"
    )
    axis.set_xlabel("margin along the unit direction ū")
    axis.set_ylabel("rows")
    axis.set_title(f"{separation.kind} separation", fontsize="medium")
    axis.legend(frameon=False, fontsize="small")


def _draw_coefficients(axis: Any, separation: Separation) -> None:
    direction = separation.direction
    values = np.append(direction.coef, [direction.intercept] * separation.fit_intercept)
    names = [*separation.feature_names, *(["intercept"] * separation.fit_intercept)]
    shown = np.argsort(-np.abs(values), kind="stable")[:_MOST_BARS]
    signs = separation.infinite_of(shown)
    places = np.arange(shown.size)[::-1]
    for code in (1, -1, 2, 0):
        here = signs == code
        if here.any():
            axis.barh(places[here], values[shown[here]], color=_COLOURS[code], label=_MEANINGS[code])
            axis.plot(values[shown[here]], places[here], "o", color=_COLOURS[code], markersize=4)
    axis.set_yticks(places, [names[j] for j in shown])
    axis.axvline(0.0, color="0.25", linewidth=0.8)
    axis.set_xlabel("coefficient of the unit direction ū")
    more = values.size - shown.size
    axis.set_title(f"the {shown.size} largest of {values.size:,}" if more else "coefficients", fontsize="medium")
    axis.legend(frameon=False, fontsize="small")
