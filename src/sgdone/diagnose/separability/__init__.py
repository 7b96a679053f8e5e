"""Separation: whether the optimum of a linear model exists, found and certified."""

from sgdone.diagnose.separability.certificate import Certificate, Check
from sgdone.diagnose.separability.diagnosis import separation
from sgdone.diagnose.separability.fast import FastCheck, fast_check
from sgdone.diagnose.separability.result import Separation, Subspace, Weights
from sgdone.diagnose.separability.several import SeparationByClass

__all__ = [
    "Certificate",
    "Check",
    "FastCheck",
    "Separation",
    "SeparationByClass",
    "Subspace",
    "Weights",
    "fast_check",
    "separation",
]
