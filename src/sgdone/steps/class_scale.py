"""The constant step size used with the margin stopping rule."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.loss import is_whole, real_or_nan
from sgdone.steps.constant import Constant
from sgdone.steps.step_size import Preliminary, StepSize, stable_step


@final
@dataclass(frozen=True)
class ClassScale(StepSize):
    """γ = α̃/σ̃², constant: Baghal et al. (2021), section 5 and supplement.

    σ̃² is the mean of ‖x − μ̃‖² over the rows of a class, μ̃ the class mean, averaged over the two classes. It is
    estimated from the first rows.

    Parameters
    ----------
    alpha : float
        α̃, dimensionless; 1/16 in the paper, 1/10 and 1/200 in its supplement. Smaller is slower and more accurate.
    samples : int
        Number of rows used to estimate σ̃²; more are used if they contain only one class.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> X, y = [[-1.0, 0.0], [1.0, 0.0], [-1.0, 2.0], [1.0, 2.0]], [0, 1, 0, 1]
    >>> SGDClassifier(solver="sgd", step=ClassScale(0.5), stop=1).fit(X, y).trace_["step_size"]
    array([0.5])
    """

    alpha: float = 1 / 16
    samples: int = 100
    name: ClassVar[str] = "class_scale"

    def __post_init__(self) -> None:
        if not 0 < real_or_nan(self.alpha) < float("inf"):
            raise ValueError(f"alpha={self.alpha!r} is not a positive finite number: the paper uses 1/16")
        if not is_whole(self.samples, 2):
            raise ValueError(f"samples={self.samples!r} is not an integer of at least 2: give a number of rows")

    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Raise: the step size is known only after `resolve`."""
        raise RuntimeError("ClassScale needs the first rows to set its step size: call resolve first")

    def resolve(self, preliminary: Preliminary) -> StepSize:
        """Return the constant step size; `stable_step` if the rows of each class are equal."""
        if preliminary.class_scale is None:
            raise ValueError("ClassScale needs the first rows of a classification with two classes")
        scale = preliminary.class_scale(int(self.samples))
        step = self.alpha / scale if scale > 0 else np.inf
        return Constant(step if np.isfinite(step) and step > 0 else stable_step(preliminary))
