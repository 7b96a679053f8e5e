"""What all linear models share: parameters as objects, runs, fitted attributes."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sgdone.estimators.all_columns import with_all_columns
from sgdone.estimators.callbacks import FitTask, Snapshot
from sgdone.estimators.coefficient_frame import centred_spreads, shares_of_rows, spreads_of_rows
from sgdone.estimators.continuing import resumed, rule_for_rows
from sgdone.estimators.input_validation import check_entries
from sgdone.estimators.named_features import NamedFeatures
from sgdone.estimators.parameters import as_bool, as_loss, as_n_jobs, as_random_state, as_verbose, is_auto
from sgdone.estimators.read_rows import ReadRows
from sgdone.estimators.sample_weights import Frequencies
from sgdone.estimators.training import PassPrinter, Start, train
from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Status, StopRule
from sgdone.losses.learning_task import Task
from sgdone.losses.loss import Loss
from sgdone.machine import interruption
from sgdone.machine.memory import FEWER_COLUMNS, memory_errors_explained, training_text
from sgdone.rows import ArraySource
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import BLOCK_ROWS, ArrayBlocks, ColumnNumbers
from sgdone.rows.source import Source
from sgdone.run import Hook, Result, Trace, Verdict
from sgdone.solvers.stretch import LARGEST
from sgdone.sums.units import moments_of

#: Rows from which the spreads of columns are estimated if the method does not need them: enough for a digit or two.
_ROWS_FOR_SPREADS = 1024


class LinearModel(ReadRows, NamedFeatures):
    """Base of the four estimators, without scikit-learn; not for users."""

    _task: ClassVar[Task]
    #: Makes a hook for a model, given its number: the progress line of the command.
    _progress_hook: Callable[[int], Hook] | None = None

    loss: Any
    alpha: Any
    stop: Any
    fit_intercept: bool
    shuffle: bool
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int

    intercept_: NDArray[Any]
    n_iter_: int
    alpha_: float
    feature_std_: NDArray[np.float64]
    feature_share_: NDArray[np.float64]
    trace_: Trace
    verdict_: Verdict
    #: The parameter ``stop`` of the last fit.
    _ruled_by: Any

    @abstractmethod
    def _method(self) -> Method:
        """The method that the parameters name."""

    @abstractmethod
    def _rule(self) -> StopRule:
        """The stopping rule that the parameters name."""

    @abstractmethod
    def _objective(self, n_rows: int, n_classes: int | None) -> Objective:
        """The objective over ``n_rows`` rows of positive weight."""

    def _frequencies(self, weight: NDArray[np.float64] | None) -> Frequencies:
        """Sample weights as a fit uses them; a named method uses them as they are."""
        return Frequencies(weight)

    def _phases(self, *, in_memory: bool = True) -> Sequence[Method]:
        """The phases of a fit, in memory or block by block."""
        return (self._method(),)

    def _run_options(self) -> dict[str, Any]:
        """Further options of `sgdone.run.run`."""
        return {}

    @abstractmethod
    def _shapes(self, n_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of ``coef_`` and ``intercept_``."""

    def _loss(self) -> Loss:
        return as_loss(self.loss, self._task)

    def _start_model(
        self,
        coef_init: Any,
        intercept_init: Any,
        X: Any,
        weight: NDArray[np.float64] | None,
        last_names: Sequence[str] | None = None,
    ) -> Model | None:
        """The model that ``fit`` starts from: the one given, or that of the last fit if ``warm_start``.

        ``last_names`` are those of the features of the last fit.
        """
        n_features = X.shape[1]
        shape, intercept_shape = self._shapes(n_features)
        n_outputs = int(np.prod(intercept_shape))
        self._method().check_fits_in_memory(n_features, n_outputs)
        names = ["coef_init", "intercept_init"]
        if intercept_init is not None and getattr(self, "center", False):
            raise ValueError("center=True sets the intercept from the means of the classes: remove intercept_init")
        if as_bool("warm_start", self.warm_start) and hasattr(self, "coef_"):
            if coef_init is None:
                coef_init, names[0] = self._last_coef(last_names), "warm_start=True: coef_ of the last fit"
            if intercept_init is None:
                intercept_init, names[1] = self.intercept_, "warm_start=True: intercept_ of the last fit"
        coef = _initial(names[0], coef_init, shape).reshape(n_outputs, n_features)
        intercept = _initial(names[1], intercept_init, intercept_shape)
        if not (coef.any() or intercept.any()):
            return None
        _check_start(" and ".join(names), coef, intercept, X, weight)
        return Model(coef, intercept)

    def _train(
        self,
        X: Any,
        labels: Sequence[Callable[[], NDArray[np.float64]]],
        frequencies: Frequencies,
        objective: Objective,
        starts: Sequence[Start],
        names: Sequence[str],
        *,
        partial_fit: bool,
        resume: bool = False,
        task: FitTask | None = None,
        snapshot: Snapshot | None = None,
    ) -> list[Result]:
        """One run for each of ``labels``."""
        stop = rule_for_rows(self.stop, self._rule(), resume) if partial_fit else self._rule()
        names_of_columns, roles = self._names_of_columns(), self._roles(X.shape[1])
        by_blocks = self._reads_blocks(X.shape[0]) and not partial_fit
        numbers = [ColumnNumbers() for _ in labels]

        def source(own: NDArray[np.float64], numbers: ColumnNumbers) -> Source:
            if by_blocks:
                blocks = ArrayBlocks(X, own, frequencies.weights, roles, numbers)
                return self._block_source(blocks, numbers if names_of_columns is None else names_of_columns)
            return ArraySource(
                X,
                own,
                sample_weight=frequencies.weights,
                frequency=frequencies.mean,
                shuffle=as_bool("shuffle", self.shuffle),
                part_of_stream=partial_fit,
                feature_names=names_of_columns,
                roles=roles,
            )

        sources = [lambda make=make, own=own: source(make(), own) for make, own in zip(labels, numbers, strict=True)]
        with memory_errors_explained(training_text(X.shape[1], max(len(labels), objective.n_outputs)), FEWER_COLUMNS):
            phases = self._phases(in_memory=not by_blocks)
            results = self._run(sources, objective, phases, stop, starts, names, task=task, snapshot_of=snapshot)
        results = [with_all_columns(result, own) for result, own in zip(results, numbers, strict=True)]
        return [_with_note(result, frequencies.note) for result in results]

    def _reads_blocks(self, n_rows: int) -> bool:
        """Whether rows in memory are read as those of files are: a default fit on many rows in their own order."""
        return self._encodes_tables and n_rows > BLOCK_ROWS and not as_bool("shuffle", self.shuffle)

    def _block_source(self, blocks: ArrayBlocks, names: Sequence[Any]) -> Source:
        return BlockSource(blocks.in_order, blocks, seed=self._seed(), shuffle=False, feature_names=names)

    def _seed(self) -> int:
        return int(as_random_state(self.random_state).randint(2**31))

    def _run(
        self,
        sources: Sequence[Callable[[], Source]],
        objective: Objective,
        phases: Sequence[Method],
        stop: StopRule,
        starts: Sequence[Start],
        names: Sequence[str],
        *,
        task: FitTask | None = None,
        snapshot_of: Snapshot | None = None,
        **options: Any,
    ) -> list[Result]:
        """One run for each of ``sources``, with the hooks that the parameters ask for."""
        printers = [PassPrinter(name) for name in names] if as_verbose(self.verbose) else []
        hooks: list[list[Hook]] = [[printers[k]] if printers else [] for k in range(len(names))]
        for k, own in enumerate(hooks):
            own.extend([] if self._progress_hook is None else [self._progress_hook(k)])
        tasks = []
        if task is not None and snapshot_of is not None:
            tasks = [task.hook(k, name.strip(), snapshot_of) for k, name in enumerate(names)]
        results = train(
            sources,
            objective,
            phases,
            stop,
            starts,
            seed=self._seed(),
            n_jobs=as_n_jobs(self.n_jobs),
            hooks=hooks,
            tasks=tasks,
            **(self._run_options() | options),
        )
        for printer in printers:
            printer.end()
        return results

    def _resumed(self, resume: bool) -> list[Start]:
        """Where ``partial_fit`` continues, with the same objective and method as before."""
        self._check_unchanged(self._results[0])
        same_rule = getattr(self, "_ruled_by", self.stop) == self.stop
        return resumed(self._results, self.stop, self._rule(), resume=resume, same_rule=same_rule)

    def _check_unchanged(self, last: Result) -> None:
        """Raise if parameters that define the objective have changed since the last call."""
        before, now = last.objective, self._objective(1, None)
        alpha = last.state.objective.alpha if is_auto(self.alpha) else now.alpha
        if now.alpha is None and last.state.objective.alpha is not None:
            alpha = None
        for what, old, new in (
            ("loss", repr(before.loss), repr(now.loss)),
            ("l1_ratio", before.l1_ratio, now.l1_ratio),
            ("alpha", last.state.objective.alpha, alpha),
            ("center", before.center, now.center),
            ("fit_intercept", before.fit_intercept or before.center, now.fit_intercept),
        ):
            refuse_change(what, old, new)

    def _fitted_attributes(self, results: Sequence[Result], labels: list[Any], n_features: int) -> dict[str, Any]:
        """The fitted attributes that all linear models have."""
        shape, intercept_shape = self._shapes(n_features)
        traces = [_with_label(result.trace, label) for result, label in zip(results, labels, strict=True)]
        verdicts = [result.verdict for result in results]
        verdict = verdicts[0] if len(results) == 1 else Verdict.of_classes(dict(zip(labels, verdicts, strict=True)))
        trace = Trace([row for part in traces for row in part], verdict, self._task)
        return {
            "coef_": np.concatenate([result.model.coef for result in results]).reshape(shape),
            "intercept_": np.concatenate([result.model.intercept for result in results]).reshape(intercept_shape),
            "n_iter_": max(1, *(int(np.ceil(verdict.passes)) for verdict in verdicts)),
            "alpha_": results[0].objective.penalty,
            "trace_": trace,
            "verdict_": verdict,
            "_results": list(results),
            "_ruled_by": self.stop,
        }

    def _measured(self, result: Result, X: Any, weight: NDArray[np.float64] | None) -> dict[str, Any]:
        """What is said of the features after a fit."""
        spreads = self._spreads(result, X, weight)
        return {"feature_std_": spreads, "feature_share_": shares_of_rows(X, weight)}

    def _spreads(self, result: Result, X: Any, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Standard deviations of the columns of ``X``, as the method measured them or from some of the rows."""
        known = self._method().spreads(result.state)
        if known is not None and weight is None and self.fit_intercept and result.rows_read >= X.shape[0]:
            return centred_spreads(known, X, weight)
        used = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
        if known is not None:
            return spreads_of_rows(X, used, weight)
        with np.errstate(over="ignore", invalid="ignore"):
            spreads = moments_of(X[used[:: -(-used.size // _ROWS_FOR_SPREADS)]]).spreads
        return np.where(np.isfinite(spreads), spreads, 0.0)

    def _keep(self, attributes: dict[str, Any], *, partial_fit: bool) -> None:
        """Become fitted: nothing is set before everything is known. ``partial_fit`` says which method calls."""
        name, verdict = interruption.received(), attributes["verdict_"]
        if name and verdict.status is not Status.INTERRUPTED:
            verdict = verdict.interrupted(f"{name} was received after training")
            attributes["verdict_"] = attributes["trace_"].verdict = verdict
        for name, value in attributes.items():
            setattr(self, name, value)


def refuse_change(what: str, before: Any, now: Any) -> None:
    """Raise if a parameter differs from the call that ``partial_fit`` continues."""
    if before != now:
        raise ValueError(f"{what} was {before} and is {now} now: partial_fit cannot continue, call fit again")


def _with_note(result: Result, note: str) -> Result:
    """The result with a remark in its verdict."""
    if not note:
        return result
    return replace(result, verdict=replace(result.verdict, reason=f"{result.verdict.reason}; {note}"))


def _with_label(trace: Trace, label: Any) -> Trace:
    """The trace with its class in each row."""
    return trace if label is None else Trace([replace(row, label=label) for row in trace], trace.verdict, trace.task)


def _check_start(
    name: str, coef: NDArray[np.float64], intercept: NDArray[np.float64], X: Any, weight: NDArray[np.float64] | None
) -> None:
    """Raise if the start predicts numbers that the loops cannot compute with; they find NaN in X themselves."""
    check_entries(X)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(X @ coef.T + intercept)
    largest = np.abs(scores).max(axis=1)
    beyond = ~(largest <= LARGEST[X.dtype])
    for row in np.flatnonzero(beyond if weight is None else beyond & (weight > 0)).tolist():
        values = X[[row]].toarray() if hasattr(X, "toarray") else X[row]
        if np.all(np.isfinite(values)):
            raise ValueError(
                f"{name}: the start predicts {largest[row]:.3g} for row {row} of X, beyond {LARGEST[X.dtype]:g}, the "
                f"most that can be trained from with {X.dtype}. Start from smaller numbers, or from none"
            )


def _initial(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Initial weights of a shape; an axis of length one may be missing."""
    if value is None:
        return np.zeros(shape)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} cannot be read as numbers: {error}") from error
    if array.shape not in (shape, shape[1:] if shape[0] == 1 else shape):
        raise ValueError(f"{name} has shape {array.shape}, but this problem needs {shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} contains NaN or infinity")
    return array.reshape(shape)
