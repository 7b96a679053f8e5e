"""What ``sgdone fit`` tells."""

from typing import Any

from sgdone import __version__
from sgdone.auto import AutoResult
from sgdone.cli import console
from sgdone.cli.input_data import InputData as Rows
from sgdone.cli.scores import Model, score
from sgdone.cli.words import told_classes, told_scores, told_verdict, verdict_as_json
from sgdone.data.learning_task import Task
from sgdone.verdict import Verdict


def report_of(model: Model, train: Rows, tested: Rows | None, task: Task) -> dict[str, Any]:
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
        "loss": model._results[0].state.problem.loss.name,
        "solver": _solver_of(model),
        "alpha": model._results[0].state.problem.alpha,
        "seed": model.random_state,
        "passes": verdict.passes,
        "samples": verdict.step,
        "train": score(model, train.X, train.labels),
        "test": None if tested is None else score(model, tested.X, tested.labels),
        "verdict": verdict_as_json(verdict),
        "sgdone": __version__,
    }


def _solver_of(model: Model) -> str:
    """What the model was fitted by: where something else was named, "auto" has left it to a single method."""
    single = not isinstance(model._results[0], AutoResult)
    return "asgd" if single and model.solver == "auto" else str(model.solver)


def show(report: dict[str, Any], verdict: Verdict) -> None:
    """The same for people, and shorter."""
    test = report["test"]
    console.show(
        [
            ("task", f"{report['task']}, {report['loss']} loss, {report['solver']}"),
            ("rows", f"{report['rows']:,}" + (f" (and {test['rows']:,} to test)" if test else "")),
            ("features", f"{report['features']:,}"),
            *told_classes(report["classes"], report["class_names"]),
            ("passes", f"{report['passes']:.3g}"),
            ("training loss", f"{report['train']['loss']:.6g}"),
            *told_scores("training", report["train"]),
            *told_scores("test", test),
            ("seconds", f"{report['seconds']:.3g}"),
            *([("model", report["model"])] if report["model"] else []),
        ]
    )
    console.say(f"\n{told_verdict(verdict)}", str(verdict.status))
