"""Methods that minimise the same objective, one file a library: mean loss + ½·alpha·‖w‖², no intercept.

The intercept is the weight of a column of ones that is part of the data, so that all minimise the very same thing.
"""

from contenders import ours, scikit, skglm_library, snap, vowpal
from contenders.contender import Contender, Data, MissingError

__all__ = ["Contender", "Data", "MissingError", "contenders"]


def contenders(loss: str) -> list[Contender]:
    """All that can do this loss."""
    return [one for library in (ours, scikit, snap, skglm_library, vowpal) for one in library.contenders(loss)]
