"""The objective of a fit, its model, and how good the model is on rows: means with their standard errors."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.learning_task import Task
from sgdone.losses.loss import Loss

Predicts = Literal["target", "two_classes", "one_vs_rest", "softmax"]


@final
@dataclass(frozen=True)
class Objective:
    """Mean weighted loss + α(ρ‖w‖₁ + (1 − ρ)/2·‖w‖²); the intercept is not penalised.

    Parameters
    ----------
    loss : Loss
        Loss of a row.
    alpha : float or None
        α, the penalty. None leaves the choice to the method.
    l1_ratio : float
        ρ, the share of L1.
    fit_intercept : bool
        Whether there is an intercept.
    center : bool
        Whether the origin is moved half-way between the means of the two classes, estimated from the first 100 rows,
        in place of an intercept: Baghal et al. (2021), section 5.
    predicts : {"two_classes", "target", "one_vs_rest", "softmax"}
        Meaning of the scores of a row: the sign gives the class; a real number; one score per class, each against the
        rest; one score per class, coupled by a softmax.
    n_outputs : int
        Scores per row.

    Examples
    --------
    >>> from sgdone.losses import Logistic
    >>> Objective.of_classes(Logistic(), 3, alpha=0.1).predicts
    'softmax'
    """

    loss: Loss
    alpha: float | None = None
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    center: bool = False
    predicts: Predicts = "two_classes"
    n_outputs: int = 1

    def __post_init__(self) -> None:
        if self.alpha is not None and not 0 <= self.alpha < np.inf:
            raise ValueError(f"alpha must be a non-negative number; got {self.alpha!r}")
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio must be between 0 (L2 only) and 1 (L1 only); got {self.l1_ratio!r}")

    @classmethod
    def of_classes(
        cls, loss: Loss, n_classes: int, alpha: float | None = None, *, fit_intercept: bool = True
    ) -> "Objective":
        """One model for all classes: one score for two of them, one per class for more.

        The scores are coupled by a softmax only if that is the loss's own generalisation to several classes.
        """
        if n_classes == 2:
            return cls(loss, alpha, fit_intercept=fit_intercept)
        predicts: Predicts = "softmax" if loss.multinomial else "one_vs_rest"
        return cls(loss, alpha, fit_intercept=fit_intercept, predicts=predicts, n_outputs=n_classes)

    @property
    def task(self) -> Task:
        """Whether numbers or classes are predicted."""
        return "regression" if self.predicts == "target" else "classification"

    @property
    def is_regression(self) -> bool:
        """Whether numbers are predicted."""
        return self.predicts == "target"

    @property
    def known_alpha(self) -> float:
        """α, where it is known."""
        if self.alpha is None:
            raise ValueError("alpha is chosen by the method: it is not known before the fit")
        return self.alpha

    @property
    def l1(self) -> float:
        """The factor of ‖w‖₁."""
        return self.known_alpha * self.l1_ratio

    @property
    def l2(self) -> float:
        """The factor of ½‖w‖²."""
        return self.known_alpha * (1.0 - self.l1_ratio)

    @property
    def n_free_outputs(self) -> int:
        """Scores that matter: a softmax does not depend on a constant added to all of them."""
        return self.n_outputs - 1 if self.predicts == "softmax" else self.n_outputs


LossEstimator = Literal["validation", "training", "leave-one-out", "cross-validation"]


class Model(NamedTuple):
    """A linear model in the user's units: coefficients (outputs × features) and one intercept per output."""

    coef: NDArray[np.floating]
    intercept: NDArray[np.float64]


