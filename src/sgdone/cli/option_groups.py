"""Options of the commands in groups that several of them share; each option is declared once.

A parameter of a command whose type is a group stands for all options of the group, or for those that
`Annotated[Group, Only(...)]` names: see `with_groups`.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final, get_args, get_origin, get_type_hints

import typer

from sgdone.cli.errors import refuse, usage
from sgdone.cli.output_files import output_path

if TYPE_CHECKING:  # imported when a command is called
    from sgdone.readers.table import ReadOptions


class TaskName(StrEnum):
    """Task by the labels; "auto" decides by their values."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option with a value."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str) -> Any:
    """A value by its place."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def output_file(help: str) -> Any:
    """An option with the name of a file that is written."""
    return option("FILE", help, parser=output_path)


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


Json = Annotated[bool, flag("--json", "Print one JSON object, and nothing else, to standard output.")]


@final
@dataclass(frozen=True)
class ScoringOptions:
    """Rows that a fit is scored on."""

    test: Annotated[
        list[str] | None,
        option("DATA", "Rows to test on; may be repeated.  [default: those of a named set, or some that are held out]"),
    ] = None
    no_holdout: Annotated[bool, flag("--no-holdout", "Hold no rows out for the scores: one fit instead of two.")] = (
        False
    )


@final
@dataclass(frozen=True)
class FitOutput:
    """File of the model, and form of the report of a fit."""

    model: Annotated[Path | None, output_file("Where to write the model.")] = None
    json: Json = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False


@final
@dataclass(frozen=True)
class FileGroup:
    """Options of `ReadOptions` and kinds of columns, as the user wrote them."""

    label: Annotated[
        str | None,
        option(
            "COLUMN", "The label column, or a condition on one, as 'delay > 15'.  [default: label, target, y or class]"
        ),
    ] = None
    drop: Annotated[list[str] | None, option("COLUMN,...", "Columns to leave out; may be repeated.")] = None
    types: Annotated[
        list[str] | None,
        option(
            "COLUMN=KIND,...",
            "Columns that are to be read as number, category, text or date, or left out (drop); may be repeated.",
        ),
    ] = None
    weight: Annotated[str | None, option("COLUMN", "The column with the weights of the rows; not a feature.")] = None
    separator: Annotated[
        str | None,
        option("CHARACTER", "Of CSV files; also tab, comma, semicolon or space.  [default: by the first line]"),
    ] = None
    no_header: Annotated[
        bool, flag("--no-header", "CSV files have no names of columns: they are x1, x2, ... by their order.")
    ] = False
    zero_based: Annotated[bool, flag("--zero-based", "Indices of svmlight files count from 0.")] = False
    n_features: Annotated[int | None, option("N", "Features of svmlight files, if the test file has more.")] = None
    bits: Annotated[
        int | None, option("N", "Hash the features of svmlight and Vowpal Wabbit files to 2^N columns.")
    ] = None
    max_memory: Annotated[
        str | None,
        option(
            "SIZE",
            "Memory for rows and buffers, as 500MB: rows that need more than a quarter of it are read in parts.  "
            "[default: 1GB]",
        ),
    ] = None
    cache: Annotated[
        Path | None,
        option(
            "DIR",
            "Where encoded rows that do not fit into memory are kept for further passes.  "
            "[default: the user's cache folder]",
        ),
    ] = None

    def parsed(self) -> "ReadOptions":
        """The values of the options, checked; rows without a label are skipped."""
        from sgdone.cli.options import parsed_memory, parsed_separator
        from sgdone.readers.table import ReadOptions

        separator, max_memory = parsed_separator(self.separator), parsed_memory(self.max_memory)
        strings = list(self.kinds())
        with usage("--bits"):
            return ReadOptions(
                label=self.label,
                skip_unlabelled=True,
                n_features=self.n_features,
                zero_based=self.zero_based,
                drop=self.drop or (),
                weight=self.weight,
                as_strings=strings,
                separator=separator,
                header=not self.no_header,
                bits=self.bits,
                max_memory=max_memory,
                cache=self.cache,
            )

    def kinds(self) -> dict[str, str]:
        """Kinds of columns by name."""
        from sgdone.cli.options import parsed_types

        return parsed_types(self.types or [])


@final
@dataclass(frozen=True)
class MethodGroup:
    """Options of the fitting method, as the user wrote them."""

    class_weight: Annotated[str | None, option("WEIGHTS", "Weights of classes: balanced, or as in no=1,yes=5.")] = None
    task: Annotated[
        TaskName,
        typer.Option(help="What to predict; auto decides by the labels, unless they are more than 20 numbers."),
    ] = TaskName.AUTO
    loss: Annotated[
        str | None, option("NAME", "As hinge or huber.  [default: logistic, or squared for regression]")
    ] = None
    solver: Annotated[str, option("NAME", "auto needs no tuning; or one method: asgd, sgd, svrg, liblinear, ...")] = (
        "auto"
    )
    step: Annotated[str, option("NAME|NUMBER", "Step size of a named solver; a number is constant.")] = "auto"
    stop: Annotated[str, option("NAME|N", "Stopping rule: margin, pflug, ...; a number is a limit on passes.")] = "auto"
    tol: Annotated[
        float | None,
        option("NUMBER", "Stop when more passes would gain fewer standard errors of the loss.  [default: 0.2]"),
    ] = None
    passes: Annotated[float | None, option("N", "At most N passes.  [default: automatic]")] = None
    alpha: Annotated[str, option("NUMBER", "L2 penalty; auto chooses it, or is 1/rows with a named solver.")] = "auto"
    center: Annotated[bool, flag("--center", "Intercept from the midpoint of the class means, for --stop margin.")] = (
        False
    )
    seed: Annotated[int, option("N", "Random seed.")] = 0


@final
@dataclass(frozen=True)
class CheckpointOptions:
    """File of checkpoints, seconds between them, and whether to go on from the last one."""

    checkpoint: Annotated[
        Path | None,
        output_file(
            "Where to write checkpoints of a fit that does not fit into memory, or on a cluster: now and then, and "
            "when Ctrl-C or SIGTERM ends it."
        ),
    ] = None
    every: Annotated[float, option("SECONDS", "Time between two checkpoints.")] = 60.0
    resume: Annotated[bool, flag("--resume", "Go on from the checkpoint, if there is one: the model is the same.")] = (
        False
    )

    def check(self) -> None:
        """Find what is wrong before any data are read."""
        advice = "it needs the name of the checkpoint: add --checkpoint FILE, as in the first run"
        refuse("--resume", self.resume and self.checkpoint is None, advice)
        refuse("--every", not 0 <= self.every < float("inf"), f"{self.every:g} is not a number of seconds, 0 or more")

    def announcements(self, beginning: str) -> list[str]:
        """Messages about resuming; ``beginning`` is what training begins with otherwise."""
        if self.checkpoint is None or not self.resume:
            return []
        if self.checkpoint.exists():
            return [f"resumed from {self.checkpoint}"]
        return [f"there is no checkpoint {self.checkpoint}: training began with {beginning}"]

    def how_to_resume(self) -> str:
        """Advice after an interruption."""
        if self.checkpoint is not None and self.checkpoint.exists():
            return "To go on where it ended, give the same command with --resume."
        return "With --checkpoint FILE a fit can be resumed after an interruption."


@final
class Only:
    """Restriction of a group to some of its options, in the metadata of `Annotated`."""

    def __init__(self, *names: str) -> None:
        self.names = names


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command each option of its groups as a parameter of its own, which is what typer reads."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        group, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if not is_dataclass(group):
            parameters.append(parameter.replace(annotation=hint))
            continue
        types = get_type_hints(group, include_extras=True)
        chosen = [field for field in fields(group) if not extras or field.name in extras[0].names]
        groups[parameter.name] = group, [field.name for field in chosen]
        parameters += [
            parameter.replace(name=own.name, annotation=types[own.name], default=own.default) for own in chosen
        ]

    @functools.wraps(command)
    def run(**options: Any) -> None:
        made = {name: group(**{key: options.pop(key) for key in keys}) for name, (group, keys) in groups.items()}
        command(**options, **made)

    # Options of a group have defaults, and may come before parameters that have none: all are given by name.
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
