"""Tables and a picture of how long each method needed."""

import csv
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from accuracy_search import Outcome

#: What every ratio is to: the default solver.
OURS = "asgd"


def tables(outcomes: list[Outcome]) -> list[Table]:
    """One table a loss: milliseconds of each method, and how many times those of averaged SGD that is."""
    made = []
    for loss in _in_order(outcome.loss for outcome in outcomes):
        chosen = [outcome for outcome in outcomes if outcome.loss == loss]
        table = Table(title=f"{loss}: milliseconds to a held-out loss within 1 % of the optimum's (times of {OURS})")
        sets = _in_order(outcome.data for outcome in chosen)
        for heading in ("method", *sets):
            table.add_column(heading, justify="left" if heading == "method" else "right")
        for method in _in_order(outcome.method for outcome in chosen):
            table.add_row(method, *(_cell(chosen, method, name) for name in sets))
        table.add_section()
        table.add_row("[bold]fastest peer / asgd", *(_ratio(chosen, name, True) for name in sets))
        table.add_row("[bold]fastest peer / best of ours", *(_ratio(chosen, name, False) for name in sets))
        made.append(table)
    return made


def _in_order(values: Any) -> list[str]:
    return list(dict.fromkeys(values))


def _find(outcomes: list[Outcome], method: str, data: str) -> Outcome | None:
    return next((one for one in outcomes if (one.method, one.data) == (method, data)), None)


def _cell(outcomes: list[Outcome], method: str, data: str) -> str:
    outcome = _find(outcomes, method, data)
    if outcome is None:
        return ""
    if not np.isfinite(outcome.seconds):
        return "–"
    ours = _find(outcomes, OURS, data)
    times = outcome.seconds / ours.seconds if ours else np.nan
    return f"{1e3 * outcome.seconds:,.4g}" + (f" ({times:.2g})" if np.isfinite(times) else "")


def _ratio(outcomes: list[Outcome], data: str, default_only: bool) -> str:
    here = [one for one in outcomes if one.data == data and np.isfinite(one.seconds)]
    peers = [one for one in here if not one.own]
    ours = [one for one in here if one.own and (one.method == OURS or not default_only)]
    if not (peers and ours):
        return "–"
    peer, best = (min(group, key=lambda one: one.seconds) for group in (peers, ours))
    return f"[bold]{peer.seconds / best.seconds:.1f}[/]\n{peer.method} / {best.method}"


def write(outcomes: list[Outcome], folder: Path) -> None:
    """All outcomes as a CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "time_to_accuracy.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, [field.name for field in fields(Outcome)])
        writer.writeheader()
        writer.writerows(asdict(outcome) for outcome in outcomes)


def draw(outcomes: list[Outcome], path: Path) -> None:
    """A line of marks a set, a column a loss: time on a logarithmic axis, ours filled."""
    import matplotlib.pyplot as plt

    losses = _in_order(one.loss for one in outcomes)
    sets = _in_order(one.data for one in outcomes)
    figure, axes = plt.subplots(
        1,
        len(losses),
        figsize=(6.2 * len(losses), 1.6 + 0.7 * len(sets)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    methods = _in_order(one.method for one in outcomes)
    own = [one for one in methods if any(o.own and o.method == one for o in outcomes)]
    peers = [one for one in methods if one not in own]
    colours = {name: plt.colormaps["tab10"](k) for k, name in enumerate(peers)}
    colours |= dict.fromkeys(own, "black")
    markers = dict(zip(own, "oDsv^<>pPXh", strict=False)) | dict(zip(peers, "ov^<>sDPX*ph", strict=False))
    for axis, loss in zip(axes[0], losses, strict=True):
        for method in methods:
            points = [
                (one.seconds, sets.index(one.data)) for one in outcomes if (one.loss, one.method) == (loss, method)
            ]
            if points:
                filled = colours[method] if method in own else "white"
                axis.scatter(
                    *zip(*points, strict=True),
                    color=filled,
                    edgecolor=colours[method],
                    marker=markers[method],
                    s=60,
                    label=method,
                    zorder=3,
                )
        axis.set_xscale("log")
        axis.set_title(loss.replace("_", " "), loc="left")
        axis.set_xlabel("seconds to a held-out loss within 1 % of the optimum's")
        axis.grid(axis="x", color="0.92")
        axis.spines[["top", "right", "left"]].set_visible(False)
        for k in range(len(sets)):
            axis.axhline(k, color="0.9", zorder=1)
    axes[0, 0].set_yticks(range(len(sets)), sets)
    axes[0, 0].invert_yaxis()
    handles: dict[str, Any] = {}
    for axis in axes[0]:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)
