"""What every update adds to a model's numbers, whatever it did to the weights."""

from typing import Any

from sgdone.kernels.jit import inlined
from sgdone.kernels.model import Numbers


@inlined
def after_update(
    model: Any, scale: Any, share: Any, intercept: Any, loss: Any, weight: Any, wrong: Any, squares: Any
) -> Any:
    """The numbers after one more update: the iterate's, and the sums of a pass and of a stretch.

    ``loss`` is the weight × loss of the update's row, or the sum over its rows, and ``weight`` that of the weights;
    ``wrong`` counts signs that were wrong and ``squares`` adds up squared differences, both as one row does.
    """
    return Numbers(
        scale,
        model.own,
        share,
        intercept,
        model.averaged_intercept,
        model.steps + 1.0,
        model.averaged_steps,
        model.pass_loss + loss,
        model.pass_weight + weight,
        model.stretch_loss + loss,
        model.stretch_weight + weight,
        model.stretch_wrong + wrong,
        model.stretch_squares + squares,
        model.iterate_loss,
        model.moving_loss,
    )
