"""The results on one set: the numbers of each method, and the differences to ours."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from no_knobs_measure import Measured
from no_knobs_worker import Fits

OURS = "ours"
FIVE = "five"
CV = "cv"
Quantity = Literal["loss", "error"]


@dataclass(frozen=True)
class Difference:
    """Ours less the reference: the mean, its standard error, and the reference's own mean."""

    mean: float
    error: float
    reference: float

    @property
    def relative(self) -> float:
        """The mean as a share of the reference."""
        return self.mean / self.reference

    @property
    def relative_error(self) -> float:
        """The standard error as a share of the reference."""
        return self.error / self.reference


@dataclass
class Outcome:
    """The fits of each method, and why there are none of some."""

    name: str
    n_rows: int
    is_regression: bool
    #: Fewer than 1,000 rows: the reference is cross-validation.
    is_small: bool
    splits: str
    fits: dict[str, Fits] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)
    #: When kept results were made, by method.
    kept: dict[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The method that ours is compared with."""
        return CV if self.is_small else FIVE

    def of_splits(self, method: str, quantity: str, setting: int) -> NDArray[np.float64]:
        """A quantity, split by split."""
        return np.array([getattr(split[setting], quantity) for split in self.fits[method]])

    def means(self, method: str, quantity: str) -> NDArray[np.float64]:
        """Means over the splits, one for each setting."""
        return np.array([self.of_splits(method, quantity, k).mean() for k in range(len(self.fits[method][0]))])

    def least(self, method: str, quantity: str) -> float:
        """The least mean of a quantity: that of the best setting."""
        return float(self.means(method, quantity).min()) if method in self.fits else float("nan")

    def best_setting(self, method: str, quantity: Quantity) -> int:
        """The setting that is best on average; the best of each split would be chosen by noise."""
        return int(np.argmin(self.means(method, quantity)))

    def seconds(self, method: str) -> float:
        """Seconds of all settings together, on average over the splits."""
        return float(self.means(method, "seconds").sum()) if method in self.fits else float("nan")

    @property
    def time_ratio(self) -> float:
        """Our seconds over those of the five fits."""
        return self.seconds(OURS) / self.seconds(FIVE)

    def difference(self, quantity: Quantity) -> Difference | None:
        """Ours less the reference, paired by split, or by test row if there is one split."""
        if not {OURS, self.reference} <= self.fits.keys():
            return None
        setting = self.best_setting(self.reference, quantity)
        reference = self.of_splits(self.reference, quantity, setting)
        ours = self.of_splits(OURS, quantity, 0)
        pairs = ours - reference
        if pairs.size == 1:
            pairs = _by_row(self.fits[OURS][0][0], self.fits[self.reference][0][setting], quantity)
        error = pairs.std(ddof=1) / np.sqrt(pairs.size)
        return Difference(float((ours - reference).mean()), float(error), float(reference.mean()))

    @property
    def status(self) -> str:
        """The statuses of our verdicts, with the number of splits if they differ."""
        counts = Counter(split[0].note for split in self.fits[OURS])
        return ", ".join(text if len(counts) == 1 else f"{text} ({k})" for text, k in counts.most_common())

    @property
    def decrement(self) -> float:
        """The largest decrement in our verdicts; NaN if none has one."""
        found = self.of_splits(OURS, "decrement", 0)
        return float(np.nanmax(found)) if np.isfinite(found).any() else float("nan")

    def notes(self) -> list[str]:
        """What to know beside the numbers."""
        found = [f"{self.name}, {method}: {why}" for method, why in self.why_not.items()]
        for method, fits in self.fits.items():
            told = Counter(_told(one) for split in fits for one in split if method != OURS and one.note)
            for text, count in told.items():
                of = f" ({count} of {len(fits)} splits)" if len(fits) > 1 else ""
                found.append(f"{self.name}, {method}: {text}{of}")
        return found


def _by_row(ours: Measured, theirs: Measured, quantity: Quantity) -> NDArray[np.float64]:
    if ours.rows is None or theirs.rows is None:
        raise ValueError("a single split needs the losses of its test rows")
    row = 0 if quantity == "loss" else 1
    pairs: NDArray[np.float64] = np.subtract(ours.rows[row], theirs.rows[row], dtype=np.float64)
    return pairs


def _told(fit: Measured) -> str:
    # Not the setting that cross-validation chose: each split has its own.
    return f"{fit.setting if fit.setting.count('=') == 1 else ''} {fit.note}".strip()
