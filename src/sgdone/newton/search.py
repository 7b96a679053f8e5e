"""Newton's method on Σvℓ + ½Σλw²: a generator that yields the sum it needs, and is sent its value.

The caller answers from memory, from files or from the partitions of a cluster. Several searches can advance on the same
readings of the rows: see `together`.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.newton.direction import Directions, Point
from sgdone.sums.row_sum import RowSource, RowSum, SeveralSums
from sgdone.sums.second_order import Curvature, SecondOrder, SecondOrderAt
from sgdone.sums.system import System

Array = NDArray[np.float64]
#: Generator that yields sums, is sent their values, and returns the minimum.
Search = Generator[RowSum, Any, "Minimum"]

#: Newton's decrement of an optimum: every coefficient is within 1e-4 standard errors of the exact one.
EXACT = 5e-9
#: Largest number of steps of a search, and of consecutive steps that do not lower the objective.
MOST_STEPS, _MOST_IDLE = 60, 6
#: Fractions of a step that are tried, until the objective decreases enough.
SHARES = tuple(0.5**k for k in range(40))
#: Fraction of the decrease predicted by the gradient that a step must reach, and rounding of the objective.
ENOUGH, ROUNDING = 1e-4, 1e-13
#: Residuals below this share of the targets are rounding errors.
RESIDUAL_ROUNDING = 1e-11
#: Share of the objective that matters where all rows are predicted almost without loss; and tolerance above which a
#: search is rough, because its optima are only compared on other rows.
_LITTLE, _ROUGH = 0.1, 1e-3


@final
@dataclass(frozen=True)
class Problem:
    """The objective Σvℓ + ½Σλw² over rows.

    Parameters
    ----------
    system : System
        The loss, and the units of the rows.
    penalties : ndarray
        λ of each row of a model: see `sgdone.sums.system.System.penalties`.
    n_rows : int
        Number of rows of positive weight.
    least_dispersion : float
        Variance of targets about their predictions below which it is rounding.
    """

    system: System
    penalties: Array
    n_rows: int
    least_dispersion: float = 0.0

    def penalised(self, lam: float) -> "Problem":
        """The problem with another penalty."""
        return replace(self, penalties=self.system.penalties(lam))

    def second_order(self, model: Array, curvature: Curvature) -> SecondOrderAt:
        """The sum to request at a model."""
        return SecondOrderAt(self.system, model, curvature)

    def at(self, model: Array, sums: SecondOrder) -> Point:
        """A model with its sums."""
        return Point.of(sums, model, self.penalties)

    def dispersion(self, sums: SecondOrder) -> float:
        """`SecondOrder.dispersion`, at least ``least_dispersion``."""
        return max(sums.dispersion(self.system.objective), self.least_dispersion)

    def enough(self, tol: float, at: Point) -> float:
        """Decrement at which a search ends: any, where the residuals of a regression are rounding errors."""
        if 0.0 < at.sums.dispersion(self.system.objective) <= self.least_dispersion:
            return np.inf
        wanted = tol * min(1.0, at.sums.weight / self.n_rows) * self.dispersion(at.sums)
        if self.system.objective.is_regression or tol > _ROUGH:
            return wanted
        # Where all rows are predicted almost without loss, little of it matters.
        return wanted * min(1.0, _LITTLE * at.value) ** 2


@final
@dataclass(frozen=True)
class Minimum:
    """Result of a search.

    Parameters
    ----------
    model : ndarray
        In the units of the system. A search with a ``tol`` above `EXACT` makes one more step at the end.
    at : Point
        The model that was evaluated last, with its sums.
    decrement : float
        To second order, by how much the objective exceeds its minimum there, over the dispersion of a regression.
    steps : int
        Steps made.
    stalled : bool
        Whether no step lowered the objective, or too many were made.
    """

    model: Array
    at: Point
    decrement: float
    steps: int
    stalled: bool = False


@dataclass
class Position:
    """Progress of a search: the last accepted point, and the last decrement."""

    at: Point | None = None
    decrement: float = np.inf

    @property
    def model(self) -> Array | None:
        """The model; None before the first sum."""
        return None if self.at is None else self.at.model

    @property
    def value(self) -> float:
        """The objective there; NaN before the first sum."""
        return np.nan if self.at is None else self.at.value


def minimise(
    problem: Problem,
    start: Array,
    tol: float,
    directions: Directions,
    *,
    known: SecondOrder | None = None,
    most_steps: int = MOST_STEPS,
    position: Position | None = None,
) -> Search:
    """Minimise until the decrement is at most ``tol``.

    Parameters
    ----------
    problem : Problem
        The objective to minimise.
    start : ndarray
        The model to start from.
    tol : float
        Decrement that is small enough.
    directions : Directions
        How directions are found.
    known : SecondOrder, optional
        The sums at the start, if they were evaluated for another penalty: then one step at least is made.
    most_steps : int
        Steps after which the search has stalled.
    position : Position, optional
        Updated with the progress of the search.
    """
    position = position or Position()
    model = np.where(np.isfinite(problem.penalties)[:, None], start, 0.0)
    first = known if known is not None else (yield problem.second_order(model, directions.first_curvature))
    at, idle, decrement = problem.at(model, first), 0, np.inf
    if not (np.isfinite(at.value) and np.all(np.isfinite(at.gradient))):
        raise OverflowError("the loss of the start is too large")
    for step in range(most_steps):
        position.at = at
        at, direction = yield from directions.at(at)
        if direction is not None and tol > EXACT and at.decrement(direction) <= problem.enough(tol, at):
            # With a tolerance above the exact one, callers use the curvature there.
            at, direction = yield from directions.with_curvature(at, direction)
        if direction is None:
            position.decrement = np.inf
            return Minimum(at.model, at, np.inf, step, stalled=True)
        decrement, unit, enough = at.decrement(direction), problem.dispersion(at.sums), problem.enough(tol, at)
        position.decrement = decrement
        if decrement <= enough and at.sums is not known:
            last = direction if tol > EXACT and directions.are_exact else 0.0
            return Minimum(at.model + last, at, 0.0 if np.isinf(enough) else decrement / unit, step)
        for share in SHARES:
            model = at.model + share * direction
            tried = problem.at(model, (yield problem.second_order(model, directions.curvature)))
            if tried.value <= at.value - 2.0 * ENOUGH * share * decrement + ROUNDING * abs(at.value):
                break
        else:
            return Minimum(at.model, at, decrement / unit, step, stalled=True)
        idle = 0 if tried.value < at.value - ROUNDING * abs(at.value) else idle + 1
        at = tried
        if idle == _MOST_IDLE:
            break
    return Minimum(at.model, at, decrement / problem.dispersion(at.sums), step + 1, stalled=True)


def answered(rows: RowSource, search: Generator[RowSum, Any, Any]) -> Any:
    """Run a search to its end, with sums computed by ``rows``, and return its result."""
    followed = Followed(rows, search)
    while not followed.done:
        followed.read()
    return followed.found


@final
class Followed:
    """Run a search one reading of the rows at a time.

    Parameters
    ----------
    rows : RowSource
        Rows over which the sums are computed.
    search : generator
        Yields sums, or None for a reading that it makes itself. It begins at once.
    each_counts : bool
        Whether each sum is a reading of its own; otherwise sums that are not passes are computed together with the
        one before them.

    Attributes
    ----------
    done : bool
        Whether the search has ended.
    found : object
        The value that it returned.
    """

    found: Any = None

    def __init__(
        self, rows: RowSource, search: Generator[RowSum | None, Any, Any], *, each_counts: bool = False
    ) -> None:
        self._rows, self._search, self._each_counts, self.done = rows, search, each_counts, False
        self._wanted: RowSum | None = None
        self._go_on(None)

    def read(self) -> tuple[RowSum | None, Any]:
        """Compute the sum that the search is waiting for; returns the sum and its value."""
        request = self._wanted
        value = None if request is None else self._rows.sum(request)
        self._go_on(value)
        while not (self.done or self._each_counts or self._wanted is None or self._wanted.is_pass):
            self._go_on(self._rows.sum(self._wanted))
        return request, value

    def _go_on(self, value: Any) -> None:
        try:
            self._wanted = self._search.send(value)
        except StopIteration as ended:
            self.done, self.found = True, ended.value


def together(searches: Sequence[Generator[RowSum, Any, Any]]) -> Generator[RowSum, Any, list[Any]]:
    """Advance several searches on the same readings of the rows; returns their results."""
    wanted, found = dict[int, RowSum](), dict[int, Any]()

    def advance(number: int, value: Any) -> None:
        try:
            wanted[number] = searches[number].send(value)
        except StopIteration as done:
            found[number] = done.value
            wanted.pop(number, None)

    for number in range(len(searches)):
        advance(number, None)
    while wanted:
        asked = list(wanted)
        if len(asked) == 1:
            advance(asked[0], (yield wanted[asked[0]]))
            continue
        values = yield SeveralSums(tuple(wanted.values()))
        for number, value in zip(asked, values.values, strict=True):
            advance(number, value)
    return [found[number] for number in range(len(searches))]
