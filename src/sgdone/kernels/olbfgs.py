"""Online L-BFGS: the two-loop recursion on gradients of minibatches.

θ is vector 0, at scale 1, followed by the intercept. Directions and pairs are plain vectors of float64 of the same
length. An update reads the minibatch's rows twice, and about 4m + 10 vectors of all features.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.minibatch import AMOUNTS, make_minibatch_update
from sgdone.kernels.outcome import moved
from sgdone.kernels.plain_vectors import inner, make_vectors
from sgdone.kernels.row_step import make_predict
from sgdone.kernels.rows import RowAccess

#: Indices into the settings, after those of `sgdone.kernels.loop`: the penalty, ε, and the damping.
ALPHA: Final = 2
EPSILON: Final = 3
DAMPING: Final = 4

#: Indices into ``ring``: where the next pair goes, and the number of pairs.
NEXT: Final = 0
COUNT: Final = 1

#: Indices into a pair's ``curvatures``: sᵀy and sᵀy/yᵀy.
PRODUCT: Final = 0
INVERSE: Final = 1

#: A sᵀy or yᵀy below this has lost its digits to underflow, and counts as 0.
_SMALLEST: Final = 1e-290


@inlined
def turn(
    gradient: Any, epsilon: Any, steps: Any, changes: Any, curvatures: Any, ring: Any, shares: Any, p: Any
) -> None:
    """The direction −B·gradient, into ``p``: Schraudolph et al. (2007), algorithm 3."""
    count = ring[COUNT]
    size = steps.shape[0]
    for j in range(p.size):
        p[j] = -gradient[j]
    mean = 0.0
    for age in range(count):
        k = (ring[NEXT] + size - 1 - age) % size
        s, y = steps[k], changes[k]
        share = inner(s, p) / curvatures[k, PRODUCT]
        shares[k] = share
        mean += curvatures[k, INVERSE] / count
        for j in range(p.size):
            p[j] -= share * y[j]
    first = mean if count > 0 else epsilon
    for j in range(p.size):
        p[j] *= first
    for youth in range(count):
        k = (ring[NEXT] + size - count + youth) % size
        s, y = steps[k], changes[k]
        share = shares[k] - inner(y, p) / curvatures[k, PRODUCT]
        for j in range(p.size):
            p[j] += share * s[j]


@inlined
def keep(s: Any, y: Any, curvature: Any, steps: Any, changes: Any, curvatures: Any, ring: Any) -> None:
    """Store a pair of positive curvature, in place of the oldest one if the ring is full."""
    square = inner(y, y)
    if curvature < _SMALLEST or square < _SMALLEST:
        return
    k = ring[NEXT]
    for j in range(s.size):
        steps[k, j] = s[j]
        changes[k, j] = y[j]
    curvatures[k, PRODUCT] = curvature
    curvatures[k, INVERSE] = curvature / square
    ring[NEXT] = (k + 1) % steps.shape[0]
    ring[COUNT] = min(ring[COUNT] + 1, steps.shape[0])


def make_olbfgs(access: RowAccess, value: Callable[..., float], slope: Callable[..., float]) -> RowMethod:
    """Steps θ ← θ − γB∇ over k rows each, and pairs from both gradients of the same rows.

    ``own`` is that of `sgdone.kernels.minibatch` with the step sizes, the labels, the weights of the rows and their
    stride, ``pairs`` (the steps, the changes of the gradient, their curvatures and the ring), and vectors to work in.
    """
    dot, add = access.dot, access.add
    take, move, read = make_vectors(access)

    @inlined
    def gather(rows: Any, i: Any, share: Any, first: Any, reading: Any, used: Any, settings: Any, method: Any) -> Any:
        sums, sum_offsets = method[5][0], method[5][1]
        _wx, row_norm = reading
        finite = abs(share) <= settings[LARGEST] and row_norm < np.inf
        if finite:
            add(rows, i, sums, sum_offsets, share)
        return share, finite

    @inlined
    def complete(used: Any, arrays: Any, model: Any, batch: Any, method: Any) -> Any:
        rows, settings, parameters, weights, offsets = arrays
        members, amounts, totals = batch
        steps, labels, sample_weight, weight_stride, pairs, room = method
        past_steps, past_changes, curvatures, ring = pairs
        sums, sum_offsets, gradient, p, old, change, shares = room
        size = members.size
        last_entry = p.size - 1
        read(weights, old)
        old[last_entry] = model.intercept
        take(rows, sums, sum_offsets, old, settings[ALPHA], gradient)
        gradient[last_entry] = totals[AMOUNTS] * settings[UNIT]
        turn(gradient, settings[EPSILON], past_steps, past_changes, curvatures, ring, shares, p)
        for j in range(p.size):
            p[j] *= steps[used]
        intercept = model.intercept + p[last_entry]
        finite = inner(p, p) <= settings[LARGEST] * settings[LARGEST]
        if finite:
            move(rows, weights, offsets, old, p)
            # Differences of slopes, not of gradients: a first step of 1e-10 would be lost in the latter.
            total_change = 0.0
            for k in range(size):
                member = members[k]
                product, _row_norm = dot(rows, member, weights, offsets)
                z = product + intercept
                amount = sample_weight[member * weight_stride] * slope(z, labels[member], parameters) / size
                if not (abs(z) <= settings[LARGEST] and abs(amount) <= settings[LARGEST]):
                    finite = False
                    break
                add(rows, member, sums, sum_offsets, amount - amounts[k])
                total_change += amount - amounts[k]
            take(rows, sums, sum_offsets, p, settings[ALPHA] + settings[DAMPING], change)
            change[last_entry] = total_change * settings[UNIT] + settings[DAMPING] * p[last_entry]
            curvature = inner(p, change)
            finite = finite and abs(curvature) < np.inf and inner(change, change) < np.inf
            if finite:
                keep(p, change, curvature, past_steps, past_changes, curvatures, ring)
        if not finite:
            for j in range(p.size):
                p[j] = 0.0
            move(rows, weights, offsets, old, p)
        return finite, moved(model, model.scale, model.share, intercept)

    return RowMethod(make_predict(access), make_minibatch_update(value, slope, gather, complete))
