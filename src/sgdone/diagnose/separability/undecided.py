"""When no proof is found."""


class Undecided(ValueError):  # noqa: N818  an outcome, not a fault
    """Neither separation nor overlap could be proved; the message says why."""
