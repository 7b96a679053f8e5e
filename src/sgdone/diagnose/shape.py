"""Summary of a data set before training: missing values, rank, scales, class frequencies and separation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.data_summary.advice import advice_for
from sgdone.diagnose.data_summary.column_summary import ColumnSummary, Missing, missing_values, summarise_columns
from sgdone.diagnose.data_summary.rank import Rank, numerical_rank
from sgdone.diagnose.data_summary.summary_text import facts_about, summary_text
from sgdone.diagnose.separability import Check, Separation, SeparationByClass, separation
from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.diagnose.separability.separation_text import texts_of_classes
from sgdone.diagnose.separability.validation import feature_names as names_of
from sgdone.losses.learning_task import Task, task_of
from sgdone.machine.threads import single_thread
from sgdone.readers.row_input import RowInput, all_rows, read_head
from sgdone.rows.cells import bad_cells_named, is_missing, refuse_masked
from sgdone.rows.rows import Rows
from sgdone.rows.spread import Spread

#: Number of rows used to estimate the scales of the columns.
_ROWS_FOR_SCALES = 10_000


@final
@dataclass(frozen=True, eq=False)
class Shape:
    """Summary of a data set, returned by `shape`; ``str()`` formats it as text.

    Attributes
    ----------
    rows, features : int
    complete_rows : int
        Number of rows without missing or infinite values. All attributes below ``missing`` refer to these rows.
    feature_names : list of str
    task : {"classification", "regression"}
    fit_intercept : bool
    missing : Missing
        Values that are missing or infinite, by row and column.
    columns : ColumnSummary or None
        Non-zero values; zero, constant and duplicate columns. None if no row is complete, like the next two.
    rank : Rank or None
        Numerical rank of the columns, including the intercept.
    spread : Spread or None
        Columns much larger or smaller than the median column, estimated on a sample of rows; None if there are none.
    classes : dict or None
        Number of rows of each class; None for regression.
    constant_target : bool
        Whether all labels are equal.
    separation : Separation, SeparationByClass or None
        Whether a finite optimum exists; None if this was not computed, for the reason ``why_not``.
    checks : dict
        Result of checking the certificate of each class on the data.
    all_rows_checked : bool
        False if only the first rows of a source were checked.
    """

    rows: int
    features: int
    complete_rows: int
    feature_names: list[str]
    task: Task
    fit_intercept: bool
    missing: Missing
    columns: ColumnSummary | None
    rank: Rank | None
    spread: Spread | None
    classes: dict[Any, int] | None
    constant_target: bool
    separation: Separation | SeparationByClass | None
    checks: dict[Any, Check]
    why_not: str = ""
    all_rows_checked: bool = True

    @cached_property
    def answers(self) -> Mapping[Any, Separation]:
        """The separation of each class from the rest; with two classes, only that of the positive class."""
        if self.separation is None:
            return {}
        return self.separation if isinstance(self.separation, SeparationByClass) else _by_label(self.separation)

    @cached_property
    def advice(self) -> list[str]:
        """Recommendations, as sentences; empty if there are none."""
        return list(advice_for(self))

    def facts(self, class_names: Mapping[Any, str] | None = None) -> list[tuple[str, str]]:
        """Names and values of the quantities, as text."""
        return facts_about(self, class_names)

    def sentences(self) -> list[str]:
        """Description of the separation: one paragraph per class, or one for all of them if there are many."""
        if isinstance(self.separation, SeparationByClass):
            return texts_of_classes(self.separation)
        return [] if self.separation is None else [str(self.separation)]

    def __str__(self) -> str:
        return summary_text(self)


def shape(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    task: Task | Literal["auto"] = "auto",
    feature_names: Sequence[str] | None = None,
    with_separation: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Shape:
    """Check data before training.

    Missing and infinite values are reported and do not raise an error. All other results refer to the complete rows.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (rows, features), or a source
        Of a source, such as `sgdone.files`, the first rows are checked, as many as fit into a quarter of its
        ``max_memory``.
    y : array
        Labels of classes, or numbers for regression. A source has them.
    fit_intercept : bool
        Whether the model has an intercept.
    task : {"auto", "classification", "regression"}
        "auto" infers the task from the labels: strings and few distinct integers are classes.
    feature_names : sequence of str, optional
        By default the column names of a data frame.
    with_separation : bool
        Whether to check for separation. With many classes this may take much longer than the rest.
    progress : function of str, optional
        Called with a description of each step.

    Examples
    --------
    >>> from sgdone.diagnose import shape
    >>> X = np.array([[0, 1, 5], [0, 2, 5], [0, 3, 5], [0, 4, 5], [1, 2, 5], [1, 3, 5]])
    >>> found = shape(X, np.array([0, 1, 0, 1, 1, 1]), feature_names=["treated", "age", "site"])
    >>> found.rank.value, found.columns.constant.tolist(), found.separation.kind, found.classes
    (3, [2], 'quasi-complete', {0: 2, 1: 4})
    >>> print(found.advice[-1])
    Drop site: the column is constant, like the intercept.
    """
    report = progress or (lambda doing: None)
    all_rows_checked = True
    if isinstance(X, RowInput):
        report("reading the rows")
        head, all_rows_checked = read_head(X.tables(), X.max_memory)
        table = all_rows(head)
        X, y = table.X, table.y
        feature_names = feature_names or table.feature_names
    report("checking the values")
    matrix = _as_matrix(X)
    names = names_of(X, feature_names, matrix.shape[1])
    labels = _as_labels(y, matrix.shape[0])
    missing = missing_values(matrix, labels)
    n_rows = matrix.shape[0]
    if missing.any:
        kept = np.flatnonzero(missing.complete)
        matrix, labels = matrix[kept], _plain(labels[kept])
    task = _task(task, labels)
    values, counts = np.unique(labels, return_counts=True)
    columns = rank = spread = None
    if labels.size:
        columns = summarise_columns(matrix)
        report("computing the rank")
        with single_thread():
            rank = numerical_rank(matrix, columns.distinct(fit_intercept), columns.largest, fit_intercept)
        varying = np.setdiff1d(np.arange(matrix.shape[1]), columns.constant)
        spread = _spread(matrix, varying)
    answer, why_not = None, ""
    if task == "classification":
        why_not = "no row is complete" if not labels.size else "" if with_separation else "not requested"
        if not why_not:
            report("checking whether the classes are separable")
            answer = separation(matrix, labels, fit_intercept, feature_names=names)
    report("checking the certificate")
    return Shape(
        rows=n_rows,
        features=matrix.shape[1],
        complete_rows=labels.size,
        feature_names=names,
        task=task,
        fit_intercept=fit_intercept,
        missing=missing,
        columns=columns,
        rank=rank,
        spread=spread,
        classes=dict(zip(values.tolist(), counts.tolist(), strict=True)) if task == "classification" else None,
        constant_target=values.size == 1,
        separation=answer,
        checks=_checked(answer, matrix, labels),
        why_not=why_not,
        all_rows_checked=all_rows_checked,
    )


def _as_matrix(X: Any) -> Any:
    from sklearn.utils.validation import check_array

    refuse_masked("X", X)
    with bad_cells_named(X):
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
            ensure_min_features=0,
        )
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _as_labels(y: Any, n_rows: int) -> NDArray[Any]:
    from sklearn.utils.validation import column_or_1d

    labels = _plain(column_or_1d(y))
    if labels.size != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {labels.size} labels")
    return labels


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Convert an object array of labels to its natural dtype, if no label is missing."""
    if labels.dtype != object or any(map(is_missing, labels.tolist())):
        return labels
    return np.array(labels.tolist())


