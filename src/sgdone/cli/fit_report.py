"""What ``sgdone fit`` tells."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from sgdone import __version__
from sgdone.cli import console
from sgdone.cli.input_data import InputData
from sgdone.cli.report_text import classes_text, loss_name, score_lines, solver_text, verdict_as_json, verdict_text
from sgdone.cli.scores import Model
from sgdone.losses.learning_task import Task
from sgdone.message_text import counted
from sgdone.run.verdict import Verdict
from sgdone.tables import TableEncoderCore
from sgdone.tables.date_values import DateValues

#: Columns named in a line of the report.
_MOST_NAMES = 6
_PLURALS = {"category": "categories"}
#: Standard errors of the held-out loss beyond which two fits differ.
_NOISE = 3.0


def report_of(model: Model, train: InputData, fitted: InputData, task: Task) -> dict[str, Any]:
    """Everything about a fit but its scores, for machines; ``scored_fit`` is None if the scores are its own."""
    verdict = model.verdict_
    classes = getattr(model, "classes_", None)
    return {
        "data": train.name,
        "task": task,
        "label": train.label_name,
        "rows": train.n_rows,
        "rows_without_label": train.unlabelled,
        "fitted_rows": fitted.n_rows,
        "features": model.coef_.shape[-1],
        "columns": _columns(model, fitted),
        "dropped": list(train.dropped),
        "classes": None if classes is None else classes.tolist(),
        "class_names": train.class_names,
        "loss": model._results[0].objective.loss.name,
        "solver": str(getattr(model, "solver", "auto")),
        "alpha": model.alpha_,
        "seed": model.random_state,
        "passes": verdict.passes,
        "samples": verdict.step,
        "verdict": verdict_as_json(verdict),
        "streamed": False,
        "cluster": None,
        "scored_fit": None,
        "sgdone": __version__,
    }


def scored_fit(model: Model, rows: InputData, train: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """The fit whose scores are reported beside those of another one, for machines.

    The fits ``differ`` if their losses on the rows that they were fitted on differ by more than the held-out loss is
    known to. These losses are alike: nearly all of the rows are the same.
    """
    apart = abs(train["loss"] - report["train"]["loss"])
    verdict = model.verdict_
    return {
        "fitted_rows": rows.n_rows,
        "alpha": model.alpha_,
        "passes": verdict.passes,
        "samples": verdict.step,
        "verdict": verdict_as_json(verdict),
        "train": train,
        "differs": bool(apart > _NOISE * report["held_out"]["loss_standard_error"]),
    }


def scores_warning(report: dict[str, Any]) -> str:
    """That the scores are not those of the model; empty if they are, or if there is no difference beyond noise."""
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


def _columns(model: Model, rows: InputData) -> list[dict[str, Any]] | None:
    """How each column was encoded of a table, and its gaps; None for arrays."""
    encoder = getattr(model, "encoder_", None)
    return None if encoder is None or not isinstance(rows.X, pa.Table) else columns_of(encoder, rows.X)


def columns_of(encoder: TableEncoderCore, table: Any) -> list[dict[str, Any]]:
    """How each column was encoded of a table, and its gaps."""
    plans = {} if encoder.is_plain else {plan.encoder.name: plan for plan in encoder.plans_}
    return [
        column._asdict()
        | {"gaps": _gaps(plans[column.name].read(table.column(column.name)).values) if column.name in plans else 0}
        for column in encoder.describe_columns()
    ]


def _gaps(values: Any) -> int:
    """Gaps among numbers and dates; those of categories are a level, and those of text nothing."""
    if isinstance(values, DateValues):
        return int(values.missing.sum())
    return int(np.isnan(values).sum()) if isinstance(values, np.ndarray) else 0


def show(report: dict[str, Any], verdict: Verdict) -> None:
    """The same for people, and shorter."""
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
    """Kinds of columns, which are left out, and which have gaps: names and values for a table of two columns."""
    if columns is None:
        return []
    kinds = Counter(column["kind"] for column in columns)
    parts = [counted(count, kind, _PLURALS.get(kind, "")) for kind, count in kinds.items() if kind != "left out"]
    named = [(console.printable(column["name"], 30), column) for column in columns]
    left_out = [f"{name} ({column['reason']})" for name, column in named if column["kind"] == "left out"]
    gaps = [f"{name} {column['gaps']:,}" for name, column in named if column["gaps"]]
    lines = [("columns", f"{len(columns):,}: {', '.join(parts)}")]
    if left_out:
        lines.append(("left out", _some(left_out)))
    if gaps:
        lines.append(("gaps", f"{_some(gaps)}; filled by the mean and marked"))
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
