"""Diagnostics of data and fitted models."""

from sgdone.diagnose.catoni import catoni_location
from sgdone.diagnose.constrained import constrained_optimum
from sgdone.diagnose.margins import Margins, margins
from sgdone.diagnose.separability import (
    Certificate,
    Check,
    FastCheck,
    Separation,
    SeparationByClass,
    fast_check,
    separation,
)
from sgdone.diagnose.shape import Shape, shape

__all__ = [
    "Certificate",
    "Check",
    "FastCheck",
    "Margins",
    "Separation",
    "SeparationByClass",
    "Shape",
    "catoni_location",
    "constrained_optimum",
    "fast_check",
    "margins",
    "separation",
    "shape",
]
