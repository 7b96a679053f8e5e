"""Schedule of comparisons between candidates."""

#: Rows after which candidates are compared for the first time; then after twice as many, and so on.
FIRST = 1024
#: Rows of a first pass after which larger steps are tried, and how many times as many it takes until the next time.
_LARGER_STEPS, _AGAIN = 8192, 4
#: Passes after which candidates are evaluated, for small and for large data: gains are estimated best between numbers
#: far apart, and a pass over large data is expensive.
_SMALL = frozenset({1, 2, 4, 8, 16, 32, 64, 100})
_LARGE = _SMALL | {3, 6, 12, 24, 48}


def most_candidates(passes: int, *, small: bool) -> int:
    """Largest number of candidates worth further passes: no limit at first, or if passes are cheap."""
    if small or passes < 2:
        return 1000
    return 2 if passes < 6 else 1


def next_in_stream(steps: int) -> int:
    """The next number of rows after which the candidates of a first pass are compared."""
    due = FIRST
    while due <= steps:
        due *= 2
    return due


def is_due_in_stream(steps: int) -> bool:
    """Whether candidates are compared after this number of rows."""
    return steps >= FIRST and next_in_stream(steps - 1) == steps


def is_time_for_larger_steps(steps: int) -> bool:
    """Whether larger steps are tried in a first pass after this number of rows, whatever was tried before.

    Examples
    --------
    >>> [steps for steps in (1024 * 2**k for k in range(16)) if is_time_for_larger_steps(steps)]
    [8192, 32768, 131072, 524288, 2097152, 8388608, 33554432]
    """
    due = _LARGER_STEPS
    while due < steps:
        due *= _AGAIN
    return due == steps


def is_due_after(passes: int, *, small: bool) -> bool:
    """Whether the candidates are evaluated at the end of a pass."""
    return passes in (_SMALL if small else _LARGE)
