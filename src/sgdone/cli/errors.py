"""Error messages and exit codes of the command line."""

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from sgdone.machine import interruption

BAD_DATA = 1
INTERRUPTED = 130

#: Parameters of the library in messages, and the options that replace them.
_OPTIONS = (
    (r"\blabel=", "--label"),
    (r"\bzero_based(=True)?", "--zero-based"),
    (r"\bn_features\b", "--n-features"),
    (r"\bdrop=", "--drop"),
    (r"\bweight=", "--weight"),
    (r"\bheader=False", "--no-header"),
    (r"\b(pass )?columns=\{'(.+?)': '(\w+)'\}", r"\1--types '\2=\3'"),
    (
        r"\bSGD\w+ takes numbers only: encode the table, as in .*, or use Linear\w+, which encodes it",
        "a named solver takes numbers only: remove --solver, because the automatic solver encodes the table, or leave "
        "the column out with --drop",
    ),
    (
        r"\bSGD\w+ trains on rows in memory, and these do not fit into max_memory=([\d,]+) bytes: use .* partial_fit",
        r"a named solver trains on rows in memory, and these do not fit into --max-memory (\1 bytes): remove --solver, "
        "because the automatic solver reads rows in parts, or allow more memory",
    ),
    (
        r"\bclass_weight='balanced' needs all labels at once: .* as a dict",
        "--class-weight balanced needs all rows in memory: allow more with --max-memory, or give the weights, as in "
        "--class-weight no=1,yes=5",
    ),
    (r"\bstop=MaxPasses\(1\)", "--passes 1"),
    (r"\bcache=", "--cache"),
    (r"\bwithout resume\b", "without --resume"),
    (r"\bmax_memory\b", "--max-memory"),
    (r"\bbits=", "--bits"),
    (r'\b(loss|solver|step|stop)="(\w+)"', r"--\1 \2"),
    (r'\bor "auto"', "or auto"),
    (r"\buse Linear(Classifier|Regressor)\b(?!,? (and|or) )", "use --solver auto"),
)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command: errors caused by data or arguments exit with a message and a code instead of a traceback.

    SIGTERM ends it as Ctrl-C does.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            with interruption.sigterm_raises(), warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: complain(as_options(str(message)), "warning", "yellow")
                command(*args, **options)
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            from sgdone.datasets import DatasetNotFound

            blames_data = isinstance(error, (ValueError, OSError, MemoryError, DatasetNotFound))
            if not blames_data or isinstance(error, BrokenPipeError):
                raise
            complain(as_options(str(error)))
            raise typer.Exit(BAD_DATA) from None

    return run


def complain(message: str, what: str = "error", colour: str = "red") -> None:
    """Print an error or a warning on standard error."""
    from rich.text import Text

    from sgdone.cli.console import errors

    errors().print(Text(f"{what}: {message}", style=colour), soft_wrap=True)


def as_options(message: str) -> str:
    """Replace parameters of the library in a message by options of the command line.

    Examples
    --------
    >>> as_options('name it with label=, or use step="auto"')
    'name it with --label, or use --step auto'
    """
    for pattern, option in _OPTIONS:
        message = re.sub(pattern, option, message)
    return message


@contextmanager
def table_errors_named(data: str, place: Callable[[int], str] | None = None) -> Iterator[None]:
    """Convert errors about a column or a row, which blame the data, to errors that name the file and the line."""
    from sgdone.readers.table import errors_located

    try:
        with errors_located(place):
            yield
    except (TypeError, ValueError) as error:
        if not str(error).startswith("column "):
            raise
        raise ValueError(f"{data}: {error}") from error


def refuse(option: str, when: bool, message: str) -> None:
    """Raise a usage error of an option, if it cannot be used."""
    if when:
        raise typer.BadParameter(message, param_hint=f"'{option}'")


@contextmanager
def usage(option: str) -> Iterator[None]:
    """Convert errors to usage errors of an option."""
    try:
        yield
    except (ArithmeticError, TypeError, ValueError) as error:
        raise typer.BadParameter(as_options(str(error)), param_hint=f"'{option}'") from None
