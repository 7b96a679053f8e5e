"""Which errors are an answer to bad input, and which are a defect."""

import dis
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import sgdone
from sgdone.machine.memory import NotEnoughMemoryError

_SGDONE = str(Path(sgdone.__file__).parent)
#: Longer than anyone reads.
_LONGEST_MESSAGE = 2000
#: Where scikit-learn checks arguments, labels and arrays.
_CHECKS_OF_SKLEARN = ("sklearn.utils", "sklearn.base", "sklearn.metrics")
_CONVERSIONS = ("numpy", "scipy", "pandas", "joblib")
_RAISING = {"RAISE_VARARGS", "RERAISE"}


class Refused(Exception):  # noqa: N818
    """The input was refused as it should be."""


class Foreign(Exception):  # noqa: N818
    """An error that says nothing to a user, or not what it should."""


def answer(call: Callable[[], Any], problem_with: Callable[[Exception], str | None]) -> Any:
    """The result of a call; raise `Refused` or `Foreign` if it raises."""
    try:
        return call()
    except Exception as error:
        problem = problem_with(error) or _problem_with_message(error)
        if problem:
            raise Foreign(problem) from error
        raise Refused(f"{type(error).__name__}: {error}") from error


def only(kind: type[Exception], path: Path) -> Callable[[Exception], str | None]:
    """Errors of one kind, which name the file; any file may be too large for the memory that there is."""

    def problem_with(error: Exception) -> str | None:
        if isinstance(error, NotEnoughMemoryError):
            return None
        if not isinstance(error, kind):
            return f"{type(error).__name__} instead of {kind.__name__}"
        return None if str(path) in str(error) else "the message does not name the file"

    return problem_with


def argument_error(error: Exception) -> str | None:
    """A ValueError or TypeError that sgdone raises, or that scikit-learn's validation does; or a MemoryError of sgdone.

    An error of NumPy inside sgdone is none, though it is a ValueError: nobody has written it for a user. So the
    innermost frame must be a ``raise`` of sgdone, or a function of scikit-learn's that checks or converts.
    """
    if not isinstance(error, (ValueError, TypeError, NotEnoughMemoryError)) or isinstance(error, UnicodeError):
        return f"a {type(error).__name__} is no answer to bad arguments"
    frames = [*_frames(error.__traceback__)]
    while len(frames) > 1 and _module(frames[-1]).split(".")[0] in _CONVERSIONS:
        frames.pop()
    last = frames[-1]
    if _module(last).startswith(_CHECKS_OF_SKLEARN):
        return None
    if not last.tb_frame.f_code.co_filename.startswith(_SGDONE):
        return f"raised in {_module(last)}"
    return None if _raises(last) else f"raised by a function that {_module(last)} calls"


def _problem_with_message(error: Exception) -> str | None:
    message = str(error)
    if not message.strip():
        return "the message is empty"
    *_, last = _frames(error.__traceback__)
    if _module(last).startswith(_CHECKS_OF_SKLEARN):
        return None  # scikit-learn prints arrays of the wrong shape
    return f"the message has {len(message):,} characters" if len(message) > _LONGEST_MESSAGE else None


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _module(frame: TracebackType) -> str:
    return str(frame.tb_frame.f_globals.get("__name__", ""))


def _raises(frame: TracebackType) -> bool:
    """Whether the frame ended at a ``raise``, not in a function that it called."""
    code = frame.tb_frame.f_code
    return any(step.offset == frame.tb_lasti and step.opname in _RAISING for step in dis.get_instructions(code))
