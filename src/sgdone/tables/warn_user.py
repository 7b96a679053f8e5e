"""Warnings that point to the code of the user."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Topics that have been warned of in a call that reads its rows in parts; None if it has them all at once.
_TOPICS: ContextVar[set[str] | None] = ContextVar("topics", default=None)


def warn_user(message: str, topic: str = "", category: type[Warning] = UserWarning) -> None:
    """Warn at the first caller that is neither in this package nor in scikit-learn, nor a decorator of the library.

    A call that reads rows in parts has one warning only of each ``topic``.
    """
    topics = _TOPICS.get()
    if topic and topics is not None:
        if topic in topics:
            return
        topics.add(topic)
    frame, level = sys._getframe(0), 1
    own = ("sgdone.", "sklearn.", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(own):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def warn_once_per_topic(topics: set[str]) -> Iterator[None]:
    """Warn of no topic that is among ``topics``, to which others are added: a call for each part has the same set."""
    token = _TOPICS.set(topics)
    try:
        yield
    finally:
        _TOPICS.reset(token)
