"""What came out on a set: each method's numbers, and whether ours are as good as the best of five C."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from no_knobs_cache import Fits
from no_knobs_measure import Measured

OURS = "ours"
FIVE = "five"
#: What is asked of ours: its loss over that of the best C, its error less that of the best C, and its seconds over
#: those of the five fits, if there are more rows than can be waited for anyway.
LOSS_RATIO, ERROR_EXCESS, TIME_RATIO, MANY_ROWS = 1.02, 0.003, 0.1, 20_000


@dataclass
class Outcome:
    """The fits of each method, and why there are none of some."""

    name: str
    n_rows: int
    is_regression: bool
    fits: dict[str, Fits] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)
    #: When kept results were made, by method.
    kept: dict[str, str] = field(default_factory=dict)

    @property
    def n_splits(self) -> int:
        """How often each method was fitted."""
        return max((len(fits) for fits in self.fits.values()), default=0)

    def of_splits(self, method: str, quantity: str, setting: int) -> NDArray[np.float64]:
        """A quantity, split by split."""
        return np.array([getattr(split[setting], quantity) for split in self.fits[method]])

    def means(self, method: str, quantity: str) -> NDArray[np.float64]:
        """Means over the splits, one a setting."""
        return np.array([self.of_splits(method, quantity, k).mean() for k in range(len(self.fits[method][0]))])

    def least(self, method: str, quantity: str) -> float:
        """The least mean of a quantity: that of the best setting."""
        return float(self.means(method, quantity).min()) if method in self.fits else float("nan")

    def best_setting(self, quantity: str = "loss") -> int:
        """The one of the five C that is best on average: not each split's, which would be choosing by its noise."""
        return int(np.argmin(self.means(FIVE, quantity)))

    def seconds(self, method: str) -> float:
        """Seconds of all settings together, on average over the splits."""
        return float(self.means(method, "seconds").sum()) if method in self.fits else float("nan")

    def difference(self, quantity: str) -> tuple[float, float]:
        """Ours less the best of five C, split by split: the mean and its standard error."""
        if not {OURS, FIVE} <= self.fits.keys():
            return float("nan"), float("nan")
        best = self.of_splits(FIVE, quantity, self.best_setting(quantity))
        differences = self.of_splits(OURS, quantity, 0) - best
        spread = differences.std(ddof=1) if differences.size > 1 else np.nan
        return float(differences.mean()), float(spread / np.sqrt(differences.size))

    @property
    def loss_ratio(self) -> float:
        """Our loss over that of the best C."""
        return self.least(OURS, "loss") / self.least(FIVE, "loss")

    @property
    def time_ratio(self) -> float:
        """Our seconds over those of the five fits."""
        return self.seconds(OURS) / self.seconds(FIVE)

    def criteria(self) -> dict[str, tuple[float, bool | None]]:
        """Each criterion's number, and whether it is met; None if it is not asked for here."""
        loss, error, time = self.loss_ratio, self.difference("error")[0], self.time_ratio
        good_loss = loss <= LOSS_RATIO or self._within_noise("loss")
        good_error = error <= ERROR_EXCESS or self._within_noise("error")
        return {
            "loss": (loss, None if np.isnan(loss) else good_loss),
            "error": (error, None if self.is_regression or np.isnan(error) else good_error),
            "time": (time, None if self.n_rows <= MANY_ROWS or np.isnan(time) else time <= TIME_RATIO),
        }

    def _within_noise(self, quantity: str) -> bool:
        """Whether ours is above the best of five C by no more than a standard error, of a set that was split often."""
        mean, error = self.difference(quantity)
        return bool(mean <= error)

    def notes(self) -> list[str]:
        """What is to be known beside the numbers."""
        found = [f"{self.name}, {method}: {why}" for method, why in self.why_not.items()]
        for method, fits in self.fits.items():
            told: dict[str, int] = {}
            for fit in (one for split in fits for one in split if method != OURS and one.note):
                told[_told(fit)] = told.get(_told(fit), 0) + 1
            for text, count in told.items():
                of = f" ({count} of {len(fits)} splits)" if len(fits) > 1 else ""
                found.append(f"{self.name}, {method}: {text}{of}")
        return found


def _told(fit: Measured) -> str:
    return f"{fit.setting} {fit.note}".strip()
