"""Classes that are not dataclasses of their own plain values, and the values that are stored instead."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sgdone.interfaces.progress import Model
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Rows
from sgdone.state_file.matrices import pack_csr, pack_mixed, pack_rows, unpack_csr, unpack_mixed, unpack_rows
from sgdone.state_file.random_states import pack_generator, pack_random_state, unpack_generator, unpack_random_state
from sgdone.state_file.table_encoders import (
    pack_encoder,
    pack_encoder_state,
    unpack_encoder,
    unpack_encoder_state,
)
from sgdone.state_file.traces import from_columns, to_columns, trace_module
from sgdone.tables import EncoderState, TableEncoderCore


class PlainForm(NamedTuple):
    """How the objects of a class are stored: a value that the codec holds, under a name of its own."""

    kind: str
    #: The name of the value in the JSON.
    part: str
    of_class: type
    pack: Callable[[Any], Any]
    #: The object again; values that do not fit together are a ValueError or the like.
    unpack: Callable[[Any], Any]


@lru_cache(maxsize=1)
def plain_forms() -> dict[str, PlainForm]:
    """All of them, by kind."""
    forms = (
        PlainForm("RandomState", "state", np.random.RandomState, pack_random_state, unpack_random_state),
        PlainForm("Generator", "state", np.random.Generator, pack_generator, unpack_generator),
        PlainForm("trace", "table", trace_module().Trace, to_columns, from_columns),
        PlainForm("model", "parts", Model, tuple, _model),
        PlainForm("csr", "parts", sparse.csr_array, pack_csr, unpack_csr),
        PlainForm("mixed matrix", "parts", MixedMatrix, pack_mixed, unpack_mixed),
        PlainForm("matrix rows", "parts", Rows, pack_rows, unpack_rows),
        PlainForm("encoder state", "parts", EncoderState, pack_encoder_state, unpack_encoder_state),
        PlainForm("encoder", "parts", TableEncoderCore, pack_encoder, unpack_encoder),
    )
    return {form.kind: form for form in forms}


def form_of(value: Any) -> PlainForm | None:
    """The form in which a value is stored, if it has one."""
    return next((form for form in plain_forms().values() if isinstance(value, form.of_class)), None)


def _model(parts: Any) -> Model:
    coef, intercept = parts
    fit = all(isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in (coef, intercept))
    if not fit or coef.ndim != 2 or intercept.shape != coef.shape[:1]:
        raise ValueError("a model does not have coefficients, and an intercept for each of its outputs")
    return Model(coef, intercept)
