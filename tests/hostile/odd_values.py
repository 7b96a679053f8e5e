"""Values that no parameter is meant to have, and some that are."""

import datetime
import decimal
import fractions
import math
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

_PLAIN = [None, True, False, 0, 1, -1, 2, 7, 2**31, -(2**63), 2**64, 10**400, -0.0, 0.5, 2.5, -1.5, 5e-324, 1e-300]
_PLAIN += [
    1e308, -1e308, math.nan, math.inf, -math.inf, 1j, "", "auto", "nonsense", "nan", "\0", "é", "1", b"x", "x" * 300
]  # fmt: skip
_MAKERS = [
    list,
    lambda: [1.0],
    lambda: ["auto"],
    lambda: (),
    dict,
    lambda: {"a": 1},
    lambda: {0: 1.0, 1: math.nan},
    lambda: set(),
    lambda: range(3),
    object,
    lambda: object,
    lambda: len,
    lambda: NotImplemented,
    lambda: Ellipsis,
    lambda: decimal.Decimal("0.1"),
    lambda: fractions.Fraction(1, 3),
    lambda: datetime.date(2020, 1, 1),
    lambda: np.float32(0.5),
    lambda: np.float16(0.5),
    lambda: np.longdouble(0.5),
    lambda: np.int8(1),
    lambda: np.uint64(2**64 - 1),
    lambda: np.bool_(True),
    lambda: np.str_("auto"),
    lambda: np.datetime64("2020"),
    lambda: np.array(0.5),
    lambda: np.array([0.5]),
    lambda: np.array([0.5, 0.5]),
    lambda: np.array([]),
    lambda: np.array(["auto"], dtype=object),
    lambda: np.ma.masked,
    lambda: sparse.csr_array(np.eye(2)),
    lambda: np.random.default_rng(0),
    lambda: np.random.RandomState(0),
]


def odd_value(random: Random) -> Any:
    """Any of them."""
    return random.choice(_PLAIN) if random.random() < 0.6 else random.choice(_MAKERS)()


def shown(value: Any) -> str:
    """A repr that is never long and never fails."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr raises {error!r}>"
    return text if len(text) < 120 else f"{text[:110]}… ({type(value).__name__})"
