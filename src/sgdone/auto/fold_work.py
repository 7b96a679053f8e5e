"""Whether optima by conjugate gradients, with folds, pay: counted work, as in `sgdone.auto.work`."""

import math

from sgdone.auto import work
from sgdone.data.source import Block
from sgdone.data.validation_rows import FEWEST
from sgdone.interfaces.objective import Objective

#: Nanoseconds of a product for each entry and column, sparse and dense, and of its vectors for each coefficient.
_SPARSE, _DENSE, _VECTORS = 2.0, 0.5, 6.0
#: Readings of all rows by the fold models, and by the model of all rows; and by those of several classes, whose
#: curvature is further from diagonal.
_PATH, _LAST = 80, 60
_PATH_OF_CLASSES, _LAST_OF_CLASSES = 120, 400
#: Folds: see `sgdone.data.validation_rows`.
_FOLDS = 3


def of_folds(objective: Objective, block: Block) -> float:
    """Work of a path of penalties with folds."""
    entry = sum(part.typical_length * (_DENSE if part.is_dense else _SPARSE) for _, part in block.rows.parts)
    product = block.n_used * entry + block.rows.n_features * _VECTORS
    several = objective.predicts == "softmax"
    path, last = (_PATH_OF_CLASSES, _LAST_OF_CLASSES) if several else (_PATH, _LAST)
    return float(product * objective.n_outputs * (path * _FOLDS + last))


def of_finish(objective: Objective, block: Block) -> float:
    """Work of a finish after the bank, with folds if the curvature cannot be factorised; infinite for too few rows."""
    if work.factorises(objective, block):
        return work.of_finish(objective, block, warm=True)
    return of_folds(objective, block) if block.n_used >= FEWEST else math.inf
