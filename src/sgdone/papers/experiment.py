"""Interface of experiments."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim
from sgdone.papers.drawing import Figure

Size = Literal["full", "quick", "smoke"]
#: Number of seeds by form.
SEEDS: dict[Size, int] = {"full": 5, "quick": 1, "smoke": 1}
#: One line of the CSV file; all rows of an experiment have the same keys.
Row = dict[str, Any]

Task = TypeVar("Task")
Prepared = TypeVar("Prepared")


class Experiment(ABC, Generic[Task, Prepared]):
    """A figure or table of a paper, measured again.

    A leaf is a frozen dataclass whose fields set how much is measured. Their defaults are the full form, with
    five seeds below ten minutes on two cores; ``quick`` and ``smoke`` override some of them for forms that take
    seconds. Tasks are independent: they may run in any order and at once.
    """

    #: Name on the command line and of the files: words joined by "-".
    name: ClassVar[str]
    #: Title of the figure or table.
    title: ClassVar[str]
    #: The paper and the figure or table.
    paper: ClassVar[str]
    #: Whether measurements depend on the seed; if not, one seed is enough.
    random: ClassVar[bool] = True
    #: Whether all seeds share what `prepare` returns for the first, like a data set as it is.
    prepares_once: ClassVar[bool] = False
    #: Fields of the form that takes less than a minute, and of the one for tests, which takes a few seconds.
    quick: ClassVar[Mapping[str, Any]]
    smoke: ClassVar[Mapping[str, Any]]
    #: Width and height of the picture, in inches.
    figure_size: ClassVar[tuple[float, float]] = (10.0, 7.5)

    @classmethod
    def of_size(cls, size: Size) -> Self:
        """The experiment in one of its three forms."""
        return cls(**{"full": {}, "quick": cls.quick, "smoke": cls.smoke}[size])

    @classmethod
    def seeds(cls, size: Size, first: int = 0) -> range:
        """The seeds of a form, from the first on."""
        return range(first, first + (SEEDS[size] if cls.random else 1))

    def prepare(self, seed: np.random.SeedSequence) -> Prepared:
        """Read-only values that all tasks share, such as a data set; nothing by default."""
        return None  # type: ignore[return-value]  # Prepared is None where this is not overridden

    @abstractmethod
    def tasks(self) -> Sequence[Task]:
        """Tasks of the experiment: a measurement each."""

    @abstractmethod
    def measure(self, task: Task, prepared: Prepared, seed: np.random.SeedSequence) -> list[Row]:
        """Measure one piece; all randomness comes from the seed."""

    @abstractmethod
    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The paper's sentences, with the measurements of one seed; readings are the same for all seeds."""

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """Other readings and further tests, with the measurements of one seed; by default none."""
        return []

    @abstractmethod
    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """Draw the paper's picture from the measurements; return a note for its heading, like the number of runs."""
