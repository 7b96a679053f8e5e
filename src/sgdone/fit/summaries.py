"""Summaries of fitted models: standard errors, intervals, and intervals of predictions."""

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sgdone.fit.columns import InputChecks, InputColumns, is_row_input, linear_scores, rows_and_labels, rows_to_predict
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.labels import Frequencies, check_sample_weight, encode_known, labels_of, signs, with_class_weight
from sgdone.fit.streamed_rows import AHEAD, row_input
from sgdone.interfaces.objective import Objective
from sgdone.losses.loss import real_or_nan
from sgdone.machine.threads import in_background
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.readers.table import Table, errors_located
from sgdone.rows.block_cache import CacheError, cache_folder, unnamed_file
from sgdone.rows.faults import check_labels

if TYPE_CHECKING:  # imported when a summary is asked for: a fit does not wait for them
    from sgdone.inference import Summary
    from sgdone.inference.coefficients import SummarisedModel
    from sgdone.inference.prediction import Intervals
    from sgdone.inference.reference_coding import ReferenceCoding
    from sgdone.tables import TableEncoding

Array = NDArray[np.float64]
#: Entries from which positions in sparse rows need 64 bits.
_MANY_ENTRIES = 2**31 - 1


@final
@dataclass(frozen=True)
class SummaryOptions:
    """Arguments of ``summary`` that say what is computed; `LinearClassifier.summary` describes them."""

    cov: Literal["robust", "classical", "cluster"] = "robust"
    groups: ArrayLike | None = None
    columns: Sequence[Any] | None = None
    level: float = 0.95
    reference: Any = None
    weights: Literal["frequency", "sampling"] = "frequency"


def summary(
    model: FittedModel,
    X: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    options: SummaryOptions,
    checks: InputChecks,
) -> "Summary":
    """Standard errors, p-values and intervals of the coefficients, where they can be trusted."""
    from sgdone.inference.coefficients import chosen_columns
    from sgdone.inference.sample import Sample
    from sgdone.inference.sample_rows import SampleRows
    from sgdone.inference.summarise import summarise

    groups, weights = options.groups, options.weights
    if is_row_input(X, y):
        read = mapped_rows(model.columns, checks, X)
        rows, labels, sample_weight = read.X, np.asarray(read.y), read.weights
    else:
        rows, labels = rows_and_labels(model.columns, checks, X, y, purpose="predict", numeric=not model.is_classifier)
    weight = check_sample_weight(sample_weight, rows.shape[0])
    objective, summarised = unpenalised_problem(model, options)
    numbers, weight = _labels_and_weights(model, labels, weight)
    frequencies = Frequencies.of(weight)
    coding = _reference_coding(model, rows, objective, numbers, frequencies.weights)
    chosen = chosen_columns(options.columns, summarised.feature_names, coding)
    if coding is not None:
        rows, summarised = coding.rows(rows), coding.model(summarised)
    given = SampleRows.of(
        rows,
        np.ascontiguousarray(numbers, dtype=np.float64),
        frequencies.weights,
        _group_numbers(groups, rows.shape[0]),
        model.feature_names if coding is None else coding.names,
    )
    sample = Sample.of(objective, given, weights, 1.0 if weights == "sampling" else frequencies.mean)
    return replace(summarise(sample, summarised, options.cov, chosen, float(options.level)), coding=coding)


def predict_interval(
    model: FittedModel, X: Any, summary: "Summary", level: float | None, checks: InputChecks
) -> "Intervals":
    """Intervals of means or probabilities, from the optimum of a summary."""
    from scipy import stats

    from sgdone.inference import Summary

    if not isinstance(summary, Summary):
        raise TypeError(f"summary must be what model.summary(X, y) returns; got {type(summary).__name__}")
    rows = rows_to_predict(model.columns, checks, X).astype(np.float64)
    linear_scores(rows, np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), model.feature_names)
    objective, coding = _objective(model), summary.coding
    if not objective.is_regression and (not objective.loss.probabilistic or objective.predicts == "one_vs_rest"):
        raise ValueError("intervals need probabilities of one model: fit LinearClassifier with loss='logistic'")
    if summary.predictor is None:
        reason = next(iter(summary.refused.values())).reason if summary.refused else "it is of some columns only"
        raise ValueError(f"this summary has no intervals of predictions: {reason}")
    if summary.predictor.objective != objective:
        raise ValueError("the summary is of another kind of model: give that of this model")
    features = summary.predictor.features if coding is None else coding.model_names
    if len(features) != rows.shape[1]:
        raise ValueError(f"the summary is of {len(features)} features, but X has {rows.shape[1]}")
    for what, known, own in (
        ("features", features, _feature_names(model)),
        ("classes", summary.predictor.classes, _class_labels(model)),
    ):
        if known is not None and own is not None and list(known) != list(own):
            raise ValueError(f"the {what} {list(known)[:5]} of the summary are not those of the model")
    chosen = summary.level if level is None else level
    _check_level(chosen)
    at = 0.5 + 0.5 * float(chosen)
    quantile = stats.t.ppf(at, summary.df) if np.isfinite(summary.df) else stats.norm.ppf(at)
    if coding is None:
        return summary.predictor.intervals(rows, float(quantile))
    found, unknown = summary.predictor.intervals(coding.rows(rows), float(quantile)), coding.is_unknown(rows)
    for values in found:
        values[unknown] = np.nan
    return found


