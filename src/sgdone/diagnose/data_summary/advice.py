"""What to do about the shape of a problem, in sentences."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sgdone.diagnose.data_summary.summary_text import listed, percent, shown_label

if TYPE_CHECKING:
    from sgdone.diagnose.shape import Shape

#: A class with a smaller share of the rows than this is rare.
_RARE = 0.05


def advice_for(shape: "Shape") -> Iterator[str]:
    """Sentences, the most urgent first."""
    yield from _about_missing(shape)
    yield from _about_classes(shape)
    yield from _about_separation(shape)
    yield from _about_scales(shape)
    yield from _about_columns(shape)
    yield from _about_rank(shape)


def _about_missing(shape: "Shape") -> Iterator[str]:
    missing = shape.missing
    if missing.count:
        yield "Impute the missing and infinite values, or drop their rows or columns: no fit takes them."
    if missing.labels.size:
        yield "Drop the rows that have no label."


def _about_classes(shape: "Shape") -> Iterator[str]:
    if shape.classes is None:
        if shape.constant_target:
            yield "All targets are the same: there is nothing to learn."
        return
    total = sum(shape.classes.values())
    if len(shape.classes) == 1:
        label = shown_label(next(iter(shape.classes)))
        yield f"All rows are of the class {label}: add rows of another, for a classifier needs two."
        return
    rare = [label for label, count in shape.classes.items() if count < _RARE * total / (len(shape.classes) / 2)]
    if rare:
        least = min(shape.classes[label] for label in rare)
        what = "class" if len(rare) == 1 else "classes"
        yield (
            f'Give class_weight="balanced" if the rare {what} {listed([shown_label(label) for label in rare])} '
            f"({percent(least / total)} of the rows) should count as much as the others, and judge by more than "
            "accuracy: always naming the commonest class is right for most rows."
        )


def _about_separation(shape: "Shape") -> Iterator[str]:
    kinds = {answer.kind for answer in shape.answers.values()}
    if kinds & {"complete", "quasi-complete"} and len(shape.classes or ()) > 1:
        yield (
            "Use a penalty (alpha > 0, which is the default): without one no fit of logistic loss has finite "
            "coefficients here, and their size says where the solver gave up. The penalty then decides how large they "
            "are: choose it by the loss on rows held out."
        )
        if "complete" in kinds and shape.rank is not None and shape.rank.at_most * 2 > shape.complete_rows:
            # Cover (1965): of the labellings of n rows in general position, half are separable at n = 2·columns.
            yield (
                "There are fewer than two rows a column, so that most ways of labelling them would be separable: do "
                "not take it for a discovery."
            )
    if "undecided" in kinds:
        yield "Use a penalty (alpha > 0, which is the default): whether there is a finite optimum without one is open."


def _about_scales(shape: "Shape") -> Iterator[str]:
    if shape.spread is not None:
        spread = shape.spread.in_words(shape.feature_names)
        yield f"Standardise the features before a fit by gradients: {spread}."


def _about_columns(shape: "Shape") -> Iterator[str]:
    columns = shape.columns
    if columns is None:
        return
    names = shape.feature_names
    if columns.zero.size:
        yield f"Drop {listed([names[k] for k in columns.zero])}: 0 in every row."
    constant = columns.constant if shape.fit_intercept else columns.constant[1:]
    if constant.size:
        instead = (
            "the intercept does the same" if shape.fit_intercept else "one constant column is an intercept already"
        )
        yield f"Drop {listed([names[k] for k in constant])}: constant, and {instead}."
    if columns.duplicates:
        copies = [names[k] for group in columns.duplicates for k in group[1:]]
        yield f"Drop {listed(copies)}: equal to an earlier column in every row; only the sum of their weights matters."


def _about_rank(shape: "Shape") -> Iterator[str]:
    rank = shape.rank
    if rank is None:
        return
    if rank.dependent:
        one = len(rank.dependent) == 1
        also = " and the intercept" if shape.fit_intercept else ""
        yield (
            f"Drop {listed([shape.feature_names[k] for k in rank.dependent])}: "
            f"{'a sum' if one else 'sums'} of multiples of the columns before {'it' if one else 'them'}{also}, so that "
            "many coefficients predict the same; a penalty picks the smallest of them."
        )
    elif rank.columns > shape.complete_rows:
        yield (
            "There are fewer rows than coefficients, so that many coefficients predict the same: use a penalty, get "
            "more rows, or keep fewer columns."
        )
