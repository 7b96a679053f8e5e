"""A fitted model to a file, and back."""

import datetime
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone import estimators
from sgdone._version import __version__
from sgdone.estimators.estimator_cores import CORES
from sgdone.fit.options import as_bool, parameter_names, parameters_of
from sgdone.losses.loss import Loss
from sgdone.model_file.attribute_checks import (
    ATTRIBUTES,
    Model,
    attributes_of,
    check_attributes,
    check_notes,
)
from sgdone.model_file.container import MODEL_FILE, read, write
from sgdone.model_file.errors import ModelFileError
from sgdone.model_file.parameter_checks import check_parameters
from sgdone.model_file.stored_encoder import decode_encoder, encode_encoder, without_words
from sgdone.model_file.stored_runs import decode_results, encode_results
from sgdone.readers.table import shortened
from sgdone.state_file.codec import Decoder, Encoder, NotStorable
from sgdone.state_file.file_format import UNUSABLE, check_loss, name_and_task
from sgdone.tables.not_fitted import not_fitted

if TYPE_CHECKING:
    from sgdone.estimators import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor

_PARTS = ("estimator", "sgdone", "created", "extra", "params", "attributes", "encoder", "results", "custom_loss")


def save(
    model: Model, path: str | os.PathLike[str], *, words: bool = True, extra: dict[str, str] | None = None
) -> None:
    """Write a fitted model to a file, whole or not at all, without pickle.

    The file is safetensors with a JSON header. It holds the parameters, all fitted attributes and what
    ``partial_fit`` needs to continue bit for bit as if the model had never been stored; callbacks are left out.

    A model of a data frame with categories or text can hold personal data, and so can its file: every level of its
    categories, which predictions need, and words of its texts, which only name coefficients. Of the words, those of the
    10,000 buckets with the largest coefficients are stored, each times the standard deviation of its feature; other
    buckets are named by their number, as ``text:(bucket 123)``. Predictions never depend on words.

    Parameters
    ----------
    model : LinearClassifier, LinearRegressor, SGDClassifier or SGDRegressor
        Fitted, also by `sgdone.dask` or `sgdone.spark`. A `CustomLoss` is stored by name only: bring it along to
        `load`. A ``RandomState`` given as ``random_state`` is stored with its state, so that it continues to draw the
        same numbers.
    path : path
        The name of the file, ``model.safetensors`` say.
    words : bool, default=True
        Whether to store words of text columns. False removes them from the names of features and from the verdict. It
        removes neither levels of categories, nor names and classes, nor which buckets occur: whoever has the file can
        test whether a word is likely to have been in the texts.
    extra : dict of str to str, optional
        Notes to keep with the model; `read_header` gives them back.

    Raises
    ------
    NotFittedError
        If there is nothing to store yet.

    Examples
    --------
    >>> import tempfile
    >>> import sgdone
    >>> model = sgdone.LinearClassifier(random_state=0).fit([[-1.0], [1.0]], ["no", "yes"])
    >>> file = tempfile.mkdtemp() + "/model.safetensors"
    >>> sgdone.save(model, file)
    >>> sgdone.load(file).predict([[3.0]])
    array(['yes'], dtype='<U3')
    """
    if hasattr(model, "to_sklearn"):  # fitted on a cluster
        model = model.to_sklearn()
    name = _name_of(model)
    if not hasattr(model, "coef_"):
        raise not_fitted(f"this {name} is not fitted: call fit before saving it")
    check_notes({} if extra is None else extra)
    words = as_bool("words", words)
    check_attributes(model)
    encoder = Encoder()
    content: dict[str, Any] = {
        "estimator": name,
        "sgdone": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "extra": dict(extra or {}),
        "params": _encode_params(model, encoder),
        "attributes": {name: encoder.encode(getattr(model, name), name) for name in ATTRIBUTES if hasattr(model, name)},
        "encoder": encode_encoder(model, encoder, words),
        "results": encode_results(model, encoder),
    }
    if content["encoder"] is not None and not words:
        for part in ("attributes", "results"):
            content[part] = without_words(content[part], model.encoder_)
    check_parameters(model)
    content["custom_loss"] = name_and_task(encoder.custom_loss)
    write(path, content, encoder.tensors)


