"""Warnings that point to the code of the user."""

import sys
import warnings


def warn_user(message: str) -> None:
    """Warn at the first caller that is neither in this package nor in scikit-learn, nor a decorator of the library."""
    frame, level = sys._getframe(0), 1
    own = ("sgdone.", "sklearn.", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(own):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