def _reference_coding(
    model: FittedModel, rows: Any, objective: Objective, labels: NDArray[Any], weight: Array | None
) -> "ReferenceCoding | None":
    """The features of a summary of encoded rows; None if the columns were numbers."""
    encoder = encoder_of_levels(model)
    if encoder is None:
        return None
    from sgdone.inference.reference_coding import reference_coding

    coding = reference_coding(
        encoder.column_features(),
        _feature_names(model),
        rows,
        None if objective.is_regression else labels,
        weight,
        fit_intercept=objective.fit_intercept,
    )
    return replace(coding, left_out={**encoder.left_out_, **coding.left_out})


def _labels_and_weights(
    model: FittedModel, labels: NDArray[Any], weight: Array | None
) -> tuple[NDArray[Any], Array | None]:
    """Labels as the loss needs them, and sample weights times those of the classes."""
    classes = model.classes_
    if classes is None:
        return labels, weight
    numbers = encode_known(labels, classes)
    weight = with_class_weight(model.options.class_weight, weight, classes, numbers)
    present = np.unique(numbers if weight is None else numbers[weight > 0])
    if present.size < classes.size:
        missing = np.delete(classes, present).tolist()[0]
        raise ValueError(f"y has no row of the class {missing!r}: give the rows of the fit, with all classes")
    return (numbers if classes.size > 2 else signs(numbers, 1)), weight


def _objective(model: FittedModel) -> Objective:
    if model.options.center:
        raise ValueError("center=True sets the intercept from the means of the classes: fit with center=False")
    return model.objective()


def _feature_names(model: FittedModel) -> list[str]:
    return [str(name) for name in model.get_feature_names_out()]


def _class_labels(model: FittedModel) -> list[Any] | None:
    return None if model.classes_ is None else list(model.classes_.tolist())


def _reference(model: FittedModel, reference: Any) -> int:
    """Number of the class that the others are compared with."""
    classes = _class_labels(model)
    if reference is None:
        return 0
    if classes is None:
        raise ValueError(f"reference={reference!r}: a regression has no classes")
    if reference not in classes:
        raise ValueError(f"reference={reference!r} is not one of the classes {classes}")
    if len(classes) > 2 and not model.multinomial_:
        raise ValueError("each class was trained against the rest: there is no reference")
    return classes.index(reference)


def unpenalised_problem(model: FittedModel, options: SummaryOptions) -> "tuple[Objective, SummarisedModel]":
    """The objective without its penalty, and the fitted model; raise for options that do not fit."""
    from sgdone.inference.coefficients import SummarisedModel

    _check_options(options)
    if model.options.class_weight is not None and options.weights == "frequency":
        raise ValueError(
            "the model has a class_weight, and class weights are not numbers of rows: use weights='sampling', or "
            "fit without class_weight"
        )
    objective = _objective(model)
    _check_classical(options.cov, objective)
    return objective, SummarisedModel(
        np.atleast_2d(model.coef_).astype(np.float64),
        np.atleast_1d(model.intercept_).astype(np.float64),
        _feature_names(model),
        _class_labels(model),
        _reference(model, options.reference),
        float(model.alpha_),
        str(model.verdict_),
        is_minimum=model.verdict_.is_minimum or "solver" in model.options.parameters,
    )


def encoder_of_levels(model: FittedModel) -> "TableEncoding | None":
    """The encoder of the model; None if its columns were numbers."""
    encoder: TableEncoding | None = model.encoder_
    return None if encoder is None or encoder.is_plain else encoder


