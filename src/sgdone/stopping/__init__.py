"""When to stop: rules, one file each, that compose with ``|``, ``&`` and ``.then``."""

from sgdone.stopping.base import Look, Progress, Stop, StopRule, Watch
from sgdone.stopping.budget import MaxPasses, MaxSamples, MaxSeconds
from sgdone.stopping.composition import AllOf, AnyOf
from sgdone.stopping.distance import Distance
from sgdone.stopping.margin import MarginTest
from sgdone.stopping.minimum import MinPasses
from sgdone.stopping.pflug import Pflug
from sgdone.stopping.progressive import ProgressiveLoss
from sgdone.stopping.then import Then
from sgdone.stopping.validation import SmallValidationSet

__all__ = [
    "AllOf",
    "AnyOf",
    "Distance",
    "Look",
    "MarginTest",
    "MaxPasses",
    "MaxSamples",
    "MaxSeconds",
    "MinPasses",
    "Pflug",
    "Progress",
    "ProgressiveLoss",
    "SmallValidationSet",
    "Stop",
    "StopRule",
    "Then",
    "Watch",
]
