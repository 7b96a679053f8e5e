"""A curvature for step sizes, from the labels."""

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.run.constant_prediction import centre


def curvature(objective: Objective, labels: NDArray[np.float64]) -> float:
    """A curvature for step sizes: the largest of the loss, or its largest slope over a typical distance."""
    distance = 1.0
    if objective.is_regression:
        distance = float(np.median(np.abs(labels - centre(objective, labels)))) or 1.0
    found = min(objective.loss.smoothness, objective.loss.lipschitz / distance)
    return found if 0 < found < np.inf else 1.0
