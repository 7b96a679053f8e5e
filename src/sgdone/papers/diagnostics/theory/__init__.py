"""Pflug's diagnostic and implicit SGD with constant steps: Chee & Toulis (2018).

The model is y = xᵀθ* + ε with E[ε | x] = 0. ``error`` is θ − θ*, ``noise`` the *variance* σ² of ε, ``gamma`` the
constant step size, and S_n Pflug's running sum of inner products of successive gradients.
"""

from sgdone.papers.diagnostics.theory.designs import *  # noqa: F403
from sgdone.papers.diagnostics.theory.implicit import *  # noqa: F403
from sgdone.papers.diagnostics.theory.pflug import *  # noqa: F403
