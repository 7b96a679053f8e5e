"""Interface of methods, which change one model, or many, row by row; whether the parts of a fit go together; names.

Losses, step sizes, methods and stopping rules have short names, which `by_name` finds in their packages.
"""

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import Any, ClassVar, Literal, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.margin_statistics import MarginStatistics
from sgdone.interfaces.objective import Judgement, Model, Objective
from sgdone.interfaces.stop_rule import Needs, Pause, Stop, StopRule, Watch
from sgdone.kernels.outcome import NOT_FINITE, NOT_SOUND
from sgdone.losses.loss import Loss
from sgdone.machine.memory import check_training_memory
from sgdone.message_text import did_you_mean
from sgdone.rows.rows import Block
from sgdone.rows.source import Source, Stream
from sgdone.steps.step_size import StepSize

#: Whether a chunk was used, or a row ended it: one whose numbers are not finite, or whose column indices are not sound
#: (sparse rows of a matrix that is not valid).
Ending = Literal["used", "not finite", "not sound"]


def ending_of(outcome: int) -> Ending:
    """Ending of the training on a chunk of rows, given the outcome of its loop."""
    return "not finite" if outcome == NOT_FINITE else "not sound" if outcome == NOT_SOUND else "used"


@final
@dataclass(frozen=True)
class Report:
    """Outcome of training on a chunk of rows."""

    #: Next row of the block.
    position: int
    #: Whether the chunk was used, or a row could not be.
    ending: Ending = "used"
    #: Prediction before each update and slope of the loss there, for methods with a single model.
    predictions: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    slopes: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: Step size of the last update.
    step_size: float = np.nan
    #: Whether a watch ended the chunk.
    fired: bool = False
    #: Rows read in addition to the rows of the chunk.
    further_reads: int = 0
    #: Why the method itself ends, if it does.
    finished: Stop | None = None
    #: Row that could not be used, if it is not the next one.
    bad_row: int | None = None
    #: Passes that the method made through all rows by itself, the last of which has just ended.
    passes: int = 0
    updates: int = 0
    #: Mean progressive loss of the chunk, and its error: fraction of wrong classes, or root mean squared error.
    loss: float = np.nan
    error: float = np.nan
    #: Mean progressive loss of the pass so far.
    pass_loss: float = np.nan


@final
@dataclass(frozen=True)
class EndedPhase:
    """A phase that has ended."""

    method: "Method"
    state: Any
    model: Model
    ended: Stop


@final
@dataclass(frozen=True)
class FoundModel:
    """Model that a phase found in place of the main method, kept by a result instead of a state of that method.

    `copy` makes the state when training continues: most fits never do, and then the main method does not run at all.
    """

    #: The method that can train further.
    main: "Method"
    #: In the user's units.
    model: Model
    #: Objective as it was given, and the penalty.
    objective: Objective
    alpha: float
    #: Units of the columns for further training.
    units: Any
    # The rest is needed where the main method has no state of its own.
    #: Number of rows with a positive weight, and their mean weight.
    rows: int = 0
    weight: float = 1.0
    #: Curvature of the loss, for step sizes.
    smoothness: float = 1.0
    #: Number of rows that a row of weight 1 stands for.
    frequency: float = 1.0

    @property
    def steps(self) -> int:
        """Number of rows, as after one pass."""
        return self.rows

    def copy(self) -> Any:
        """State of the main method at the model."""
        return self.main.continue_at(self)

    def at_columns(self, columns: NDArray[np.int64], n_features: int) -> Any:
        """State of the main method, with its features as some of ``n_features`` columns."""
        return self.copy().at_columns(columns, n_features)


