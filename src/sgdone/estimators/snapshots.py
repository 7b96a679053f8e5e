"""Models as callbacks see them while they are trained."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import Learner
from sgdone.estimators.callbacks import Snapshot
from sgdone.estimators.training import Start
from sgdone.solvers.state import State


def snapshots(starts: list[Start], dtype: Any, classes: NDArray[Any]) -> Snapshot:
    """The models trained so far, one after the other, as callbacks see them."""
    coef = np.array([start.coef for start in starts], dtype=dtype)
    intercept = np.array([start.intercept for start in starts])

    def snapshot(model: int, state: State) -> dict[str, Any]:
        coef[model], intercept[model] = state.solution()
        return {"coef_": coef.copy(), "intercept_": intercept.copy(), "classes_": classes}

    return snapshot


def snapshot_of_bank(dtype: Any, classes: NDArray[Any]) -> Snapshot:
    """The leader of a bank, as callbacks see it."""

    def snapshot(model: int, state: Any) -> dict[str, Any]:
        learner: Learner = state
        coef, intercept = learner.solution()
        multinomial = learner.task.kind == "softmax"
        return {
            "coef_": coef.astype(dtype),
            "intercept_": intercept,
            "classes_": classes,
            "multinomial_": multinomial,
        }

    return snapshot
