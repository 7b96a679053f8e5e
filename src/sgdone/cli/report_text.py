"""Verdicts, classes and scores as text."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sgdone.cli.console import number
from sgdone.cli.errors import as_options
from sgdone.interfaces.objective import measured
from sgdone.interfaces.stop_rule import Status
from sgdone.run.verdict import Verdict

MOST_CLASSES = 10
#: Relative error of a mean of equal numbers.
_ROUNDING = 1e-14


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict's parts, and the sentence."""
    parts = {name: getattr(verdict, name) for name in ("rule", "step", "passes", "reason", "evidence")}
    return {
        "status": str(verdict.status),
        **parts,
        "advice": as_options(verdict.advice),
        "sentence": verdict_text(verdict),
        "per_class": {str(label): verdict_as_json(one) for label, one in verdict.per_class.items()},
    }


def verdict_text(verdict: Verdict) -> str:
    """The sentence, its advice with options of the command."""
    if verdict.status is Status.INTERRUPTED:
        verdict = replace(verdict, advice="")
    return as_options(str(verdict))


def classes_text(classes: list[Any] | None, names: list[str] | None) -> list[tuple[str, str]]:
    """Labels, with their names in brackets if they have others, as a line of a table."""
    if classes is None:
        return []
    shown = [str(label) for label in classes]
    if names is not None and names != shown and len(names) == len(shown):
        shown = [f"{label} ({name})" for label, name in zip(shown, names, strict=True)]
    more = f", … ({len(shown):,} in all)" if len(shown) > MOST_CLASSES else ""
    return [("classes", ", ".join(shown[:MOST_CLASSES]) + more)]


def score_lines(scores: dict[str, Any], loss: str) -> list[tuple[str, str, str]]:
    """Scores as lines of a table: what, the model's and that of the base rate, empty where there is none.

    Examples
    --------
    >>> score_lines({"loss": 0.3, "loss_standard_error": math.nan, "error": 0.1, "base": {"error": 0.25}}, "hinge")
    [('hinge loss', '0.3', ''), ('error', '10.00%', '25.00%')]
    """
    base = scores.get("base") or {}

    def line(what: str, key: str, text: Callable[[float], str]) -> list[tuple[str, str, str]]:
        if key not in scores:
            return []
        value, other = scores[key], base.get(key, math.nan)
        return [(what, "undefined" if math.isnan(value) else text(value), "" if math.isnan(other) else text(other))]

    own = _loss_text(scores["loss"], scores["loss_standard_error"])
    losses = line(loss_name(loss), "loss", lambda value: own if value == scores["loss"] else f"{value:.4g}")
    if "rmse" in scores:
        other_loss = [] if loss == "squared" else losses
        return [*other_loss, *line("RMSE", "rmse", number), *line("R²", "r2", lambda value: f"{value:.4f}")]
    percent = line("error", "error", lambda value: f"{value:.2%}")
    return [*losses, *percent, *line("AUC", "auc", lambda value: f"{value:.4f}")]


def loss_name(loss: str) -> str:
    """The name of a loss in the table of scores."""
    return "log loss" if loss == "logistic" else f"{loss.replace('_', ' ')} loss"


def _loss_text(loss: float, error: float) -> str:
    """A loss with its standard error, unless that is rounding: the losses of the rows are equal."""
    return measured(loss, error if error > _ROUNDING * abs(loss) else math.nan)


def solver_text(name: str) -> str:
    """The solver of a model, as a clause."""
    return "automatic solver" if name == "auto" else f"solver {name}"