def load(
    path: str | os.PathLike[str], *, loss: Loss | None = None
) -> "LinearClassifier | LinearRegressor | SGDClassifier | SGDRegressor":
    """Read a model that `save` wrote: it predicts, and continues training, bit for bit like the original.

    Parameters
    ----------
    path : path
        The file. It is only ever read as numbers and names; no code in it is run.
    loss : Loss, optional
        The `CustomLoss` the model was trained with, which a file cannot hold.

    Returns
    -------
    LinearClassifier, LinearRegressor, SGDClassifier or SGDRegressor
        Fitted.

    Raises
    ------
    ModelFileError
        If the file is cut short, altered, of a newer version or no model at all.
    """
    return _loaded(path, {name: getattr(estimators, name) for name in CORES}, loss)  # type: ignore[return-value]


def load_core(path: str | os.PathLike[str]) -> Model:
    """Read a model as `load` does, but without the base classes of scikit-learn: the command starts sooner."""
    return _loaded(path, CORES, None)


def _loaded(path: str | os.PathLike[str], kinds: Mapping[str, type[Model]], loss: Loss | None) -> Model:
    """Read a model as one of ``kinds``."""
    content, tensors = read(path)
    try:
        if sorted(content) != sorted(_PARTS):
            raise ValueError(f"its parts are {', '.join(content)}")
        check_notes(content["extra"])
        check_loss(path, content["custom_loss"], loss, MODEL_FILE, "load(path, loss=...)")
        decoder = Decoder(tensors, loss)
        model = _decode_model(content, kinds, decoder)
        if content["encoder"] is not None:
            model.encoder_ = decode_encoder(model, content["encoder"], decoder)
        check_attributes(model)
        check_parameters(model)
        model.trace_.verdict = model.verdict_
        if content["results"] is not None:
            model._results = decode_results(model, content["results"], decoder)
        decoder.check_all_used()
    except ModelFileError:
        raise
    except UNUSABLE as error:
        raise ModelFileError(
            f"{path}: holds no model that sgdone {__version__} can use "
            f"({type(error).__name__}: {shortened(str(error), 300)}); it was written by sgdone "
            f"{shortened(str(content.get('sgdone', '?')), 30)}: use that version, or save the model again"
        ) from error
    return model


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself: "estimator", "sgdone" (the version), "created", "extra" and more."""
    content, _ = read(path)
    return content


def _name_of(model: Any) -> str:
    """The name of the estimator in the file."""
    kind = type(model)
    for name, core in CORES.items():
        if kind is core or (issubclass(kind, core) and kind is getattr(estimators, name)):
            return name
    raise TypeError(
        f"a model file holds one of {', '.join(CORES)}, not a {kind.__name__.removesuffix('Core')}: "
        "of a pipeline, save the last step (pipeline[-1])"
    )


def _decode_model(content: dict[str, Any], kinds: Mapping[str, type[Model]], decoder: Decoder) -> Model:
    """The estimator with its parameters and attributes, not checked yet."""
    kind = kinds[content["estimator"]]
    codes = content["params"]
    if sorted(codes) != parameter_names(kind):
        raise ValueError(f"a {kind.public_name} has the parameters {', '.join(codes)}")
    model = kind(**{name: decoder.decode(code) for name, code in codes.items()})
    required, possible = attributes_of(kind)
    given = content["attributes"]
    for name in (*required, *given):
        if name not in given:
            raise ValueError(f"it has no {name}")
        if name not in (*required, *possible):
            raise ValueError(f"no attribute of a {kind.public_name} is called {name!r}")
    for name, code in given.items():
        setattr(model, name, decoder.decode(code))
    return model


def _encode_params(model: Model, encoder: Encoder) -> dict[str, Any]:
    codes = {}
    for name, value in parameters_of(model).items():
        try:
            plain = None if value is np.random else dict(value) if isinstance(value, Mapping) else value
            codes[name] = encoder.encode(plain, name)
        except NotStorable as error:
            raise NotStorable(
                f"{name}={value!r} is not of sgdone, and a model file holds no code: give another with "
                f"model.set_params({name}=...), a short name say, before saving"
            ) from error
    return codes
