"""Margin pursuit: Holland (2018).

The loss of a margin m = y·h(x) is φ(m) = s²ρ((γ − m)/s), eq. (4) and (5), with the margin level γ and the scale s, and
ψ = ρ′ is Catoni's influence function, eq. (3). γ̂ is Catoni's location of the margins (`sgdone.diagnose`), eq. (2). η is
the probability of the class 1 at some x, and v_X = E‖x‖².
"""

from sgdone.papers.margin_pursuit.theory.calibration import *  # noqa: F403
from sgdone.papers.margin_pursuit.theory.cubics import *  # noqa: F403
from sgdone.papers.margin_pursuit.theory.influence import *  # noqa: F403
from sgdone.papers.margin_pursuit.theory.location import *  # noqa: F403
from sgdone.papers.margin_pursuit.theory.risk import *  # noqa: F403
