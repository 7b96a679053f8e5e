"""An objective in the units of its sums: models in these units and back in the user's, and constant predictions.

A model of the sums has one column of coefficients per output, the intercepts last. A softmax of K scores does not
depend on a constant added to all of them: its models have K − 1 columns u, with scores zQᵀ for an orthonormal basis Q
of the contrasts. Coefficients and intercepts of the K classes then sum to 0, and their norm is that of u.

With fewer rows than columns, the problem is solved in the span of the rows, which has no more coordinates than rows.
The optimum with an L2 penalty is a combination of the rows, w = X̃ᵀa. With the eigenvectors U and eigenvalues s² of
X̃X̃ᵀ, rows have the coordinates Us in an orthonormal basis of their span: predictions and the penalty stay the same.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, helmert

from sgdone.interfaces.objective import Model, Objective, mean, standard_error
from sgdone.rows.rows import Block, Rows, Scaling
from sgdone.sums.pieces import PIECE, BlockPieces, Pieces

Array = NDArray[np.float64]

#: Directions in which the rows vary by less than this share of the largest are left out: penalties end well above.
_FLAT = 1e-13


@final
@dataclass(frozen=True)
class RowSpan:
    """Rows in coordinates of their span."""

    #: Rows in these coordinates.
    pieces: BlockPieces
    #: Rows in the units in which the penalty acts.
    original: Pieces
    #: Us⁻¹, rows × coordinates.
    back: Array

    @classmethod
    def of(cls, original: Pieces) -> "RowSpan":
        """The span of at most `PIECE` rows."""
        (piece,) = original
        values, vectors = eigh(piece.rows.inner_products(), check_finite=False)
        known = values > _FLAT * max(float(values[-1]), np.finfo(np.float64).tiny)
        known[-1] = True  # rows that are all equal keep one coordinate
        sizes = np.sqrt(np.maximum(values[known], 0.0))
        matrix = np.ascontiguousarray(vectors[:, known] * sizes)
        block = Block.of(Rows.of(matrix), piece.labels, piece.weights)
        return cls(
            BlockPieces(block, Scaling(np.ones(matrix.shape[1]))),
            original,
            vectors[:, known] * np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0),
        )

    def model(self, found: Array) -> Array:
        """A model of the rows' coordinates as a model of the features."""
        (piece,) = self.original
        coef = piece.rows.transposed_times(self.back @ found[:-1])[:-1]
        return np.vstack([coef, found[-1:]])


def is_smaller(n_rows: int, n_features: int) -> bool:
    """Whether the span of the rows has fewer coordinates than there are features, and fits into a piece."""
    return n_rows < n_features and n_rows <= PIECE


@lru_cache(maxsize=16)
def contrasts(objective: Objective) -> Array | None:
    """Q, classes × (classes − 1), whose columns are orthonormal and sum to 0; None unless the loss is a softmax.

    Examples
    --------
    >>> from sgdone.losses import Logistic
    >>> contrasts(Objective.of_classes(Logistic(), 3)).round(3).T
    array([[ 0.707, -0.707,  0.   ],
           [ 0.408,  0.408, -0.816]])
    """
    return np.ascontiguousarray(helmert(objective.n_outputs).T) if objective.predicts == "softmax" else None


@final
@dataclass(frozen=True)
class System:
    """The objective Σvℓ + ½Σλw² of rows x̃ = (x − shift)/scale.

    Parameters
    ----------
    objective : Objective
        The loss, the intercept and the outputs; the penalty of the sums is given apart, see `penalties`.
    scaling : Scaling
        Units of the columns; infinite for columns whose coefficients are 0.
    span : RowSpan, optional
        Coordinates of the rows in their span, if the models are of these.

    Examples
    --------
    >>> from sgdone.losses import Squared
    >>> system = System(Objective(Squared(), predicts="target"), Scaling(np.array([2.0, np.inf]), np.array([1.0, 5.0])))
    >>> system.to_user(np.array([[4.0], [0.0], [3.0]]))
    Model(coef=array([[2., 0.]]), intercept=array([1.]))
    >>> system.penalties(0.1)
    array([0.1, inf, 0. ])
    """

    objective: Objective
    scaling: Scaling
    span: RowSpan | None = None

    @property
    def n_features(self) -> int:
        """Number of features, or of coordinates."""
        return int(self.scaling.scale.size) if self.span is None else self.span.pieces.n_features

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a model: features and the intercept, and free outputs."""
        return self.n_features + 1, self.objective.n_free_outputs

    @property
    def n_coefficients(self) -> int:
        """Coefficients and intercepts of a model."""
        return self.shape[0] * self.shape[1]

    def penalties(self, lam: float | Array) -> Array:
        """λ of each row of a model: ``lam``, or one per feature; 0 for the intercepts, infinite for a fixed 0.

        Constant columns have no coefficients, and there may be no intercept.
        """
        found = np.empty(self.shape[0])
        found[:-1] = lam
        if self.span is None:
            found[:-1][~np.isfinite(self.scaling.scale)] = np.inf
        found[-1] = 0.0 if self.objective.fit_intercept else np.inf
        return found

    def constant(self, scores: Array) -> Array:
        """The model that predicts the same for all rows: one score for each output."""
        model, basis = np.zeros(self.shape), contrasts(self.objective)
        model[-1] = scores if basis is None else scores @ basis
        return model

    def from_user(self, coef: NDArray[Any], intercept: Array) -> Array:
        """A model in the units of the sums, from one in the user's units, outputs × features."""
        basis = contrasts(self.objective)
        model = np.vstack(self.scaling.from_user(coef.astype(np.float64, copy=False), intercept))
        return model if basis is None else model @ basis

    def of_features(self, model: Array) -> Array:
        """Model of the features, also if the model is in coordinates of the span."""
        return model if self.span is None else self.span.model(model)

    def to_user(self, model: Array, dtype: Any = np.float64) -> Model:
        """A model of the sums in the user's units; its coefficients are of type ``dtype``."""
        basis = contrasts(self.objective)
        model = self.of_features(model)
        model = model if basis is None else model @ basis.T
        coef, intercept = self.scaling.to_user(model[:-1], model[-1])
        return Model(coef.astype(dtype, copy=False), np.ascontiguousarray(intercept))


