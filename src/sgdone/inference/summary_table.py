"""The content of a printed summary, which its text and its HTML share."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sgdone.inference.summary import INTERCEPT, Head, Summary
from sgdone.message_text import enumerate_names

#: A coefficient that would need more decimals, or is at least this large, is printed with exponents.
_MOST_DECIMALS, _LARGE = 7, 1e8
#: P-values below are printed as this bound.
_SMALL_P = 0.001

MISSING = "—"


def coefficient_cells(summary: Summary, k: int) -> tuple[str, ...]:
    """Coefficient, standard error, z, p and interval of one coefficient.

    All but z and p have the same decimals: four significant digits of the standard error.
    """
    coef = float(summary.coef[k])
    if math.isnan(coef) and k in summary.refused:
        coef = summary.refused[k].sign * math.inf if summary.refused[k].sign else math.nan
    std_err, low, high = (float(values[k]) for values in (summary.std_err, summary.low, summary.high))
    known = math.isfinite(std_err) and std_err > 0
    decimals = _decimals(std_err if known else coef, max(map(abs, filter(math.isfinite, (coef, low, high))), default=0))
    coef_text, error_text, low_text, high_text = (_text(value, decimals) for value in (coef, std_err, low, high))
    return coef_text, error_text, z_text(float(summary.z[k])), p_text(float(summary.p[k])), low_text, high_text


def _decimals(resolution: float, largest: float) -> int | None:
    """Decimals for four significant digits of ``resolution``; None if exponents are shorter."""
    if not math.isfinite(resolution) or resolution == 0:
        return 3
    decimals = max(0, 3 - math.floor(math.log10(abs(resolution))))
    return decimals if decimals <= _MOST_DECIMALS and largest < _LARGE else None


def _text(value: float, decimals: int | None) -> str:
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    return f"{value:.3e}" if decimals is None else f"{value:.{decimals}f}"


def z_text(z: float) -> str:
    """A test statistic with three decimals."""
    return _text(z, 3 if abs(z) < 1e5 else None)


def p_text(p: float) -> str:
    """A p-value with three decimals.

    Examples
    --------
    >>> p_text(0.0456), p_text(1e-9)
    ('0.046', '<0.001')
    """
    return MISSING if math.isnan(p) else f"<{_SMALL_P}" if p < _SMALL_P else f"{p:.3f}"


def statistic_text(value: float | None) -> str:
    """A likelihood or a criterion, with two decimals unless it is small; empty if it is missing.

    Examples
    --------
    >>> statistic_text(-12345.678), statistic_text(0.0123456), statistic_text(None)
    ('-12,345.68', '0.01235', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.4g}"


#: Up to this number of coefficients, all are printed.
_MOST_ROWS = 60
#: Beyond it, the number of coefficients with the largest |z| that are printed besides the intercepts.
_LARGEST = 40
#: The number that are printed if none has a z.
_FIRST = 5
#: Most reasons for coefficients that are not shown.
_MOST_FOOTNOTES = 10

TITLE = "Coefficients of the optimum without a penalty"

Facts = list[tuple[str, str]]


class CoefficientLine(NamedTuple):
    """A coefficient: its name, the number of its footnote (0 for none), and one cell per column."""

    name: str
    footnote: int
    cells: tuple[str, ...]


class CoefficientGroup(NamedTuple):
    """The coefficients of one class; the heading is empty if there are no classes."""

    heading: str
    rows: list[CoefficientLine]


