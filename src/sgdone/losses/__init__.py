"""Losses: functions of a prediction and a label, one module each."""

from sgdone.losses.custom import CustomLoss
from sgdone.losses.epsilon_insensitive import EpsilonInsensitive
from sgdone.losses.exponential import Exponential
from sgdone.losses.hinge import Hinge
from sgdone.losses.huber import Huber
from sgdone.losses.logistic import Logistic
from sgdone.losses.loss import Loss, LossKernel
from sgdone.losses.margin_distribution import MarginDistribution
from sgdone.losses.margin_pursuit import MarginPursuit
from sgdone.losses.optimal_margin_distribution import OptimalMarginDistribution
from sgdone.losses.quantile import Quantile
from sgdone.losses.scale_rules import AdaptiveScale, AutoScale
from sgdone.losses.squared import Squared
from sgdone.losses.squared_hinge import SquaredHinge

__all__ = [
    "AdaptiveScale",
    "AutoScale",
    "CustomLoss",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "LossKernel",
    "MarginDistribution",
    "MarginPursuit",
    "OptimalMarginDistribution",
    "Quantile",
    "Squared",
    "SquaredHinge",
]
