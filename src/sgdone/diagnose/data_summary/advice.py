"""Recommendations based on the summary of a data set."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sgdone.diagnose.data_summary.summary_text import listed, percent
from sgdone.message_text import shown_label

if TYPE_CHECKING:
    from sgdone.diagnose.shape import Shape

#: A class is rare if its frequency is below this (for two classes).
_RARE = 0.05


def advice_for(shape: "Shape") -> Iterator[str]:
    """Yield recommendations, the most important first."""
    if not shape.all_rows_checked:
        yield f"Only the first {shape.rows:,} rows were checked: give a larger max_memory to check more of them."
    yield from _about_missing(shape)
    yield from _about_classes(shape)
    yield from _about_separation(shape)
    yield from _about_scales(shape)
    yield from _about_columns(shape)
    yield from _about_rank(shape)


def _about_missing(shape: "Shape") -> Iterator[str]:
    missing = shape.missing
    if missing.count:
        yield "Impute the missing and infinite values, or drop their rows or columns: the models do not accept them."
    if missing.labels.size:
        yield "Drop the rows without a label."


def _about_classes(shape: "Shape") -> Iterator[str]:
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


def _about_separation(shape: "Shape") -> Iterator[str]:
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


def _about_scales(shape: "Shape") -> Iterator[str]:
    if shape.columns is not None and shape.columns.too_large.size:
        names = listed([shape.feature_names[k] for k in shape.columns.too_large])
        yield f"Scale {names}: the squares of the values overflow, and the models do not accept them."
    if shape.spread is not None:
        spread = shape.spread.in_words(shape.feature_names)
        yield (
            "Nothing need be scaled for LinearClassifier and LinearRegressor; standardise the features for "
            f"SGDClassifier and SGDRegressor, and for sgdone fit with --solver: {spread}."
        )


def _about_columns(shape: "Shape") -> Iterator[str]:
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


def _about_rank(shape: "Shape") -> Iterator[str]:
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
