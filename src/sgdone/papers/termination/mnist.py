"""The margin test beside small validation sets on handwritten digits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

from sgdone.papers.termination.images import TerminationImages


@final
@dataclass(frozen=True)
class TerminationMnist(TerminationImages):
    """Figure 4 (Fig. 3 of the main text): 1 against 8, an easy task, and 7 against 9, a harder one."""

    pairs: ClassVar[Mapping[str, str]] = {"1 v 8": "mnist-1-vs-8", "7 v 9": "mnist-7-vs-9"}
    name: ClassVar[str] = "termination-mnist"
    title: ClassVar[str] = "Margin test against small validation sets on MNIST, d = 784"
    paper: ClassVar[str] = "Baghal, Paquette, Vavasis (2021), Fig. 4 (Fig. 3 of the main text)"
