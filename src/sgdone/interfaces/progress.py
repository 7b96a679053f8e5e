"""Progress of a run, as stopping rules and callbacks see it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.measured import measured

NEVER = 2**62

Estimate = Literal["validation", "training", "leave-one-out", "cross-validation"]


class Model(NamedTuple):
    """A linear model in the user's units: coefficients (outputs × features) and one intercept per output."""

    coef: NDArray[np.floating]
    intercept: NDArray[np.float64]


@final
@dataclass(frozen=True)
class Judgement:
    """How good a model is on validation rows, and what further training is expected to gain.

    Parameters
    ----------
    loss, loss_error : float
        Validation loss of the best model so far, and its standard error as measured on the validation rows.
    gain, gain_error : float
        Expected decrease of the loss over the next ``passes`` passes, and its standard error. NaN if there is nothing
        to extrapolate from yet.
    passes : float
        Number of further passes that ``gain`` refers to.
    noise : float
        Standard error of a mean loss over as many rows as were trained on. Smaller differences do not matter: another
        sample of as many rows would change the loss by more.
    estimated_by : {"validation", "training", "leave-one-out", "cross-validation"}
        How the loss was estimated. "training" is the loss of the rows trained on, if there are too few to set some
        aside.
    constant_loss : float
        Loss, on the same rows, of the model that predicts the same for all rows.
    beats_constant : bool
        False if the loss exceeds ``constant_loss`` by more than three standard errors of their difference.
    decrement : float
        To second order, by how much the training objective, summed over the rows, exceeds its minimum; NaN if the
        method does not know.
    """

    loss: float
    loss_error: float
    gain: float
    gain_error: float
    passes: float
    noise: float
    estimated_by: Estimate = "validation"
    constant_loss: float = float("nan")
    beats_constant: bool = True
    decrement: float = float("nan")

    @property
    def gain_in_errors(self) -> float:
        """The expected gain divided by the noise."""
        if self.noise > 0 or np.isnan(self.gain):
            return self.gain / self.noise if self.noise > 0 else float("nan")
        return np.inf if self.gain > 0 else 0.0

    @property
    def evidence(self) -> dict[str, float]:
        """The loss, its error, and the expected gain, for the verdict."""
        return {
            "loss": self.loss,
            "standard_error": self.loss_error,
            "constant_loss": self.constant_loss,
            "gain": self.gain,
        }

    @property
    def loss_text(self) -> str:
        """The loss as a clause of a sentence."""
        text = f"the {self.estimated_by} loss is {measured(self.loss, self.loss_error)}"
        return text if self.beats_constant else f"{text}, above the {self.constant_loss:.3g} of a constant prediction"


class Turn(NamedTuple):
    """The share of a run in the seconds of a fit: models that are trained one after the other take turns.

    Parameters
    ----------
    began : float
        Seconds after which its turn began.
    number, turns : int
        Its number, from 0, and the number of turns; a turn is that of as many models as there are threads.
    """

    began: float = 0.0
    number: int = 0
    turns: int = 1


@final
@dataclass(frozen=True)
class Progress:
    """State of a run after a chunk of rows.

    Parameters
    ----------
    step : int
        Updates made.
    rows_read : int
        Rows read.
    n_rows : int or None
        Rows in a pass, if known.
    pass_number : int
        Passes begun.
    pass_ended : bool
        Whether the last row read was the last of its pass.
    loss : float
        Mean progressive loss of the pass so far: each row is predicted just before it is trained on. NaN before the
        first update of a pass.
    seconds : float
        Time since the fit began.
    predictions, slopes : ndarray
        Prediction before each update of the chunk, and slope of the loss there, for methods with a single model.
    iterate : callable
        Returns the running weights and intercept, in the units in which the method sees the rows.
    solution : callable
        Returns the `Model` so far, in the user's units.
    judgement : Judgement or None
        The method's judgement, if it evaluated its model at this point.
    turn : Turn
        The share of this run in the seconds of the fit.
    """

    step: int
    rows_read: int
    n_rows: int | None
    pass_number: int
    pass_ended: bool
    loss: float
    seconds: float
    predictions: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.empty(0))
    slopes: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.empty(0))
    iterate: Callable[[], tuple[NDArray[np.float64], float]] = field(
        repr=False, default=lambda: (np.empty(0), 0.0), compare=False
    )
    solution: Callable[[], Model] = field(
        repr=False, default=lambda: Model(np.empty((1, 0)), np.empty(1)), compare=False
    )
    judgement: Judgement | None = None
    turn: Turn = field(default_factory=Turn)

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        if self.n_rows is None:
            return float(self.pass_number)
        return self.rows_read / self.n_rows

    @property
    def where(self) -> str:
        """The number of passes as text, "(0.37 passes)"; empty if the number of rows is unknown."""
        return "" if self.n_rows is None else f" ({self.passes:.3g} passes)"


@final
@dataclass(frozen=True)
class Pause:
    """The next point at which a rule or a method must be called; the driver does not go past it."""

    step: int = NEVER
    rows_read: int = NEVER
