"""``sgdone theory``."""

import inspect
import json as json_format
from itertools import groupby
from typing import Any

import typer

from sgdone.cli import console
from sgdone.cli.errors import usage
from sgdone.message_text import did_you_mean
from sgdone.papers.assumptions import AssumptionError
from sgdone.papers.catalogue import Statement, statements


def show_statements(json: bool) -> None:
    """Every statement, paper by paper."""
    known = statements().values()
    if json:
        console.print_json({"statements": [_as_json(statement) for statement in known]})
        return
    by_paper = groupby(sorted(known, key=lambda statement: statement.paper), key=lambda statement: statement.paper)
    width = max(len(statement.name) for statement in known)
    for paper, group in by_paper:
        console.say(f"{paper}:")
        console.show([(f"  {one.name.ljust(width)}", f"{one.place}: {one.meaning}") for one in group])


def evaluate_and_report(name: str, arguments: list[str], json: bool) -> None:
    """One statement at the numbers given."""
    with usage("NAME"):
        statement = _find(name)
    with usage("ARGUMENT=VALUE"):
        given = _complete(statement, _parsed(arguments))
    try:
        value = statement.function(**given)
    except AssumptionError:
        raise
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'ARGUMENT=VALUE'") from None
    parts = value._asdict() if hasattr(value, "_asdict") else {statement.name: value}
    if json:
        report = parts if hasattr(value, "_asdict") else value
        console.print_json({**_as_json(statement), "arguments": given, "value": report})
        return
    console.show(
        [
            *((part, _shown(number)) for part, number in parts.items()),
            ("meaning", statement.meaning),
            ("source", f"{statement.paper}, {statement.place}"),
            ("assumes", statement.assumptions),
        ]
    )


def _find(name: str) -> Statement:
    known = statements()
    key = name.lower().replace("-", "_")
    if key not in known:
        raise ValueError(f"no statement is called {name!r}.{did_you_mean(key, known)} `sgdone theory` lists them all")
    return known[key]


def _parsed(arguments: list[str]) -> dict[str, Any]:
    """Arguments by name: numbers, vectors and matrices are JSON, anything else is text."""
    given: dict[str, Any] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals or not name:
            raise ValueError(f"{argument!r} is not of the form name=value")
        if name in given:
            raise ValueError(f"{name} is given twice")
        try:
            given[name] = json_format.loads(text)
        except json_format.JSONDecodeError:
            given[name] = text
    return given


def _complete(statement: Statement, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments, if they are those that the function takes."""
    parameters = statement.signature.parameters
    unknown = [name for name in given if name not in parameters]
    missing = [
        name
        for name, parameter in parameters.items()
        if parameter.default is inspect.Parameter.empty and name not in given
    ]
    if not unknown and not missing:
        return given
    wrong = [
        *(f"takes no {name!r}.{did_you_mean(name, parameters)}" for name in unknown),
        *([f"needs {', '.join(missing)}."] if missing else []),
    ]
    width = max(map(len, parameters))
    listed = (f"  {name.ljust(width)}  {what}" for name, what in statement.parameters.items())
    raise ValueError("\n".join([f"{statement.name} {' It '.join(wrong)} Its parameters:", *listed]))


def _as_json(statement: Statement) -> dict[str, Any]:
    names = ("name", "paper", "place", "meaning", "assumptions", "parameters")
    return {name: getattr(statement, name) for name in names}


def _shown(value: Any) -> str:
    """A number in a few digits; vectors and matrices as the command takes them."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return json_format.dumps(value.tolist()) if hasattr(value, "tolist") else str(value)
