"""Separation: whether the optimum of a linear model exists, found and certified."""

from sgdone.diagnose.separability.certificate import Certificate, Check
from sgdone.diagnose.separability.fast_check import FastCheck, fast_check
from sgdone.diagnose.separability.separation_diagnosis import separation
from sgdone.diagnose.separability.separation_result import Separation, Subspace, Weights
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
