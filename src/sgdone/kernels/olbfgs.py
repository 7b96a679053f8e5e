"""The loop of online L-BFGS: the two-loop recursion on gradients of minibatches.

θ is vector 0, at scale 1, with the intercept behind it. Directions and pairs are plain vectors of float64, as long as
θ: an update costs as much as the minibatch's rows, read twice, and some 4m + 10 vectors of all features.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sgdone.kernels.bookkeeping import after_update
from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled, inlined
from sgdone.kernels.loop import LARGEST, UNIT
from sgdone.kernels.model import load, store
from sgdone.kernels.outcome import CONTINUE, FIRED_AFTER, FIRED_AT_LEFT_OUT, FIRED_BEFORE, NOT_FINITE, NOT_SOUND
from sgdone.kernels.plain_vectors import inner, make_vectors
from sgdone.kernels.probes import FIRE, GO, LEAVE_OUT, ProbeMaker, make_probes
from sgdone.kernels.rows import RowAccess

#: Places in the loop's settings, behind those of `sgdone.kernels.loop`: the penalty, ε, and the damping.
ALPHA: Final = 3
EPSILON: Final = 4
DAMPING: Final = 5

#: Places in ``ring``: where the next pair goes, and how many there are.
NEXT: Final = 0
COUNT: Final = 1

#: Places in a pair's ``curvatures``: sᵀy and sᵀy/yᵀy.
PRODUCT: Final = 0
INVERSE: Final = 1

#: A sᵀy or yᵀy below this has lost its digits to underflow, and is as good as 0.
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
    """Put a pair of positive curvature in the place of the oldest one, once all places are taken."""
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


@lru_cache(maxsize=64)
def make_quasi_newton_loop(
    access: RowAccess,
    value: Callable[..., float],
    slope: Callable[..., float],
    types: str,
    probes: tuple[ProbeMaker, ...] = (),
) -> Callable[..., tuple[int, int, int, int]]:
    """A loop of steps θ ← θ − γB∇ over k rows each, and of pairs from both gradients of the same rows.

    See `sgdone.kernels.loop` for what it shares with that one, and `sgdone.kernels.pegasos` for what it returns.
    ``pairs`` holds the steps, the changes of the gradient, their curvatures and the ring; ``room`` is for vectors.
    """
    dot, add, sound = access.dot, access.add, access.sound
    take, move, look = make_vectors(access)
    before, after = make_probes(probes, access)
    mark = fingerprint(access.dot, value, slope, types, *probes)

    @compiled(mark)
    def quasi_newton_loop(
        rows: Any,
        labels: Any,
        sample_weight: Any,
        weight_stride: Any,
        order: Any,
        first: Any,
        last: Any,
        steps: Any,
        settings: Any,
        parameters: Any,
        weights: Any,
        offsets: Any,
        numbers: Any,
        pairs: Any,
        room: Any,
        members: Any,
        amounts: Any,
        predictions: Any,
        slopes: Any,
        held: Any,
    ) -> Any:
        _ = mark
        model = load(numbers)
        past_steps, past_changes, curvatures, ring = pairs
        sums, sum_offsets, gradient, p, old, change, shares = room
        size = members.size
        last_entry = p.size - 1
        outcome = CONTINUE
        position = first
        used = 0
        filled = 0
        total_z = total_s = total_loss = total_v = total_wrong = total_squares = total_amount = 0.0
        while position < last and used < steps.size:
            i = order[position]
            v = sample_weight[i * weight_stride]
            if v == 0.0:
                position += 1
                continue
            if not sound(rows, i, weights):
                outcome = NOT_SOUND
                break
            y = labels[i]
            product, row_norm = dot(rows, i, weights, offsets)
            z = product + model.intercept
            if not abs(z) <= settings[LARGEST]:
                outcome = NOT_FINITE
                break
            wish = before(y, z, held)
            if wish == FIRE:
                outcome = FIRED_BEFORE
                break
            if wish != GO:
                position += 1
                if wish != LEAVE_OUT:
                    outcome = FIRED_AT_LEFT_OUT
                    break
                continue
            s = slope(z, y, parameters)
            amount = v * s / size
            if not (abs(amount) <= settings[LARGEST] and row_norm < np.inf):
                outcome = NOT_FINITE
                break
            if filled == 0:
                total_z = total_s = total_loss = total_v = total_wrong = total_squares = total_amount = 0.0
            members[filled] = i
            amounts[filled] = amount
            add(rows, i, sums, sum_offsets, amount)
            loss = value(z, y, parameters)
            total_z += z
            total_s += s
            total_loss += v * loss
            total_v += v
            total_wrong += 1.0 if y * z <= 0.0 else 0.0
            total_squares += (y - z) * (y - z)
            total_amount += amount
            filled += 1
            position += 1
            if filled < size:
                continue
            filled = 0
            look(weights, old)
            old[last_entry] = model.intercept
            take(rows, sums, sum_offsets, old, settings[ALPHA], gradient)
            gradient[last_entry] = total_amount * settings[UNIT]
            turn(gradient, settings[EPSILON], past_steps, past_changes, curvatures, ring, shares, p)
            for j in range(p.size):
                p[j] *= steps[used]
            finite = inner(p, p) <= settings[LARGEST] * settings[LARGEST]
            if finite:
                move(rows, weights, offsets, old, p)
                intercept = model.intercept + p[last_entry]
                # Differences of slopes, not of gradients: a first step of 1e-10 would be lost in the latter.
                total_amount = 0.0
                for k in range(size):
                    member = members[k]
                    product, row_norm = dot(rows, member, weights, offsets)
                    z = product + intercept
                    amount = sample_weight[member * weight_stride] * slope(z, labels[member], parameters) / size
                    if not (abs(z) <= settings[LARGEST] and abs(amount) <= settings[LARGEST]):
                        finite = False
                        break
                    add(rows, member, sums, sum_offsets, amount - amounts[k])
                    total_amount += amount - amounts[k]
                take(rows, sums, sum_offsets, p, settings[ALPHA] + settings[DAMPING], change)
                change[last_entry] = total_amount * settings[UNIT] + settings[DAMPING] * p[last_entry]
                curvature = inner(p, change)
                finite = finite and abs(curvature) < np.inf and inner(change, change) < np.inf
                if finite:
                    keep(p, change, curvature, past_steps, past_changes, curvatures, ring)
            if not finite:
                for j in range(p.size):
                    p[j] = 0.0
                move(rows, weights, offsets, old, p)
                outcome = NOT_FINITE
                position -= 1
                break
            model = after_update(
                model,
                model.scale,
                model.share,
                intercept,
                total_loss,
                total_v,
                total_wrong / size,
                total_squares / size,
            )
            predictions[used] = total_z / size
            slopes[used] = total_s / size
            used += 1
            if after(rows, i, v, s, settings[UNIT], weights, offsets, model, held):
                outcome = FIRED_AFTER
                break
        store(model, numbers)
        return position, used, outcome, filled

    return quasi_newton_loop
