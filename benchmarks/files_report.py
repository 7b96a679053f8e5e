"""The tables that `files` prints, and the aims beside Vowpal Wabbit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from rich.table import Table

from files_job import Measured

#: Our time from text over Vowpal Wabbit's from text, our time from our cache over its time from its cache.
TEXT_SHARE, CACHE_SHARE = 1 / 3, 1.0


@final
@dataclass
class Outcome:
    """The fits to one set of files.

    Parameters
    ----------
    name : str
        What the files are.
    n_rows : int
        Training rows.
    true_loss : float
        Log loss of the true model on the test rows.
    base : str
        The contender that ratios refer to.
    n_bytes : dict
        Size of the file that each contender is given.
    fits : dict
        Of each contender, in the order of the turns.
    missing : dict
        Contenders without a result, and why.
    """

    name: str
    n_rows: int
    true_loss: float
    base: str
    n_bytes: dict[str, int] = field(default_factory=dict)
    fits: dict[str, list[Measured]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def best(self, contender: str) -> Measured:
        """The fastest fit."""
        return min(self.fits[contender], key=lambda one: one.fit)


def fits_table(outcome: Outcome) -> Table:
    """A line for each contender."""
    table = Table(
        title=f"{outcome.name}: {outcome.n_rows:,} rows; log loss of the true model {outcome.true_loss:.4f}\n"
        f"seconds of the fastest of {max(map(len, outcome.fits.values()), default=0)} fits, taken in turn; "
        f"ratios of seconds to {outcome.base}"
    )
    headings = ("start-up", "fit", "total", "CPU", "slowest/fastest", "MB/s", "memory, MB", "test loss", "note")
    for heading in ("contender", *headings, "fit ratio", "total ratio"):
        table.add_column(heading, justify="left" if heading in ("contender", "note") else "right")
    base = outcome.best(outcome.base) if outcome.base in outcome.fits else None
    for contender, fits in outcome.fits.items():
        best = outcome.best(contender)
        spread = max(one.fit for one in fits) / best.fit
        table.add_row(
            contender,
            *(f"{value:.2f}" for value in (best.start_up, best.fit, best.total, best.cpu, spread)),
            f"{outcome.n_bytes[contender] / best.fit / 1e6:,.0f}",
            f"{best.peak / 1e6:,.0f}",
            "–" if best.loss != best.loss else f"{best.loss:.4f}",
            best.note,
            *(["–", "–"] if base is None else [f"{best.fit / base.fit:.2f}", f"{best.total / base.total:.2f}"]),
        )
    return table


def aims(outcome: Outcome) -> Iterator[str]:
    """The aims of fits from text and from the cache, each a line."""
    yield from _aim(outcome, "sgdone, svmlight", "VW, text", TEXT_SHARE)
    yield from _aim(outcome, "sgdone, VW's text", "VW, text", TEXT_SHARE)
    yield from _aim(outcome, "sgdone, its cache", "VW, its cache", CACHE_SHARE)


def _aim(outcome: Outcome, ours: str, theirs: str, share: float) -> Iterator[str]:
    if ours not in outcome.fits or theirs not in outcome.fits:
        return
    own, peer = outcome.best(ours), outcome.best(theirs)
    fit, total = own.fit / peer.fit, own.total / peer.total
    yield (
        f"{ours} / {theirs}: total {total:.2f} {mark(total <= share)}, fit {fit:.2f} {mark(fit <= share)} (aim: at "
        f"most {share:.2f}); test loss {own.loss:.4f} / {peer.loss:.4f} {mark(own.loss <= peer.loss)}"
    )


def mark(met: bool) -> str:
    """Whether an aim is met."""
    return "pass" if met else "FAIL"


def missing_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Contenders that did not run."""
    absent: Mapping[str, str] = {name: why for outcome in outcomes for name, why in outcome.missing.items()}
    for name, why in absent.items():
        yield f"{name}: no result: {why}"
