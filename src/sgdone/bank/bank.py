"""The stochastic phase of the default fit: step sizes and penalties tried side by side, compared on validation rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.bank_state import BankState, RunState, Stage, check_state, raise_for_bad_row
from sgdone.bank.evaluation import (
    BLIND_PASSES,
    CANDIDATES,
    DEFAULT_CANDIDATES,
    ENOUGH_ROWS,
    FIRST_COMPARISON,
    GAIN_WORTH_ADVICE,
    LAST_BRANCH,
    LATE_IN_PASS,
    Z_DOUBT,
    Candidate,
    Evaluation,
    is_due_after,
    is_due_in_stream,
    is_time_for_larger_steps,
    judge,
    most_candidates,
    next_in_stream,
)
from sgdone.bank.far_start import is_far_worse_than_constant, share_to_use, shorten
from sgdone.bank.returned_model import (
    better_of_mean_and_leader,
    evaluated,
    evaluation_of_start,
    intercept_shift,
    loss_of,
)
from sgdone.interfaces.method import FoundModel, Method, Report
from sgdone.interfaces.objective import Judgement, Model, Objective
from sgdone.interfaces.stop_rule import Needs, Pause, Status, Stop, Watch
from sgdone.kernels.bank import NO_FOLD
from sgdone.matrices.mixed_matrix import with_dense_columns
from sgdone.newton.counted_work import training_work
from sgdone.rows.faults import drift_advice
from sgdone.rows.rows import LEVEL, Block, Rows, check_rows
from sgdone.rows.source import Stream
from sgdone.rows.validation_rows import FEWEST, USUAL, ValidationRows
from sgdone.steps.step_size import StepSize
from sgdone.sums.units import WINDOW, roles_of

_WORSE_THAN_CONSTANT = "The features may not predict the labels at all: check both, or give a larger alpha."


@contextmanager
def _without_overflow_warnings() -> Iterator[None]:
    """Silence warnings: sums of squares of labels and losses may overflow, and bad rows are reported by number."""
    with np.errstate(over="ignore", invalid="ignore"):
        yield


@final
@dataclass(frozen=True)
class Bank(Method):
    """Averaged implicit SGD with several step sizes and penalties at once, on features scaled as they are read.

    Candidates are compared by their progressive losses during the first pass, then on validation rows that the models
    compared were not trained on. The leader (``lead``) is the candidate with the smallest mean loss; those that cannot
    be told apart from it are tied, and those that are clearly worse by paired differences are losers. Losers are
    dropped, and larger steps and penalties are tried beside the leader. The model returned is the mean of the tied
    candidates, with an exact intercept.

    Parameters
    ----------
    tol : float, default=0.2
        Differences below this many standard errors of the loss on the training rows do not matter.

    Examples
    --------
    >>> from sgdone.rows import ArraySource
    >>> from sgdone.losses import Squared
    >>> from sgdone.run import run
    >>> from sgdone.stopping import Gain
    >>> X = np.random.default_rng(0).standard_normal((500, 2)) * [1.0, 1000.0] + [0.0, 1e6]
    >>> objective = Objective(Squared(), predicts="target")
    >>> run(ArraySource(X, X @ [1.0, 0.01]), objective, Bank(), Gain()).model.coef.round(2)
    array([[1.  , 0.01]])
    """

    tol: float = 0.2
    needs: ClassVar[Needs] = Needs(convex_loss=True)
    offers: ClassVar[Needs] = Needs(
        mixed_rows=True, any_scales=True, several_outputs=True, choice_of_alpha=True, judgement=True
    )
    cost_per_pass: ClassVar[float] = 10.0
    can_diverge: ClassVar[bool] = False
    #: Vectors of a single candidate; `Models` checks the memory of more candidates before it creates them.
    n_vectors: ClassVar[int] = 15

    @_without_overflow_warnings()
    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> BankState:
        """Measure the first rows, and set validation rows aside if there are few."""
        block, run = stream.block, _run_state(stream)
        run.measured_to, run.window_measured = block.position_after(0, run.window), True
        window = block.used(0, run.measured_to)
        _check_labels(block, window)
        # Weights given for columns that first appear late must not be lost: then all rows are measured first.
        run.all_measured = start is not None and stream.source.in_memory and not run.stage.is_stream
        begin = partial(
            BankState.initial,
            block,
            window,
            objective,
            candidates=DEFAULT_CANDIDATES if 0 < run.n_rows < FEWEST and not run.stage.is_stream else CANDIDATES,
            seen=block.all_used() if run.all_measured else window,
            ordered=run.stage.is_ordered,
        )
        state = begin(start)
        if start is not None:
            share, run.start_note = share_to_use(state, block, window)
            if share == 0:
                state = begin(None)
            elif share < 1:
                shorten(state, block, window, share)
        state.run = run
        run.start = None if run.stage.is_stream else start
        if stream.source.in_memory and not run.stage.is_stream:
            chosen = stream.set_aside(state.scaled(block).rows)
            if chosen.count > 1 and not run.small:
                run.folds_to_come = chosen  # all candidates have a model for each fold: many may be dropped before
            else:
                state.hold_out(chosen)
        state.set_alphas(self._rows_of_alpha(state))
        if run.stage.is_ordered:
            state.order.observe(block.labels[window], objective.n_outputs)
        return state

    def resume(self, state: BankState, stream: Stream) -> BankState:
        """Continue with a state that another run left, for rows with the same features."""
        if stream.block.rows.n_features != state.units.n_features:
            raise ValueError(
                f"the run to resume had {state.units.n_features} features, "
                f"these rows have {stream.block.rows.n_features}"
            )
        watch = state.run.watch
        state.run, block = _run_state(stream), self.prepare(state, stream.block)
        state.run.watch, state.run.steps_before = watch, state.steps
        new = block.used(0, block.position_after(0, WINDOW))
        if state.run.stage.is_stream and is_far_worse_than_constant(state, block, new):
            state = self.start(state.objective, stream, None, None)
            state.run.watch = watch
            state.run.start_note = "the model so far was worse than a constant prediction: training started again"
        return state

    def stored(self, state: BankState) -> BankState:
        """The state without the validation rows, which the source chooses again."""
        found = replace(state)
        found.run = replace(state.run, validation=ValidationRows(), folds=None)
        return found

    def restored(self, state: BankState, stream: Stream) -> BankState:
        """The state of a snapshot, with the validation rows that the source has chosen again."""
        if state.models.holds_out or state.run.evaluations.last is not None:
            state.run.validation = self._chosen_by_source(state, stream)
        return state

    def prepare(self, state: BankState, block: Block) -> Block:
        """The block, with the dense and sparse columns that the units were estimated from.

        Sparse columns that first appear in this block are added to the state.
        """
        new = block.rows.n_features - state.units.n_features
        if new > 0:
            state.append_features(roles_of(block.rows)[-new:])
        n_dense = state.units.n_dense
        if block.rows.n_dense == n_dense:
            return block
        matrix = with_dense_columns(block.rows.whole(), n_dense)
        return replace(block, rows=Rows.of(matrix, None, block.rows.names, block.rows.roles))

    def next_pause(self, state: BankState) -> Pause:
        """The next comparison in the first pass."""
        return Pause(step=next_in_stream(state.steps)) if state.run.stage.is_first else Pause()

    def begin_pass(self, state: BankState) -> None:
        """Start the sums of the pass again."""
        state.run.begin_pass()

    @_without_overflow_warnings()
    def advance(
        self, state: BankState, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Train all models on rows; in the first pass, measure the columns of a window of rows first."""
        run = state.run
        self._change_candidates(state, block, first)
        if run.stage.is_first:
            last = min(last, self._measure(state, block, first))
        if last <= first or not updates:
            return Report(first, pass_loss=run.mean_pass_loss)
        last = _behind(state, block, first, last, updates)
        folds = run.folds_of(block)
        found = state.models.advance(state.scaled(block), folds, first, last)
        raise_for_bad_row(block, found)
        outputs = state.models.n_models * state.objective.n_outputs
        run.work += training_work(found.position - first, block.rows.typical_length, outputs)
        if state.models.holds_out:
            run.validation_rows_skipped += int(
                np.count_nonzero(folds[block.order.rows[first : found.position]] != NO_FOLD)
            )
        weights = block.weights_of(block.used(first, found.position))
        if not weights.size:
            return Report(found.position, pass_loss=run.mean_pass_loss)
        model, count = state.model, len(found.losses)
        if run.stage.is_first:
            state.add_losses(found.losses, weights)
            if run.stage.is_ordered and run.stage.begun <= 1:
                run.watch.add(found.losses[:, model], weights, state.steps - count)
        loss, weight = float((weights * found.losses[:, model]).sum()), float(weights.sum())
        run.pass_loss += loss
        run.pass_weight += weight
        error = float(found.misses[model]) / count
        return Report(
            found.position,
            step_size=state.models.step_size(model),
            updates=count,
            loss=loss / weight,
            error=float(np.sqrt(error)) if state.objective.is_regression else error,
            pass_loss=run.mean_pass_loss,
        )

    @_without_overflow_warnings()
    def between(self, state: BankState, stream: Stream) -> Judgement | None:
        """Compare the candidates if it is due; the judgement, if they were evaluated on validation rows."""
        if state.run.stage.is_stream:
            self._compare_in_stream(state, stream)
            return None
        if state.run.stage.is_first:
            return self._between_in_first_pass(state, stream)
        state.models.record_losses_of(state.model)
        due = stream.pass_ended and is_due_after(stream.begun, small=state.run.small)
        return self._evaluate(state, stream) if due else None

    def _compare_in_stream(self, state: BankState, stream: Stream) -> None:
        """Compare the candidates by their progressive losses, the only ones that a stream has."""
        due = is_due_in_stream(state.steps)
        early = stream.pass_ended and state.progressive.rows >= ENOUGH_ROWS and state.steps < FIRST_COMPARISON
        if due or early:
            state.compare_progressive(drop=due)

    def _between_in_first_pass(self, state: BankState, stream: Stream) -> Judgement | None:
        """Compare the candidates by their progressive losses and, once there are validation rows, by these."""
        run = state.run
        late = 0 < LATE_IN_PASS * run.n_rows < state.steps
        due = stream.pass_ended or (not late and is_due_in_stream(state.steps))
        if due:
            state.compare_progressive(drop=True)
        if run.folds_to_come.count and (due or stream.block_ended):
            self._hold_out_unread(state, stream)
            return None
        if not due:
            return None
        if not stream.source.in_memory:
            return self._evaluate_stream(state, stream)
        # Wait for the end of the pass if the rows may be sorted, or if evaluating takes longer than training did.
        if not stream.pass_ended and (run.stage.is_ordered or state.steps < run.validation.rows.size):
            return None
        return self._evaluate(state, stream)

    def _hold_out_unread(self, state: BankState, stream: Stream) -> None:
        """Hold out the rows of several folds, except those of the first block that were trained on by now."""
        chosen = state.run.folds_to_come
        of_row = chosen.of_row.copy()
        of_row[stream.block.order.rows[: stream.position]] = NO_FOLD
        left = of_row[chosen.rows] != NO_FOLD
        groups = chosen.groups[left] if chosen.groups.size else chosen.groups
        state.hold_out(replace(chosen, of_row=of_row, rows=chosen.rows[left], groups=groups))
        state.set_alphas(self._rows_of_alpha(state))
        state.run.folds_to_come = ValidationRows()

    @_without_overflow_warnings()
    def end(self, state: BankState, stream: Stream, limit: Pause) -> None:
        """Evaluate the model if it changed since the last time, and make the best one the solution."""
        run = state.run
        evaluations = run.evaluations
        if run.stage.is_stream or not state.steps:
            state.models.drop_fold_models()
            return
        if not stream.source.in_memory:
            self._update_validation(state, stream)
        changed = evaluations.last is None or evaluations.last.steps < state.steps
        if changed and (run.validation.count or 0 < run.n_rows < FEWEST):
            self._evaluate(state, stream)
        last = evaluations.last
        if evaluations.best is None and last is not None and last.steps == state.steps:
            evaluations.best, evaluations.best_model = last, state.mean_of_tied(last)
        held_out = run.validation.rows.size
        rows_after = stream.rows_read + held_out - run.validation_rows_skipped
        if state.steps + held_out <= limit.step and rows_after <= limit.rows_read:
            self._release(state, stream)
        if evaluations.best is not None and evaluations.best_model is not None:
            run.solution = self._solve(state, stream, evaluations.best, evaluations.best_model)
        state.models.drop_fold_models()
        if run.solution is not None:
            state.set_leader_model(run.solution)
        # Only training needs these vectors of one number per column: the fitted model does not keep them.
        evaluations.best_model = state.in_units = None

    def _solve(self, state: BankState, stream: Stream, best: Evaluation, model: Model) -> Model:
        """The model to return, with an exact intercept, and its loss as the last judgement."""
        evaluations, block, chosen = state.run.evaluations, stream.block, list[Candidate]()
        if best is evaluations.last:
            chosen = better_of_mean_and_leader(state, best, block)
            model = state.mean_of(chosen)
        shift = np.zeros_like(model.intercept)
        if stream.source.in_memory:
            shift = intercept_shift(state.objective, model, block, stream.rows_read, stream.draws)
        if chosen:
            best = evaluated(state, chosen, shift, best, block)
        evaluations.judgement = loss_of(state, best)
        kept = None if state.run.start is None else evaluation_of_start(state, state.run.start, best, block)
        if state.run.start is not None and kept is not None:
            # It may have been trained on the validation rows, as after another fit to the same rows.
            evaluations.judgement = replace(loss_of(state, kept), estimated_by="training")
            state.run.start_note = "the model to start from is kept, because further training did not improve it"
            return state.run.start
        return model._replace(intercept=model.intercept + shift)

    def work(self, state: BankState) -> float:
        """Counted work of training, in the units of `sgdone.newton.counted_work`."""
        return state.run.work

    def expects_gain(self, state: BankState, tol: float) -> bool:
        """Whether further passes would help, or the best penalty is the largest that was tried."""
        judgement = state.run.evaluations.judgement
        if judgement is None or judgement.gain_in_errors > tol:
            return True
        return state.objective.alpha is None and self._has_largest_penalty(state) and self._may_overfit(state)

    def judgement(self, state: BankState) -> Judgement | None:
        """The last judgement; once the run has ended, that of the model returned."""
        return state.run.evaluations.judgement

    def continue_at(self, found: FoundModel, last: BankState | None = None) -> BankState:
        """The last state, whose leader becomes the model found, or a new state with a single candidate there."""
        if last is None:
            return BankState.at_model(found)
        last.set_leader_model(found.model)
        last.run.solution = found.model
        return last

    def solution(self, state: BankState) -> Model:
        """The best model once the run has ended, the leader's average before."""
        model = state.run.solution or state.solution()
        return Model(model.coef.astype(state.models.weights.dtype, copy=False), model.intercept)

    def objective(self, state: BankState) -> Objective:
        """The objective with the penalty of the leader."""
        return replace(state.objective, alpha=state.alpha)

    def __str__(self) -> str:
        return "the default fit"

    def review(self, state: BankState, ended: Stop, feature_names: Sequence[str] | None) -> Stop:
        """Call a fit on sorted rows stalled; add advice if further passes should help, or if a column drifts."""
        done = ended.status in (Status.CONVERGED, Status.IN_PROGRESS, Status.BUDGET_SPENT)
        if done and state.order.advice and not state.run.stage.is_reordered:
            return replace(ended, status=Status.STALLED, advice=state.order.advice)
        advice = ended.advice
        judgement = state.run.evaluations.judgement
        if done and judgement is not None and not judgement.beats_constant:
            status = Status.STALLED if ended.status is Status.CONVERGED else ended.status
            return replace(ended, status=status, advice=_WORSE_THAN_CONSTANT)
        more_helps = False
        if judgement is not None:
            worth_it = max(self.tol, GAIN_WORTH_ADVICE) * judgement.noise
            more_helps = judgement.gain - Z_DOUBT * judgement.gain_error > worth_it
        if ended.status is Status.BUDGET_SPENT and more_helps:
            advice = "Allow more passes: another pass is expected to help."
        drift = drift_advice(state.units.groups, feature_names) if done and not state.run.stage.is_reordered else ""
        parts = (advice, state.run.stream_changed if not state.run.stage.is_reordered else "", drift)
        return replace(ended, advice=" ".join(filter(None, parts)))

    def check_state(self, state: Any, objective: Objective, n_features: int) -> None:
        """Check shapes, types and ranges of everything that the compiled loops use."""
        check_state(state, objective, n_features)

    def evidence(self, state: BankState) -> dict[str, Any]:
        """The candidate that was chosen, losses of others at the last evaluation, and the last judgement."""
        found: dict[str, Any] = {"learning_rate_multiplier": state.lead.multiplier, "alpha": state.alpha}
        judgement, last = state.run.evaluations.judgement, state.run.evaluations.last
        if state.objective.alpha is None and last is not None:
            unit = state.alpha / state.lead.penalty
            pairs = zip(last.candidates, last.means.tolist(), strict=True)
            tried = sorted([candidate.penalty * unit, loss] for candidate, loss in pairs)
            found |= {"alpha_chosen_by": state.run.estimated_by, "alphas_tried": tried}
        return found if judgement is None else found | judgement.evidence

    def summary(self, state: BankState) -> str:
        """The loss of the model returned, and a remark about the model to start from."""
        judgement = state.run.evaluations.judgement
        return "; ".join(filter(None, ("" if judgement is None else judgement.loss_text, state.run.start_note)))

    def _change_candidates(self, state: BankState, block: Block, first: int) -> None:
        """Begin again, or add candidates beside the leader, if that is due before the next row."""
        stage, n_rows = state.run.stage, self._rows_of_alpha(state)
        if stage.next == "restart":
            state.restart(block, block.used(first, block.position_after(first, WINDOW)), CANDIDATES)
            state.set_alphas(n_rows)
        elif stage.next == "branch":
            last = state.run.evaluations.judgement
            gain_matters = last is not None and last.gain_in_errors > self.tol
            state.branch(n_rows, larger_steps=stage.is_first or gain_matters, penalties=stage.tries_penalties)
            if not stage.is_first:
                state.models.record_losses_of(state.model)
        stage.next = "train"

    def _measure(self, state: BankState, block: Block, first: int) -> int:
        """Update units, step sizes and penalties for a window of rows about to be trained on; returns its end."""
        run = state.run
        if not run.window_measured and (first == 0 or first >= run.measured_to):
            run.measured_to = block.position_after(first, run.window)
            window = block.used(first, run.measured_to)
            if window.size:
                _check_labels(block, window)
                if not run.all_measured:
                    state.measure_columns(block, window)
                state.set_alphas(self._rows_of_alpha(state))
                if run.stage.is_ordered:
                    state.order.observe(block.labels[window], state.objective.n_outputs)
                    run.entries.observe(state.units.firsts[state.units.n_dense :], state.units.rows)
        run.window_measured = False
        return run.measured_to

    def _rows_of_alpha(self, state: BankState) -> float:
        """Number of rows that the penalties refer to: the rows of a pass or, for a stream, the rows seen so far."""
        run = state.run
        return run.frequency * (state.units.rows if run.stage.is_stream or not run.n_rows else run.n_rows)

    def _evaluate_stream(self, state: BankState, stream: Stream) -> Judgement | None:
        """Evaluate the candidates of a first pass over rows whose number is not known before its end.

        The rows may be sorted: there is no judgement before the end of the pass, unless it may have none. If they were,
        training begins again with rows in another order.
        """
        run, evaluations = state.run, state.run.evaluations
        self._update_validation(state, stream)
        if not stream.pass_ended:
            evaluations.earlier, evaluations.last = evaluations.last, state.evaluate(stream.block)
            before, now = evaluations.earlier, evaluations.last
            if before is None or not self._may_judge_stream(state):
                return None
            state.drop_losers(before, now, len(now.candidates))
            run.stage.next = "branch" if self._may_try_larger_steps(state, before, now) else "train"
            if not stream.source.endless:
                return None
            found = replace(judge(before, now, now.steps), estimated_by=run.estimated_by)
            return self._doubted(state, stream, found)
        run.n_rows = stream.n_used or 0
        state.set_alphas(self._rows_of_alpha(state))
        late = evaluations.last is not None and evaluations.last.steps > LATE_IN_PASS * state.steps
        if late and evaluations.earlier is not None:
            evaluations.last = evaluations.earlier
        judgement = self._evaluate(state, stream)
        if state.order.advice and stream.begun == 1:
            run.stage.next, run.stage.passes = "restart", 0
            return None
        return judgement

    def _may_try_larger_steps(self, state: BankState, before: Evaluation, now: Evaluation) -> bool:
        """Whether to try larger steps within the first pass: at some numbers of rows, and as long as that succeeds.

        Steps that are too large for the first rows may be the best for the rest if there are levels of categories: rare
        ones have seen few rows, and their units do not make up for that. They are not tried if the loss hardly falls.
        """
        if not np.any(state.units.roles == LEVEL):
            return False
        if not is_time_for_larger_steps(state.steps) and state.lead not in state.tried:
            return False
        state.tried = [candidate for candidate in state.tried if candidate == state.lead]
        return judge(before, now, now.steps).gain_in_errors > self.tol

    def _may_judge_stream(self, state: BankState) -> bool:
        """Whether there are enough validation rows, of different labels, and the rows do not look sorted."""
        validation = state.run.validation
        if validation.block is None or validation.rows.size < USUAL or state.order.advice:
            return False
        return bool(np.ptp(validation.block.labels) > 0)

    def _update_validation(self, state: BankState, stream: Stream) -> None:
        """Take the validation rows that a source has chosen so far."""
        if stream.in_first_pass:
            validation = self._chosen_by_source(state, stream)
            if not state.run.validation.count:
                state.hold_out(validation)
            state.run.validation = validation

    def _chosen_by_source(self, state: BankState, stream: Stream) -> ValidationRows:
        """The validation rows so far; the next block, which is read ahead, may have columns that are new."""
        chosen = stream.set_aside(stream.block.rows)
        return chosen if chosen.block is None else replace(chosen, block=self.prepare(state, chosen.block))

    def _evaluate(self, state: BankState, stream: Stream) -> Judgement | None:
        """Evaluate the candidates, drop losers, and decide whether to try others beside the leader."""
        run, passes = state.run, stream.begun
        evaluations = run.evaluations
        before, now = evaluations.last, state.evaluate(stream.block)
        evaluations.last = now
        if evaluations.best is None or not now.is_worse_than(evaluations.best):
            evaluations.best, evaluations.best_model = now, state.mean_of_tied(now)
        state.drop_losers(before, now, most_candidates(passes, small=run.small))
        judgement = None
        if before is not None and now.steps > before.steps:
            found = replace(judge(before, now, run.n_rows or now.steps), estimated_by=run.estimated_by)
            judgement = self._doubted(state, stream, found)
            known = now.candidates[now.lead] in before.candidates
            # Without validation rows the training loss must have been followed for many passes.
            if not known or not (run.validation.count or passes >= BLIND_PASSES):
                judgement = replace(judgement, gain=float("nan"))
        if stream.pass_ended:
            overfits = self._may_overfit(state)
            if overfits:
                self._release(state, stream)
            run.stage.next = "branch" if passes <= LAST_BRANCH else "train"
            run.stage.tries_penalties = overfits and (passes == 1 or self._has_largest_penalty(state))
        return judgement

    def _doubted(self, state: BankState, stream: Stream, judgement: Judgement) -> Judgement:
        """The judgement, with the reason why training must go on whatever the gain, if there is one.

        What has not been read or tried cannot be judged by what has been. All rows are read, unless two evaluations
        were certain, and the rest of the rows could not improve as many coefficients, those of rare columns included,
        by what matters for all rows.
        """
        evaluations, enough = state.run.evaluations, self.tol * judgement.noise
        n_rows = max(state.run.n_rows, state.steps)
        was_certain, evaluations.certain = evaluations.certain, judgement.gain + Z_DOUBT * judgement.gain_error < enough
        evaluations.judgement, doubt = judgement, ""
        if state.run.stage.is_ordered and not state.run.stage.is_reordered and state.order_matters:
            doubt = "the rows are sorted, or drift: those to come may differ"
        elif stream.pass_ended:
            untried = stream.begun == 1 or self._has_largest_penalty(state)
            if untried and stream.begun <= LAST_BRANCH and state.larger_penalties and self._may_overfit(state):
                doubt = "larger penalties have not been tried"
        elif state.excess(judgement.loss, state.steps) / 2.0 > enough * np.sqrt(state.steps / n_rows):
            doubt = f"{state.steps:,} rows are too few for {state.parameters:,} coefficients"
        elif not (was_certain and evaluations.certain):
            doubt = "the gain of the rows to come is not certain"
        evaluations.judgement = replace(judgement, doubt=doubt)
        return evaluations.judgement

    def _has_largest_penalty(self, state: BankState) -> bool:
        """Whether the leader's penalty is the largest that was tried."""
        return state.lead.penalty == max(other.penalty for other in (*CANDIDATES, *state.tried))

    def _release(self, state: BankState, stream: Stream) -> None:
        """Train on the rows that were held out, whether read by now or not.

        Held-out rows of a source that is not in memory are left out: they are few compared with the others, and may be
        copies of each other, which would outweigh all other rows if they came last.
        """
        run = state.run
        if stream.source.in_memory and state.release(stream.block):
            stream.rows_read += run.validation.rows.size - run.validation_rows_skipped
            evaluations = run.evaluations
            if evaluations.best is not None and evaluations.best is evaluations.last:
                evaluations.best_model = state.mean_of_tied(evaluations.best)

    def _may_overfit(self, state: BankState) -> bool:
        """Whether overfitting could cost more than the noise of the loss hides.

        A penalty recovers at most half of the excess loss at the optimum, unless the labels depend on nothing at all.
        Below ``tol`` neither a penalty nor training on validation rows makes a visible difference.
        """
        judgement = state.run.evaluations.judgement
        if judgement is None:
            return True
        return state.excess(judgement.loss, state.run.n_rows or state.steps) / 2.0 > self.tol * judgement.noise


