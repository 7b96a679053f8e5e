"""The option ``--plot``: a picture in a file."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sgdone.cli.errors import usage
from sgdone.cli.output_path import check_not_input
from sgdone.machine.atomic import write_atomically


def check_plot(path: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Validate the option before any data are read: matplotlib is installed, and can write such a file."""
    check_not_input("--plot", path, inputs)
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise ValueError("--plot needs matplotlib: pip install 'sgdone[plot]'") from None
    kinds = FigureCanvasBase.get_supported_filetypes()
    with usage("--plot"):
        if path.suffix.lstrip(".").lower() not in kinds:
            raise ValueError(f"{path} has no file extension of an image: use for example .png, .svg or .pdf")


def save_plot(draw: Callable[[], Any], path: Path) -> None:
    """Call ``draw``, which returns one or several axes of a figure, and write the figure."""
    import matplotlib as mpl

    mpl.use("Agg")  # write files without opening a window
    from matplotlib import pyplot as plt

    figure = np.ravel(draw())[0].figure
    try:
        with write_atomically(path) as temporary:
            figure.savefig(temporary, dpi=150)
    finally:
        plt.close(figure)
