"""Files that the command writes: their paths, checked before any data are read, and plots."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from sgdone.cli.errors import refuse


def output_path(text: str) -> Path:
    """Convert the value of an option to the path of a file that can be written."""
    path = Path(text)
    if path.is_dir() or text.endswith(("/", os.sep)):
        raise typer.BadParameter(f"{text} is a folder: give the name of a file in it")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise typer.BadParameter(f"there is no folder {folder}: create it first")
    return path


def check_not_input(option: str, path: Path | None, inputs: Iterable[str | os.PathLike[str] | None]) -> None:
    """Raise a usage error if a file to write is one of those to read, under whatever name."""
    if path is None or not path.is_file():
        return
    for other in _each_file(inputs):
        with suppress(OSError):  # no such file: the name of a data set, or the reader reports it
            refuse(option, path.samefile(other), f"{path} is read by this command: give another file")


def _each_file(inputs: Iterable[str | os.PathLike[str] | None]) -> Iterator[str | os.PathLike[str]]:
    """The inputs, and the files that patterns and folders among them stand for."""
    from sgdone.readers.input_files import InputFile, input_files

    for given in inputs:
        if given is None:
            continue
        yield given
        found = list[InputFile]()
        with suppress(OSError, ValueError), warnings.catch_warnings():  # the reader reports them
            warnings.simplefilter("ignore")
            found = input_files(given)
        yield from (file.path for file in found if isinstance(file.path, Path))


def check_plot(path: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Validate the option before any data are read: matplotlib is installed, and can write such a file."""
    check_not_input("--plot", path, inputs)
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise ValueError("--plot needs matplotlib: pip install 'sgdone[plot]'") from None
    kinds = FigureCanvasBase.get_supported_filetypes()
    wrong = path.suffix.lstrip(".").lower() not in kinds
    refuse("--plot", wrong, f"{path} has no file extension of an image: use for example .png, .svg or .pdf")


def save_plot(draw: Callable[[], Any], path: Path) -> None:
    """Call ``draw``, which returns one or several axes of a figure, and write the figure."""
    import matplotlib as mpl
    import numpy as np

    from sgdone.machine.atomic import write_atomically

    mpl.use("Agg")  # write files without opening a window
    from matplotlib import pyplot as plt

    figure = np.ravel(draw())[0].figure
    try:
        with write_atomically(path) as temporary:
            figure.savefig(temporary, dpi=150)
    finally:
        plt.close(figure)
