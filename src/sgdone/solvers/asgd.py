"""Averaged stochastic gradient descent, explicit and implicit, by name."""

from sgdone.solvers.averaged import Averaged
from sgdone.solvers.isgd import ISGD
from sgdone.solvers.sgd import SGD


def asgd() -> Averaged:
    """Averaged SGD as Xu (2011) has it: `Averaged` around `SGD`."""
    return Averaged(SGD())


def aisgd() -> Averaged:
    """Averaged implicit SGD: `Averaged` around `ISGD`."""
    return Averaged(ISGD())


asgd.name = "asgd"  # type: ignore[attr-defined]
aisgd.name = "aisgd"  # type: ignore[attr-defined]
