"""Whether the loss of a stream has risen: each row is predicted just before it is trained on.

Mean losses of groups of rows are kept for the latest rows. Every few groups, each way to cut these rows in two is
tested: the loss has risen if the mean after the cut exceeds the mean before it by a tenth, and by more than chance
explains. Where it has fallen, as it does while a model learns, the rows before the cut are forgotten (Bifet & Gavaldà
2007, "Learning from time-changing data with adaptive windowing", compare windows in this way).

Heavy tails: a single loss counts as at most a multiple of the mean loss. What chance explains is then given by
Bernstein's inequality for bounded numbers, whatever their distribution, with the variance of the group means, which
includes that of dependent neighbours. There are three such multiples: the smallest has the least noise; the largest
finds changes of losses that are mostly 0.
"""

import math
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Neighbouring groups whose dependence counts.
LAGS = 3
#: Share of the groups, the smaller ones, in which a rise must be seen.
USUAL = 0.75


def differences(means: Array, cuts: NDArray[np.intp], jump: Array, log_chance: float) -> tuple[Array, Array]:
    """Means after each cut minus means before it, and the differences that chance explains, for each clip.

    Bernstein's inequality: the mean of n independent numbers of variance v, none of which exceeds its mean by more than
    ``jump``, exceeds it by √(2vL/n) + jump·L/(3n) with a probability below exp(−L). The variance is that of groups
    about their side's mean, with the covariances of neighbouring groups (Newey & West 1987) if that is larger.
    """
    n = means.shape[1]
    means = means - means.mean(axis=1, keepdims=True)
    before = np.cumsum(means, axis=1)[:, cuts - 1]
    # Sums over all groups are zero: those after a cut are minus those before it.
    explained = before**2 / cuts + before**2 / (n - cuts)
    squares = np.einsum("ij,ij->i", means, means)
    weights = [2.0 * (1.0 - lag / (LAGS + 1)) for lag in range(1, LAGS + 1)]
    products = [np.einsum("ij,ij->i", means[:, lag:], means[:, :-lag]) for lag in range(1, LAGS + 1)]
    dependent = squares + sum(weight * product for weight, product in zip(weights, products, strict=True))
    alone = squares[:, None] - explained
    together = dependent[:, None] - (1.0 + sum(weights)) * explained
    variance = np.maximum(np.maximum(alone, together), 0.0) / (n - 2)
    shares = 1.0 / cuts + 1.0 / (n - cuts)
    chance = np.sqrt(2.0 * log_chance * variance * shares) + jump[:, None] * log_chance / 3.0 * shares
    return -before / (n - cuts) - before / cuts, chance


def usual_rise(means: Array, cut: int) -> float:
    """Mean after a cut minus that before it, without the largest quarter of the groups on either side.

    A few bad rows raise the mean of a few groups only.

    Examples
    --------
    >>> usual_rise(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 1.0, 1.0]), 4)
    0.0
    """
    before, after = (np.sort(part)[: math.ceil(USUAL * part.size)] for part in (means[:cut], means[cut:]))
    return float(after.mean() - before.mean())


#: Rows in a group, and groups between two tests.
GROUP, GROUPS_TESTED = 1024, 8
#: Groups remembered (262,144 rows): a rise that takes longer is a slow drift.
WINDOW = 256
#: Fewest groups before a cut and after it (32,768 and 8,192 rows), and after one where the loss has fallen.
FEWEST_BEFORE, FEWEST_AFTER, FEWEST_FALLEN = 32, 8, 32
#: Smallest relative rise of the mean loss that matters.
SMALLEST_RISE = 0.1
#: Rises and losses below this share of the largest mean loss so far are rounding.
NEGLIGIBLE = 1e-9
#: A single loss counts as at most this many times the mean loss.
CLIPS = np.array([16.0, 128.0, 1024.0])
#: The mean loss may fall and rise by these factors before the clips follow it.
LOWEST_LEVEL, HIGHEST_LEVEL = 0.5, 4.0
#: Minus the logarithm of the probability that chance explains a difference, in the first million rows.
LOG_CHANCE, MILLION = 10.0, 1e6
#: Factor by which losses of the next few rows may add to a large one.
ECHO = 2.0
#: Losses beyond this are cut off, so that sums do not overflow.
LARGEST = 1e100
#: Steps of a fixed-point iteration; it need not be exact.
ITERATIONS = 30

#: Rows of the window: clipped means of losses and of their absolute values, plain means, largest share of the weight.
_MEANS, _SIZES, _PLAIN, _SHARE = slice(0, 3), slice(3, 6), 6, 7


