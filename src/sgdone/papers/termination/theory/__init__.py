"""The margin test on two Gaussian classes: Baghal, Paquette & Vavasis (2021).

Classes are drawn from N(μ, σ²I) and N(−μ, σ²I) with equal odds: μ is the mean of the class 1 after the midpoint of
both means was taken off. A sample of the class 0 counts with its sign turned, so that all are ξ ~ N(μ, σ²I).
"""

from sgdone.papers.termination.theory.classifier import *  # noqa: F403
from sgdone.papers.termination.theory.minimiser import *  # noqa: F403
from sgdone.papers.termination.theory.stopping_time import *  # noqa: F403
