"""A picture of `tables`: losses relative to the best of skrub's five, and seconds, a line a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tables_report import Outcome

_MARKS = {"ours": ("o", "black"), "skrub": ("D", "tab:orange"), "LightGBM": ("s", "tab:green"), "VW": ("X", "tab:blue")}


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Losses on the left and seconds of one fit on the right, on logarithmic axes; ours is filled."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, (losses, times) = plt.subplots(
        1, 2, figsize=(11, 1.6 + 0.45 * len(outcomes)), sharey=True, layout="constrained"
    )
    lines = range(len(outcomes))
    for method in outcomes[0].fits:
        marker, colour = _MARKS[method]
        style = {"marker": marker, "color": colour if method == "ours" else "white", "edgecolor": colour, "s": 50}
        relative = [one.mean(method, "loss") / one.mean("skrub", "loss") for one in outcomes]
        losses.scatter(relative, lines, label=method, zorder=4 if method == "ours" else 3, **style)
        times.scatter([one.mean(method, "cpu") for one in outcomes], lines, zorder=3, **style)
    losses.set_title("Loss of the test rows / that of the best of skrub's five", loc="left", fontsize=11)
    times.set_title("Seconds of one fit, from the raw frame", loc="left", fontsize=11)
    for axis in (losses, times):
        axis.set_xscale("log")
        axis.grid(axis="both", color="0.92")
        axis.set_axisbelow(True)
        axis.tick_params(axis="y", length=0)
        axis.spines[["top", "right", "left"]].set_visible(False)
    _plain_ticks(losses, (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10))
    _plain_ticks(times, (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300))
    losses.set_yticks(lines, [one.name for one in outcomes])
    losses.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=len(outcomes[0].fits), frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _plain_ticks(axis: Any, candidates: Sequence[float]) -> None:
    """Plain numbers at those of the candidates that the axis reaches."""
    low, high = axis.get_xlim()
    ticks = [tick for tick in candidates if low <= tick <= high]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
