"""The least budget with which a method comes near enough, and how long it takes with it."""

import time
from dataclasses import dataclass

import numpy as np

from accuracy_data import held_out_loss
from contenders import Contender, Data, MissingError
from contenders.contender import Fit

SEEDS = (0, 1, 2)
#: A bracket of budgets is narrow enough.
NARROW = 1.1


@dataclass(frozen=True)
class Outcome:
    """How long a method needed on a set, or why there is no such time."""

    data: str
    loss: str
    method: str
    own: bool
    seconds: float = float("nan")
    #: Rows read in units of passes, or iterations.
    budget: float = float("nan")
    unit: str = ""
    #: Held-out loss over the exact optimum's, the largest of the seeds.
    ratio: float = float("nan")
    #: The first fit of the process: compiled code may be loaded, or compiled.
    cold: float = float("nan")
    why: str = ""

    def __str__(self) -> str:
        if not np.isfinite(self.seconds):
            return f"{self.method}: {self.why}"
        return f"{self.method}: {1e3 * self.seconds:,.1f} ms, {self.budget:.3g} {self.unit} (cold {self.cold:.2f} s)"


@dataclass(frozen=True)
class Trial:
    """The fits with one budget, one a seed."""

    near: bool
    loss: float
    seconds: tuple[float, ...]


def time_to_reach(contender: Contender, data: Data, loss: str, target: float, patience: float) -> Outcome:
    """Search the least budget that reaches the target, and time it."""
    common = (data.name, loss, contender.name, contender.own)
    try:
        fit = contender.prepare(data)
        low, most = contender.least(data), contender.most(data)
        start = time.perf_counter()
        fit(low, 0)
        cold = time.perf_counter() - start
    except MissingError as missing:
        return Outcome(*common, why=str(missing))
    seeds = SEEDS if contender.stochastic else SEEDS[:1]
    found, last_loss = _doubled(fit, data, loss, target, low, most, patience, seeds)
    if found is None:
        return Outcome(
            *common,
            cold=cold,
            ratio=last_loss / target * 1.01,
            why=f"not there: {last_loss / target:.3g} of the target",
        )
    high = found
    low = high // 2 if high > low else low
    while high / low > NARROW and high - low > 1:
        middle = max(low + 1, int(np.sqrt(low * high)))
        if _try(fit, data, loss, target, middle, seeds).near:
            high = middle
        else:
            low = middle
    times, losses = [], []
    for seed in (*SEEDS, *SEEDS)[:5]:
        trial = _try(fit, data, loss, target, high, (seed,) if contender.stochastic else seeds)
        times += trial.seconds
        losses.append(trial.loss)
    in_rows = contender.unit == "rows"
    return Outcome(
        *common,
        seconds=float(np.median(times)),
        budget=high / data.n_rows if in_rows else high,
        unit="passes" if in_rows else contender.unit,
        ratio=1.01 * max(losses) / target,
        cold=cold,
    )


def _doubled(
    fit: Fit, data: Data, loss: str, target: float, least: int, most: int, patience: float, seeds: tuple[int, ...]
) -> tuple[int | None, float]:
    """The first budget of least, 2·least, … that gets there; else the loss of the last one tried."""
    budget, trial = least, Trial(False, float("nan"), (0.0,))
    while budget <= most and max(trial.seconds) <= patience:
        trial = _try(fit, data, loss, target, budget, seeds)
        if trial.near:
            return budget, trial.loss
        budget *= 2
    return None, trial.loss


def _try(fit: Fit, data: Data, loss: str, target: float, budget: int, seeds: tuple[int, ...]) -> Trial:
    """Fits with one budget, up to the first that does not get there."""
    seconds, largest = [], -np.inf
    for seed in seeds:
        start = time.perf_counter()
        predict = fit(budget, seed)
        seconds.append(time.perf_counter() - start)
        largest = max(largest, held_out_loss(predict(data.X_test), data.y_test, loss))
        if not largest <= target:
            return Trial(False, largest, tuple(seconds))
    return Trial(True, largest, tuple(seconds))
