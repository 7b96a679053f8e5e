"""Rows in memory: labels and weights checked, the problem to train on, and measurements of the features."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.fit.columns import FILE_CHECKS, InputChecks, InputColumns, check_entries, rows_and_labels
from sgdone.fit.fit import FitProblem, Start, TrainedModels, TrainingRows
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.followers import ProgressHook
from sgdone.fit.labels import (
    Frequencies,
    check_classes,
    check_sample_weight,
    count_positive,
    encode,
    encode_known,
    known_classes,
    refuse_balanced,
    signs,
    with_class_weight,
)
from sgdone.fit.optimum_check import as_check_optimum, with_optimum_check
from sgdone.fit.options import FitOptions
from sgdone.interfaces.objective import Model
from sgdone.interfaces.stop_rule import StopRule
from sgdone.machine.memory import FEWER_COLUMNS, memory_errors_explained, training_text
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows import ArraySource
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import ArrayBlocks, ColumnNumbers
from sgdone.rows.source import Source
from sgdone.run import Result
from sgdone.solvers.stretch import LARGEST
from sgdone.sums.row_sum import merged
from sgdone.sums.units import moments_of

Array = NDArray[np.float64]

#: Targets whose squares have all their digits.
_SMALLEST = 1e-145
#: Rows from which the spreads of columns are estimated if the method does not need them: enough for a digit or two.
_ROWS_FOR_SPREADS = 1024
#: A variance below this share of the mean square is rounding.
_ROUNDING = 64 * np.finfo(np.float64).eps
#: Rows that are measured at a time.
_PIECE_ROWS = 2**14


@final
@dataclass(frozen=True)
class LoadedRows(TrainingRows):
    """Rows in memory."""

    #: Features: columns, or encoded features.
    X: Any
    #: Numbers of classes, or targets.
    labels: NDArray[Any]
    #: Weights of rows times those of their classes.
    frequencies: Frequencies
    #: The labels, sorted; None in regression.
    classes: NDArray[Any] | None
    columns: InputColumns
    #: What callbacks see.
    data: dict[str, Any] | None = None
    #: The model to start from; zero by default.
    start: Model | None = None

    @classmethod
    def for_fit(
        cls,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        options: FitOptions,
        checks: InputChecks = FILE_CHECKS,
        *,
        names: Sequence[str] | None = None,
    ) -> "LoadedRows":
        """Rows of a fit: ``checks`` are scikit-learn's for users' own data; an array may have ``names`` of columns."""
        columns = InputColumns.of(options)
        columns.names = None if names is None else np.array(names, dtype=object)
        rows, labels = rows_and_labels(
            columns, checks, X, y, numeric=not options.is_classifier, purpose="fit", sample_weight=sample_weight
        )
        weight = check_sample_weight(sample_weight, rows.shape[0])
        data = {"X": X, "y": y, "metadata": None if weight is None else {"sample_weight": weight}}
        if not options.is_classifier:
            return cls(rows, _targets(labels), options.frequencies(weight), None, columns, data)
        classes, numbers = encode(labels)
        frequencies = options.frequencies(with_class_weight(options.class_weight, weight, classes, numbers))
        check_classes(classes, numbers, frequencies.weights)
        return cls(rows, numbers, frequencies, classes, columns, data)

    @classmethod
    def for_partial_fit(
        cls,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        options: FitOptions,
        checks: InputChecks = FILE_CHECKS,
        *,
        last: FittedModel | None = None,
        classes: ArrayLike | None = None,
    ) -> "LoadedRows":
        """The next rows of a stream; ``last`` is the model so far, and ``classes`` are all that can occur."""
        columns = InputColumns.of(options)
        if last is not None:  # its encoder is copied before it learns
            columns = replace(last.columns, kinds=options.kinds_of_columns)
        how: dict[str, Any] = {"purpose": "partial_fit", "dtype": None if last is None else last.coef_.dtype}
        how |= {"numeric": not options.is_classifier, "sample_weight": sample_weight}
        if not options.is_classifier:
            rows, labels = rows_and_labels(columns, checks, X, y, **how)
            weight = check_sample_weight(sample_weight, rows.shape[0])
            return cls(rows, _targets(labels), Frequencies(weight), None, columns)
        known = known_classes(classes, None if last is None else last.classes_)
        refuse_balanced(options.class_weight)
        rows, labels = rows_and_labels(columns, checks, X, y, **how)
        numbers = encode_known(labels, known)
        weight = check_sample_weight(sample_weight, rows.shape[0])
        check_classes(known, numbers, None)
        weight = with_class_weight(options.class_weight, weight, known, numbers)
        return cls(rows, numbers, Frequencies(weight), known, columns)

    @property
    def n_outputs(self) -> int:
        """Number of rows of ``coef_``."""
        return 1 if self.classes is None or self.classes.size == 2 else self.classes.size

    @contextmanager
    def problem(self, options: FitOptions, hook: ProgressHook | None = None) -> Iterator[FitProblem]:
        """The problem that a fit trains."""
        with self._memory_errors_explained():
            yield self._problem(options, self._starts(options, self.start), options.stop)

    @contextmanager
    def next_problem(self, options: FitOptions, starts: list[Start] | None, stop: StopRule) -> Iterator[FitProblem]:
        """The problem that ``partial_fit`` trains; ``starts`` are the runs that it continues."""
        with self._memory_errors_explained():
            starts = self._starts(options, None) if starts is None else starts
            yield self._problem(options, starts, stop, part_of_stream=True)

    def check_memory(self, options: FitOptions) -> None:
        """Raise if the models do not fit into memory."""
        options.method.check_fits_in_memory(self.X.shape[1], self.n_outputs)

    def _memory_errors_explained(self) -> AbstractContextManager[None]:
        return memory_errors_explained(training_text(self.X.shape[1], self.n_outputs), FEWER_COLUMNS)

    def _starts(self, options: FitOptions, start: Model | None) -> list[Start]:
        """One start for all classes if the method trains them together, else one per class."""
        self.check_memory(options)
        single = options.method.offers.several_outputs or self.n_outputs == 1
        if start is None or single:
            return [Start(start)] * (1 if single else self.n_outputs)
        return [Start(Model(start.coef[k : k + 1], start.intercept[k : k + 1])) for k in range(self.n_outputs)]

    def _problem(
        self, options: FitOptions, starts: list[Start], stop: StopRule, *, part_of_stream: bool = False
    ) -> FitProblem:
        n_rows, weights, classes = self.X.shape[0], self.frequencies.weights, self.classes
        objective = options.objective(count_positive(weights, n_rows), None if classes is None else classes.size)
        labels = self._labels(len(starts))
        by_blocks = options.reads_blocks(n_rows) and not part_of_stream
        numbers = [ColumnNumbers() if by_blocks else None for _ in labels]
        make = partial(self._source, options, part_of_stream=part_of_stream)

        def finish(results: list[Result]) -> TrainedModels:
            pairs = zip(results, numbers, strict=True)
            results = [result if own is None else with_all_columns(result, own) for result, own in pairs]
            results = [_with_note(result, self.frequencies.note) for result in results]
            if part_of_stream:
                return TrainedModels(results)
            if options.is_classifier:
                check = as_check_optimum(options.parameters["check_optimum"])
                cost, names = options.method.cost_per_pass, self.columns.feature_names
                results = with_optimum_check(check, results, self.X, labels, weights, names, cost)
            spreads = _spreads(options, results[0], self.X, weights)
            return TrainedModels(results, spreads, shares_of_rows(self.X, weights))

        return FitProblem(
            sources=[partial(make, own, own_numbers) for own, own_numbers in zip(labels, numbers, strict=True)],
            objective=objective,
            method=options.method,
            exact_phase=options.exact_phase(in_memory=not by_blocks),
            stop=stop,
            columns=self.columns,
            classes=classes,
            finish=finish,
            starts=starts,
            data=self.data,
        )

    def _labels(self, n_models: int) -> list[Callable[[], Array]]:
        """Labels as the loss needs them, for each model."""
        if self.classes is None:
            return [lambda: self.labels]
        if n_models == 1 and self.classes.size > 2:
            return [partial(np.asarray, self.labels, dtype=np.float64)]
        return [partial(signs, self.labels, k) for k in ([1] if n_models == 1 else range(n_models))]

    def _source(
        self,
        options: FitOptions,
        labels: Callable[[], Array],
        numbers: ColumnNumbers | None,
        *,
        part_of_stream: bool,
    ) -> Source:
        """The rows; ``numbers`` are those of the columns if they are read by blocks."""
        names, roles = self.columns.feature_names, self.columns.roles(self.X.shape[1])
        if numbers is not None:
            blocks = ArrayBlocks(self.X, labels(), self.frequencies.weights, roles, numbers)
            known = numbers if names is None else names
            return BlockSource(blocks.in_order, blocks, seed=options.seed, shuffle=False, feature_names=known)
        return ArraySource(
            self.X,
            labels(),
            sample_weight=self.frequencies.weights,
            frequency=self.frequencies.mean,
            shuffle=options.shuffle,
            part_of_stream=part_of_stream,
            feature_names=names,
            roles=roles,
        )


def start_model(
    rows: LoadedRows, options: FitOptions, coef_init: Any, intercept_init: Any, last: FittedModel | None
) -> Model | None:
    """The model that ``fit`` starts from: the one given, or that of the last fit if ``warm_start``; None for zero."""
    rows.check_memory(options)
    n_outputs, n_features = rows.n_outputs, rows.X.shape[1]
    shape = (n_outputs, n_features) if options.is_classifier else (n_features,)
    names = ["coef_init", "intercept_init"]
    if intercept_init is not None and options.center:
        raise ValueError("center=True sets the intercept from the means of the classes: remove intercept_init")
    if options.warm_start and last is not None:
        if coef_init is None:
            coef_init, names[0] = _last_coef(last, rows.columns), "warm_start=True: coef_ of the last fit"
        if intercept_init is None:
            intercept_init, names[1] = last.intercept_, "warm_start=True: intercept_ of the last fit"
    coef = _initial(names[0], coef_init, shape).reshape(n_outputs, n_features)
    intercept = _initial(names[1], intercept_init, (n_outputs,))
    if not (coef.any() or intercept.any()):
        return None
    _check_start(" and ".join(names), coef, intercept, rows.X, rows.frequencies.weights)
    return Model(coef, intercept)


def _last_coef(last: FittedModel, columns: InputColumns) -> NDArray[Any]:
    """The coefficients of the last fit; those of an encoder in the order of its features in this fit."""
    last_names, names = last.columns.encoded_names, columns.encoded_names
    if last_names is None or names is None:
        return last.coef_
    places = {name: j for j, name in enumerate(last_names)}
    known = np.array([places.get(name, -1) for name in names], dtype=np.intp)
    return np.where(known >= 0, last.coef_[..., known], 0.0)


def _initial(name: str, value: Any, shape: tuple[int, ...]) -> Array:
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


def _check_start(name: str, coef: Array, intercept: Array, X: Any, weight: Array | None) -> None:
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


def _targets(labels: NDArray[Any]) -> Array:
    """Targets; raise if they are so small that their squares underflow: every model would have the loss 0."""
    targets = np.ascontiguousarray(labels, dtype=np.float64)
    largest = float(np.abs(targets).max(initial=0.0))
    if 0 < largest < _SMALLEST:
        raise ValueError(f"y has no value above {largest:.2g}: its squares underflow. Multiply y by a large number")
    return targets


def with_all_columns(result: Result, numbers: ColumnNumbers) -> Result:
    """The result for all columns of the rows; the coefficients of those that never appeared are 0."""
    columns, width = numbers.columns, numbers.n_features
    if not width:  # the rows are dense, or encoded
        return result
    coef = np.zeros((len(result.model.coef), width), dtype=result.model.coef.dtype)
    coef[:, columns] = result.model.coef[:, : columns.size]
    model, state = Model(coef, result.model.intercept), result.state.at_columns(columns, width)
    return replace(result, model=model, state=state)


def _with_note(result: Result, note: str) -> Result:
    """The result with a remark in its verdict; an empty one changes nothing."""
    if not note:
        return result
    return replace(result, verdict=replace(result.verdict, reason=f"{result.verdict.reason}; {note}"))


def _spreads(options: FitOptions, result: Result, X: Any, weight: Array | None) -> Array:
    """Standard deviations of the columns of ``X``, as the method measured them or from some of the rows."""
    known = options.method.spreads(result.state)
    if known is not None and weight is None and options.fit_intercept and result.rows_read >= X.shape[0]:
        return centred_spreads(known, X, weight)
    used = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
    if known is not None:
        return spreads_of_rows(X, used, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = moments_of(X[used[:: -(-used.size // _ROWS_FOR_SPREADS)]]).spreads
    return np.where(np.isfinite(spreads), spreads, 0.0)


def shares_of_rows(X: Any, weight: Array | None) -> Array:
    """Share of the rows that have each feature: of sparse columns those that are not 0, of dense columns all.

    Examples
    --------
    >>> from scipy import sparse
    >>> shares_of_rows(sparse.csr_array([[1.0, 0.0], [2.0, 3.0]]), None)
    array([1. , 0.5])
    """
    if isinstance(X, MixedMatrix):
        return np.append(np.ones(X.n_dense), shares_of_rows(X.sparse, weight))
    if isinstance(X, np.ndarray):
        return np.ones(X.shape[1])
    entries = X.indices if X.data.all() else X.indices[X.data != 0]
    if weight is None:
        return np.asarray(np.bincount(entries, minlength=X.shape[1]) / X.shape[0])
    of_entry = np.repeat(weight, np.diff(X.indptr))[X.data != 0]
    return np.asarray(np.bincount(entries, of_entry, minlength=X.shape[1]) / weight.sum())


def spreads_of_rows(X: Any, used: NDArray[np.intp], weight: Array | None) -> Array:
    """Standard deviations of features over the rows ``used``, in pieces of rows.

    Examples
    --------
    >>> from scipy import sparse
    >>> spreads_of_rows(sparse.csr_array([[1.0, 0.0], [1.0, 2.0], [1.0, 9.0]]), np.array([0, 1]), np.array([3, 1, 0]))
    array([0.       , 0.8660254])
    """
    pieces: list[Any] = [used[first : first + _PIECE_ROWS] for first in range(0, used.size, _PIECE_ROWS)]
    if used.size == X.shape[0]:
        pieces = [slice(rows[0], rows[-1] + 1) for rows in pieces]
    with np.errstate(over="ignore", invalid="ignore"):
        moments = merged(moments_of(X[rows], None if weight is None else weight[rows]) for rows in pieces)
        roots = np.sqrt(moments.squares / moments.rows + moments.means**2)
        n_dense = _dense_columns(X)
        roots[:n_dense] = moments.spreads[:n_dense]
    spreads = centred_spreads(roots, X, weight)
    return np.where(np.isfinite(spreads), spreads, 0.0)


def _dense_columns(X: Any) -> int:
    return X.n_dense if isinstance(X, MixedMatrix) else X.shape[1] if isinstance(X, np.ndarray) else 0


def centred_spreads(roots: Array, X: Any, weight: Array | None) -> Array:
    """Standard deviations of features, given those of dense columns and the root mean squares of sparse ones."""
    n_dense = _dense_columns(X)
    if n_dense == X.shape[1]:
        return roots
    weights = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        means = (X.sparse if isinstance(X, MixedMatrix) else X).T @ weights
        squares = roots[n_dense:] ** 2
        variances = squares - means**2
        spreads = np.where(variances > _ROUNDING * squares, np.sqrt(np.maximum(variances, 0.0)), 0.0)
    return np.append(roots[:n_dense], spreads)
