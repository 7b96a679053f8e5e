"""What ``sgdone fit`` tells."""

from typing import Any

from sgdone import __version__
from sgdone.cli import console
from sgdone.cli.input_data import InputData
from sgdone.cli.report_text import classes_text, scores_text, solver_text, verdict_as_json, verdict_text
from sgdone.cli.scores import Model, score
from sgdone.data.learning_task import Task
from sgdone.run.verdict import Verdict


def report_of(model: Model, train: InputData, tested: InputData | None, task: Task) -> dict[str, Any]:
    """Everything about a fit, for machines."""
    verdict = model.verdict_
    classes = getattr(model, "classes_", None)
    return {
        "data": train.name,
        "task": task,
        "rows": train.X.shape[0],
        "features": train.X.shape[1],
        "classes": None if classes is None else classes.tolist(),
        "class_names": train.class_names,
        "loss": model._results[0].objective.loss.name,
        "solver": str(getattr(model, "solver", "auto")),
        "alpha": model.alpha_,
        "seed": model.random_state,
        "passes": verdict.passes,
        "samples": verdict.step,
        "train": score(model, train.X, train.labels),
        "test": None if tested is None else score(model, tested.X, tested.labels),
        "verdict": verdict_as_json(verdict),
        "sgdone": __version__,
    }


def show(report: dict[str, Any], verdict: Verdict) -> None:
    """The same for people, and shorter."""
    test = report["test"]
    console.show(
        [
            (
                "task",
                f"{report['task']} with the {report['loss'].replace('_', ' ')} loss, {solver_text(report['solver'])}",
            ),
            ("rows", f"{report['rows']:,}" + (f" (and {test['rows']:,} to test)" if test else "")),
            ("features", f"{report['features']:,}"),
            *classes_text(report["classes"], report["class_names"]),
            ("passes", f"{report['passes']:.3g}"),
            *scores_text("training", report["train"]),
            *scores_text("test", test),
            ("seconds", _seconds(report)),
            *([("model", report["model"])] if report["model"] else []),
        ]
    )
    console.say(f"\n{verdict_text(verdict)}", str(verdict.status))


def _seconds(report: dict[str, Any]) -> str:
    """The seconds of the whole command, and of its longest parts."""
    parts = ", ".join(f"{part} {report[f'seconds_{part}']:.2g}" for part in ("starting", "reading", "fitting"))
    return f"{report['seconds']:.2g} ({parts})"