@final
@dataclass(frozen=True)
class Judgement:
    """Loss of a model on validation rows, and the gain that is expected of further training; NaN where not known.

    Parameters
    ----------
    loss, loss_error : float
        Validation loss of the best model so far, and its standard error: how exactly the validation rows, which are
        few, measure it. The verdict reports both.
    gain, gain_error : float
        Expected decrease of the loss over the next ``passes`` passes, and its standard error.
    passes : float
        Number of further passes that ``gain`` refers to.
    noise : float
        Standard error of a mean loss over as many rows as were trained on, which are many: the unit of ``tol`` and of
        gains. Smaller differences do not matter: another sample of as many rows would change the loss by more.
    estimated_by : {"validation", "training", "leave-one-out", "cross-validation"}
        How the loss was estimated. "training" is the loss of the rows trained on, if there are too few to set some
        aside.
    constant_loss : float
        Loss, on the same rows, of the model that predicts the same for all rows.
    beats_constant : bool
        False if the loss exceeds ``constant_loss`` by more than three standard errors of their difference.
    decrement : float
        To second order, by how much the training objective, summed over the rows, exceeds its minimum.
    doubt : str
        Why training must go on whatever the gain, as a clause: what has not been seen or tried may matter.
    """

    loss: float
    loss_error: float = float("nan")
    gain: float = float("nan")
    gain_error: float = float("nan")
    passes: float = float("nan")
    noise: float = float("nan")
    estimated_by: LossEstimator = "validation"
    constant_loss: float = float("nan")
    beats_constant: bool = True
    decrement: float = float("nan")
    doubt: str = ""

    @property
    def gain_in_errors(self) -> float:
        """The expected gain divided by the noise."""
        if self.noise > 0 or np.isnan(self.gain):
            return self.gain / self.noise if self.noise > 0 else float("nan")
        return np.inf if self.gain > 0 else 0.0

    @property
    def evidence(self) -> dict[str, float]:
        """The loss, its error, and the expected gain, for the verdict."""
        return {
            "loss": self.loss,
            "standard_error": self.loss_error,
            "constant_loss": self.constant_loss,
            "gain": self.gain,
        }

    @property
    def loss_text(self) -> str:
        """The loss as a clause of a sentence."""
        text = f"the {self.estimated_by} loss is {measured(self.loss, self.loss_error)}"
        return text if self.beats_constant else f"{text}, above the {self.constant_loss:.3g} of a constant prediction"


#: Extra variance of the verdict's loss: another sample of n rows would give another model with p coefficients. The
#: variance is multiplied by 1 + FIT_VARIANCE·p/n. With this factor 95 % of the true losses lie within 1.96 of the
#: verdict's standard errors (``python -m tests.honesty errors``); without it, 86 % of fits to 60 rows.
FIT_VARIANCE = 3.0


def measured(value: float, error: float) -> str:
    """Format a number with three significant digits and its standard error with two.

    Examples
    --------
    >>> measured(0.064428, 0.01834), measured(1507.3, 101.2), measured(0.5, float("nan"))
    ('0.0644 ± 0.018', '1,507 ± 101', '0.5')
    """
    return f"{_rounded(value, 3)} ± {_rounded(error, 2)}" if math.isfinite(error) else _rounded(value, 3)


def _rounded(value: float, digits: int) -> str:
    """A number as text, without an exponent where that is easier to read."""
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def means(losses: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted mean losses of the columns.

    NumPy's own sums: starting the threads of a BLAS would take longer than a product of this size.
    """
    found: NDArray[np.float64] = (losses * weights[:, None]).sum(axis=0) / weights.sum()
    return found


def mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Weighted mean of one column."""
    return float((values * weights).sum() / weights.sum())


def standard_error(values: NDArray[np.float64], weights: NDArray[np.float64], count: float | None = None) -> float:
    """Standard error of a weighted mean, scaled to ``count`` values if given."""
    error = standard_errors(values[:, None], weights)[0]
    return float(error if count is None else error * np.sqrt(values.size / count))


def standard_errors(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of the weighted means of columns."""
    difference = (values - means(values, weights)) * weights[:, None]
    unit = np.abs(difference).max(axis=0, initial=0.0)
    shares = np.divide(difference, unit, out=np.zeros_like(difference), where=unit > 0)
    errors: NDArray[np.float64] = unit * np.sqrt((shares * shares).sum(axis=0)) / weights.sum()
    return errors


def grouped_error(
    values: NDArray[np.float64], weights: NDArray[np.float64], groups: NDArray[np.intp]
) -> tuple[float, int]:
    """Standard error of a weighted mean of values that are independent between groups only, and the number of groups.

    Groups that are not known are single values.
    """
    if not groups.size:
        return standard_error(values, weights), values.size
    sums = np.bincount(groups, (values - mean(values, weights)) * weights)
    return float(np.sqrt((sums * sums).sum()) / weights.sum()), int(np.unique(groups).size)
