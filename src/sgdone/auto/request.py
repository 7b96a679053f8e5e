"""What is asked of a fit without knobs, and what it leaves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.learner import Learner
from sgdone.auto.looks import Weights
from sgdone.auto.task import Task
from sgdone.stopping.base import Progress, StopRule
from sgdone.trace import Trace
from sgdone.verdict import Verdict

#: Called after each stretch of rows; a returned text stops the fit.
Hook = Callable[[Progress, Learner], str | None]


@final
@dataclass(frozen=True)
class AutoResult:
    """What a fit leaves: the model in the user's units, how it came about, and what it takes to go on."""

    coef: NDArray[Any]
    intercept: NDArray[np.float64]
    trace: Trace
    verdict: Verdict
    state: Learner
    rule_state: Any
    rows_read: int
    passes_begun: int


@final
@dataclass(frozen=True)
class Request:
    """What is asked of a fit, beside the rows.

    Parameters
    ----------
    task : Task
        What to predict.
    alpha : float, optional
        The penalty on coefficients in the units learnt in; left to the candidates if not given.
    stop : StopRule, optional
        A budget; if not given, the fit ends when another pass would gain too little.
    tol : float
        Standard errors of the loss that another pass must promise.
    single_pass : bool
        One pass over rows of a stream, of which there will be more.
    start : (coef, intercept), optional
        Where to start, in the user's units, an output a row.
    hook : callable, optional
        Called after each stretch of rows; a returned text stops the fit.
    feature_names : sequence of str, optional
        What the verdict calls the columns.
    """

    task: Task
    alpha: float | None = None
    stop: StopRule | None = None
    tol: float = 0.2
    single_pass: bool = False
    start: Weights | None = None
    hook: Hook | None = None
    feature_names: Sequence[str] | None = None
