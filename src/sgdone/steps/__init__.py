"""Step sizes (learning rate schedules), one module each."""

from sgdone.steps.bottou import Bottou
from sgdone.steps.class_scale import ClassScale
from sgdone.steps.constant import Constant
from sgdone.steps.descent import Descent
from sgdone.steps.inverse_sqrt import InverseSqrt
from sgdone.steps.inverse_time import InverseTime
from sgdone.steps.pursuit import Pursuit
from sgdone.steps.root import Root
from sgdone.steps.step_size import Preliminary, StepSize
from sgdone.steps.xu import Xu

__all__ = [
    "Bottou",
    "ClassScale",
    "Constant",
    "Descent",
    "InverseSqrt",
    "InverseTime",
    "Preliminary",
    "Pursuit",
    "Root",
    "StepSize",
    "Xu",
]
