"""A fitted model to a file, and back."""

import datetime
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone import estimators
from sgdone._version import __version__
from sgdone.fit.columns import InputColumns
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.options import PARAMETERS, FitOptions, as_bool
from sgdone.losses.loss import Loss
from sgdone.model_file.model_checks import ATTRIBUTES, attributes_of, check_attributes, check_notes, check_parameters
from sgdone.model_file.stored_encoder import decode_encoder, encode_encoder, without_words
from sgdone.model_file.stored_runs import decode_results, encode_results
from sgdone.state_file import container
from sgdone.state_file.codec import Decoder, Encoder, NotStorable
from sgdone.state_file.file_format import FileFormat, StateFileError, check_loss, name_and_task
from sgdone.tables.not_fitted import not_fitted

if TYPE_CHECKING:
    from sgdone.estimators import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor


class ModelFileError(StateFileError):
    """A file that holds no model that can be used: the message says what was found and what to do."""


MODEL_FILE = FileFormat(
    name="sgdone-model",
    version=5,
    what="model file",
    holds="model",
    made_by="that sgdone.save wrote",
    again="copy it again, or save the model again",
    start_again="fit the model again",
    error=ModelFileError,
)
_PARTS = ("estimator", "sgdone", "created", "extra", "params", "attributes", "encoder", "results", "custom_loss")


def save(model: Any, path: str | os.PathLike[str], *, words: bool = True, extra: dict[str, str] | None = None) -> None:
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
    found = _fitted_model_of(model)
    check_notes({} if extra is None else extra)
    words = as_bool("words", words)
    check_attributes(found)
    encoder = Encoder()
    known = {name: getattr(found, name) for name in ATTRIBUTES}
    content: dict[str, Any] = {
        "estimator": found.options.estimator,
        "sgdone": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "extra": dict(extra or {}),
        "params": _encode_params(found.options.parameters, encoder),
        "attributes": {name: encoder.encode(value, name) for name, value in known.items() if value is not None},
        "encoder": encode_encoder(found, encoder, words),
        "results": encode_results(found, encoder),
    }
    if content["encoder"] is not None and not words:
        for part in ("attributes", "results"):
            content[part] = without_words(content[part], found.encoder_)
    check_parameters(found)
    content["custom_loss"] = name_and_task(encoder.custom_loss)
    container.write(path, MODEL_FILE, content, encoder.tensors)


def _fitted_model_of(model: Any) -> FittedModel:
    """The fitted model of an estimator, also of one that was fitted on a cluster."""
    if isinstance(model, FittedModel):
        return model
    if hasattr(model, "to_sklearn"):
        model = model.to_sklearn()
    name = type(model).__name__
    if name not in PARAMETERS or type(model) is not getattr(estimators, name):
        raise TypeError(
            f"a model file holds one of {', '.join(PARAMETERS)}, not a {name}: of a pipeline, save the last step "
            "(pipeline[-1])"
        )
    if not hasattr(model, "coef_"):
        raise not_fitted(f"this {name} is not fitted: call fit before saving it")
    return estimators.fitted_model(model)


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
    return estimators.estimator_of(load_fitted(path, loss=loss))


def load_fitted(path: str | os.PathLike[str], *, loss: Loss | None = None) -> FittedModel:
    """Read a model as `load` does, without its scikit-learn interface: the command starts sooner."""
    content, tensors = container.read(path, MODEL_FILE)
    with MODEL_FILE.usable(path, content):
        if sorted(content) != sorted(_PARTS):
            raise ValueError(f"its parts are {', '.join(content)}")
        check_notes(content["extra"])
        check_loss(path, content["custom_loss"], loss, MODEL_FILE, "load(path, loss=...)")
        decoder = Decoder(tensors, loss)
        model = _decode_model(content, decoder)
        check_attributes(model)
        check_parameters(model)
        model.trace_.verdict = model.verdict_
        if content["results"] is not None:
            model.results = decode_results(model, content["results"], decoder)
        decoder.check_all_used()
    return model


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Header of a model file: "estimator", "sgdone" (the version), "created", "extra" and more."""
    content, _ = container.read(path, MODEL_FILE)
    return content


def _decode_model(content: dict[str, Any], decoder: Decoder) -> FittedModel:
    """The model with its parameters and attributes, not checked yet."""
    name, codes = content["estimator"], content["params"]
    if sorted(codes) != sorted(PARAMETERS[name]):
        raise ValueError(f"a {name} has the parameters {', '.join(codes)}")
    options = FitOptions.of(name, **{key: decoder.decode(code) for key, code in codes.items()})
    required, possible = attributes_of(options)
    given = content["attributes"]
    for key in (*required, *given):
        if key not in given:
            raise ValueError(f"it has no {key}")
        if key not in (*required, *possible):
            raise ValueError(f"no attribute of a {name} is called {key!r}")
    found = {key: decoder.decode(code) for key, code in given.items()}
    columns = InputColumns.of(options)
    columns.count, columns.names = found.pop("n_features_in_"), found.pop("feature_names_in_", None)
    if content["encoder"] is not None:
        if columns.names is None:
            raise ValueError("it has an encoder, and no feature_names_in_")
        columns.encoder = decode_encoder(columns.names, content["encoder"], decoder)
    return FittedModel(options, columns, **found, last_stop=options.parameters["stop"])


def _encode_params(parameters: Mapping[str, Any], encoder: Encoder) -> dict[str, Any]:
    codes = {}
    for name, value in sorted(parameters.items()):
        try:
            plain = None if value is np.random else dict(value) if isinstance(value, Mapping) else value
            codes[name] = encoder.encode(plain, name)
        except NotStorable as error:
            raise NotStorable(
                f"{name}={value!r} is not of sgdone, and a model file holds no code: give another with "
                f"model.set_params({name}=...), a short name say, before saving"
            ) from error
    return codes
