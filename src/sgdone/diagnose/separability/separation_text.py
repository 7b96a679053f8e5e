"""Text of the diagnosis of separation."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone.message_text import counted, shown_label

if TYPE_CHECKING:
    from sgdone.diagnose.separability.separation_result import Separation

_MOST_NAMES = 8
#: Largest number of classes that are described one by one.
_MOST_PARAGRAPHS = 4
#: From good to bad: what each kind is called, and what it means for one class and for several.
_KINDS = {
    "none": ("no separation", "has a finite optimum", "have finite optima"),
    "undecided": ("undecided", "may have none", "may have none"),
    "quasi-complete": ("quasi-complete separation", "has no finite optimum", "have no finite optimum"),
    "complete": ("complete separation", "has no finite optimum", "have no finite optimum"),
}
#: Largest number of coefficients for which all signs are computed.
_MOST_SIGNS = 200


def separation_text(separation: "Separation") -> str:
    """Describe whether a finite optimum exists, and which rows and coefficients are separable and infinite."""
    rows = int(separation.separable_rows.sum())
    used = separation.design.n_rows
    if separation.kind == "undecided":
        return f"Undecided: {separation.reason}."
    proof = _proof(separation)
    if separation.kind == "none":
        return f"No separation: the {separation.loss} loss has a finite optimum on these {used:,} rows. {proof}"
    if separation.kind == "complete":
        head = f"Complete separation: one direction classifies all {used:,} rows without error"
        tail = "The loss tends to 0."
    else:
        head = (
            f"Quasi-complete separation: one direction separates {rows:,} of {used:,} rows and does not change the "
            "scores of the others"
        )
        tail = f"The mean {separation.loss} loss tends to {separation.infimum:.6g}."
    return f"{head}, so there is no finite optimum. {_coefficients(separation)} {tail} {proof}"


def texts_of_classes(answers: "Mapping[Any, Separation]") -> list[str]:
    """Describe the separation of each class from the rest: a paragraph per class, or one if there are many."""
    if len(answers) <= _MOST_PARAGRAPHS:
        return [f"Class {shown_label(label)} against the rest. {answer}" for label, answer in answers.items()]
    found = []
    for kind, (name, one, many) in _KINDS.items():
        labels = [shown_label(label) for label, answer in answers.items() if answer.kind == kind]
        if labels:
            means = one if len(labels) == 1 else many
            found.append(f"{counted(len(labels), 'class', 'classes')} ({_list(labels)}): {name}, {means}")
    return [f"Each of {len(answers):,} classes against the rest. {'; '.join(found)}."]


def _coefficients(separation: "Separation") -> str:
    names = [*separation.feature_names, *(["the intercept"] if separation.fit_intercept else [])]
    if separation.design.width > _MOST_SIGNS and separation.part is not None:
        strengths = np.abs(separation.part.direction)
        top = np.argsort(-strengths)[:_MOST_NAMES]
        return f"The largest coefficients of the direction: {_list([names[j] for j in top if strengths[j] > 0])}."
    signs = np.append(separation.infinite, [separation.infinite_intercept] * separation.fit_intercept)
    said = []
    for code, one, many in (
        (1, "tends to +∞", "tend to +∞"),
        (-1, "tends to −∞", "tend to −∞"),
        (2, "may tend to +∞ or −∞", "may tend to +∞ or −∞"),
    ):
        here = [names[j] for j in np.flatnonzero(signs == code)]
        if here:
            said.append(f"{_list(here)} {one if len(here) == 1 else many}")
    sentence = "; ".join(said)
    return f"{'T' + sentence[1:] if sentence.startswith('the intercept') else sentence}."


def _list(names: list[str]) -> str:
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


def _proof(separation: "Separation") -> str:
    certificate = separation.certificate
    if certificate is None:
        return ""
    exact = f"holds to the tolerance {certificate.tolerance:.0e}" if not certificate.exact else "is exact"
    return f"The certificate {exact}."
