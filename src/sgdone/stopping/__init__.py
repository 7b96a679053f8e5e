"""When to stop: rules, one file each, that compose with ``|``, ``&`` and ``.then``."""

from sgdone.interfaces.stop_rule import AllOf, AnyOf, Pause, Progress, Stop, StopRule, Then, Watch
from sgdone.stopping.budget import MaxPasses, MaxSamples, MaxSeconds, MinPasses
from sgdone.stopping.decrement import Decrement
from sgdone.stopping.distance import Distance
from sgdone.stopping.gain import Gain
from sgdone.stopping.margin import MarginTest
from sgdone.stopping.pflug import Pflug
from sgdone.stopping.progressive import ProgressiveLoss
from sgdone.stopping.validation import SmallValidationSet

__all__ = [
    "AllOf",
    "AnyOf",
    "Decrement",
    "Distance",
    "Gain",
    "MarginTest",
    "MaxPasses",
    "MaxSamples",
    "MaxSeconds",
    "MinPasses",
    "Pause",
    "Pflug",
    "Progress",
    "ProgressiveLoss",
    "SmallValidationSet",
    "Stop",
    "StopRule",
    "Then",
    "Watch",
]
