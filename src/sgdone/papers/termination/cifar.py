"""The margin test beside small validation sets on small colour images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, final

from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Row
from sgdone.papers.termination.claims import Reasons
from sgdone.papers.termination.images import TerminationImages
from sgdone.papers.termination.runs import svs


@final
@dataclass(frozen=True)
class TerminationCifar(TerminationImages):
    """Figure 5 (Fig. 3 of the main text): deer against airplanes, frogs against trucks.

    The test images are those of these classes among the first 1,000: 193 and 221.
    """

    pairs: ClassVar[Mapping[str, str]] = {
        "deer v airplane": "cifar10-deer-vs-airplane",
        "frog v truck": "cifar10-frog-vs-truck",
    }
    reasons: ClassVar[Reasons] = replace(
        TerminationImages.reasons, step="some 200 test images do not tell differences below 0.02"
    )
    name: ClassVar[str] = "termination-cifar"
    title: ClassVar[str] = "Margin test against small validation sets on CIFAR-10, d = 3072"
    paper: ClassVar[str] = "Baghal, Paquette, Vavasis (2021), Fig. 5 (Fig. 3 of the main text)"

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """As for the other figures, and that one panel lacks the largest validation set."""
        return [*super().claims(rows), _exhausted(rows)]


def _exhausted(rows: Sequence[Row]) -> Claim:
    silent: dict[str, list[bool]] = {}
    for row in rows:
        if row["test"] == svs(512):
            label = f"{row['data']} ({row['loss'][0]}/{row['step'][2:]})"
            silent.setdefault(label, []).append(not row["fired"])
    without = [label for label, runs in silent.items() if all(runs)]
    counts = ", ".join(f"{label} {sum(runs)} of {len(runs)}" for label, runs in silent.items() if any(runs))
    return Claim(
        "in exactly one panel the training images end in every run before SVS with p = 512 fires",
        "caption of Fig. 5: one plot lacks the cyan circles, the training data being exhausted first",
        f"{len(without)} panels; runs that ended first: {counts or 'none'}",
        len(without) == 1,
    )
