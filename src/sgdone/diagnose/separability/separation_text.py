"""Text of the diagnosis of separation."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sgdone.diagnose.separability.separation_result import Separation

_MOST_NAMES = 8
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
