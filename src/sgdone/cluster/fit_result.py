"""What a fit over partitions leaves."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import NDArray

from sgdone.auto.units import Units
from sgdone.cluster.rounds import RoundRecord
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Model
from sgdone.run import Result, Trace, Verdict
from sgdone.tables import TableEncoderCore


@final
@dataclass(frozen=True)
class ClusterFit:
    """A model that was fitted to partitions.

    Parameters
    ----------
    result : Result
        Model, trace and verdict, as of a fit on one machine.
    classes : ndarray or None
        The labels, sorted; None in regression.
    encoder : TableEncoderCore or None
        How tables were encoded; None for arrays.
    units : Units
        Units in which the penalty acts on the coefficients.
    rounds : tuple of RoundRecord
        Each round, with the bytes that it sent and received.
    n_rows : int
        Rows of positive weight.
    names : list of str or None
        Names of the columns of arrays, if they have any.
    """

    result: Result
    classes: NDArray[Any] | None
    encoder: TableEncoderCore | None
    units: Units
    rounds: tuple[RoundRecord, ...]
    n_rows: int
    names: list[str] | None

    @property
    def model(self) -> Model:
        """The model in the user's units."""
        return self.result.model

    @property
    def objective(self) -> Objective:
        """What was minimised, with the penalty that was given or chosen."""
        return self.result.objective

    @property
    def trace(self) -> Trace:
        """One row per round."""
        return self.result.trace

    @property
    def verdict(self) -> Verdict:
        """Why the fit ended, and what is left to gain."""
        return self.result.verdict

    @property
    def bytes_sent(self) -> int:
        """Bytes of all requests."""
        return sum(record.bytes_sent for record in self.rounds)

    @property
    def bytes_new(self) -> int:
        """Bytes of all parts of requests that no earlier round has sent."""
        return sum(record.bytes_new for record in self.rounds)

    @property
    def bytes_received(self) -> int:
        """Bytes of all answers."""
        return sum(record.bytes_received for record in self.rounds)
