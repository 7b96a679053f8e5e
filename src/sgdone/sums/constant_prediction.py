"""Constant predictions: the baseline that a model must beat."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective, mean, standard_error
from sgdone.rows.source import Block
from sgdone.sums.system import contrasts

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


def constant_model(objective: Objective, block: Block, width: int) -> NDArray[np.float64]:
    """The model that predicts the same for all rows of a block, as the sums need it: ``width`` × free outputs."""
    used = block.all_used()
    intercept, basis = initial_intercept(objective, block.labels[used], block.weights_of(used)), contrasts(objective)
    model = np.zeros((width, objective.n_free_outputs))
    model[-1] = intercept if basis is None else intercept @ basis
    return model


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
    """Whether the losses of a model clearly exceed those of a constant prediction of the same rows."""
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
