"""A model's numbers: the scalars that go with its weight vectors.

A model is two arrays and these numbers: ``weights`` (one or two vectors along the features) and ``offsets`` (the
rank-one part of each vector when rows are shifted, see `sgdone.kernels.rows`).
"""

from typing import Any, Final, NamedTuple

from sgdone.kernels.jit import inlined


class Numbers(NamedTuple):
    """The scalars of a model. Between calls of a loop they are stored in a float64 array, in this order."""

    #: The iterate is ``scale`` × vector 0.
    scale: Any
    #: The average is ``own`` × vector 1 + ``share`` × vector 0 (Xu 2011, Algorithm 1: 1/β and τ/β).
    own: Any
    share: Any
    intercept: Any
    averaged_intercept: Any
    #: Number of updates, and of updates since averaging began.
    steps: Any
    averaged_steps: Any
    #: Sums over the updates of a pass of weight × loss of the prediction made before the update, and of the weights.
    pass_loss: Any
    pass_weight: Any
    #: The same over a stretch, the number of predictions of the wrong sign, and the sum of squared errors.
    stretch_loss: Any
    stretch_weight: Any
    stretch_wrong: Any
    stretch_squares: Any
    #: Moving averages of the losses of the iterate and of its moving average (Xu 2011, section 5).
    iterate_loss: Any
    moving_loss: Any


LENGTH: Final = len(Numbers._fields)

#: Below the first and above the second (explicit steps with γα > 2) a scale is multiplied into its vector.
FLOOR: Final = 1e-9
CEILING: Final = 1e9
#: The same for an average: as scales shrink, vectors grow that cancel in it, and two digits may be lost.
AVERAGE_FLOOR: Final = 1e-2
AVERAGE_CEILING: Final = 1e2


@inlined
def load(a: Any) -> Any:
    """Read the scalars out of their array."""
    return Numbers(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14])


@inlined
def store(model: Any, numbers: Any) -> None:
    """Write the scalars back into their array."""
    for k in range(LENGTH):
        numbers[k] = model[k]