class ColumnTestTable(NamedTuple):
    """Tests of columns: the column, its reference level, and numbers; ``left_out`` says how many are not shown."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    left_out: str


class SummaryTable(NamedTuple):
    """A summary as texts.

    ``settings`` and ``results`` are the two columns of the head, ``header`` the names of the columns of ``groups``.
    ``left_out`` says how many coefficients are not shown, ``footnotes`` names refused coefficients and why, and
    ``remarks`` are sentences beneath the table.
    """

    settings: Facts
    results: Facts
    header: tuple[str, ...]
    groups: list[CoefficientGroup]
    left_out: str
    tests: ColumnTestTable | None
    footnotes: Facts
    remarks: list[str]


def table_of(summary: Summary) -> SummaryTable:
    """Convert a summary to the texts that are printed."""
    shown = _shown(summary)
    refused = _by_reason(summary, shown)
    footnotes = _footnotes(summary, shown, refused)
    statistic = "t" if math.isfinite(summary.df) else "z"
    tail = (1 - summary.level) / 2
    return SummaryTable(
        settings=_settings(summary),
        results=_results(summary.head),
        header=("coef", "std err", statistic, f"P>|{statistic}|", f"[{tail:.6g}", f"{1 - tail:.6g}]"),
        groups=_groups(summary, shown, list(refused)),
        left_out=_left_out(summary, shown, statistic),
        tests=_tests(summary),
        footnotes=footnotes,
        remarks=list(_remarks(summary, list(refused), len(footnotes))),
    )


def largest_first(summary: Summary, positions: Sequence[int]) -> list[int]:
    """Sort positions of coefficients by |z|, the largest first and those without z last."""
    return sorted(positions, key=lambda k: math.inf if math.isnan(summary.z[k]) else -abs(summary.z[k]))


def _shown(summary: Summary) -> list[int]:
    """Positions of the coefficients to print, in order."""
    positions = range(len(summary))
    if len(summary) <= _MOST_ROWS:
        return list(positions)
    intercepts = [k for k in positions if summary.features[k] == INTERCEPT]
    others = [k for k in positions if summary.features[k] != INTERCEPT]
    has_z = any(math.isfinite(summary.z[k]) for k in others)
    return [*intercepts, *largest_first(summary, others)[: _LARGEST if has_z else _FIRST]]


def _left_out(summary: Summary, shown: list[int], statistic: str) -> str:
    count = len(summary) - len(shown)
    if not count:
        return ""
    which = f"The {_LARGEST} coefficients with the largest |{statistic}| are shown, the largest first."
    if not any(math.isfinite(summary.z[k]) for k in shown):
        which = "The first coefficients are shown."
    return f"{which} {count:,} others are left out: to_frame() has all of them."


def _groups(summary: Summary, shown: list[int], reasons: list[str]) -> list[CoefficientGroup]:
    """The rows, by class in the order of the summary."""
    classes = [""] if summary.classes is None else list(dict.fromkeys(f"class {label}" for label in summary.classes))
    rows: dict[str, list[CoefficientLine]] = {heading: [] for heading in classes}
    for k in shown:
        refusal = summary.refused.get(k)
        footnote = 0 if refusal is None else 1 + reasons.index(refusal.reason)
        heading = "" if summary.classes is None else f"class {summary.classes[k]}"
        rows[heading].append(CoefficientLine(summary.features[k], footnote, coefficient_cells(summary, k)))
    return [CoefficientGroup(heading, of_class) for heading, of_class in rows.items() if of_class]


def _by_reason(summary: Summary, shown: list[int]) -> dict[str, list[int]]:
    """Positions of the refused coefficients by reason; reasons of coefficients that are shown come first."""
    refused: dict[str, list[int]] = {}
    for k in dict.fromkeys([*(k for k in shown if k in summary.refused), *sorted(summary.refused)]):
        refused.setdefault(summary.refused[k].reason, []).append(k)
    return refused


def _footnotes(summary: Summary, shown: list[int], refused: dict[str, list[int]]) -> Facts:
    """Reasons that the table refers to, and others if they are few."""
    names = [
        f"{name} ({summary.refused[k].detail})" if k in summary.refused and summary.refused[k].detail else name
        for k, name in enumerate(summary.names)
    ]
    used = len({summary.refused[k].reason for k in shown if k in summary.refused})
    return [
        ("all coefficients" if len(of) == len(summary) else enumerate_names([names[k] for k in sorted(of)]), reason)
        for reason, of in list(refused.items())[: max(used, _MOST_FOOTNOTES)]
    ]


def _tests(summary: Summary) -> ColumnTestTable | None:
    """The tests of columns, with the levels that others are compared with."""
    tests = list(summary.column_tests.values())
    if not tests:
        return None
    statistic = "F" if math.isfinite(summary.df) else "χ²"
    rows: list[tuple[str, ...]] = []
    for test in tests[:_MOST_ROWS]:
        some = test.test is not None and test.levels_tested < test.levels
        levels = f"{test.levels_tested:,} of {test.levels:,}" if some else f"{test.levels:,}"
        df = MISSING if test.test is None else f"{test.df:,}"
        reference = test.reference or MISSING
        rows.append((test.column, reference, levels, df, z_text(test.statistic), p_text(test.p)))
    count = len(tests) - len(rows)
    left_out = f"{count:,} other columns are left out: column_tests_frame() has all of them." if count else ""
    return ColumnTestTable(("Wald test", "reference", "levels", "df", statistic, f"P>{statistic}"), rows, left_out)


def _settings(summary: Summary) -> Facts:
    head = summary.head
    facts = [
        ("Model", head.model),
        ("Outcome", head.outcome),
        ("Covariance", head.cov),
        ("Rows", f"{head.rows:,.0f}" if head.rows == round(head.rows) else f"{head.rows:,.2f}"),
        ("Coefficients", f"{head.coefficients:,}" if head.coefficients else ""),
        ("Level", f"{100 * summary.level:.6g} %"),
    ]
    return [(label, value) for label, value in facts if value]


def _results(head: Head) -> Facts:
    """Statistics of the fit; those that are missing are left out."""
    df = "" if head.likelihood_ratio_df is None else f", χ²({head.likelihood_ratio_df:,})"
    p, r2 = head.likelihood_ratio_p, head.r2
    facts = [
        ("Log-likelihood", statistic_text(head.log_likelihood)),
        ("  with intercept only", statistic_text(head.null_log_likelihood)),
        (f"LR test{df}", statistic_text(head.likelihood_ratio)),
        ("LR test, p-value", "" if p is None or math.isnan(p) else p_text(p)),
        ("McFadden's R²" if head.outcome else "R²", "" if r2 is None or math.isnan(r2) else f"{r2:.4f}"),
        ("AIC", statistic_text(head.aic)),
        ("BIC", statistic_text(head.bic)),
    ]
    return [(label, value) for label, value in facts if value]


def _remarks(summary: Summary, reasons: list[str], footnotes: int) -> Iterator[str]:
    head = summary.head
    if len(reasons) > footnotes:
        yield f"Other coefficients are refused for {len(reasons) - footnotes:,} further reasons: see summary.refused."
    yield from _test_remarks(summary, reasons[:footnotes])
    if summary.left_out:
        yield _left_out_features(summary)
    if head.difference:
        yield head.difference
    yield from head.notes
    if summary.monte_carlo_error > 0:
        error = f"{100 * summary.monte_carlo_error:.2g} %"
        yield f"Standard errors are exact to ±{error}: they were estimated with random numbers."
    if head.verdict:
        yield f"Fit of the model: {head.verdict}"


def _test_remarks(summary: Summary, reasons: list[str]) -> Iterator[str]:
    """Why columns have no test, and what tests of some levels do not cover; refusals by the numbers of footnotes."""
    missing: dict[str, list[str]] = {}
    for test in summary.column_tests.values():
        if test.test is None:
            numbers = [f"[{number}]" for number, reason in enumerate(reasons, 1) if reason in test.reason]
            reason = f"the coefficients are refused {' '.join(numbers)}" if numbers else test.reason
            missing.setdefault(reason, []).append(test.column)
    for reason, columns in missing.items():
        yield f"There is no test of {enumerate_names(columns)}: {reason.rstrip('.')}."
    if any(test.test is not None and test.levels_tested < test.levels for test in summary.column_tests.values()):
        yield "Levels that a Wald test does not cover are refused or left out."


def _left_out_features(summary: Summary) -> str:
    """Features without a coefficient, by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in summary.left_out.items():
        by_reason.setdefault(reason, []).append(name)
    return f"Left out: {'; '.join(f'{enumerate_names(names)} ({reason})' for reason, names in by_reason.items())}."
