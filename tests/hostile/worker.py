"""The process that runs cases: it reads their names, and says of each that it begins and how it ended."""

import contextlib
import faulthandler
import json
import os
import resource
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, TextIO

from .case_kind import Case, kinds
from .judging import Foreign, Refused

#: A case may not make the process larger than this.
LARGEST = 2 * 2**30
#: Address space that a case may add, so that one which runs away cannot take the machine with it.
_ADDRESS_SPACE = 4 * 2**30


def main() -> None:
    folder, few_forms = Path(sys.argv[1]), sys.argv[2] == "few"
    faulthandler.enable()
    # Messages go where the parent reads; whatever a case prints goes nowhere.
    channel = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    material: dict[str, Any] = {}
    for line in sys.stdin:
        case = Case.parse(line.strip())
        if case.kind not in material:
            _say(channel, "prepare", case=str(case))
            material[case.kind] = kinds()[case.kind].prepare(folder, few_forms)
            _limit_memory()
        _say(channel, "begin", case=str(case))
        _say(channel, "end", **_outcome(case, material[case.kind], folder, channel))


def _outcome(case: Case, material: Any, folder: Path, channel: TextIO) -> dict[str, str]:
    before = _peak()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome, detail = "accepted", ""
        try:
            kinds()[case.kind].run(material, case.random, folder, lambda text: _say(channel, "note", text=text))
        except Refused as error:
            outcome, detail = "refused", str(error)
        except Foreign as error:
            outcome, detail = "foreign exception", f"{error}\n{_traceback(error.__cause__)}"
        except BaseException as error:
            outcome, detail = "foreign exception", _traceback(error)
    escaped = [warning for warning in caught if issubclass(warning.category, RuntimeWarning)]
    if escaped and outcome != "foreign exception":
        first = escaped[0]
        outcome, detail = "warning", f"{first.filename}:{first.lineno}: {first.category.__name__}: {first.message}"
    if before < LARGEST < _peak():
        outcome, detail = "memory", f"the process grew to {_peak() / 2**30:.1f} GB\n{detail}"
    return {"outcome": outcome, "detail": detail}


def _traceback(error: BaseException | None) -> str:
    """Without the frames of this package, which are the same in every case."""
    assert error is not None
    own = str(Path(__file__).parent)
    frames = traceback.StackSummary.from_list(
        [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(own)]
    )
    return "".join([*frames.format(), *traceback.format_exception_only(error)])


def _say(channel: TextIO, what: str, **more: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        channel.write(json.dumps({"what": what} | more) + "\n")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _ADDRESS_SPACE, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
