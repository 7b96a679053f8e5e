"""Logistic regression with or without an optimum: Ji, Telgarsky (2018).

Rows are A_i = −y_i·x_i with ‖A_i‖ ≤ 1, R(w) is the mean of ℓ(A_i w), and every run starts at w_0 = 0. S is the span of
the rows that no direction separates, and the other rows, A_c, are separated by the unit vector ū in S^⊥ with the margin
γ: A_c·ū ≤ −γ (Theorem 3.1). v̄ in S is the minimiser over S, the finite part. Sums of step sizes are over j < t.
"""

from sgdone.papers.logistic.theory.descent import *  # noqa: F403
from sgdone.papers.logistic.theory.rates import *  # noqa: F403
from sgdone.papers.logistic.theory.stochastic import *  # noqa: F403
