"""Tables of the results, on the screen and as Markdown: several narrow ones."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table

import no_knobs_criteria as criteria
from no_knobs_outcome import CV, FIVE, OURS, Outcome
from no_knobs_peers import PEERS

HEADINGS = {OURS: "ours"} | {name: peer.heading for name, peer in PEERS.items()}
#: Beside a number that rests on times of an earlier run.
EARLIER = "†"
_MARKS = {True: "pass", False: "FAIL", None: ""}


@dataclass(frozen=True)
class Sheet:
    """A table: its title, its headings and its rows of text."""

    title: str
    headings: list[str]
    rows: list[list[str]]

    def rich(self) -> Table:
        """For the screen."""
        table = Table(title=self.title)
        for k, heading in enumerate(self.headings):
            table.add_column(heading, justify="right" if k else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """For the documentation."""
        lines = [self.headings, ["---"] + ["--:"] * (len(self.headings) - 1), *self.rows]
        return f"**{self.title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def sheets(outcomes: Sequence[Outcome], methods: Sequence[str]) -> Iterator[Sheet]:
    """Losses and errors of classifications and of regressions, times, settings, verdicts and criteria."""
    if classes := [one for one in outcomes if not one.is_regression]:
        yield _numbers("Log loss of the test rows", classes, methods, lambda one, m: one.least(m, "loss"), ".4g")
        yield _numbers("Error of the test rows, %", classes, methods, lambda one, m: 100 * one.least(m, "error"), ".2f")
    if regressions := [one for one in outcomes if one.is_regression]:
        yield _numbers("Half the mean squared error", regressions, methods, lambda one, m: one.least(m, "loss"), ".5g")
        yield _numbers("R²", regressions, methods, lambda one, m: 1 - one.least(m, "error"), ".4g")
    yield _times(outcomes, methods)
    if compared := [one for one in outcomes if FIVE in one.fits]:
        yield _settings(compared)
    yield _verdicts(outcomes)
    if compared := [one for one in outcomes if one.reference in one.fits]:
        yield _criteria(compared)


def _numbers(
    title: str,
    outcomes: Sequence[Outcome],
    methods: Sequence[str],
    number: Callable[[Outcome, str], float],
    digits: str,
) -> Sheet:
    rows = [[one.name, *(_text(number(one, method), digits) for method in methods)] for one in outcomes]
    return Sheet(title, ["set", *(HEADINGS[method] for method in methods)], rows)


def _times(outcomes: Sequence[Outcome], methods: Sequence[str]) -> Sheet:
    headings = ["set", "rows", *("five fits" if m == FIVE else HEADINGS[m] for m in methods), "ours / five"]
    rows = []
    for one in outcomes:
        times = [_text(one.seconds(m), ".3g") + (EARLIER if m in one.kept and m in one.fits else "") for m in methods]
        rows.append([one.name, f"{one.n_rows:,}", *times, _ratio(one)])
    return Sheet("Seconds of the fit", headings, rows)


def _ratio(one: Outcome) -> str:
    return _text(one.time_ratio, ".3g") + (EARLIER if FIVE in one.kept else "")


def _settings(outcomes: Sequence[Outcome]) -> Sheet:
    """Which C is best of the five, by either measure, and which one is chosen."""
    rows = []
    for one in outcomes:
        by_loss, by_error = (one.fits[FIVE][0][one.best_setting(FIVE, how)].setting for how in ("loss", "error"))
        rows.append([one.name, by_loss, by_error, _most_frequent([split[0].setting for split in one.fits.get(CV, [])])])
    return Sheet("The best of five C", ["set", "by loss", "by error", "by CV"], rows)


def _most_frequent(texts: list[str]) -> str:
    if not texts:
        return "–"
    most, count = Counter(texts).most_common(1)[0]
    return most if count == len(texts) else f"{most} ({count} of {len(texts)})"


def _verdicts(outcomes: Sequence[Outcome]) -> Sheet:
    rows = [
        [one.name, one.status, _text(one.decrement, ".1e"), _text(one.least(OURS, "passes"), ".3g")] for one in outcomes
    ]
    return Sheet("Our verdict", ["set", "status (splits)", "largest decrement", "passes"], rows)


def _criteria(outcomes: Sequence[Outcome]) -> Sheet:
    rows = []
    for one in outcomes:
        loss, error, seconds = criteria.loss(one), criteria.error(one), criteria.seconds(one)
        texts = (
            f"{_text(100 * loss.number, '+.2f')} ≤ {_text(100 * loss.limit, '.2f')}",
            "–" if one.is_regression else f"{_text(100 * error.number, '+.2f')} ≤ {_text(100 * error.limit, '.2f')}",
            f"{_ratio(one)} ≤ {seconds.limit:g}",
        )
        marks = [_MARKS[criterion.met] for criterion in (loss, error, seconds)]
        judged = [f"{text} {mark}".strip() for text, mark in zip(texts, marks, strict=True)]
        difference = one.difference("loss")
        deviation = "–" if difference is None else _text(100 * difference.relative_error, ".2f")
        rows.append([one.name, one.splits, HEADINGS[one.reference], deviation, *judged])
    headings = ["set", "splits", "reference", "SE of loss, %", "loss, %", "error, points", "ours / five"]
    return Sheet("Criteria: ours − reference, and the most that it may be", headings, rows)


def _text(number: float, digits: str) -> str:
    return format(number, digits) if np.isfinite(number) else "–"
