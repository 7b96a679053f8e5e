"""Choice of the rows that are held out for scores: one policy in memory, in files that are read in parts, on clusters.

A row is held out if a keyed hash of its features is below a share of all hashes: a tenth, or less so that about 32,768
rows are held out, of n rows min(1/10, 32768/n). Copies of a row are held out together, unless few rows differ: then the
hash is that of the row's number. The first row of each class is not held out. Of fewer than 50 rows none are held out.
"""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.learning_task import Task
from sgdone.matrices.row_hash import row_hashes
from sgdone.sums.row_sum import message

#: Fewest rows of which some are held out: the scores of fewer than five rows say nothing.
FEWEST_ROWS = 50
#: Share of the rows that are held out, and about how many at most: the standard error of an error is then below 0.3 %.
_SHARE, MOST_HELD_OUT = 0.1, 32_768
#: Copies of fewer different rows are not held out together: whole levels of a category would be missing in the fit.
FEWEST_DIFFERENT = 200

Hashes = NDArray[np.uint64]


def held_out_share(n_rows: int | NDArray[np.float64]) -> Any:
    """Share of ``n_rows`` rows that are held out, of 50 or more.

    Examples
    --------
    >>> held_out_share(1000), held_out_share(3_276_800)
    (np.float64(0.1), np.float64(0.01))
    """
    return np.minimum(_SHARE, MOST_HELD_OUT / n_rows)


def few_differ(n_different: int, n_rows: int) -> bool:
    """Whether rows are copies of so few different ones that copies are not held out together."""
    return n_different < min(FEWEST_DIFFERENT, n_rows / 2)


def first_rows(labels: NDArray[Any]) -> NDArray[np.intp]:
    """The first row of each class, in the order of the sorted classes."""
    return np.unique(labels, return_index=True)[1]


@final
@message
@dataclass(frozen=True)
class RowChoice:
    """Hashes by which rows are held out.

    Parameters
    ----------
    key : int
        Key of the hashes.
    by_number : bool
        Whether the rows' numbers are hashed instead of their features, because few rows differ.

    Examples
    --------
    >>> int((RowChoice.of_seed(0).hashes(np.arange(1000.0)[:, None]) < below(0.1)).sum())
    103
    """

    key: int
    by_number: bool = False

    @classmethod
    def of_seed(cls, seed: int) -> "RowChoice":
        """Hashes with a key that is drawn by a seed."""
        return cls(int(np.random.default_rng([seed, 2]).integers(1, 2**63)))

    def unless_few_differ(self, n_different: int, n_rows: int) -> "RowChoice":
        """Hashes of the rows' numbers, if few rows differ."""
        return replace(self, by_number=few_differ(n_different, n_rows))

    def hashes(self, X: Any, first: int = 0) -> Hashes:
        """Hash of each row of X, whose first row has the number ``first``."""
        if not self.by_number:
            return row_hashes(X, self.key)
        return row_hashes(np.arange(first + 1.0, first + X.shape[0] + 1.0)[:, None], self.key)


def below(share: Any) -> Any:
    """Hashes below this one are a share of all hashes."""
    return np.asarray(np.asarray(share) * 2.0**64).astype(np.uint64)


def held_out_rows(X: Any, labels: NDArray[np.generic], task: Task, seed: int) -> NDArray[np.bool_]:
    """Mask of the rows in memory that are held out.

    Examples
    --------
    >>> held_out_rows(np.arange(1000.0)[:, None], np.arange(1000) % 2, "classification", 0).sum()
    np.int64(102)
    """
    n_rows = labels.size
    if n_rows < FEWEST_ROWS:
        return np.zeros(n_rows, dtype=np.bool_)
    choice = RowChoice.of_seed(seed)
    hashes = choice.hashes(X)
    choice = choice.unless_few_differ(np.unique(hashes).size, n_rows)
    held_out = np.asarray((choice.hashes(X) if choice.by_number else hashes) < below(held_out_share(n_rows)))
    if task == "classification":
        held_out[first_rows(labels)] = False
    return held_out
