"""Probes check every sample from inside the loop, for rules that must stop at exactly one of them.

A probe is two functions. Each is given the probe's ``numbers`` (the first is whether it has fired) and its ``memory``
(a tuple of arrays):

- ``before(y, z, numbers, memory)`` is given a prediction before its update. It returns `GO`, or the bits `LEAVE_OUT`
  (the row is read but not trained on) and `FIRE`. It may change its numbers only where it does not return `GO`: after
  `FIRE` alone the same row is given again.
- ``after(row, arrays, model, numbers, memory)`` is given the model after an update and returns whether to stop there.
  ``row`` is ``(i, v, slope)``, and ``arrays`` is that of `sgdone.kernels.loop.RowMethod`.

Several probes are called in turn. Their numbers and memories are nested: ``((numbers, memory), the rest)``, and ``()``
at the end.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sgdone.kernels.jit import inlined
from sgdone.kernels.rows import RowAccess

GO: Final = 0
LEAVE_OUT: Final = 1
FIRE: Final = 2

#: Index into a probe's numbers: whether it has fired.
FIRED: Final = 0


class Probe(NamedTuple):
    """The two functions of a probe."""

    before: Callable[..., Any]
    after: Callable[..., Any]


#: Makes a probe for a way of reaching rows.
ProbeMaker = Callable[[RowAccess], Probe]


@inlined
def let_pass(y: Any, z: Any, numbers: Any, memory: Any) -> Any:
    """The ``before`` of a probe that checks models only."""
    return GO


@inlined
def look_away(row: Any, arrays: Any, model: Any, numbers: Any, memory: Any) -> Any:
    """The ``after`` of a probe that checks predictions only."""
    return False


def make_probes(makers: tuple[ProbeMaker, ...], access: RowAccess) -> Probe:
    """One pair of functions, ``before(y, z, held)`` and ``after(…, held)``, for any number of probes."""
    if not makers:
        return Probe(_nothing_before, _nothing_after)
    first_before, first_after = makers[0](access)
    rest_before, rest_after = make_probes(makers[1:], access)

    @inlined
    def before(y: Any, z: Any, held: Any) -> Any:
        (numbers, memory), rest = held
        return first_before(y, z, numbers, memory) | rest_before(y, z, rest)

    @inlined
    def after(row: Any, arrays: Any, model: Any, held: Any) -> Any:
        (numbers, memory), rest = held
        here = first_after(row, arrays, model, numbers, memory)
        there = rest_after(row, arrays, model, rest)
        return here or there

    return Probe(before, after)


@inlined
def _nothing_before(y: Any, z: Any, held: Any) -> Any:
    return GO


@inlined
def _nothing_after(row: Any, arrays: Any, model: Any, held: Any) -> Any:
    return False
