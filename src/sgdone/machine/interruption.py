"""Signals that end a fit: remembered while it runs, so that it ends where its model and its checkpoint are whole.

Without this module SIGINT raises KeyboardInterrupt between any two instructions, and SIGTERM ends the process.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Fit:
    """The fit in progress; there is one, because signals are sent to the process."""

    #: Whether signals are remembered.
    remembers = False
    #: Whether the next one raises KeyboardInterrupt nevertheless.
    raises = False
    #: Name of the signal that was received; empty if there was none.
    received = ""
    #: Whether someone has asked for it, and acts on it.
    answered = False


#: Sections of each thread that `check` may end.
_sections = threading.local()


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does; outside of the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        # A handler that was not installed by Python cannot be restored by it.
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@contextmanager
def remembered() -> Iterator[None]:
    """Remember signals that would raise KeyboardInterrupt; a second one raises it, and so does the end if nobody asked.

    Handlers of the user stay in place. Outside of the main thread, and within another such section, nothing changes.
    """
    if _Fit.remembers or threading.current_thread() is not threading.main_thread():
        yield
        return

    def remember(number: int, frame: FrameType | None) -> None:
        again, _Fit.received = bool(_Fit.received), _Fit.received or signal.Signals(number).name
        if again or _Fit.raises:
            raise KeyboardInterrupt

    own = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is signal.default_int_handler]
    _Fit.remembers = True
    try:
        for number in own:
            signal.signal(number, remember)
        yield
    finally:
        for number in own:
            signal.signal(number, signal.default_int_handler)
        unanswered = _Fit.received and not _Fit.answered
        _Fit.remembers, _Fit.received, _Fit.answered = False, "", False
    if unanswered:
        raise KeyboardInterrupt


def received() -> str:
    """Name of the signal that was remembered; empty if there was none. Whoever asks must end what it does."""
    _Fit.answered = bool(_Fit.received)
    return _Fit.received


@contextmanager
def interruptible() -> Iterator[None]:
    """Let `check` raise KeyboardInterrupt for a signal that was remembered, in this thread."""
    before, _sections.open = getattr(_sections, "open", False), True
    try:
        yield
    finally:
        _sections.open = before


def check() -> None:
    """Raise KeyboardInterrupt in an `interruptible` section if a signal was remembered."""
    if _Fit.received and getattr(_sections, "open", False):
        raise KeyboardInterrupt


@contextmanager
def raised() -> Iterator[None]:
    """Let a signal raise KeyboardInterrupt at once: for long work that uses no threads and changes nothing."""
    if _Fit.received:
        raise KeyboardInterrupt
    _Fit.raises = True
    try:
        yield
    finally:
        _Fit.raises = False
