"""From rows to a model: what a fit without knobs does, window by window."""

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import schedule
from sgdone.auto.candidates import CANDIDATES, FEWEST, PLAIN
from sgdone.auto.course import Course
from sgdone.auto.ending import endless, verdict_of
from sgdone.auto.folds import Folds
from sgdone.auto.intercept import balanced
from sgdone.auto.learner import Learner
from sgdone.auto.looks import Looks
from sgdone.auto.refusal import refuse
from sgdone.auto.request import AutoResult, Request
from sgdone.bad_rows import check_rows
from sgdone.data.arrays import ArraySource
from sgdone.data.passes import Passes
from sgdone.data.source import Block
from sgdone.kernels.bank import NO_FOLD
from sgdone.stopping.base import Stop
from sgdone.verdict import Status

#: Rows that are seen together before they are learnt from; data with no more of them are small.
WINDOW = 4096

#: The share of a first pass after which candidates are not compared before its end.
_LATE = 0.75

#: Rows of a stream that it takes to tell who is ahead.
_ENOUGH = 256
#: The last pass after which other candidates are tried beside the leader.
_LAST_BRANCH = 16


def train_bank(
    source: ArraySource, request: Request, rng: np.random.Generator, resume: AutoResult | None = None
) -> AutoResult:
    """Train candidates side by side until another pass would gain less than the noise of the loss, or a rule fires.

    Examples
    --------
    >>> from sgdone.auto import Task
    >>> from sgdone.losses import Squared
    >>> X = np.random.default_rng(0).standard_normal((500, 2)) * [1.0, 1000.0] + [0.0, 1e6]
    >>> source = ArraySource(X, X @ [1.0, 0.01])
    >>> result = train_bank(source, Request(Task.of(Squared(), None, True)), np.random.default_rng(0))
    >>> result.coef.round(2)
    array([[1.  , 0.01]])
    """
    return _Fit(source, request, rng, resume).run()


