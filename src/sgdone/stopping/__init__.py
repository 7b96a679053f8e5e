"""When to stop: rules, one file each, that compose with ``|`` and ``&``."""

from sgdone.stopping.base import Look, Progress, Stop, StopRule
from sgdone.stopping.budget import MaxPasses, MaxSamples, MaxSeconds
from sgdone.stopping.composition import AllOf, AnyOf
from sgdone.stopping.progressive import ProgressiveLoss

__all__ = [
    "AllOf",
    "AnyOf",
    "Look",
    "MaxPasses",
    "MaxSamples",
    "MaxSeconds",
    "Progress",
    "ProgressiveLoss",
    "Stop",
    "StopRule",
]
