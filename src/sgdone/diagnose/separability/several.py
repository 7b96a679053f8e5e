"""Several classes, each against the rest."""

from collections.abc import Iterator, Mapping
from typing import Any, final

from sgdone.diagnose.separability.certificate import Kind
from sgdone.diagnose.separability.separation_result import Separation

_FROM_BAD_TO_GOOD: tuple[Kind, ...] = ("complete", "quasi-complete", "undecided", "none")


@final
class SeparationByClass(Mapping[Any, Separation]):
    """One answer a class, by its label, as one-vs-rest fits have one model a class.

    Examples
    --------
    >>> from sgdone.diagnose import separation
    >>> shapes = separation([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], ["a", "a", "b", "b", "c", "c"])
    >>> {label: shape.kind for label, shape in shapes.items()}
    {'a': 'complete', 'b': 'none', 'c': 'complete'}
    """

    def __init__(self, answers: dict[Any, Separation]) -> None:
        self._answers: dict[Any, Separation] = dict(answers)

    def __getitem__(self, label: Any) -> Separation:
        return self._answers[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def kind(self) -> Kind:
        """The worst kind of any class."""
        return min((answer.kind for answer in self._answers.values()), key=_FROM_BAD_TO_GOOD.index)

    def __str__(self) -> str:
        return "\n".join(f"Class {label!r} against the rest: {answer}" for label, answer in self._answers.items())
