"""Layout of the coefficients of a summary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.covariance import combinations
from sgdone.inference.sample import Sample
from sgdone.inference.summary import INTERCEPT
from sgdone.interfaces.objective import Objective
from sgdone.sums.system import contrasts

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class FittedModel:
    """A fitted model, as far as its summary needs it.

    Parameters
    ----------
    coef, intercept : ndarray
        Outputs × features, and one number per output.
    feature_names : sequence of str
        Names of the features.
    classes : sequence or None
        Labels; None for a regression.
    reference : int
        The number of the class that others are compared with.
    alpha : float
        The penalty of the fit.
    verdict : str
        Why the fit stopped.
    is_minimum : bool
        Whether the model is presented as the optimum with that penalty.
    """

    coef: Array
    intercept: Array
    feature_names: Sequence[str]
    classes: Sequence[Any] | None
    reference: int
    alpha: float
    verdict: str
    is_minimum: bool = True


@final
@dataclass(frozen=True)
class Layout:
    """The coefficients of a summary, output by output, the intercept first.

    Attributes
    ----------
    columns : ndarray of int
        Features of the summary.
    outputs : ndarray
        Each output of the summary in terms of those of the objective, a row each.
    labels : list or None
        The class of each output; None if there is one output.
    """

    objective: Objective
    columns: NDArray[np.intp]
    outputs: Array
    labels: list[Any] | None
    feature_names: Sequence[str]

    @classmethod
    def of(cls, objective: Objective, model: FittedModel, columns: NDArray[np.intp] | None) -> "Layout":
        """Two classes: the one that is not the reference. Several classes: each against the reference or the rest."""
        chosen = np.arange(len(model.feature_names)) if columns is None else columns
        names = model.feature_names
        if objective.predicts == "softmax":
            others = [k for k in range(objective.n_outputs) if k != model.reference]
            identity = np.eye(objective.n_outputs)
            assert model.classes is not None
            labels = [model.classes[k] for k in others]
            return cls(objective, chosen, identity[others] - identity[model.reference], labels, names)
        if objective.predicts == "one_vs_rest":
            assert model.classes is not None
            return cls(objective, chosen, np.eye(objective.n_outputs), list(model.classes), names)
        sign = -1.0 if model.classes is not None and model.reference == 1 else 1.0
        return cls(objective, chosen, np.array([[sign]]), None, names)

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
    def free_outputs(self) -> Array:
        """Each output of the summary in terms of the free outputs of the sums."""
        basis = contrasts(self.objective)
        return self.outputs if basis is None else self.outputs @ basis

    def combinations(self, sample: Sample, outputs: Array | None = None) -> Any:
        """The coefficients in terms of those in the units of the sums, as a CSR matrix."""
        scale, shift = sample.scaling.scale * sample.units, sample.scaling.shift
        own = None if shift is None else shift * sample.units
        return combinations(
            scale, own, self.free_outputs if outputs is None else outputs, self.columns, self.has_intercept
        )

    def of_model(self, model: FittedModel) -> Array:
        """The coefficients of the model itself."""
        coef = model.coef[:, self.columns]
        both = np.column_stack([model.intercept, coef]) if self.has_intercept else coef
        return np.asarray(self.outputs @ both).ravel()

    def places_of(self, output: int) -> range:
        """Positions of the coefficients of an output."""
        return range(output * self.per_output, (output + 1) * self.per_output)

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
