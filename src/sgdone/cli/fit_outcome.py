"""Result of a fit of the command."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from sgdone.fit.fitted_model import FittedModel

if TYPE_CHECKING:
    from sgdone.cli.leakage import Leak


@final
@dataclass(frozen=True)
class FitOutcome:
    """A fitted model, and what is said of it.

    Parameters
    ----------
    model
        The model.
    report : dict
        Everything for machines but the times.
    seconds : float
        Seconds of training.
    interrupted : bool
        Whether a signal ended it.
    leaks : list of Leak
        Columns that predict the label almost alone.
    announcements : list of str
        Sentences before the report.
    ending : str
        A sentence after it.
    reading : float
        Seconds of reading before training, if the fit reads the rows itself.
    """

    model: FittedModel
    report: dict[str, Any]
    seconds: float
    interrupted: bool
    leaks: "list[Leak]" = field(default_factory=list)
    announcements: list[str] = field(default_factory=list)
    ending: str = ""
    reading: float = 0.0
