"""Linear models without scikit-learn: parameters, fits and fitted attributes."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sgdone.bank import Bank
from sgdone.fit.fitted_model import (
    centred_spreads,
    coefficient_frame,
    shares_of_rows,
    spreads_of_rows,
    with_all_columns,
)
from sgdone.fit.labels import Frequencies
from sgdone.fit.open_rows import FeatureNames, ReadRows, check_entries
from sgdone.fit.options import (
    as_alpha,
    as_bool,
    as_l1_ratio,
    as_loss,
    as_monitors,
    as_n_jobs,
    as_random_state,
    as_rule,
    as_solver,
    as_step,
    as_verbose,
    is_auto,
)
from sgdone.fit.partial_fit import resumed, rule_for_rows
from sgdone.fit.training import FitTask, PassPrinter, Snapshot, Start, train
from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Status, StopRule
from sgdone.losses.learning_task import Task
from sgdone.losses.loss import Loss
from sgdone.machine import interruption
from sgdone.machine.memory import FEWER_COLUMNS, memory_errors_explained, training_text
from sgdone.newton.exact_phase import ExactFromDisk, ExactInMemory, default_phases
from sgdone.rows import ArraySource
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import BLOCK_ROWS, ArrayBlocks, ColumnNumbers
from sgdone.rows.rows import roles_of_features
from sgdone.rows.source import Source
from sgdone.run import Hook, Result, Trace, Verdict
from sgdone.solvers import SingleModel
from sgdone.solvers.single_model import shown_method
from sgdone.solvers.stretch import LARGEST
from sgdone.stopping import Gain, MaxPasses
from sgdone.sums.units import moments_of
from sgdone.tables import TableEncoderCore
from sgdone.tables.frames import column_name
from sgdone.tables.not_fitted import used_before_fit

if TYPE_CHECKING:
    import pandas as pd

Fit = TypeVar("Fit", bound=Callable[..., Any])


def unchanged_if_it_fails(fit: Fit) -> Fit:
    """Restore the attributes if ``fit`` raises: the model of an earlier fit can still be used.

    Ctrl-C after training leaves the new model. scikit-learn sets ``n_features_in_`` and ``feature_names_in_`` before
    labels and parameters are checked.
    """

    @wraps(fit)
    def restoring(self: Any, *arguments: Any, **options: Any) -> Any:
        before = _fitted(self)
        try:
            return fit(self, *arguments, **options)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and vars(self).get("_results") is not before.get("_results"):
                self.verdict_ = self.trace_.verdict = self.verdict_.interrupted("Ctrl-C was pressed after training")
                return self
            for name in _fitted(self):
                delattr(self, name)
            vars(self).update(before)
            raise

    return restoring  # type: ignore[return-value]  # the same signature


def _fitted(estimator: Any) -> dict[str, Any]:
    """What ``fit`` sets; callbacks of scikit-learn keep other attributes, which are theirs."""
    own = {"_results", "_last_stop", "_n_outputs"}
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") or name in own}


class NamedFeatures:
    """Features of a model that are columns of ``X``, or those of its encoder; not for users."""

    #: Whether tables with categories, gaps, dates and text are encoded.
    _encodes_tables: ClassVar[bool] = False
    #: Names of the columns for messages, if ``X`` has none.
    _feature_names: Sequence[str] | None = None

    #: The name of the estimator in messages and files.
    public_name: ClassVar[str]
    #: The class of ``encoder_``.
    _encoder_class: ClassVar[type[TableEncoderCore]] = TableEncoderCore

    coef_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    encoder_: TableEncoderCore
    _results: Sequence[Result]

    def _check_fitted(self) -> None:
        # n_features_in_ is set before anything else is checked: it does not show that a fit succeeded.
        if not hasattr(self, "coef_"):
            raise used_before_fit(self.public_name)

    def _kinds_of_columns(self) -> Mapping[str, str]:
        """Kinds of columns that the user stated."""
        return {}

    def _names_of_columns(self) -> Sequence[str] | None:
        """Names of the features of ``coef_``, if they have any."""
        encoder = getattr(self, "encoder_", None)
        if encoder is not None and not encoder.is_plain:
            return FeatureNames(encoder)
        names: Sequence[str] | None = getattr(self, "feature_names_in_", self._feature_names)
        return names

    def _names_in_encoder(self) -> Sequence[str] | None:
        """Names of the features as the encoder has them, whether or not the table was all numbers."""
        encoder = getattr(self, "encoder_", None)
        return None if encoder is None else FeatureNames(encoder)

    def _roles(self, n_features: int) -> NDArray[np.int32] | None:
        """What each feature is part of, if the rows are those of an encoder."""
        encoder = getattr(self, "encoder_", None)
        if encoder is None or encoder.n_features_out_ != n_features:
            return None
        return roles_of_features(encoder.n_dense_, encoder.texts())

    def get_feature_names_out(self) -> NDArray[Any]:
        """Names of the features of ``coef_``: columns, or their encoded features."""
        self._check_fitted()
        names = self._names_of_columns()
        n_features = self.coef_.shape[-1]
        return np.array([f"x{j}" for j in range(n_features)] if names is None else list(names), dtype=object)

    def coefficients(self) -> "pd.DataFrame":
        """The coefficients with the names of their features, as a pandas data frame; the intercept comes first.

        Returns
        -------
        pandas.DataFrame
            ``name`` as in `get_feature_names_out`; ``value``; ``value_per_std``, the value times the standard deviation
            of the feature, which compares features in different units; ``share``, of the rows of ``fit`` that have the
            feature (a level, a word, a non-zero entry of a sparse matrix; 1 for dense columns). With more than two
            classes also ``class``. After ``partial_fit`` alone ``value_per_std`` and ``share`` are not known: NaN.

        Examples
        --------
        >>> import pandas as pd
        >>> from sgdone import LinearRegressor
        >>> rents = pd.DataFrame({"city": ["Rome", "Oslo"] * 50, "rooms": [1, 2, 3, 4] * 25})
        >>> model = LinearRegressor(random_state=0).fit(rents, 500 * rents["rooms"] + 300 * (rents["city"] == "Oslo"))
        >>> model.coefficients()[["name", "value", "share"]].round(1)
                  name  value  share
        0  (intercept)  150.0    1.0
        1        rooms  500.0    1.0
        2    city=Oslo  150.0    0.5
        3    city=Rome -150.0    0.5
        """
        self._check_fitted()
        return coefficient_frame(self)

    def _append_features(self, n_features: int) -> None:
        """Give the model the features that its encoder has learnt in ``partial_fit``: their coefficients are 0.

        So are their standard deviations and shares in the rows of the last ``fit``, which had none of them.
        """
        if not hasattr(self, "_results"):
            return
        count = n_features - self.coef_.shape[-1]
        if count > 0:
            roles = self._roles(n_features)
            assert roles is not None
            # What is there stays as it is, for a call that fails later.
            self._results = [replace(result, state=result.state.copy()) for result in self._results]
            for result in self._results:
                result.state.append_features(roles[-count:])
            wider = [(0, 0)] * (self.coef_.ndim - 1) + [(0, count)]
            self.coef_ = np.pad(self.coef_, wider)
            for name in ("feature_std_", "feature_share_"):
                if hasattr(self, name):
                    setattr(self, name, np.pad(getattr(self, name), (0, count)))

    def _last_coef(self, last_names: Sequence[str] | None) -> NDArray[Any]:
        """The coefficients of the last fit; those of an encoder in the order of its features in this fit."""
        names = self._names_in_encoder()
        if last_names is None or names is None:
            return self.coef_
        places = {name: j for j, name in enumerate(last_names)}
        known = np.array([places.get(name, -1) for name in names], dtype=np.intp)
        return np.where(known >= 0, self.coef_[..., known], 0.0)


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
    _last_stop: Any

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
        same_rule = getattr(self, "_last_stop", self.stop) == self.stop
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
            "alpha_": results[0].objective.known_alpha,
            "trace_": trace,
            "verdict_": verdict,
            "_results": list(results),
            "_last_stop": self.stop,
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


class DefaultFit(LinearModel):
    """A linear model that chooses step sizes and penalty, and stops by itself; not for users."""

    _encodes_tables = True

    tol: float | None
    columns: Mapping[str, str] | None

    def _kinds_of_columns(self) -> Mapping[str, str]:
        if self.columns is None:
            return {}
        if not isinstance(self.columns, Mapping):
            raise TypeError(
                f"columns={self.columns!r} must map names of columns to kinds, as in columns={{'zip': 'category'}}"
            )
        return {column_name(name): kind for name, kind in self.columns.items()}

    def _method(self) -> Bank:
        tolerances = [leaf.tolerance for leaf in self._rule().leaves if leaf.tolerance is not None]
        return Bank(min(tolerances)) if tolerances else Bank()

    def _rule(self) -> StopRule:
        return rule_with_gain(self.stop, self.tol)

    def _phases(self, *, in_memory: bool = True) -> Sequence[Method]:
        bank, one_pass = self._method(), self._rule().max_passes == 1
        exact = ExactInMemory(bank.tol, one_pass=one_pass) if in_memory else ExactFromDisk()
        return default_phases(bank, exact)

    def _frequencies(self, weight: NDArray[np.float64] | None) -> Frequencies:
        # Of rows that are read block by block the mean weight is not known before the last one.
        by_blocks = weight is not None and self._reads_blocks(weight.size)
        return Frequencies(weight) if by_blocks else Frequencies.of(weight)

    def _objective(self, n_rows: int, n_classes: int | None) -> Objective:
        alpha = None if is_auto(self.alpha) else as_alpha(self.alpha, n_rows)
        loss, fit_intercept = self._loss(), as_bool("fit_intercept", self.fit_intercept)
        if self._task == "regression":
            return Objective(loss, alpha, fit_intercept=fit_intercept, predicts="target")
        return Objective.of_classes(loss, n_classes or 2, alpha, fit_intercept=fit_intercept)


def rule_with_gain(stop: Any, tol: Any) -> StopRule:
    """The stopping rule of a default fit: `Gain`, capped by a budget or replaced by another rule.

    Examples
    --------
    >>> from sgdone.stopping import MaxSeconds
    >>> rule_with_gain(MaxSeconds(60), None)
    Gain(tol=0.2) | MaxSeconds(seconds=60)
    """
    gain = Gain() if tol is None else Gain(tol)
    if is_auto(stop):
        return gain
    rule = as_rule(stop)
    if rule.is_budget:
        return gain | rule
    if tol is not None:
        use = f"give the tolerance to Gain, as Gain(tol={tol!r})" if rule.needs.judgement else "remove tol"
        raise ValueError(f"tol={tol!r} has no effect with stop={rule!r}: {use}")
    return rule


#: Budget of a method that ends by itself.
_MOST_PASSES = 100


class NamedMethod(LinearModel):
    """A linear model trained by one method on the features as they are; not for users."""

    solver: Any
    step: Any
    penalty: str
    l1_ratio: float
    average: Any

    def _method(self) -> SingleModel:
        method = as_solver(self.solver, self.average, as_l1_ratio(self.penalty, self.l1_ratio))
        return method.ending_by_itself() if is_auto(self.stop) else method

    def _rule(self) -> StopRule:
        method, rule = self._method(), as_rule(self.stop)
        if is_auto(self.stop):
            return MaxPasses(_MOST_PASSES) if method.ends_by_itself else as_rule(method.default_rule)
        if not method.takes_stop:
            raise ValueError(f"{method} ends by itself, and stop={self.stop!r} would have no effect: remove stop")
        return rule

    def _objective(self, n_rows: int, n_classes: int | None) -> Objective:
        center, fit_intercept = getattr(self, "center", False), as_bool("fit_intercept", self.fit_intercept)
        if as_bool("center", center) and not fit_intercept:
            raise ValueError("center=True sets the intercept, but fit_intercept=False: remove one of them")
        return Objective(
            self._loss(),
            as_alpha(self.alpha, n_rows),
            as_l1_ratio(self.penalty, self.l1_ratio),
            fit_intercept,
            center,
            "target" if self._task == "regression" else "two_classes",
        )

    def _run_options(self) -> dict[str, Any]:
        return {"step": as_step(self.step), "monitors": as_monitors(getattr(self, "monitors", None))}

    def _check_unchanged(self, last: Result) -> None:
        refuse_change("solver", shown_method(last.state.method), str(self._method()))
        super()._check_unchanged(last)