def _task(task: Task | Literal["auto"], labels: NDArray[Any]) -> Task:
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be 'auto', 'classification' or 'regression': found {task!r}")
    if task == "regression" and labels.dtype.kind not in "biuf":
        raise ValueError(f"the label {str(labels[0])!r} is not a number: regression needs numeric labels")
    return task_of(labels) if task == "auto" else task


def _spread(matrix: Any, varying: NDArray[np.intp]) -> Spread | None:
    """The spread of the columns that vary: a constant one adds nothing to the intercept, whatever its size."""
    found = Spread.of(Rows.of(matrix[:, varying]), _some_rows(matrix.shape[0])) if varying.size else None
    return None if found is None else replace(found, large=varying[found.large], small=varying[found.small])


def _some_rows(n_rows: int) -> NDArray[np.uint64]:
    """Equally spaced row numbers."""
    count = min(n_rows, _ROWS_FOR_SCALES)
    return (np.arange(count, dtype=np.uint64) * np.uint64(n_rows)) // np.uint64(count)


def _by_label(answer: Separation) -> dict[Any, Separation]:
    label = answer.classes[1]
    return {label.item() if isinstance(label, np.generic) else label: answer}


def _checked(answer: Separation | SeparationByClass | None, X: Any, labels: NDArray[Any]) -> dict[Any, Check]:
    if answer is None:
        return {}
    answers = answer if isinstance(answer, SeparationByClass) else _by_label(answer)
    return {label: one.certificate.check(X, labels) for label, one in answers.items() if one.certificate is not None}