@final
@dataclass(frozen=True)
class LossChange:
    """A rise of the progressive loss.

    Attributes
    ----------
    row : int
        Estimate of the row at which the loss rose.
    before, after : float
        Mean losses of the latest rows before (up to 262,144) and from there to ``found``. If a few huge losses hide
        the rise, they count as 1,024 times the mean at most.
    found : int
        Number of rows that had been read when the rise was found.

    Examples
    --------
    >>> LossChange(1_200_128, 0.2104, 0.3523, 1_208_320).sentence()
    'The loss rose from 0.21 to 0.352 near row 1,200,128: the stream has changed.'
    """

    row: int
    before: float
    after: float
    found: int

    def sentence(self) -> str:
        """The change as advice."""
        return (
            f"The loss rose from {self.before:.3g} to {self.after:.3g} near row {self.row:,}: the stream has changed."
        )


@final
@dataclass
class LossWatch:
    """Watch the progressive losses of a stream for a lasting rise of their mean.

    At most 1 % of streams of 1,000,000 rows without a change raise a false alarm (0.1 % in simulations), and at most
    about 2 % more for every tenfold length. A rise by 20 % is found within 50,000 rows in 95 % of streams if the
    standard deviation of the losses is below four times their mean, and with heavy tails even if it is infinite. With
    eight times the mean, as of a model that predicts classes of 1 % and 99 %, it is found in half of them: a mean of
    50,000 rows then has a relative error of 4 %. ``benchmarks/loss_change.py`` measures these rates.

    There is no alarm in the first 40,960 rows, for a rise by less than 10 %, for one that a few bad rows explain, for a
    drift over more than 262,144 rows, or for losses below 1e-9 of the largest mean loss so far. After an alarm the
    watch starts again; the latest change is the one reported.

    All attributes are the state, for checkpoints; the rule itself has no parameters.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> watch = LossWatch()
    >>> watch.add(rng.exponential(0.2, 60_000), None, first_row=0)
    >>> watch.change() is None
    True
    >>> watch.add(rng.exponential(0.3, 20_000), None, first_row=60_000)
    >>> watch.change().sentence()
    'The loss rose from 0.201 to 0.297 near row 60,416: the stream has changed.'
    """

    #: Losses and weights of the rows that await the next test, their number, and the first row of each group.
    pending: Array = field(default_factory=lambda: np.zeros((2, GROUPS_TESTED * GROUP)))
    n_pending: int = 0
    pending_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(GROUPS_TESTED, np.int64))
    #: Statistics of the groups remembered, a column a group, and the first row of each.
    window: Array = field(default_factory=lambda: np.zeros((8, 0)))
    window_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    #: Groups so far, the mean absolute loss that clips are multiples of (0: unknown), and the largest so far.
    n_groups: int = 0
    level: float = 0.0
    largest_level: float = 0.0
    #: Changes so far, and the latest.
    n_changes: int = 0
    latest: LossChange | None = None

    def add(self, losses: Array, weights: Array | None, first_row: int) -> None:
        """Add the losses of consecutive rows, from ``first_row`` on.

        How rows are cut into calls does not matter. Rows whose weight is not positive or whose loss is not finite do
        not count.
        """
        rows = np.arange(first_row, first_row + losses.size)
        weights = np.ones(losses.size) if weights is None else weights
        counted = np.isfinite(losses) & (weights > 0) & (weights < np.inf)
        if not counted.all():
            losses, weights, rows = losses[counted], weights[counted], rows[counted]
        done, size = 0, self.pending.shape[1]
        while done < rows.size:
            start, end = self.n_pending, min(size, self.n_pending + rows.size - done)
            np.clip(losses[done : done + end - start], -LARGEST, LARGEST, out=self.pending[0, start:end])
            self.pending[1, start:end] = weights[done : done + end - start]
            groups = np.arange(-(-start // GROUP), -(-end // GROUP))
            self.pending_rows[groups] = rows[done + groups * GROUP - start]
            done, self.n_pending = done + end - start, end
            if end == size:
                self._add_groups()
                self._test(int(rows[done - 1]) + 1)
                self._follow_level()
                self.n_pending = 0

    def change(self) -> LossChange | None:
        """The latest change, if there was any."""
        return self.latest

    def copy(self) -> "LossWatch":
        """A copy that shares nothing that changes."""
        arrays = ("pending", "pending_rows", "window", "window_rows")
        return replace(self, **{name: getattr(self, name).copy() for name in arrays})

    def _add_groups(self) -> None:
        """Turn the pending rows into statistics of groups."""
        losses, weights = self.pending.reshape(2, GROUPS_TESTED, GROUP)
        weights = weights / weights.max(axis=1, keepdims=True)
        weights /= weights.sum(axis=1, keepdims=True)
        negative = losses.min() < 0
        sizes = np.abs(losses) if negative else losses
        largest = sizes.max()
        if self.level <= NEGLIGIBLE * self.largest_level:
            self.level = _clipped_mean(sizes, weights)
        groups = np.empty((len(self.window), GROUPS_TESTED))
        groups[_SHARE] = weights.max(axis=1)
        groups[:_SHARE] = np.einsum("ij,ij->i", losses, weights)
        for k, bound in enumerate(CLIPS * self.level):
            if negative or bound < largest:
                clipped = np.minimum(sizes, bound)
                groups[_SIZES][k] = np.einsum("ij,ij->i", clipped, weights)
                groups[_MEANS][k] = np.einsum("ij,ij->i", np.copysign(clipped, losses), weights)
        kept = slice(GROUPS_TESTED - WINDOW, None)
        self.window = np.concatenate((self.window[:, kept], groups), axis=1)
        self.window_rows = np.concatenate((self.window_rows[kept], self.pending_rows))
        self.n_groups += GROUPS_TESTED
        self.largest_level = max(self.largest_level, float(groups[_SIZES][-1].mean()))

    def _test(self, rows_read: int) -> None:
        """Look for a rise and, if there is none, for a fall."""
        n = self.window.shape[1]
        if n < FEWEST_BEFORE + FEWEST_AFTER or self.level <= NEGLIGIBLE * self.largest_level:
            return
        log_chance = LOG_CHANCE + math.log(max(1.0, self.n_groups * GROUP / MILLION))
        cuts = np.arange(1, n)
        jump = ECHO * CLIPS * self.window[_SHARE].max()
        rise, chance = differences(self.window[_MEANS] / self.level, cuts, jump, log_chance)
        size = np.cumsum(self.window[_SIZES] / self.level, axis=1)[:, cuts - 1] / cuts
        matters = rise > np.maximum(SMALLEST_RISE * size, NEGLIGIBLE * self.largest_level / self.level)
        ratio = rise / chance
        tested = (cuts >= FEWEST_BEFORE) & (n - cuts >= FEWEST_AFTER)
        risen = np.where(matters & tested, ratio, 0.0)
        for k in np.flatnonzero(risen.max(axis=1) > 1):
            best = int(np.argmax(risen[k]))
            if usual_rise(self.window[k], int(cuts[best])) > SMALLEST_RISE * size[k, best] * self.level:
                # The rise may have begun in the last few groups.
                likely = np.where(cuts >= FEWEST_BEFORE, ratio[k], 0.0)
                self._report(int(cuts[np.argmax(likely)]), rows_read)
                return
        fallen = np.where(n - cuts >= FEWEST_FALLEN, -ratio, 0.0).max(axis=0)
        if fallen.max() > 1:
            self._forget(int(cuts[np.argmax(fallen)]))

    def _follow_level(self) -> None:
        """Start again if the loss has left the range that the clips suit. They must not change within a window."""
        sizes = self.window[_SIZES][-1]
        latest = float(sizes[-GROUPS_TESTED:].mean()) if sizes.size else self.level
        earlier = float(sizes[:-GROUPS_TESTED].mean()) if sizes.size > GROUPS_TESTED else self.level
        if latest < LOWEST_LEVEL * self.level or earlier > HIGHEST_LEVEL * self.level:
            self.level = latest
            self._forget(sizes.size)

    def _report(self, cut: int, rows_read: int) -> None:
        """Keep the change, and start again."""
        rows = self.window[_PLAIN], self.window[_MEANS][-1]
        plain, clipped = ((float(row[:cut].mean()), float(row[cut:].mean())) for row in rows)
        shows = plain[1] - plain[0] > SMALLEST_RISE * float(self.window[_SIZES][-1, :cut].mean())
        self.latest = LossChange(int(self.window_rows[cut]), *(plain if shows else clipped), rows_read)
        self.n_changes += 1
        self.level = 0.0  # unknown
        self._forget(self.window.shape[1])

    def _forget(self, cut: int) -> None:
        """Forget the groups before a cut."""
        self.window, self.window_rows = self.window[:, cut:].copy(), self.window_rows[cut:].copy()


def _clipped_mean(sizes: Array, weights: Array) -> float:
    """Mean of numbers of which each counts as at most the largest clip times that mean."""
    weights = weights / len(weights)
    mean = float((sizes * weights).sum())
    for _ in range(ITERATIONS):
        mean = float((np.minimum(sizes, CLIPS[-1] * mean) * weights).sum())
    return mean
