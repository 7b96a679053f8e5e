"""Coefficients of a summary: of which model, of which features, in which order, and what was found of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.inference.refusals import Refusal
from sgdone.inference.sample import Sample
from sgdone.inference.summary import INTERCEPT
from sgdone.interfaces.objective import Objective
from sgdone.message_text import did_you_mean
from sgdone.sums.system import contrasts

if TYPE_CHECKING:
    from sgdone.inference.covariance import Covariance
    from sgdone.inference.prediction import Predictor
    from sgdone.inference.reference_coding import ReferenceCoding


Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class SummarisedModel:
    """A fitted model, as far as its summary needs it.

    ``coef`` is outputs × features, and ``intercept`` one number per output. Others are compared with the class number
    ``reference``; in a regression ``classes`` is None. ``is_minimum`` says whether the model is presented as the
    optimum with the penalty ``alpha``.
    """

    coef: Array
    intercept: Array
    feature_names: Sequence[str]
    classes: Sequence[Any] | None
    reference: int
    alpha: float
    verdict: str
    is_minimum: bool = True


def chosen_columns(
    columns: Sequence[Any] | None, names: Sequence[str], coding: "ReferenceCoding | None" = None
) -> NDArray[np.intp] | None:
    """Numbers of the features of a summary, in the order in which they are named first; None for all.

    ``columns`` are names of features or of columns of a table, or numbers of features of the model; with a ``coding``
    the features of the summary are not those of the model.

    Examples
    --------
    >>> chosen_columns(["b", -3], ["a", "b", "c"])
    array([1, 0])
    """
    if columns is None:
        return None
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    if not len(columns):
        raise ValueError("columns is empty: name at least one feature, or leave it out for all")
    known = {name: j for j, name in enumerate(names)}
    asked: list[tuple[int, ...]] = []
    for column in columns:
        if isinstance(column, str) and column == INTERCEPT and column not in known:
            continue
        if coding is not None and isinstance(column, str) and column in coding.columns:
            asked.append(tuple(coding.columns[column].tolist()))
            if not asked[-1]:
                reason = coding.left_out.get(column, "the rows have one level only, or another column determines it")
                raise ValueError(f"column {column!r} has no coefficients in the summary: {reason}")
            continue
        if coding is not None and column in coding.left_out and column not in known:
            raise ValueError(f"column {column!r} has no coefficients in the summary: {coding.left_out[column]}")
        feature = _feature(column, known, [] if coding is None else list(coding.columns))
        asked.append((feature if coding is None else _of_feature(feature, str(names[feature]), coding),))
    if len(set(asked)) < len(asked):
        raise ValueError("columns names a feature twice")
    return np.array(list(dict.fromkeys(j for own in asked for j in own)), dtype=np.intp)


def _feature(column: Any, known: dict[str, int], columns: Sequence[str]) -> int:
    """The number of one feature of the model."""
    if isinstance(column, str):
        if column not in known:
            raise ValueError(f"X has no column {column!r}.{did_you_mean(column, [*columns, *known])}")
        return known[column]
    if isinstance(column, (bool, np.bool_)) or not isinstance(column, (int, np.integer)):
        raise ValueError(f"columns holds {column!r}: give names or numbers of features")
    if not -len(known) <= column < len(known):
        raise ValueError(f"column {column} does not exist: X has {len(known)} columns, counted from 0")
    return int(column) % len(known)


def _of_feature(feature: int, name: str, coding: "ReferenceCoding") -> int:
    place = int(np.searchsorted(coding.kept, feature))
    if place < coding.kept.size and coding.kept[place] == feature:
        return place
    if name in coding.left_out:
        raise ValueError(f"{name!r} has no coefficient in the summary: {coding.left_out[name]}")
    factor = next((own for own in coding.factors if feature in own.features), None)
    if factor is None or factor.reference < 0:
        raise ValueError(f"{name!r} has no coefficient in the summary: another column determines it")
    raise ValueError(
        f"{name!r} is the reference level, which the other levels of {factor.name} are compared with: name one of "
        f"them, or {factor.name!r} for all"
    )


@final
@dataclass(frozen=True)
class Layout:
    """The coefficients of a summary, output by output, the intercept first.

    ``columns`` are the features of the summary. Each row of ``outputs`` has an output of the summary in terms of those
    of the objective, and ``labels`` its class if there are several.
    """

    objective: Objective
    columns: NDArray[np.intp]
    outputs: Array
    labels: list[Any] | None
    feature_names: Sequence[str]

    @classmethod
    def of(cls, objective: Objective, model: SummarisedModel, columns: NDArray[np.intp] | None) -> "Layout":
        """Two classes: the one that is not the reference. Several classes: each against the reference or the rest."""
        names, classes = model.feature_names, model.classes
        chosen = np.arange(len(names)) if columns is None else columns
        if classes is None or len(classes) == 2:
            sign = -1.0 if classes is not None and model.reference == 1 else 1.0
            return cls(objective, chosen, np.array([[sign]]), None, names)
        identity = np.eye(len(classes))
        if objective.predicts == "one_vs_rest":
            return cls(objective, chosen, identity, list(classes), names)
        others = [k for k in range(len(classes)) if k != model.reference]
        labels = [classes[k] for k in others]
        return cls(objective, chosen, identity[others] - identity[model.reference], labels, names)

    @property
    def has_intercept(self) -> bool:
        """Whether intercepts come first."""
        return self.objective.fit_intercept

    @property
    def per_output(self) -> int:
        """Coefficients of each output."""
        return self.columns.size + int(self.has_intercept)

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.per_output * len(self.outputs)

    @property
    def features(self) -> list[str]:
        """The feature of each coefficient."""
        first = [INTERCEPT] if self.has_intercept else []
        return [*first, *(str(self.feature_names[j]) for j in self.columns.tolist())] * len(self.outputs)

    @property
    def classes(self) -> list[Any] | None:
        """The class of each coefficient, if there are several outputs."""
        return None if self.labels is None else [label for label in self.labels for _ in range(self.per_output)]

    @property
    def names(self) -> list[str]:
        """Names of the coefficients: the feature, with its class in front if there are several outputs."""
        if self.classes is None:
            return self.features
        return [f"{label}: {name}" for label, name in zip(self.classes, self.features, strict=True)]

    @property
    def feature_numbers(self) -> NDArray[np.intp]:
        """Number of the feature of each coefficient of an output; that of the intercept follows the last feature."""
        return np.append(np.full(int(self.has_intercept), len(self.feature_names), dtype=np.intp), self.columns)

    def combinations(self, sample: Sample, outputs: Array | None = None) -> Any:
        """The coefficients in terms of those in the units of the sums: a row of a CSR matrix each, output by output.

        Its columns are (features + 1) × free outputs. ``outputs`` are those of the summary in terms of the free ones.
        """
        scale, shift = sample.scaling.scale * sample.units, sample.scaling.shift
        width, inverse = scale.size + 1, np.where(np.isfinite(scale), 1.0 / scale, 0.0)
        count = self.columns.size
        rows = sparse.csr_array((inverse[self.columns], (np.arange(count), self.columns)), shape=(count, width))
        if self.has_intercept:
            first = np.zeros((1, width))
            first[0, -1] = 1.0
            if shift is not None:
                first[0, :-1] = -(shift * sample.units) * inverse
            rows = sparse.csr_array(sparse.vstack([sparse.csr_array(first), rows]))
        if outputs is None:
            basis = contrasts(self.objective)
            outputs = self.outputs if basis is None else self.outputs @ basis
        return sparse.csr_array(sparse.kron(sparse.csr_array(outputs), rows, format="csr"))

    def of_model(self, model: SummarisedModel) -> Array:
        """The coefficients of the model itself."""
        coef = model.coef[:, self.columns]
        both = np.column_stack([model.intercept, coef]) if self.has_intercept else coef
        return np.asarray(self.outputs @ both).ravel()

    def positions(self, columns: Iterable[int], *, intercept: bool = False) -> list[int]:
        """Positions, in all outputs, of the coefficients of some features, and of the intercepts."""
        own = [self._places[j] for j in columns if j in self._places]
        if intercept and self.has_intercept:
            own = [0, *own]
        return [output * self.per_output + place for output in range(len(self.outputs)) for place in own]

    @cached_property
    def _places(self) -> dict[int, int]:
        """The place of each feature among the coefficients of an output."""
        return {j: place + int(self.has_intercept) for place, j in enumerate(self.columns.tolist())}


@final
@dataclass(frozen=True)
class Estimate:
    """Coefficients of a summary, their covariance, and refusals by position.

    ``coefficients`` were estimated, at a summed loss of ``loss``. ``attained`` says whether the likelihood has a
    maximum; ``monte_carlo_error`` is the relative error of the standard errors that comes from random numbers.
    """

    coef: Array
    refused: dict[int, Refusal]
    coefficients: int = 0
    loss: float = np.nan
    covariance: "Covariance | None" = None
    predictor: "Predictor | None" = None
    monte_carlo_error: float = 0.0
    attained: bool = True

    @classmethod
    def nothing(cls, layout: Layout, refusal: Refusal) -> "Estimate":
        """All coefficients refused, for one reason."""
        return cls(np.full(layout.size, np.nan), dict.fromkeys(range(layout.size), refusal))
