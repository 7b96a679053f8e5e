"""Tables of what came out, on the screen and as Markdown: several narrow ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from no_knobs_outcome import ERROR_EXCESS, FIVE, LOSS_RATIO, MANY_ROWS, OURS, TIME_RATIO, Outcome
from no_knobs_peers import PEERS

HEADINGS = {OURS: "ours"} | {name: peer.heading for name, peer in PEERS.items()}
#: Beside a number that rests on times of an earlier run.
EARLIER = "†"


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
    """Those of classes, those of regressions, the times of all, the differences of small sets, the criteria."""
    if classes := [one for one in outcomes if not one.is_regression]:
        yield _numbers("Log loss of the test rows", classes, methods, lambda one, m: one.least(m, "loss"), ".4g")
        yield _numbers("Error of the test rows, %", classes, methods, lambda one, m: 100 * one.least(m, "error"), ".2f")
    if regressions := [one for one in outcomes if one.is_regression]:
        yield _numbers("Root mean squared error", regressions, methods, lambda one, m: one.least(m, "loss"), ".4g")
        yield _numbers("R²", regressions, methods, lambda one, m: 1 - one.least(m, "error"), ".4g")
    yield _times(outcomes, methods)
    if repeated := [one for one in outcomes if one.n_splits > 1 and FIVE in one.fits]:
        yield _differences(repeated)
    if compared := [one for one in outcomes if FIVE in one.fits]:
        yield _settings(compared)
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
    headings = ["set", "rows", "passes", *("five fits" if m == FIVE else HEADINGS[m] for m in methods), "ours / five"]
    rows = []
    for one in outcomes:
        passes = _text(one.least(OURS, "passes"), ".3g")
        times = [_text(one.seconds(m), ".3g") + (EARLIER if m in one.kept else "") for m in methods]
        rows.append([one.name, f"{one.n_rows:,}", passes, *times, _ratio(one)])
    return Sheet("Seconds of the fit", headings, rows)


def _ratio(one: Outcome) -> str:
    return _text(one.time_ratio, ".3g") + (EARLIER if FIVE in one.kept else "")


def _differences(outcomes: Sequence[Outcome]) -> Sheet:
    rows = []
    for one in outcomes:
        loss, loss_error = one.difference("loss")
        error, error_error = (100 * number for number in one.difference("error"))
        rows.append([one.name, f"{loss:+.4f} ± {loss_error:.4f}", f"{error:+.2f} ± {error_error:.2f}"])
    title = "Small sets: ours − best of five, mean ± standard error over the splits"
    return Sheet(title, ["set", "loss", "error (1 − R²), points"], rows)


def _settings(outcomes: Sequence[Outcome]) -> Sheet:
    """Which C is best of the five, by either measure, and which one is chosen."""
    rows = []
    for one in outcomes:
        best = [one.fits[FIVE][0][one.best_setting(quantity)].setting for quantity in ("loss", "error")]
        chosen = [split[0].setting for split in one.fits.get("cv", [])]
        rows.append([one.name, *best, _most_frequent(chosen)])
    return Sheet("The best of five C", ["set", "by loss", "by error", "by CV"], rows)


def _most_frequent(texts: list[str]) -> str:
    if not texts:
        return "–"
    most = max(dict.fromkeys(texts), key=texts.count)
    return most if texts.count(most) == len(texts) else f"{most} ({texts.count(most)} of {len(texts)})"


def _criteria(outcomes: Sequence[Outcome]) -> Sheet:
    rows = []
    for one in outcomes:
        loss, error, _ = (number for number, _ in one.criteria().values())
        texts = _text(loss, ".3f"), "–" if one.is_regression else _text(100 * error, "+.2f"), _ratio(one)
        marks = [_MARKS[met] for _, met in one.criteria().values()]
        rows.append([one.name, *(f"{text} {mark}".strip() for text, mark in zip(texts, marks, strict=True))])
    asked = (f"loss / best ≤ {LOSS_RATIO:g}", f"error − best ≤ {100 * ERROR_EXCESS:g}", f"time / five ≤ {TIME_RATIO:g}")
    title = f"Criteria (that of time above {MANY_ROWS:,} rows; of small sets, or within a standard error)"
    return Sheet(title, ["set", *asked], rows)


_MARKS = {True: "pass", False: "FAIL", None: ""}


def _text(number: float, digits: str) -> str:
    return format(number, digits) if np.isfinite(number) else "–"
