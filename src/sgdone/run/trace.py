"""Measurements during a fit, block by block."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.margin_statistics import MarginStatistics

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class Traffic:
    """One round of a fit on a cluster: the name of the request, and the bytes of requests and answers.

    Parts of a request that an earlier round has sent are not counted again: the workers keep them.
    """

    request: str
    bytes_sent: int
    bytes_received: int


@final
@dataclass(frozen=True)
class TraceRow:
    """One block of rows, or one round of a fit on a cluster.

    ``loss`` and ``error`` are progressive: each row is predicted before it is trained on. ``error`` is the
    fraction predicted wrong, or the root mean squared error in regression. ``margins`` are kept with
    ``monitors=["margins"]``, ``traffic`` on a cluster.
    """

    step: int
    passes: float
    loss: float
    error: float
    step_size: float
    seconds: float
    label: Any = None
    margins: MarginStatistics | None = None
    traffic: Traffic | None = None


#: Columns of a trace: numbers that every row has, and those of the margins, which it has with ``monitors=["margins"]``.
MEASURES = ("step", "passes", "loss", "error", "step_size", "seconds")
MARGINS = tuple(f"margin_{field.name}" for field in fields(MarginStatistics))
#: Further columns of a fit on a cluster.
TRAFFIC = tuple(field.name for field in fields(Traffic))


class Trace(Sequence[TraceRow]):
    """Measurements during a fit: a sequence of `TraceRow`, one per block (and class), as a table or a plot.

    Parameters
    ----------
    rows : iterable of TraceRow
        The measurements in the order they were made.
    verdict : Verdict, optional
        Where and why the fit stopped; marked in the picture.
    task : {"classification", "regression"}
        Task of the fit, which determines what ``error`` means.

    Examples
    --------
    >>> from sgdone import LinearClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> trace = LinearClassifier(random_state=0).fit(X / X.max(axis=0), y).trace_
    >>> trace["loss"].shape == (len(trace),)
    True
    """

    def __init__(self, rows: Sequence[TraceRow] = (), verdict: Any = None, task: str = "classification") -> None:
        self._rows = list(rows)
        self.verdict = verdict
        self.task = task

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        """A row by its number, or a column by its name."""
        return self.column(key) if isinstance(key, str) else self._rows[key]

    def __repr__(self) -> str:
        return f"Trace({len(self)} blocks)"

    def append(self, row: TraceRow) -> None:
        """Add a block's measurements."""
        self._rows.append(row)

    def column(self, name: str) -> NDArray[Any]:
        """All values of one measurement."""
        known = [*MEASURES, "label", *MARGINS, *TRAFFIC]
        if name not in known:
            raise KeyError(f"no column {name!r} in the trace: {', '.join(known)}")
        if name in TRAFFIC:
            if not self.has_traffic:
                raise KeyError(f"no column {name!r} in this trace: it is that of a fit on a cluster")
            return np.array([getattr(row.traffic, name) for row in self._rows])
        if name not in MARGINS:
            return np.array([getattr(row, name) for row in self._rows])
        if self._rows and not self.has_margins:
            raise KeyError(f"no column {name!r} in this trace: it needs monitors=['margins']")
        measure = name.removeprefix("margin_")
        return np.array([np.nan if row.margins is None else getattr(row.margins, measure) for row in self._rows])

    @property
    def has_margins(self) -> bool:
        """Whether margins were kept."""
        return any(row.margins is not None for row in self._rows)

    @property
    def has_traffic(self) -> bool:
        """Whether the trace is that of a fit on a cluster, with one row per round."""
        return bool(self._rows) and all(row.traffic is not None for row in self._rows)

    def labels(self) -> list[Any]:
        """The classes that have rows here; ``[None]`` where there is only one model."""
        return list(dict.fromkeys(row.label for row in self._rows))

    def to_frame(self) -> "pd.DataFrame":
        """The trace as a pandas data frame, with one row per block."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install 'sgdone[pandas]'") from error
        names = [*MEASURES, *([] if self.labels() in ([], [None]) else ["label"])]
        frame = pd.DataFrame([asdict(row) for row in self._rows], columns=names)
        further = [*(MARGINS if self.has_margins else ()), *(TRAFFIC if self.has_traffic else ())]
        return frame.assign(**{name: self.column(name) for name in further})

    def plot(self) -> "NDArray[Any]":
        """Draw progressive loss, error and step size against samples, the stop marked; returns the axes.

        For a fit on a cluster: loss and error at each evaluation, and the bytes sent so far.
        """
        from sgdone.run.trace_plot import plot_trace

        axes: NDArray[Any] = plot_trace(self)
        return axes

    def plot_margins(self) -> "NDArray[Any]":
        """Plot the margins during the fit, if they were kept (``monitors=["margins"]``); returns the axes."""
        from sgdone.run.trace_plot import plot_margins

        axes: NDArray[Any] = plot_margins(self)
        return axes
