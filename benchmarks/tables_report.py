"""The tables that `tables` prints, and the criteria of a default fit on raw tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from tables_fit import Fit

#: The mean paired difference in loss to the best of skrub's five, beside two standard errors, as a share of its loss.
LOSS_EXCESS, STANDARD_ERRORS = 0.01, 2.0
#: Our seconds of the processor over those of one of skrub's fits, split by split: other programs disturb some splits.
TIME_SHARE = 0.2


@dataclass(frozen=True)
class Outcome:
    """The fits to one table: of each method a list of splits, each a list of settings."""

    name: str
    n_rows: int
    is_regression: bool
    fits: dict[str, list[list[Fit]]]

    def of_splits(self, method: str, quantity: str) -> NDArray[np.float64]:
        """A quantity of the setting with the least mean loss, split by split."""
        best = int(np.argmin(self.values(method, "loss").mean(axis=0)))
        return self.values(method, quantity)[:, best]

    def mean(self, method: str, quantity: str) -> float:
        """The mean of the best setting's quantity over the splits; of seconds, the mean of all settings."""
        if not self.fits.get(method):
            return float("nan")
        if quantity in ("cpu", "wall", "encoding"):
            return float(self.values(method, quantity).mean())
        return float(self.of_splits(method, quantity).mean())

    def setting(self, method: str) -> str:
        """The setting with the least mean loss."""
        return self.fits[method][0][int(np.argmin(self.values(method, "loss").mean(axis=0)))].setting

    def values(self, method: str, quantity: str) -> NDArray[np.float64]:
        """A quantity of all fits: a row for each split, a column for each setting."""
        return np.array([[getattr(fit, quantity) for fit in split] for split in self.fits[method]])


def report(outcomes: Sequence[Outcome]) -> Iterator[Table]:
    """Losses, seconds and criteria."""
    methods = list(outcomes[0].fits)
    if classes := [one for one in outcomes if not one.is_regression]:
        cells = [[f"{one.mean(m, 'loss'):.4f}, {100 * one.mean(m, 'error'):.2f}" for m in methods] for one in classes]
        yield _table("Log loss and error (%) of the test rows", methods, classes, cells)
    if values := [one for one in outcomes if one.is_regression]:
        cells = [
            [f"{one.mean(m, 'loss') ** 0.5:.4g}, {1 - one.mean(m, 'error'):.4f}" for m in methods] for one in values
        ]
        yield _table("RMSE and R² of the test rows", methods, values, cells)
    cells = [[_seconds(one, m) for m in methods] for one in outcomes]
    yield _table("Seconds of one fit: of the processor, of the wall clock (for encoding)", methods, outcomes, cells)
    if compared := [one for one in outcomes if one.fits.get("ours") and one.fits.get("skrub")]:
        cells = [_criteria(one) for one in compared]
        yield _table(
            "Criteria", ["skrub's best", "loss, % (2 SE)", "time / one fit of skrub, median (range)"], compared, cells
        )


def _seconds(one: Outcome, method: str) -> str:
    return "{:.3g}, {:.3g} ({:.3g})".format(*(one.mean(method, kind) for kind in ("cpu", "wall", "encoding")))


def _criteria(one: Outcome) -> list[str]:
    theirs = one.of_splits("skrub", "loss")
    pairs = one.of_splits("ours", "loss") - theirs
    difference = pairs.mean() / theirs.mean()
    errors = STANDARD_ERRORS * pairs.std(ddof=1) / np.sqrt(pairs.size) / theirs.mean()
    shares = one.values("ours", "cpu").mean(axis=1) / one.values("skrub", "cpu").mean(axis=1)
    share = float(np.median(shares))
    return [
        one.setting("skrub"),
        f"{100 * difference:+.2f} ({100 * errors:.2f}) {_mark(difference <= LOSS_EXCESS + errors)}",
        f"{share:.3f} ({shares.min():.3f}–{shares.max():.3f}) {_mark(share <= TIME_SHARE)}",
    ]


def _mark(met: bool) -> str:
    return "pass" if met else "FAIL"


def _table(title: str, headings: Sequence[str], outcomes: Sequence[Outcome], cells: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title)
    for heading in ("table", "rows", *headings):
        table.add_column(heading, justify="left" if heading == "table" else "right")
    for one, texts in zip(outcomes, cells, strict=True):
        table.add_row(one.name, f"{one.n_rows:,}", *("–" if "nan" in text else text for text in texts))
    return table
