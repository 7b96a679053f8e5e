"""Reports of fits and models, for people and for machines."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sgdone import __version__
from sgdone.cli import console
from sgdone.cli.console import number
from sgdone.cli.errors import as_options
from sgdone.fit.fitted_model import FittedModel
from sgdone.interfaces.objective import measured
from sgdone.interfaces.stop_rule import Status
from sgdone.losses.learning_task import Task
from sgdone.message_text import counted
from sgdone.readers.table import Table
from sgdone.run.result import Verdict
from sgdone.tables import TableEncoding
from sgdone.tables.date_values import DateValues

_MOST_CLASSES = 10
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
    return [("classes", first_classes(shown))]


def first_classes(shown: list[str]) -> str:
    """Texts of the first classes, and the number of all."""
    more = f", … ({len(shown):,} in all)" if len(shown) > _MOST_CLASSES else ""
    return ", ".join(shown[:_MOST_CLASSES]) + more


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

    loss_error = scores["loss_standard_error"]
    # The error is rounding if the losses of the rows are equal.
    own = measured(scores["loss"], loss_error if loss_error > _ROUNDING * abs(scores["loss"]) else math.nan)
    losses = line(loss_name(loss), "loss", lambda value: own if value == scores["loss"] else f"{value:.4g}")
    if "rmse" in scores:
        other_loss = [] if loss == "squared" else losses
        return [*other_loss, *line("RMSE", "rmse", number), *line("R²", "r2", lambda value: f"{value:.4f}")]
    percent = line("error", "error", lambda value: f"{value:.2%}")
    return [*losses, *percent, *line("AUC", "auc", lambda value: f"{value:.4f}")]


def loss_name(loss: str) -> str:
    """The name of a loss in the table of scores."""
    return "log loss" if loss == "logistic" else f"{loss.replace('_', ' ')} loss"


def solver_text(name: str) -> str:
    """The solver of a model, as a clause."""
    return "automatic solver" if name == "auto" else f"solver {name}"


#: Columns named in a line of the report.
_MOST_NAMES = 6
_PLURALS = {"category": "categories"}
#: Standard errors of the held-out loss beyond which two fits differ.
_NOISE = 3.0


def report_of(model: FittedModel, train: Table, task: Task, fitted: Table | None) -> dict[str, Any]:
    """Everything about a fit but the numbers of its rows and its scores, for machines.

    Missing values are counted in the rows that were ``fitted``, if they are in memory.
    """
    verdict, classes, encoder = model.verdict_, model.classes_, model.encoder_
    is_table = encoder is not None and isinstance(train.X, pa.Table)
    return {
        "data": train.name,
        "task": task,
        "label": train.label_name,
        "features": model.coef_.shape[-1],
        "columns": columns_of(encoder, fitted and fitted.X) if is_table else None,
        "dropped": list(train.dropped),
        "classes": None if classes is None else classes.tolist(),
        "class_names": train.class_names,
        "loss": model.objective().loss.name,
        "solver": str(model.options.parameters.get("solver", "auto")),
        "alpha": model.alpha_,
        "seed": model.options.parameters["random_state"],
        "passes": verdict.passes,
        "samples": verdict.step,
        "verdict": verdict_as_json(verdict),
        "streamed": False,
        "cluster": None,
        "sgdone": __version__,
    }


def scored_fit(model: FittedModel, n_rows: int, train: dict[str, Any], scores: dict[str, Any]) -> dict[str, Any]:
    """The fit whose scores are reported beside those of the saved model, for machines.

    The fits ``differ`` if their losses on the rows that they were fitted on differ by more than the held-out loss is
    known to. These losses are alike: nearly all of the rows are the same.
    """
    apart = abs(train["loss"] - scores["train"]["loss"])
    verdict = model.verdict_
    return {
        "fitted_rows": n_rows,
        "alpha": model.alpha_,
        "passes": verdict.passes,
        "samples": verdict.step,
        "verdict": verdict_as_json(verdict),
        "train": train,
        "differs": bool(apart > _NOISE * scores["held_out"]["loss_standard_error"]),
    }


def scores_warning(report: dict[str, Any]) -> str:
    """Warning that the scored fit differs from the saved model by more than noise; empty if it does not."""
    scored = report["scored_fit"]
    if scored is None or not scored["differs"]:
        return ""
    ours, error, saved = loss_name(report["loss"]), report["held_out"]["loss_standard_error"], report["train"]["loss"]
    return (
        "the scores of the held-out rows are those of a fit that differs from the saved model by more than noise: its "
        f"{ours} on training rows is {scored['train']['loss']:.3g}, that of the saved model {saved:.3g}; "
        f"the standard error of the held-out {ours} is {error:.2g}. To score the saved model itself, give other rows "
        "with --test."
    )


def columns_of(encoder: TableEncoding, table: Any) -> list[dict[str, Any]]:
    """Encoding of each column of a table, with the number of its missing values: None if there is no table.

    Missing categories are a level, and missing texts have no words.
    """
    plans = {} if encoder.is_plain else {plan.encoder.name: plan for plan in encoder.plans_}

    def n_missing(name: str) -> int | None:
        if table is None or name not in plans:
            return None if table is None else 0
        values = plans[name].read(table.column(name)).values
        if isinstance(values, DateValues):
            return int(values.missing.sum())
        return int(np.isnan(values).sum()) if isinstance(values, np.ndarray) else 0

    return [column._asdict() | {"missing": n_missing(column.name)} for column in encoder.describe_columns()]


def show(report: dict[str, Any], verdict: Verdict) -> None:
    """Print the report of a fit."""
    test, held_out = report["test"], report["held_out"]
    others = f" (and {test['rows']:,} to test)" if test else f" ({held_out['rows']:,} held out)" if held_out else ""
    if report["rows_without_label"]:
        others += f"; {report['rows_without_label']:,} others without a label are left out"
    task = f"{report['task']} with the {report['loss'].replace('_', ' ')} loss, {solver_text(report['solver'])}"
    console.show(
        [
            ("task", task),
            ("rows", f"{report['rows']:,}{others}"),
            *columns_text(report["columns"]),
            ("features", f"{report['features']:,}"),
            *classes_text(report["classes"], report["class_names"]),
            _passes(report),
            ("seconds", _seconds(report)),
            *([("model", report["model"])] if report["model"] else []),
        ]
    )
    _show_scores(report)
    scored = report["scored_fit"]
    if scored is None:
        console.say(f"\n{verdict_text(verdict)}", str(verdict.status))
        return
    console.say(f"\nSaved model: {verdict_text(verdict)}", str(verdict.status))
    other = scored["verdict"]
    console.say(f"\nFit without the held-out rows: {other['sentence']}", other["status"])


def columns_text(columns: list[dict[str, Any]] | None) -> list[tuple[str, str]]:
    """Kinds of columns, columns that are left out, and missing values, as lines of a table."""
    if columns is None:
        return []
    kinds = Counter(column["kind"] for column in columns)
    parts = [counted(count, kind, _PLURALS.get(kind, "")) for kind, count in kinds.items() if kind != "left out"]
    named = [(console.printable(column["name"], 30), column) for column in columns]
    left_out = [f"{name} ({column['reason']})" for name, column in named if column["kind"] == "left out"]
    missing = [f"{name} {column['missing']:,}" for name, column in named if column["missing"]]
    lines = [("columns", f"{len(columns):,}: {', '.join(parts)}")]
    if left_out:
        lines.append(("left out", _some(left_out)))
    if missing:
        lines.append(("missing", f"{_some(missing)}; replaced by the mean, with an indicator"))
    return lines


def _some(texts: list[str]) -> str:
    more = len(texts) - _MOST_NAMES
    return ", ".join(texts[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _show_scores(report: dict[str, Any]) -> None:
    """A table of the scores beside the base rate, and the confusion of few classes."""
    which = "test" if report["test"] else "held_out" if report["held_out"] else "train"
    if report[which] is None:
        return
    names = {"test": "test rows", "held_out": "held-out rows", "train": "training rows"}
    shown = [(names[which], report[which])]
    if report["scored_fit"] is not None:
        shown += [("training rows", report["scored_fit"]["train"]), ("saved model, all rows", report["train"])]
    elif which != "train" and report["train"] is not None:
        shown += [("training rows", report["train"])]
    lines = [score_lines(scores, report["loss"]) for _, scores in shown]
    base = [other for _, _, other in lines[0]]
    table = [[what, *(part[k][1] for part in lines), base[k]] for k, (what, _, _) in enumerate(lines[0])]
    console.say("")
    if report["scored_fit"] is not None:
        console.say("Held-out and training rows score the fit without the held-out rows, not the saved model:\n")
    console.show_table(["", *(name for name, _ in shown), "base rate"], table)
    confusion = report[which].get("confusion")
    if confusion:
        classes = [console.printable(str(label), 20) for label in report["classes"]]
        console.say(f"\n{names[which].capitalize()} by true class (lines) and predicted class (columns):")
        rows = [[name, *(f"{count:,}" for count in counts)] for name, counts in zip(classes, confusion, strict=True)]
        console.show_table(["", *classes], rows)


def _passes(report: dict[str, Any]) -> tuple[str, str]:
    """Passes over the rows; on a cluster the rounds, and what was sent."""
    cluster = report["cluster"]
    if cluster is None:
        scored = report["scored_fit"]
        other = "" if scored is None else f"; {scored['passes']:.3g} without the held-out rows"
        return "passes", f"{report['passes']:.3g}{other}"
    sent, received = (f"{cluster[key] / 1e6:.3g} MB" for key in ("bytes_sent", "bytes_received"))
    partitions = counted(cluster["partitions"], "partition")
    return "rounds", f"{cluster['rounds']:,} over {partitions}; {sent} sent, {received} received"


def _seconds(report: dict[str, Any]) -> str:
    """The seconds of the whole command, and of its longest parts."""
    parts = ", ".join(f"{part} {report[f'seconds_{part}']:.2g}" for part in ("starting", "reading", "fitting"))
    return f"{report['seconds']:.2g} ({parts})"
