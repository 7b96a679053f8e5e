"""Separation: whether a linear classifier has a finite optimum, with a certificate."""

from sgdone.diagnose.separability.certificate import Certificate, Check
from sgdone.diagnose.separability.separation_diagnosis import FastCheck, fast_check, separation
from sgdone.diagnose.separability.separation_result import Separation, SeparationByClass

__all__ = [
    "Certificate",
    "Check",
    "FastCheck",
    "Separation",
    "SeparationByClass",
    "fast_check",
    "separation",
]
