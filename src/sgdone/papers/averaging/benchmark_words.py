"""Numbers as claims of Xu (2011), section 6.3, tell them."""

from collections.abc import Mapping

#: Good performance, here: an error at most this much above the exact minimiser's.
GOOD = 0.005


def points(share: float) -> str:
    """A difference of errors.

    Examples
    --------
    >>> points(0.005)
    '0.5 percentage points'
    """
    return f"{100 * share:g} percentage points"


def listed(values: Mapping[str, float], form: str) -> str:
    """Names and numbers.

    Examples
    --------
    >>> listed({"ASGD": 1.5, "SGD2": 3.0}, "{:.2f}")
    'ASGD 1.50, SGD2 3.00'
    """
    return ", ".join(f"{name} {form.format(value)}" for name, value in values.items())


def not_in(cases: Mapping[str, str]) -> str:
    """Exceptions, in words of their own, if there are any.

    Examples
    --------
    >>> not_in({"a9a": "a9a (SGD2 15.1 %)"})
    '; not in a9a (SGD2 15.1 %)'
    """
    return f"; not in {', '.join(cases.values())}" if cases else ""
