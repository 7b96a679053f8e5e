"""Summary of a data set before training: missing values, rank, scales, class frequencies, separation and advice."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.diagnose.columns import ColumnSummary, Missing, Rank, missing_values, numerical_rank, summarise_columns
from sgdone.diagnose.separability import Check, Separation, SeparationByClass, separation
from sgdone.diagnose.separability.design import feature_names as names_of
from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.diagnose.separability.separation_result import listed, texts_of_classes
from sgdone.losses.learning_task import Task, task_of
from sgdone.machine.threads import single_thread
from sgdone.message_text import counted, shown_label
from sgdone.readers.row_input import RowInput, all_rows, read_head
from sgdone.rows.faults import bad_cells_named, is_missing, refuse_masked
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
        return _by_label(self.separation)

    @cached_property
    def advice(self) -> list[str]:
        """Recommendations, as sentences; empty if there are none."""
        return list(_advice(self))

    def facts(self, class_names: Mapping[Any, str] | None = None) -> list[tuple[str, str]]:
        """Names and values of the quantities, as text."""
        return list(_facts(self, class_names or {}))

    def sentences(self) -> list[str]:
        """Description of the separation: one paragraph per class, or one for all of them if there are many."""
        if isinstance(self.separation, SeparationByClass):
            return texts_of_classes(self.separation)
        return [] if self.separation is None else [str(self.separation)]

    def __str__(self) -> str:
        facts = self.facts()
        width = max(len(name) for name, _ in facts) + 2
        parts = ["\n".join(f"{name.ljust(width)}{what}" for name, what in facts), *self.sentences()]
        parts.append("\n".join(f"- {sentence}" for sentence in self.advice) or NO_PROBLEMS)
        return "\n\n".join(parts)


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
        For a source, such as `sgdone.files`, the first rows are checked, as many as fit into a quarter of its
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
        spread = _spread(matrix, np.setdiff1d(np.arange(matrix.shape[1]), columns.constant))
    answer, why_not = None, ""
    if task == "classification":
        why_not = "no row is complete" if not labels.size else "" if with_separation else "not requested"
        if not why_not:
            report("checking whether the classes are separable")
            answer = separation(matrix, labels, fit_intercept, feature_names=names)
    report("checking the certificate")
    proofs = {label: one.certificate for label, one in _by_label(answer).items()}
    checks = {label: proof.check(matrix, labels) for label, proof in proofs.items() if proof is not None}
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
        checks=checks,
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
    if not varying.size:
        return None
    # Equally spaced rows.
    count = min(matrix.shape[0], _ROWS_FOR_SCALES)
    chosen = (np.arange(count, dtype=np.uint64) * np.uint64(matrix.shape[0])) // np.uint64(count)
    found = Spread.of(Rows.of(matrix[:, varying]), chosen)
    return None if found is None else replace(found, large=varying[found.large], small=varying[found.small])


def _by_label(answer: Separation | SeparationByClass | None) -> Mapping[Any, Separation]:
    """The separation of each class; with two classes, only that of the positive class."""
    if answer is None or isinstance(answer, SeparationByClass):
        return answer or {}
    label = answer.classes[1]
    return {label.item() if isinstance(label, np.generic) else label: answer}


#: Shown if there is no advice.
NO_PROBLEMS = "No problems were found."

_MOST_NAMES = 8
_MOST_CELLS = 4
_MOST_CLASSES = 10
_MOST_GROUPS = 4


def _facts(shape: "Shape", class_names: Mapping[Any, str]) -> Iterator[tuple[str, str]]:
    """Names and values of the quantities, for a table of two columns."""
    columns, names, rank = shape.columns, shape.feature_names, shape.rank
    partly = f" ({shape.complete_rows:,} complete; all results below are for these)" if shape.missing.any else ""
    yield "rows", f"{shape.rows:,}{partly}"
    yield "features", f"{shape.features:,}"
    if columns is not None:
        cells = shape.complete_rows * shape.features
        share = f" of {cells:,} values ({percent(columns.nonzeros / cells)})" if cells else ""
        yield "non-zeros", f"{columns.nonzeros:,}{share}"
    yield "missing", _missing_text(shape)
    if columns is not None:
        yield "zero columns", listed([names[k] for k in columns.zero])
        yield "constant columns", listed([names[k] for k in columns.constant])
        groups = [" = ".join(names[k] for k in group[:_MOST_NAMES]) for group in columns.duplicates[:_MOST_GROUPS]]
        more = len(columns.duplicates) - len(groups)
        same = "; ".join(groups) + (f"; and {counted(more, 'group')} more" if more else "")
        yield "duplicate columns", same or "none"
    if rank is not None:
        whole = f"{rank.columns:,} columns" + (", including the intercept" if shape.fit_intercept else "")
        if rank.value is None:
            yield "rank", f"not computed, at most {rank.at_most:,} of {whole}: {rank.reason}"
        else:
            yield "rank", f"{rank.value:,} of {whole} (method: {rank.method}, tolerance {rank.tolerance:.0e})"
    if columns is not None and columns.largest.any():
        used = np.flatnonzero(columns.largest)
        low, high = used[np.argmin(columns.largest[used])], used[np.argmax(columns.largest[used])]
        ends = [f"{columns.largest[k]:.4g} ({names[k]})" for k in (low, high)]
        yield "scales", f"largest values from {ends[0]} to {ends[1]}"
    yield _about_target(shape, class_names)
    yield from _about_separation(shape)


def _missing_text(shape: "Shape") -> str:
    """Number of missing values, and where the first of them are."""
    missing = shape.missing
    said = []
    if missing.count:
        named = [f"{found} in row {row}, {shape.feature_names[k]}" for row, k, found in missing.cells[:_MOST_CELLS]]
        more = f"; and {missing.count - len(named):,} more" if missing.count > len(named) else ""
        said.append(f"{counted(missing.count, 'value')} ({'; '.join(named)}{more}; row numbers start at 0)")
    if missing.labels.size:
        rows = listed([str(row) for row in missing.labels])
        said.append(f"{counted(missing.labels.size, 'label')} (row{'s' * (missing.labels.size > 1)} {rows})")
    return " and ".join(said) or "none"


def _about_target(shape: "Shape", class_names: Mapping[Any, str]) -> tuple[str, str]:
    if shape.classes is None:
        return "target", "numeric (regression)"
    total = sum(shape.classes.values())
    said = []
    for label, count in list(shape.classes.items())[:_MOST_CLASSES]:
        name = f" ({class_names[label]})" if label in class_names else ""
        said.append(f"{shown_label(label)}{name}: {counted(count, 'row')} ({percent(count / total)})")
    more = len(shape.classes) - len(said)
    return "classes", "; ".join(said) + (f"; and {more:,} more" if more else "")


def _about_separation(shape: "Shape") -> list[tuple[str, str]]:
    if not shape.answers:
        return [("separation", shape.why_not)] if shape.why_not else []
    if len(shape.answers) == 1:
        [(label, answer)] = shape.answers.items()
        kinds = str(answer.kind)
        proof = str(shape.checks[label]) if label in shape.checks else "none"
    else:
        kinds = _kinds_text(shape)
        verified = sum(bool(check) for check in shape.checks.values())
        exact = sum(check.exact for check in shape.checks.values())
        proof = f"{verified} of {len(shape.answers)} verified" + (f", {exact} of them exactly" if exact else "")
        kinds = f"each class against the rest: {kinds}"
    return [("separation", kinds), ("certificate", proof)]


def _kinds_text(shape: "Shape") -> str:
    """The kind of separation of each class or, if there are many, the classes of each kind."""
    kinds = {shown_label(label): answer.kind for label, answer in shape.answers.items()}
    if len(kinds) <= _MOST_CLASSES:
        return "; ".join(f"{label}: {kind}" for label, kind in kinds.items())
    groups = {kind: [label for label, own in kinds.items() if own == kind] for kind in dict.fromkeys(kinds.values())}
    return "; ".join(f"{kind}: {counted(len(own), 'class', 'classes')} ({listed(own)})" for kind, own in groups.items())


def percent(share: float) -> str:
    """Format a fraction as a percentage with two or three significant digits.

    Examples
    --------
    >>> percent(0.5), percent(0.0123), percent(0.000012), percent(1.0)
    ('50%', '1.2%', '0.0012%', '100%')
    """
    return f"{100 * share:.{3 if share >= 0.1 else 2}g}%"


#: A class is rare if its frequency is below this (for two classes).
_RARE = 0.05


def _advice(shape: "Shape") -> Iterator[str]:
    """Yield recommendations, the most important first."""
    if not shape.all_rows_checked:
        yield f"Only the first {shape.rows:,} rows were checked: give a larger max_memory to check more of them."
    yield from _advice_on_missing(shape)
    yield from _advice_on_classes(shape)
    yield from _advice_on_separation(shape)
    yield from _advice_on_scales(shape)
    yield from _advice_on_columns(shape)
    yield from _advice_on_rank(shape)


def _advice_on_missing(shape: "Shape") -> Iterator[str]:
    missing = shape.missing
    if missing.count:
        yield "Impute the missing and infinite values, or drop their rows or columns: the models do not accept them."
    if missing.labels.size:
        yield "Drop the rows without a label."


def _advice_on_classes(shape: "Shape") -> Iterator[str]:
    if shape.classes is None:
        if shape.constant_target:
            yield "All targets are equal: there is nothing to predict."
        return
    total = sum(shape.classes.values())
    if len(shape.classes) == 1:
        label = shown_label(next(iter(shape.classes)))
        yield f"All rows belong to class {label}: add rows of another class, because a classifier needs two."
        return
    rare = [label for label, count in shape.classes.items() if count < _RARE * total / (len(shape.classes) / 2)]
    if rare:
        least = min(shape.classes[label] for label in rare)
        what = "class" if len(rare) == 1 else "classes"
        yield (
            f'Use class_weight="balanced" if the rare {what} {listed([shown_label(label) for label in rare])} '
            f"({percent(least / total)} of the rows) should count as much as the others. Do not evaluate by accuracy "
            "alone: predicting the most frequent class is correct for most rows."
        )


def _advice_on_separation(shape: "Shape") -> Iterator[str]:
    kinds = {answer.kind for answer in shape.answers.values()}
    if kinds & {"complete", "quasi-complete"} and len(shape.classes or ()) > 1:
        yield (
            "Use a penalty (alpha > 0, the default): without one the logistic loss has no finite optimum here, and the "
            "size of the coefficients depends only on when the solver stops. With a penalty, the penalty determines "
            "their size: choose it by the validation loss."
        )
        if "complete" in kinds and shape.rank is not None and shape.rank.at_most * 2 > shape.complete_rows:
            # Cover (1965): of the labellings of n rows in general position, half are separable at n = 2·columns.
            yield (
                "There are fewer than two rows per column, so most random labels would be separable too: separation "
                "is no evidence of a relationship here."
            )
    if "undecided" in kinds:
        yield "Use a penalty (alpha > 0, the default): it is not known whether a finite optimum exists without one."


def _advice_on_scales(shape: "Shape") -> Iterator[str]:
    if shape.columns is not None and shape.columns.too_large.size:
        names = listed([shape.feature_names[k] for k in shape.columns.too_large])
        yield f"Scale {names}: the squares of the values overflow, and the models do not accept them."
    if shape.spread is not None:
        spread = shape.spread.in_words(shape.feature_names)
        yield (
            "Nothing need be scaled for LinearClassifier and LinearRegressor; standardise the features for "
            f"SGDClassifier and SGDRegressor, and for sgdone fit with --solver: {spread}."
        )


def _advice_on_columns(shape: "Shape") -> Iterator[str]:
    columns = shape.columns
    if columns is None:
        return
    names = shape.feature_names
    if columns.zero.size:
        one = columns.zero.size == 1
        yield f"Drop {listed([names[k] for k in columns.zero])}: the column{' is' if one else 's are'} 0 in every row."
    constant = columns.constant if shape.fit_intercept else columns.constant[1:]
    if constant.size:
        like = "the intercept" if shape.fit_intercept else f"{names[columns.constant[0]]}, which acts as an intercept"
        plural = " is" if constant.size == 1 else "s are"
        yield f"Drop {listed([names[k] for k in constant])}: the column{plural} constant, like {like}."
    if columns.duplicates:
        copies = [names[k] for group in columns.duplicates for k in group[1:]]
        plural = "a duplicate" if len(copies) == 1 else "duplicates"
        yield f"Drop {listed(copies)}: {plural} of an earlier column; only the sum of their coefficients is determined."


def _advice_on_rank(shape: "Shape") -> Iterator[str]:
    rank = shape.rank
    if rank is None:
        return
    if rank.dependent:
        one = len(rank.dependent) == 1
        also = " and the intercept" if shape.fit_intercept else ""
        yield (
            f"Drop {listed([shape.feature_names[k] for k in rank.dependent])}: "
            f"{'a linear combination' if one else 'linear combinations'} of the columns before "
            f"{'it' if one else 'them'}{also}, so the coefficients are not unique; a penalty selects the smallest."
        )
    elif rank.columns > shape.complete_rows:
        yield (
            "There are fewer rows than coefficients, so the coefficients are not unique: use a penalty, add rows, or "
            "drop columns."
        )