class _Fit:
    """One call of `train_bank`."""

    def __init__(
        self, source: ArraySource, request: Request, rng: np.random.Generator, resume: AutoResult | None
    ) -> None:
        self.source, self.request = source, request
        weights = source.sample_weight
        self.n_rows = source.rows.n_rows if weights.size == 1 else int(np.count_nonzero(weights))
        self.blocks = Passes(source, rng, 0 if resume is None else resume.passes_begun)
        self.block = self.blocks.next()
        self.learner: Learner | None = None if resume is None else resume.state
        rows_read = 0 if resume is None else resume.rows_read
        self.course = Course(source.n_rows, rows_read, regression=request.task.is_regression)
        self.looks = Looks(self.n_rows, request.tol, small=self._is_small)
        self.folds = Folds.none(source.rows.n_rows)
        self.seen, self.all_seen = 0, False
        #: Which rows no model has learnt from, until some of them are set aside; and how many of these were passed.
        self.unread = np.ones(0 if request.single_pass else source.rows.n_rows, dtype=bool)
        self.passed = 0
        self.rule_state = None if resume is None else resume.rule_state
        if request.stop is not None and self.rule_state is None:
            self.rule_state = request.stop.start(source.n_rows)

    def run(self) -> AutoResult:
        """Read rows until something ends it."""
        with np.errstate(over="ignore", invalid="ignore"):  # of losses, in units that nobody can foresee
            return self._result(self._read())

    def _read(self) -> Stop:
        ended: Stop | None = None
        position = 0
        try:
            while ended is None:
                block = self.block
                position = self._learn(block, position, self._reach(block, position))
                pass_ended = self.blocks.ended and position == block.order.size
                ended = self._compare(block, pass_ended) or self._ask(pass_ended)
                if position == block.order.size and ended is None:
                    if pass_ended:
                        self.course.begin_pass()
                        self.passed = 0
                    self.block, position = self.blocks.next(), 0
        except KeyboardInterrupt:
            if self.learner is None:
                raise
            ended = Stop("Ctrl-C", Status.INTERRUPTED, "the model so far is kept")
        return ended

    @property
    def _in_first_pass(self) -> bool:
        return self.request.single_pass or self.blocks.begun == 1

    @property
    def _ordered(self) -> bool:
        """Whether the order of the rows is the user's."""
        return self.request.single_pass or not self.source.shuffle

    @property
    def _is_small(self) -> bool:
        return self.n_rows <= WINDOW

    def _reach(self, block: Block, position: int) -> int:
        """See to it that the next rows have been seen; where the next stretch ends."""
        end = block.order.size
        if self._in_first_pass:
            if position == 0 or position >= self.seen:
                self.seen = block.position_after(position, WINDOW)
                self._see(block, block.used(position, self.seen))
            end = self.seen
        if self.learner is None:
            return end
        steps = self.learner.steps
        to_read, to_learn = end - position, schedule.next_in_stream(steps) - steps if self._in_first_pass else end
        if self.request.stop is not None:
            look = self.request.stop.next_look(self.rule_state)
            to_read, to_learn = min(to_read, look.rows_read - self.course.rows_read), min(to_learn, look.step - steps)
        return self._behind(block, position, position + max(1, to_read), max(1, to_learn))

    def _behind(self, block: Block, first: int, last: int, count: int) -> int:
        """The position behind so many rows that models learn from, or ``last``."""
        if count >= last - first:
            return last
        rows = block.order[first:last]
        learnt = block.weights_of(rows) != 0
        if self.learner is not None and self.learner.bank.holds_out:
            learnt &= self.folds.of_row[rows] == NO_FOLD
        places = np.flatnonzero(learnt)
        return first + int(places[count - 1]) + 1 if places.size >= count else last

    def _see(self, block: Block, window: NDArray[np.uint64]) -> None:
        """Units, step sizes and penalties for rows that are about to be learnt from."""
        if not window.size:
            return
        request, used = self.request, block.n_used
        if not np.all(np.isfinite(block.labels[window])):
            check_rows(block, window)
        if self.learner is None:
            candidates = PLAIN if used < FEWEST and not request.single_pass else CANDIDATES
            # What a start has learnt of a column that comes late must not be lost: then all rows are seen at once.
            self.all_seen = request.start is not None and not request.single_pass
            seen = block.all_used() if self.all_seen else window
            self.learner = Learner.over(
                block, window, request.task, request.alpha, request.start, candidates, seen=seen, ordered=self._ordered
            )
            if self._is_small:
                self._fork(block)
        elif not self.all_seen:
            self.learner.see(block, window)
        self.learner.set_penalties(self.learner.units.rows if request.single_pass else used)
        if self._ordered:
            self.learner.order.observe(block.labels[window], request.task.n_outputs)

    def _fork(self, block: Block) -> None:
        """Set rows aside to judge by, that no model has learnt from: each is kept from some of the models only."""
        if self.request.single_pass or self.learner is None:
            return
        weights = self.source.sample_weight
        unread = np.flatnonzero(self.unread if weights.size == 1 else self.unread & (weights != 0)).view(np.uint64)
        # From a generator of their own: without shuffling there is nothing to draw.
        self.folds = Folds.drawn(self.learner.scaled(block), unread, np.random.default_rng(0))
        if self.folds.count:
            self.learner.fork(self.folds, may_wait=self.request.stop is None)

    def _learn(self, block: Block, first: int, last: int) -> int:
        """Let all models learn from a stretch of rows; the position after it."""
        if self.learner is None:  # rows of weight 0 alone so far
            self.course.rows_read += last - first
            return last
        found = self.learner.bank.advance(self.learner.scaled(block), self.folds.of_row, first, last)
        refuse(block, found)
        self.course.rows_read += found.position - first
        rows = block.order[first : found.position]
        if self.unread.size and not self.folds.count:
            self.unread[rows] = False
        if self.learner.bank.holds_out:
            self.passed += int(np.count_nonzero(self.folds.of_row[rows] != NO_FOLD))
        weights = block.weights_of(block.used(first, found.position))
        self.course.add(self.learner, found, weights, self.blocks.begun)
        if self._in_first_pass and weights.size:
            self.learner.note(found.losses, weights)
        return found.position

    def _compare(self, block: Block, pass_ended: bool) -> Stop | None:
        """Compare the candidates where it is time to; the end, if another pass would gain too little."""
        learner = self.learner
        if learner is None:
            return None
        if not self._in_first_pass:
            learner.bank.tell_of(learner.model)
            due = pass_ended and schedule.is_due_after(self.blocks.begun, small=self._is_small)
            return self._look(block, pass_ended) if due else None
        # Two looks close to each other say nothing about what lies between passes.
        late = not self.request.single_pass and learner.steps > _LATE * self.n_rows
        due = not late and schedule.is_due_in_stream(learner.steps)
        if self.request.single_pass:
            early = pass_ended and learner.tally.rows >= _ENOUGH and learner.steps < schedule.FIRST
            if due or early:
                learner.judge_progress(drop=due)
            return None
        if not (due or pass_ended):
            return None
        learner.judge_progress(drop=True)
        if not self.folds.count and not self._is_small:
            self._fork(block)
            learner.set_penalties(block.n_used)
            return None
        # Rows that are sorted, perhaps, say nothing before all of them have come; and judging is not to take longer
        # than learning.
        if not pass_ended and (self._ordered or learner.steps < self.folds.rows.size):
            return None
        return self._look(block, pass_ended)

    def _look(self, block: Block, pass_ended: bool) -> Stop | None:
        """Judge the candidates by the rows of the folds, and try others beside them if it goes on."""
        learner, passes = self.learner, self.blocks.begun
        if learner is None:
            return None
        stop = self.looks.take(learner, block, self.folds, passes)
        if self.request.stop is not None:
            stop = None
        overfits = self.looks.may_overfit(learner)
        if stop is not None or (pass_ended and overfits):
            self._release(block, learner)
        if stop is not None:
            return stop
        if pass_ended and passes <= _LAST_BRANCH:
            learner.branch(block.n_used, bolder=self.looks.promise, penalties=passes == 1 and overfits)
            learner.bank.tell_of(learner.model)
        return None

    def _release(self, block: Block, learner: Learner) -> None:
        """Let models learn from the rows that were held out, read by now or not."""
        if learner.release(block, self.folds):
            self.course.rows_read += self.folds.rows.size - self.passed
            self.looks.renew(learner)

    def _ask(self, pass_ended: bool) -> Stop | None:
        """What the user's rule and hook say."""
        request, learner = self.request, self.learner
        progress = self.course.progress(learner, self.blocks.begun, pass_ended)
        ended = None if request.stop is None else request.stop.observe(self.rule_state, progress)
        if ended is None and pass_ended and request.stop is not None and not request.single_pass:
            ended = endless(request.stop, self.blocks.begun)
        wish = request.hook(progress, learner) if request.hook is not None and learner is not None else None
        if ended is None and wish is not None:
            ended = Stop("callback", Status.STOPPED, wish)
        if ended is None and request.single_pass and pass_ended:
            ended = Stop("single pass", Status.BUDGET_SPENT, "one pass over the rows given")
        return ended

    def _result(self, ended: Stop) -> AutoResult:
        learner = self.learner
        if learner is None:
            raise ValueError("no row has a positive weight: there is nothing to learn from")
        self._release(self.block, learner)
        learner.settle()
        coef, intercept = learner.solution()
        if ended.rule == "Gain" and self.looks.best is not None:
            coef, intercept = self.looks.best
            intercept = balanced(self.request.task, coef, intercept, self.block, self.course.rows_read)
            learner.adopt(coef, intercept)
        verdict = verdict_of(
            ended,
            learner,
            self.course.passes(self.blocks.begun),
            promise=self.looks.promise,
            feature_names=self.request.feature_names,
        )
        self.course.trace.verdict = verdict
        return AutoResult(
            coef.astype(learner.bank.weights.dtype),
            intercept,
            self.course.trace,
            verdict,
            learner,
            self.rule_state,
            self.course.rows_read,
            self.blocks.begun,
        )
