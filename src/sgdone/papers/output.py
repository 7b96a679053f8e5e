"""The three files that an experiment writes."""

import csv
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sgdone._version import __version__
from sgdone.machine.atomic import write_atomically
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.results import Results


def require_matplotlib() -> None:
    """Raise an error that says how to install matplotlib, before the measurements rather than after."""
    try:
        import matplotlib.figure  # noqa: F401 - whether it can be
    except ImportError as error:
        raise ImportError("an experiment draws a picture with matplotlib: pip install 'sgdone[plot]'") from error


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before the measurements rather than after."""
    nearest = next(place for place in (folder, *folder.resolve().parents) if place.exists())
    if not nearest.is_dir():
        raise ValueError(f"{nearest} is a file, not a folder to write to: name another")


def write(
    experiment: Experiment[Any, Any], by_seed: Sequence[Sequence[Row]], results: Results, folder: Path, how: str
) -> list[Path]:
    """Write ``NAME.png``, ``NAME.csv`` and ``claims.json`` into ``folder/NAME``: all three, or none.

    Parameters
    ----------
    experiment : Experiment
        Experiment that was measured.
    by_seed : sequence of sequences of dict
        The measurements with each seed; the picture is that of the first.
    results : Results
        The paper's sentences, with these measurements.
    folder : Path
        Created if it does not exist.
    how : str
        The command that repeats it; stored in the picture's description.
    """
    place = folder / experiment.name
    place.mkdir(parents=True, exist_ok=True)
    paths = [place / f"{experiment.name}.png", place / f"{experiment.name}.csv", place / "claims.json"]
    with ExitStack() as together:
        picture, table, statements = (together.enter_context(write_atomically(path)) for path in paths)
        _draw(experiment, by_seed[0], picture, how)
        _write_csv(by_seed, results.run["seeds"], table)
        statements.write_text(results.to_json(), encoding="utf-8")
    return paths


def _draw(experiment: Experiment[Any, Any], rows: Sequence[Row], path: Path, how: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=experiment.figure_size, layout="constrained")
    note = experiment.draw(rows, figure)
    figure.suptitle(f"{experiment.title}\n{experiment.paper}{'; ' if note else ''}{note}", fontsize="large")
    metadata = {
        "Title": experiment.title,
        "Description": how,
        "Source": experiment.paper,
        "Software": f"sgdone {__version__}",
    }
    figure.savefig(path, dpi=150, metadata=metadata)


def _write_csv(by_seed: Sequence[Sequence[Row]], seeds: Sequence[int], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=["seed", *by_seed[0][0]], lineterminator="\n")
        writer.writeheader()
        for seed, rows in zip(seeds, by_seed, strict=True):
            writer.writerows({"seed": seed} | row for row in rows)
