"""The termination test of Baghal, Paquette & Vavasis: stop at the first sample with a margin of 1."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.stop_rule import Needs, Progress, Status, Stop, StopRule, Watch
from sgdone.kernels.jit import inlined
from sgdone.kernels.probes import FIRE, FIRED, GO, LEAVE_OUT, Probe, look_away
from sgdone.kernels.rows import RowAccess
from sgdone.losses.loss import real_or_nan
from sgdone.rows.rows import Rows
from sgdone.stopping.state_checks import check_flag, check_numbers

#: Places in the numbers of the probes: the threshold, the margin that reached it, and whether the next row is to
#: be tested and not trained on.
_THRESHOLD: Final = 1
_MARGIN: Final = 2
_LOOKING: Final = 3


@final
@dataclass(frozen=True)
class MarginTest(StopRule):
    """Stop at the first margin y·z of a prediction that reaches the threshold: Baghal et al. (2021), Algorithm 1.

    The test is made before the update and returns θ_k without the sample that fired. It is made for constant steps
    (`sgdone.steps.ClassScale`) and for the logistic and hinge losses on centred data (``center=True``): there it
    stops near the most accurate classifier.

    Parameters
    ----------
    threshold : float
        The margin to reach; 1 in the paper.
    fresh : bool
        False is test (7) (supplement: (12)): the margin of the sample about to be used, at no cost. True is
        test (5) (supplement: (11)), which the theory is about: rows are read in pairs, the first is trained on
        and the second is only tested.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGDClassifier("hinge", solver="sgd", step="class-scale", center=True, alpha=0, stop="margin")
    >>> print(model.set_params(random_state=0).fit(X, y).verdict_)  # doctest: +ELLIPSIS
    Converged after ... samples (... passes): margin ... ≥ 1 at sample ...
    """

    threshold: float = 1.0
    fresh: bool = False
    name: ClassVar[str] = "margin"
    needs: ClassVar[Needs] = Needs(classes=True, iterate=True)

    def __post_init__(self) -> None:
        threshold: Any = self.threshold
        if not 0 < real_or_nan(threshold) < float("inf"):
            raise ValueError(
                f"threshold={threshold!r} is not a positive number: margins start at 0, so that the test would end "
                "every run at its first sample. 1 is the paper's"
            )

    def check(self, state: Any, n_features: int) -> None:
        """Four numbers."""
        check_numbers(self, state, 4)
        check_flag(self, state[FIRED], state[_LOOKING])
        self.check_kind(state, np.ndarray, holds=state[_THRESHOLD] == float(self.threshold))

    def start(self, n_rows: int | None) -> NDArray[np.float64]:
        """The numbers of the probe."""
        numbers = np.zeros(4)
        numbers[_THRESHOLD] = self.threshold
        return numbers

    def watches(self, state: NDArray[np.float64], rows: Rows) -> tuple[Watch, ...]:
        """The test itself, in the loop."""
        return (Watch(make_fresh_test if self.fresh else make_free_test, state),)

    def observe(self, state: NDArray[np.float64], progress: Progress) -> Stop | None:
        """Fire where the test did."""
        if not state[FIRED]:
            return None
        margin = float(state[_MARGIN])
        which = "a fresh sample" if self.fresh else f"sample {progress.step + 1:,}"
        where = f" after {progress.step:,}" if self.fresh else ""
        reason = f"margin {margin:.3g} ≥ {self.threshold:g} at {which}{where}{progress.where}"
        evidence = {"margin": margin, "threshold": self.threshold, "fresh": self.fresh}
        return Stop("MarginTest", Status.CONVERGED, reason, evidence)

    def describe(self, state: NDArray[np.float64], progress: Progress) -> str:
        """Text saying that no margin was large enough."""
        return f"saw no margin of {self.threshold:g} or more"


def make_free_test(access: RowAccess) -> Probe:
    """Test (7): the margin of the sample that is about to be used."""

    @inlined
    def before(y: Any, z: Any, numbers: Any, memory: Any) -> Any:
        if y * z >= numbers[_THRESHOLD]:
            numbers[FIRED] = 1.0
            numbers[_MARGIN] = y * z
            return FIRE
        return GO

    return Probe(before, look_away)


def make_fresh_test(access: RowAccess) -> Probe:
    """Test (5): the margin of a separate sample, read after each one that is trained on."""
    test = make_free_test(access).before

    @inlined
    def before(y: Any, z: Any, numbers: Any, memory: Any) -> Any:
        if numbers[_LOOKING] == 0.0:
            return GO
        numbers[_LOOKING] = 0.0
        return test(y, z, numbers, memory) | LEAVE_OUT

    @inlined
    def after(row: Any, arrays: Any, model: Any, numbers: Any, memory: Any) -> Any:
        numbers[_LOOKING] = 1.0
        return False

    return Probe(before, after)
