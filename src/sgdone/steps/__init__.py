"""Step sizes, one file each."""

from sgdone.steps.base import Preliminary, StepSize
from sgdone.steps.bottou import Bottou
from sgdone.steps.class_scale import ClassScale
from sgdone.steps.constant import Constant
from sgdone.steps.inverse_sqrt import InverseSqrt
from sgdone.steps.inverse_time import InverseTime
from sgdone.steps.root import Root
from sgdone.steps.xu import Xu

__all__ = ["Bottou", "ClassScale", "Constant", "InverseSqrt", "InverseTime", "Preliminary", "Root", "StepSize", "Xu"]