class Method(ABC):
    """A method, which is a phase of a run or all of it.

    It is a frozen dataclass; everything that changes during a run is in the state that `start` makes. A `Stream` is the
    way through the rows: the current block, its order, and the rows and passes read.

    The driver calls a method in this order, each line as often as it says::

        once          check_fits_in_memory
        once          is_worthwhile, rule                   of an optional phase
        once          start, start_after (another phase), resume (another run) or restored (a snapshot)
        a pass        begin_pass
        a chunk       next_pause, prepare, advance, between, then margins for the trace
        a pass        takes_over                            of an optional phase
        a checkpoint  stored
        once          end, is_better (of an optional phase), solution
        once          review, summary, evidence, objective  for the verdict and the result
        once          hand_over                             for the next run

    `steps`, `iterate`, `solution`, `work`, `expects_gain` and `judgement` answer rules, hooks and other phases at any
    time; `continue_at` and `spreads` are called after a run, and `check_state` for a state read from a file.

    Its needs, and what it offers to other parts of a fit, are checked by `check_needs`. A method that wraps another
    has the needs of that one: ``self.inner.needs``.
    """

    offers: ClassVar[Needs] = Needs()
    #: The losses that it can minimise; None for any.
    losses: ClassVar[tuple[type[Loss], ...] | None] = None
    #: The name of the rule that ends it if none is given.
    default_rule: ClassVar[str] = "auto"
    #: Whether each update reads all rows, so that it ends a pass.
    whole_passes: ClassVar[bool] = False
    #: Whether the driver moves on to the next block when one is used up; otherwise the method reads the source itself.
    takes_blocks: ClassVar[bool] = True
    #: Cost of a pass, in passes of a single model.
    cost_per_pass: ClassVar[float] = 1.0
    #: Whether its weights can grow without bound.
    can_diverge: ClassVar[bool] = True
    #: Whether it reaches its own end even if a budget is spent or a hook asks to stop before: without it there is no
    #: model to return.
    runs_to_its_end: ClassVar[bool] = False

    @property
    def needs(self) -> Needs:
        """Requirements on the rows and the objective."""
        return Needs()

    @property
    def counts(self) -> Literal["sample", "update"]:
        """Unit of `steps` in messages: an update that uses one row is called a sample."""
        return "update" if self.whole_passes else "sample"

    @property
    def n_vectors(self) -> int:
        """Least number of float64 vectors, as long as the coefficients, that a run keeps."""
        return 5

    def check_fits_in_memory(self, n_features: int, n_outputs: int) -> None:
        """Raise a `NotEnoughMemoryError` if a run on ``n_features`` columns does not fit into memory."""
        check_training_memory(8.0 * self.n_vectors * n_features * n_outputs, n_features, n_outputs)

    def is_worthwhile(self, objective: Objective, stream: Stream, stop: StopRule, before: EndedPhase | None) -> bool:
        """Whether it is expected to gain more than it costs, by counted work, after the phase before it."""
        return before is None

    def takes_over(self, objective: Objective, stream: Stream, stop: StopRule, before: EndedPhase) -> bool:
        """Whether it is to go on in place of a phase that still runs, and that was evaluated at the end of a pass."""
        return False

    def rule(self, stop: StopRule) -> StopRule:
        """The rule that ends the phase, given the rule of the run."""
        return stop

    @abstractmethod
    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> Any:
        """State before the first update; ``start`` is the model to start from."""

    def start_after(self, objective: Objective, stream: Stream, before: EndedPhase) -> Any:
        """State before the first update, after another phase."""
        return self.start(objective, stream, before.model, None)

    def resume(self, state: Any, stream: Stream) -> Any:
        """The state that another run left, for rows of the same kind."""
        raise TypeError(f"{self} cannot be resumed")

    def stored(self, state: Any) -> Any:
        """The state as a snapshot keeps it, without values that can be computed again."""
        return state

    def restored(self, state: Any, stream: Stream) -> Any:
        """The state of a snapshot of the same run, whose stream is where it was."""
        return state

    def prepare(self, state: Any, block: Block) -> Block:
        """The block as the method's loops see it, in other units for example."""
        return block

    @abstractmethod
    def advance(
        self, state: Any, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use ``block.order[first:last]`` for at most ``updates`` updates, until one of ``watches`` fires."""

    def between(self, state: Any, stream: Stream) -> Judgement | None:
        """Do the work that is due after a chunk of rows; returns the judgement, if the model was evaluated."""
        return None

    def next_pause(self, state: Any) -> Pause:
        """The next point at which `between` must be called."""
        return Pause()

    def begin_pass(self, state: Any) -> None:  # noqa: B027  # most methods have nothing to do
        """A new pass over the rows begins."""

    def end(self, state: Any, stream: Stream, limit: Pause) -> None:  # noqa: B027  # most methods have nothing to do
        """Do the remaining work with the rows when the run ends, without passing the rule's limit."""

    def work(self, state: Any) -> float:
        """Work done so far, as `is_worthwhile` of other phases counts it."""
        return 0.0

    def expects_gain(self, state: Any, tol: float) -> bool:
        """Whether the run ended where a better model is expected, by more than ``tol`` standard errors of the loss."""
        return False

    def judgement(self, state: Any) -> Judgement | None:
        """The last judgement, if the model was evaluated."""
        return None

    def is_better(self, state: Any, ended: Stop, before: EndedPhase) -> bool:
        """Whether its model is to be returned instead of the model of the phase before."""
        return True

    def hand_over(self, state: Any, main: "Method", last: Any, stream: Stream) -> Any:
        """State of the main method at the model found, for the result; ``last`` is its own last state, if there is one.

        It may be a `FoundModel`, from which that method makes the state later.
        """
        return state

    def continue_at(self, found: FoundModel, last: Any = None) -> Any:
        """State at a model that another phase has found: ``last``, moved there, or a new one as after one pass."""
        raise TypeError(f"{self!r} cannot be continued from another phase")

    @abstractmethod
    def solution(self, state: Any) -> Model:
        """The model so far in the user's units."""

    @abstractmethod
    def objective(self, state: Any) -> Objective:
        """The objective, with parameters that the method chose or estimated."""

    def steps(self, state: Any) -> int:
        """Updates made."""
        return int(state.steps)

    def iterate(self, state: Any) -> tuple[NDArray[np.float64], float]:
        """The running weights and intercept, in the units in which the rows are seen."""
        raise TypeError(f"{self!r} has no single iterate")

    def margins(self, state: Any, block: Block, report: Report, first: int) -> MarginStatistics | None:
        """Margins of the rows of a chunk that began at ``first``, for methods with a single model."""
        return None

    def review(self, state: Any, ended: Stop, feature_names: Any) -> Stop:
        """The reason for the end, with details from the method."""
        return ended

    def spreads(self, state: Any) -> NDArray[np.float64] | None:
        """Standard deviations of the columns, if the method has measured them for its units."""
        units = getattr(state, "units", None)
        return None if units is None else units.spreads

    def check_state(self, state: Any, objective: Objective, n_features: int) -> None:  # noqa: B027
        """Raise a ValueError for a state, read from a file, that this method cannot have made."""

    def summary(self, state: Any) -> str:
        """The method's own choices, as text for the verdict; empty for most."""
        return ""

    def evidence(self, state: Any) -> dict[str, Any]:
        """Numbers behind the summary, for the verdict."""
        return {}


def check_needs(
    method: Method,
    objective: Objective,
    stop: StopRule,
    source: Source,
    step: StepSize | None = None,
    monitors: Sequence[str] = (),
) -> None:
    """Raise a ValueError for the first `mismatch`."""
    found = mismatch(method, objective, stop, source, step, monitors)
    if found:
        raise ValueError(found)


def mismatch(
    method: Method,
    objective: Objective,
    stop: StopRule,
    source: Source,
    step: StepSize | None = None,
    monitors: Sequence[str] = (),
) -> str:
    """Return the first need that is not met, and what to use instead, as text; empty if there is none."""
    loss, needs, offers = objective.loss, method.needs, method.offers
    if source.is_mixed and not offers.mixed_rows:
        return (
            f"X is part dense, part sparse, and {method} takes matrices of one storage: use X.tocsr() or X.toarray(), "
            "or LinearClassifier or LinearRegressor"
        )
    if needs.convex_loss and not loss.convex:
        return (
            f"{method} makes implicit steps, which need a convex loss, and {loss.name!r} is not convex: "
            'use solver="sgd", solver="asgd" or solver="gd" (of SGDClassifier)'
        )
    if needs.classes and objective.task != "classification":
        return f"{method} is for two classes, whose rows have margins: use another solver"
    if needs.fixed_loss and loss.changes_during_fit:
        return (
            f"scale='adaptive' changes the loss during the fit, but {method} stores slopes of it: "
            "use another solver, or a fixed scale"
        )
    if loss.is_open and not offers.iterate:
        return (
            f"the scale of the loss {loss.name!r} is found by methods with a single model: give it as a number, or use "
            "SGDClassifier"
        )
    if method.losses is not None and type(loss) not in method.losses:
        *names, last = (known.name for known in method.losses)
        known = f"{', '.join(names)} and {last}"
        return f"{method} cannot do the loss {loss.name!r}: it can do {known}. Use one of them, or another solver"
    if needs.smooth_loss and not loss.smooth_and_convex:
        return (
            f"{method} needs second derivatives of a convex loss, and {loss.name!r} has kinks or is not convex: "
            'use another loss, or solver="aisgd"'
        )
    if needs.why_positive_alpha and objective.alpha == 0:
        return f"{method} needs a positive alpha: {needs.why_positive_alpha}"
    if objective.l1_ratio > 0 and not offers.l1_penalty:
        return (
            f"{method!r} does not support an L1 penalty: use Truncated(SGD()), or "
            'SGDClassifier(solver="sgd", penalty="l1")'
        )
    if objective.alpha is None and not offers.choice_of_alpha:
        return f"{method} does not choose the penalty: give alpha"
    if objective.n_outputs > 1 and not offers.several_outputs:
        return f"{method} trains one model with one score; for {objective.n_outputs} classes train one model a class"
    if objective.center and not offers.iterate:
        return f"center=True is for methods with a single model, not for {method}: use SGDClassifier"
    if needs.all_rows and (source.part_of_stream or not source.in_memory):
        return f"{method} must be able to read all rows at any time: a stream is not enough. Use fit, not partial_fit"
    if step is not None and not offers.step_size:
        return f"{method} has no step size: remove step={step!r}"
    of_rule = _mismatch_with_rule(method, objective, stop)
    if of_rule:
        return of_rule
    if monitors and (objective.task != "classification" or not offers.iterate):
        return f"monitors={list(monitors)} need classes and a method with a single model: use SGDClassifier"
    return ""


def _mismatch_with_rule(method: Method, objective: Objective, stop: StopRule) -> str:
    needs, offers = stop.needs, method.offers
    if needs.classes and objective.task != "classification":
        return f"{stop!r} needs two classes, and this is a regression: use another rule"
    if needs.judgement and needs.iterate:
        return (
            f"{stop!r} combines Gain, which is for LinearClassifier and LinearRegressor, with a rule that watches a "
            "single model, which is for SGDClassifier and SGDRegressor: use one of them"
        )
    if needs.judgement and not offers.judgement:
        return (
            f"{stop!r} needs a method that evaluates its model on validation rows, and {method} does not: "
            "use LinearClassifier or LinearRegressor, or another rule, for example ProgressiveLoss()"
        )
    if needs.decrement and not offers.decrement:
        return (
            f"{stop!r} needs a method that knows how far it is from the minimum, and {method} does not: use "
            'SGDClassifier(solver="newton") or SGDRegressor(solver="newton"), or another rule'
        )
    if needs.iterate and not offers.iterate:
        return (
            f"{stop!r} watches the iterate of a single model, and this fit trains several side by side: "
            "use SGDClassifier or SGDRegressor, for example with solver='asgd'"
        )
    return ""


Interface = TypeVar("Interface")


def by_name(name: str, interface: Callable[..., Interface], package: ModuleType, what: str) -> Interface:
    """Create the object that a user names, with ``-`` or ``_``, from the modules of a package; ``what`` says its kind.

    The interface is typed as a callable, because mypy does not accept abstract classes as types.
    """
    known = names(interface, package)
    key = name.lower().replace("-", "_")
    if key not in known:
        raise ValueError(f"unknown {what} {name!r}.{did_you_mean(key, known)} Known: {', '.join(sorted(known))}")
    made: Interface = known[key]()
    return made


@lru_cache(maxsize=32)
def names(interface: Any, package: ModuleType) -> dict[str, Any]:
    """Map the names of all implementations of ``interface`` in the modules of ``package`` to them.

    An implementation is a class with a ``name``, or a function with a ``name`` that creates an object (as ``asgd``).
    """
    found: dict[str, Any] = {}
    for file in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{file.name}")
        for thing in vars(module).values():
            if getattr(thing, "__module__", None) != module.__name__:
                continue  # imported from another module, where it is found
            leaf = inspect.isclass(thing) and issubclass(thing, interface) and not inspect.isabstract(thing)
            if (leaf or inspect.isfunction(thing)) and isinstance(getattr(thing, "name", None), str):
                found[thing.name] = thing
    return found
