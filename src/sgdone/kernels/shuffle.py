"""Row numbers of a shuffled pass."""

from typing import Any

import numpy as np

from sgdone.kernels.jit import compiled, inlined


@inlined
def _lay_out(runs: Any, run_length: Any, n_rows: Any, rows: Any, start: Any) -> Any:
    """Write the rows of runs of neighbours one after another from ``start`` on; returns where they end."""
    for run in runs:
        for row in range(run * run_length, min((run + 1) * run_length, n_rows)):
            rows[start] = np.uint64(row)
            start += 1
    return start


@compiled()
def shuffled_windows(runs: Any, window: Any, run_length: Any, n_rows: Any, bits: Any, rows: Any, upcoming: Any) -> int:
    """Fill ``rows`` with the rows of ``runs``, shuffled window by window; returns their number.

    The windows are those that fit into ``rows``; ``runs`` may contain more. ``upcoming`` receives for each row one of
    the next window, in memory order, to be prefetched.

    The shuffle is that of Fisher and Yates with one random 32-bit word per row: the choice is the word times the number
    of choices, shifted, with a bias of at most 2⁻³² of the choices.
    """
    filled = 0
    for first in range(0, runs.size, window):
        if filled + window * run_length > rows.size:
            break
        end = _lay_out(runs[first : first + window], run_length, n_rows, rows, filled)
        ahead = runs[first + window : first + 2 * window]
        reached = filled
        for run in ahead:
            for row in range(run * run_length, min((run + 1) * run_length, n_rows)):
                if reached < end:
                    upcoming[reached] = np.uint64(row)
                    reached += 1
        while reached < end:
            upcoming[reached] = rows[reached]
            reached += 1
        for k in range(end - filled - 1, 0, -1):
            j = filled + np.int64((np.uint64(bits[filled + k]) * np.uint64(k + 1)) >> np.uint64(32))
            kept = rows[filled + k]
            rows[filled + k] = rows[j]
            rows[j] = kept
        filled = end
    return filled
