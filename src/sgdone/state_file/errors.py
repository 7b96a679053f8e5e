"""What can be wrong with a file of sgdone."""


class StateFileError(ValueError):
    """A file that cannot be used: the message says what was found and what to do."""


class CheckpointError(StateFileError):
    """A file that holds no checkpoint that can be used, or one of another fit."""


#: What values that do not fit can cause.
UNUSABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
