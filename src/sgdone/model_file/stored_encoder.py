"""The encoder of a model's columns in its file: what it decided as JSON, numbers as tensors, levels as Arrow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.fit.fitted_model import FittedModel
from sgdone.state_file.codec import Decoder, Encoder
from sgdone.state_file.plain_forms import pack_encoder_state, unpack_encoder_state
from sgdone.tables import TableEncoding

#: Buckets of text whose words are kept in a file. Nobody reads more coefficients than that, 40 bytes each are small
#: beside a model, and words of small coefficients are those that few rows have: names of people more often than not.
MOST_WORDS = 10_000

#: Fields of verdicts and stops that may name features.
_SENTENCES = ("reason", "advice")
_PARTS = ("header", "arrays", "levels")


def encode_encoder(model: FittedModel, encoder: Encoder, words: bool) -> dict[str, Any] | None:
    """The encoder of a model without the names of its columns, which the model has; None if there is none."""
    columns = model.columns.encoder
    if columns is None:
        return None
    parts = pack_encoder_state(columns.state(words=_named_features(model, columns) if words else []))
    header = {name: value for name, value in parts["header"].items() if name != "names"}
    return {
        "header": encoder.encode(header, "encoder"),
        "arrays": {name: encoder.encode(array, f"encoder.{name}") for name, array in parts["arrays"].items()},
        "levels": encoder.encode(parts["levels"], "encoder.levels"),
    }


def decode_encoder(names: NDArray[Any], code: dict[str, Any], decoder: Decoder) -> TableEncoding:
    """The encoder that was stored; what none can be is a ValueError or the like."""
    if sorted(code) != sorted(_PARTS):
        raise ValueError(f"an encoder has the parts {', '.join(code)}")
    header = {**decoder.decode(code["header"]), "names": names.tolist()}
    arrays = {name: decoder.decode(array) for name, array in code["arrays"].items()}
    parts = {"header": header, "arrays": arrays, "levels": decoder.decode(code["levels"])}
    return TableEncoding.from_state(unpack_encoder_state(parts))


def without_words(code: Any, columns: TableEncoding) -> Any:
    """The JSON of a verdict or of a run with the numbers of buckets instead of the words that name them."""
    prefixes = tuple(f"{plan.encoder.name}:" for plan in columns.plans_ if plan.encoder.word_numbers().size)
    if not prefixes:
        return code
    names = dict[str, str]()

    def hidden(text: str) -> str:
        if not any(prefix in text for prefix in prefixes):
            return text
        if not names:
            own = columns.word_features()
            bare = TableEncoding.from_state(columns.state(words=[]))
            pairs = zip(*(each.get_feature_names_out()[own].tolist() for each in (columns, bare)), strict=True)
            names.update(sorted(pairs, key=lambda pair: -len(pair[0])))  # a name may be the beginning of another
        for name, number in names.items():
            if name in text:
                text = text.replace(name, number)
        return text

    def walk(value: Any, key: str) -> Any:
        if isinstance(value, str):
            return hidden(value) if key in _SENTENCES else value
        if isinstance(value, list):
            return [walk(item, "") for item in value]
        return {inner: walk(item, inner) for inner, item in value.items()} if isinstance(value, dict) else value

    return walk(code, "")


def _named_features(model: FittedModel, columns: TableEncoding) -> NDArray[np.int64]:
    """The buckets of words with the largest coefficients, in units of standard deviations as far as they are known."""
    own = columns.word_features()
    size = np.abs(np.atleast_2d(model.coef_)[:, own]).max(axis=0)
    effect = size if model.feature_std_ is None else size * model.feature_std_[own]
    order = np.lexsort((-size, -effect))[:MOST_WORDS]
    named: NDArray[np.int64] = own[order]
    return named
