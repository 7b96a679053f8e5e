"""The objective that a method minimises."""

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

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
    def penalty(self) -> float:
        """α, where it is known."""
        if self.alpha is None:
            raise ValueError("alpha is chosen by the method: it is not known before the fit")
        return self.alpha

    @property
    def l1(self) -> float:
        """The factor of ‖w‖₁."""
        return self.penalty * self.l1_ratio

    @property
    def l2(self) -> float:
        """The factor of ½‖w‖²."""
        return self.penalty * (1.0 - self.l1_ratio)

    @property
    def n_free_outputs(self) -> int:
        """Scores that matter: a softmax does not depend on a constant added to all of them."""
        return self.n_outputs - 1 if self.predicts == "softmax" else self.n_outputs
