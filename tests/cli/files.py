"""Files for the command line's tests, and signals at a moment of a fit."""

import os
import signal

from sgdone.cli.console import ProgressLine


def write_csv(path, columns):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_svmlight(path, X, y, zero_based):
    first = 0 if zero_based else 1
    lines = [
        f"{label} " + " ".join(f"{j + first}:{x}" for j, x in enumerate(row)) for label, row in zip(y, X, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def send_at_report(monkeypatch, report, number=signal.SIGTERM):
    """Send a signal at the report of progress with this number."""
    count = iter(range(1, 10**9))

    def send(progress):
        if next(count) == report:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(ProgressLine, "hook", lambda self, _: send)


def send_before(monkeypatch, owner, name):
    """Send SIGTERM before every call of a function."""
    call = getattr(owner, name)

    def sending(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        return call(*arguments, **options)

    monkeypatch.setattr(owner, name, sending)
