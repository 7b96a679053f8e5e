"""When the candidates of a bank are compared."""

#: Rows after which they are compared first; then after twice as many, and so on.
FIRST = 1024
#: Passes at most, if what they gain never falls below the noise.
MOST_PASSES = 100
#: Passes after which small data and large data are looked at: gains are told best between numbers far apart, and a
#: pass over large data is dear.
_SMALL = frozenset({1, 2, 4, 8, 16, 32, 64, MOST_PASSES})
_LARGE = _SMALL | {3, 6, 12, 24, 48}


def most_candidates(passes: int, *, small: bool) -> int:
    """How many candidates are worth further passes: all of them at first, and always where passes are cheap."""
    if small or passes < 2:
        return 1000
    return 2 if passes < 6 else 1


def next_in_stream(steps: int) -> int:
    """The next number of rows after which the candidates of a first pass are compared."""
    look = FIRST
    while look <= steps:
        look *= 2
    return look


def is_due_in_stream(steps: int) -> bool:
    """Whether so many rows are one of these numbers."""
    return steps >= FIRST and next_in_stream(steps - 1) == steps


def is_due_after(passes: int, *, small: bool) -> bool:
    """Whether the candidates are compared at the end of a pass."""
    return passes in (_SMALL if small else _LARGE)