#: Standard errors of the difference at which a model is worse than a constant prediction: a fit that is worse has not
#: converged, and a model to start from that is worse is not used.
Z_CONSTANT: Final = 3.0
#: Values among which the best constant is searched for, and targets on which they are compared.
_GRID, _TARGETS = 41, 256


def is_robust(objective: Objective) -> bool:
    """Whether distant targets have bounded influence, because the slope of the loss is bounded."""
    return objective.is_regression and objective.loss.lipschitz < np.inf


def initial_intercept(
    objective: Objective, labels: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Intercepts that fit some rows without their features: the mean or median target, or log class frequencies."""
    count = objective.n_outputs
    if not objective.fit_intercept:
        return np.zeros(count)
    if objective.is_regression:
        return np.array([centre(objective, labels)])
    if not objective.loss.probabilistic:
        return np.zeros(count)
    two = objective.predicts == "two_classes"
    numbers = (labels > 0).astype(np.intp) if two else labels.astype(np.intp)
    frequencies = np.bincount(numbers, weights, minlength=max(2, count))
    if not frequencies.all():  # perhaps sorted by class: these rows may not be like those to come
        return np.zeros(count)
    logs: NDArray[np.float64] = np.log(frequencies.astype(np.float64))
    if two:
        return np.asarray(logs[1:] - logs[:1], dtype=np.float64)
    if objective.predicts == "softmax":
        return np.asarray(logs - logs.mean(), dtype=np.float64)
    others = np.log((frequencies.sum() - frequencies).astype(np.float64))
    return np.asarray(logs - others, dtype=np.float64)


def constant_model(system: System, block: Block) -> NDArray[np.float64]:
    """The model that predicts the same for all rows of a block."""
    used = block.all_used()
    return system.constant(initial_intercept(system.objective, block.labels[used], block.weights_of(used)))


def best_constant(
    objective: Objective, labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Intercepts of the model that predicts the same for all rows.

    Known in closed form, or the best of 41 values: margins from −1 to 1, or quantiles of the targets, compared on at
    most 256 of them. As plain Python: not worth compiling.
    """
    loss, count = objective.loss, objective.n_outputs
    if not (objective.fit_intercept or objective.center):
        return np.zeros(count)
    if objective.is_regression and loss.quadratic:
        return np.array([mean(labels, weights)])
    if loss.probabilistic:
        return initial_intercept(objective, labels, weights)
    if objective.is_regression:
        some = slice(None, None, -(-labels.size // _TARGETS))
        grid, targets, shares = np.quantile(labels, np.linspace(0.0, 1.0, _GRID)), labels[some], [weights[some]]
    else:
        grid, targets = np.linspace(-1.0, 1.0, _GRID), np.array([-1.0, 1.0])
        positive = [labels > 0] if count == 1 else [labels == k for k in range(count)]
        shares = [np.array([weights[~chosen].sum(), weights[chosen].sum()]) for chosen in positive]
    parameters = loss.parameters
    losses = np.array([[loss.kernel.value(z, y, parameters) for y in targets.tolist()] for z in grid.tolist()])
    return np.array([grid[np.argmin(losses @ share)] for share in shares])


def is_worse_than_constant(
    losses: NDArray[np.float64],
    constant: NDArray[np.float64],
    weights: NDArray[np.float64],
    errors: float = Z_CONSTANT,
    factor: float = 1.0,
) -> bool:
    """Whether the losses of a model clearly exceed the losses of a constant prediction of the same rows."""
    difference = losses - constant
    clear = mean(difference, weights) > errors * standard_error(difference, weights)
    return clear and mean(losses, weights) > factor * mean(constant, weights)


def centre(objective: Objective, labels: NDArray[np.float64]) -> float:
    """The mean target, or the median if the slope of the loss is bounded."""
    with np.errstate(over="ignore"):  # labels that large are an error when they are trained on
        return float(np.median(labels) if is_robust(objective) else labels.mean())


def curvature(objective: Objective, labels: NDArray[np.float64]) -> float:
    """A curvature for step sizes: the largest of the loss, or its largest slope over a typical distance."""
    distance = 1.0
    if objective.is_regression:
        distance = float(np.median(np.abs(labels - centre(objective, labels)))) or 1.0
    found = min(objective.loss.smoothness, objective.loss.lipschitz / distance)
    return found if 0 < found < np.inf else 1.0