def _run_state(stream: Stream) -> RunState:
    source = stream.source
    n_rows = stream.n_used or 0
    as_given = source.part_of_stream or not source.shuffle
    return RunState(
        n_rows=n_rows,
        # Rows that are read block by block are measured a block at a time: it is faster, and there are enough.
        window=WINDOW if source.in_memory else stream.block.rows.n_rows,
        small=source.in_memory and n_rows <= WINDOW,
        frequency=source.frequency,
        stage=Stage(
            "stream" if source.part_of_stream else "first pass" if stream.in_first_pass else "later passes",
            "as given" if as_given else "shuffled" if source.in_memory else "shuffled later",
        ),
    )


def _check_labels(block: Block, rows: NDArray[np.uint64]) -> None:
    if not np.all(np.isfinite(block.labels[rows])):
        check_rows(block, rows)


def _behind(state: BankState, block: Block, first: int, last: int, updates: int) -> int:
    """Position after the next ``updates`` rows that models train on, or ``last``."""
    if updates >= last - first:
        return last
    rows = block.order.rows[first:last]
    used = block.weights_of(rows) != 0
    if state.models.holds_out:
        used &= state.run.folds_of(block)[rows] == NO_FOLD
    places = np.flatnonzero(used)
    return first + int(places[updates - 1]) + 1 if places.size >= updates else last
