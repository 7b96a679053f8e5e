"""Verdicts, classes and scores as text."""

import math
from dataclasses import replace
from typing import Any

from sgdone.cli.console import number
from sgdone.cli.errors import as_options
from sgdone.interfaces.measured import measured
from sgdone.interfaces.stop import Status
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


def scores_text(which: str, scores: dict[str, float] | None) -> list[tuple[str, str]]:
    """Scores on the training or the test rows, as lines of a table."""
    if scores is None:
        return []
    loss = (f"{which} loss", _loss_text(scores["loss"], scores["loss_standard_error"]))
    if "accuracy" in scores:
        return [loss, (f"{which} accuracy", f"{scores['accuracy']:.2%}")]
    return [loss, (f"{which} R²", f"{scores['r2']:.4f}"), (f"{which} RMSE", number(scores["rmse"]))]


def _loss_text(loss: float, error: float) -> str:
    """A loss with its standard error, unless that is rounding: the losses of the rows are equal."""
    return measured(loss, error if error > _ROUNDING * abs(loss) else math.nan)


def solver_text(name: str) -> str:
    """The solver of a model, as a clause."""
    return "automatic solver" if name == "auto" else f"solver {name}"
