"""Any parameter comes back as it was, in type and to the last bit."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sgdone import losses, solvers, steps, stopping
from sgdone.interfaces.stop_rule import Status
from sgdone.run.result import Verdict
from sgdone.state_file.codec import Decoder, Encoder
from tiers import examples

positive = st.floats(min_value=1e-300, max_value=1e300)
auto = st.just("auto") | positive
scalars = arrays.from_dtype(np.dtype("f4")) | arrays.from_dtype(np.dtype("i2")) | arrays.from_dtype(np.dtype("?"))
labels = st.text(st.characters()) | st.integers() | st.booleans() | st.floats() | scalars | st.text().map(np.str_)
loss = st.builds(losses.Huber, positive) | st.builds(losses.Quantile, st.floats(0.01, 0.99)) | st.just(losses.Hinge())
step = (
    st.builds(steps.Constant, auto)
    | st.builds(steps.Xu, auto, auto | st.just(0.0), auto)
    | st.just(steps.InverseSqrt())
)
solver = st.sampled_from([solvers.SGD(), solvers.ISGD()])
averaged = st.builds(solvers.Averaged, solver, st.integers(min_value=0) | st.just("auto"))
budget = (
    st.builds(stopping.MaxPasses, positive | st.just(float("inf")))
    | st.builds(stopping.MaxSamples, st.integers(min_value=1))
    | st.builds(stopping.ProgressiveLoss, st.floats(0.0, 0.9))
)
rule = st.recursive(
    budget, lambda inner: st.builds(lambda a, b, both: a & b if both else a | b, inner, inner, st.booleans())
)
verdict = st.builds(
    Verdict,
    st.sampled_from(Status),
    st.text(),
    st.integers(),
    st.floats(),
    st.text(),
    st.dictionaries(st.text(), st.floats() | scalars),
)
array = arrays.arrays(
    st.sampled_from(["<f4", "<f8", ">f8", "<i8", "|u1", "|b1", "<f2", "<U3", ">U2"]), arrays.array_shapes(min_side=0)
)
value = st.one_of(
    st.none(), labels, loss, step, solver, averaged, rule, verdict, array, st.dictionaries(labels, labels),
    st.lists(labels), st.lists(labels).map(tuple), st.lists(labels).map(lambda items: _objects(items)),
)  # fmt: skip


def _objects(items):
    made = np.empty(len(items), dtype=object)
    made[:] = items
    return made


@examples(40)
@given(value)
def test_there_and_back(value):
    encoder = Encoder()
    code = json.loads(json.dumps(encoder.encode(value, "value"), allow_nan=False))
    back = Decoder(encoder.tensors, None).decode(code)
    assert type(back) is type(value)
    assert repr(back) == repr(value)
    if isinstance(value, np.ndarray):
        assert back.dtype == value.dtype
        assert back.shape == value.shape
        assert back.flags.writeable
        if not value.dtype.hasobject:
            assert back.tobytes() == value.tobytes()
