"""Looking at every sample from inside the loop, for rules that must stop at exactly one of them.

A probe is two functions, each given the probe's own ``numbers`` (whose first says whether it has fired) and its
``memory`` (a tuple of arrays):

- ``before(y, z, numbers, memory)`` sees a prediction before its update and returns `GO`, or the bits `LEAVE_OUT`
  (the row is read but not learnt from) and `FIRE`. It may change its numbers only where it does not return `GO`:
  after `FIRE` alone the row comes back.
- ``after(rows, i, v, slope, unit, weights, offsets, model, numbers, memory)`` sees the model after an update and
  returns whether to stop there.

Several probes look in turn; what they hold is nested: ``((numbers, memory), the rest)``, and ``()`` at the end.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sgdone.kernels.jit import inlined
from sgdone.kernels.rows import RowAccess

GO: Final = 0
LEAVE_OUT: Final = 1
FIRE: Final = 2

#: The place in a probe's numbers that says whether it has fired.
FIRED: Final = 0


class Probe(NamedTuple):
    """The two functions of a probe."""

    before: Callable[..., Any]
    after: Callable[..., Any]


#: Makes a probe for a way of reaching rows.
ProbeMaker = Callable[[RowAccess], Probe]


@inlined
def let_pass(y: Any, z: Any, numbers: Any, memory: Any) -> Any:
    """The ``before`` of a probe that looks at models alone."""
    return GO


@inlined
def look_away(
    rows: Any,
    i: Any,
    v: Any,
    slope: Any,
    unit: Any,
    weights: Any,
    offsets: Any,
    model: Any,
    numbers: Any,
    memory: Any,
) -> Any:
    """The ``after`` of a probe that looks at predictions alone."""
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
    def after(
        rows: Any, i: Any, v: Any, slope: Any, unit: Any, weights: Any, offsets: Any, model: Any, held: Any
    ) -> Any:
        (numbers, memory), rest = held
        here = first_after(rows, i, v, slope, unit, weights, offsets, model, numbers, memory)
        there = rest_after(rows, i, v, slope, unit, weights, offsets, model, rest)
        return here or there

    return Probe(before, after)


@inlined
def _nothing_before(y: Any, z: Any, held: Any) -> Any:
    return GO


@inlined
def _nothing_after(
    rows: Any, i: Any, v: Any, slope: Any, unit: Any, weights: Any, offsets: Any, model: Any, held: Any
) -> Any:
    return False