def _check_options(options: SummaryOptions) -> None:
    from sgdone.inference.covariance import Cov
    from sgdone.inference.sample import Weights

    cov, groups, weights = options.cov, options.groups, options.weights
    for name, value, known in (("cov", cov, get_args(Cov)), ("weights", weights, get_args(Weights))):
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, known))}")
    _check_level(options.level)
    if cov == "cluster" and groups is None:
        raise ValueError("cov='cluster' needs groups: one label for each row, equal for rows that are not independent")
    if cov != "cluster" and groups is not None:
        raise ValueError(f"groups are for cov='cluster'; cov is {cov!r}")
    if cov == "classical" and weights == "sampling":
        raise ValueError("cov='classical' takes weights as frequencies: use cov='robust' with sampling weights")


def _check_level(level: Any) -> None:
    if not 0 < real_or_nan(level) < 1:
        raise ValueError(f"level={level!r} is not a number between 0 and 1, as 0.95")


def _check_classical(cov: Any, objective: Objective) -> None:
    loss = objective.loss
    has_likelihood = loss.probabilistic or (objective.is_regression and (loss.quadratic or loss.name == "huber"))
    if cov == "classical" and not has_likelihood:
        raise ValueError(f"cov='classical' needs a likelihood, which the {loss.name} loss does not have: use 'robust'")


def _group_numbers(groups: ArrayLike | None, n_rows: int) -> NDArray[np.intp] | None:
    """Groups of any kind, numbered."""
    if groups is None:
        return None
    check_labels(groups, "groups")
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups has shape {labels.shape} for {n_rows} rows of X: give one label for each row")
    return np.unique(labels, return_inverse=True)[1].astype(np.intp).reshape(-1)


def mapped_rows(columns: InputColumns, checks: InputChecks, source: Any) -> Table:
    """The rows of a source, encoded as those of a fit.

    The arrays are views of files without names, which vanish when nothing refers to the arrays: pages are read as they
    are needed. Labels, weights and the lengths of sparse rows are in memory.
    """
    rows = row_input(source)
    folder = cache_folder(rows.cache)
    with ExitStack() as stack:
        files = {name: stack.enter_context(unnamed_file(folder)) for name in ("dense", "indices", "values")}
        labels, weights, lengths, n_rows = [], [], [np.zeros(1, dtype=np.int64)], 0
        n_dense = n_sparse = 0
        tables: Any = stack.enter_context(closing(in_background(rows.tables(), AHEAD)))
        for table in tables:
            with errors_located(table.place):
                X = rows_to_predict(columns, checks, table.X)
            dense, entries = _parts(X)
            n_dense, n_sparse = dense.shape[1], entries.shape[1]
            _append(files["dense"], dense)
            _append(files["indices"], entries.indices.astype(np.int32, copy=False))
            _append(files["values"], entries.data.astype(np.float64, copy=False))
            lengths.append(np.diff(entries.indptr).astype(np.int64))
            labels.append(labels_of(table, n_rows))
            if table.weights is not None:
                weights.append(table.weights)
            n_rows += X.shape[0]
        if not n_rows:
            raise ValueError("the source has no rows")
        dense = _mapped(files["dense"], np.float64).reshape(n_rows, n_dense)
        indptr = np.cumsum(np.concatenate(lengths))
        index = np.int32 if indptr[-1] <= _MANY_ENTRIES else np.int64
        entries = _csr(files, indptr.astype(index), (n_rows, n_sparse))
    X = dense if not n_sparse else entries if not n_dense else MixedMatrix(dense, entries)
    y, own = np.concatenate(labels), np.concatenate(weights) if weights else None
    return Table(X, y, weights=own)


def _parts(X: Any) -> tuple[NDArray[np.float64], Any]:
    if isinstance(X, MixedMatrix):
        return np.ascontiguousarray(X.dense, dtype=np.float64), X.sparse
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64), sparse.csr_array((X.shape[0], 0))
    return np.empty((X.shape[0], 0)), X


def _csr(files: dict[str, Any], indptr: NDArray[Any], shape: tuple[int, int]) -> Any:
    indices = _mapped(files["indices"], np.int32)
    return sparse.csr_array(
        (_mapped(files["values"], np.float64), indices.astype(indptr.dtype, copy=False), indptr), shape
    )


def _append(file: Any, array: NDArray[Any]) -> None:
    try:
        file.write(array.reshape(-1).view(np.uint8).data)
    except OSError as error:
        raise CacheError(
            f"the rows cannot be kept on disk ({error.strerror}): free some space, or give another folder with cache="
        ) from error


def _mapped(file: Any, dtype: Any) -> NDArray[Any]:
    """The array that a file holds; the map keeps it once the file is closed."""
    if not os.fstat(file.fileno()).st_size:
        return np.empty(0, dtype=dtype)
    return np.asarray(np.memmap(file, dtype=dtype, mode="r"))
