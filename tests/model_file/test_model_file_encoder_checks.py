"""Encoders in files whose SHA-256 is right: what no encoder leaves is refused."""

import copy

import numpy as np
import pyarrow as pa
import pytest

import hostile_files
import model_container as container
import sgdone
from hostile_files import changed, refused
from model_file.table_rows import FIRST, labels
from sgdone import LinearClassifier, SGDClassifier
from sgdone.state_file.plain_forms import from_stream, to_stream


@pytest.fixture(scope="module")
def stored_parts(tmp_path_factory):
    path = tmp_path_factory.mktemp("encoders") / "m"
    parts = {}
    frame, y = FIRST, labels(FIRST, 2)
    for name, model in {
        "table": LinearClassifier(random_state=0).fit(frame, y),
        "plain": LinearClassifier(random_state=0).fit(frame[["x", "flag"]], y),
    }.items():
        sgdone.save(model, path)
        parts[name] = container.read(path)
    return parts


def header(content):
    """The header of the encoder, which is stored as a dict."""
    return content["encoder"]["header"]["items"]


def put(name, value):
    def change(content, tensors):
        next(pair for pair in header(content) if pair[0] == name)[1] = value

    return change


def entry(name, value, place=0):
    return hostile_files.entry(f"encoder.{name}", value, place)


def array(name, of):
    return hostile_files.array(f"encoder.{name}", of)


def levels(of):
    return array("levels", lambda stream: to_stream(of(from_stream(stream))))


def strings(values):
    return pa.array(values, pa.large_string())


def exchange(first, second):
    def change(content, tensors):
        names = f"encoder.{first}", f"encoder.{second}"
        tensors |= dict(zip(names, [tensors[name] for name in names[::-1]], strict=True))

    return change


CHANGES = {
    "no sparse features": (put("n_sparse", 0), "do not number their sparse features"),
    "too many sparse features": (put("n_sparse", 2**60), "do not number their sparse features"),
    "sparse features as text": (put("n_sparse", "9"), "must be a boolean"),
    "plain": (put("is_plain", True), "of other kinds"),
    "a column left out that there is not": (put("left_out", {"kind": "dict", "items": [["q", "x"]]}), "left out"),
    "no column left out": (put("left_out", {"kind": "dict", "items": []}), "ValueError"),
    "left out is a list": (put("left_out", []), "damaged"),
    "kinds that there are not": (put("plans", [["book", "string", ""]]), "book"),
    "too few kinds": (put("plans", [["number", "number", ""]]), "not among the 1 there are"),
    "kinds as numbers": (put("plans", [1, 2]), "damaged"),
    "an odd header": (lambda content, _: content["encoder"].update(header=3), "holds no model"),
    "a part too many": (lambda content, _: content["encoder"].update(more=3), "an encoder has the parts"),
    "no levels": (lambda content, _: content["encoder"].update(levels=None), "holds no model"),
    "no array": (lambda content, _: content["encoder"]["arrays"].pop("votes"), "votes"),
    "no encoder": (lambda content, _: content.update(encoder=None), "coef_ is no array of floats of shape"),
    "kinds of columns": (entry("plans", -1), "columns have kinds"),
    "a mean that is NaN": (entry("mean", np.nan), "'mean' must be finite; got nan"),
    "a negative number of rows": (entry("count", -1.0), "'count' must not be negative"),
    "an indicator twice": (entry("indicator", 1), "do not number"),
    "an indicator out of range": (entry("indicator", 10**6), "do not number"),
    "a boolean that is a number": (entry("boolean", True), "its encoder is not"),
    "buckets beyond memory": (entry("n_buckets", 2**40), "'n_buckets' must be an integer from 1 to 16777216"),
    "buckets that are no power of two": (entry("n_buckets", 1000), "must be a power of two"),
    "levels beyond the limit": (entry("max_levels", 1), "has more levels than it may keep"),
    "bytes beyond the limit": (entry("max_bytes", 1), "has more levels than it may keep"),
    "a feature twice": (entry("level_features", 0), "repeated|do not number"),
    "a negative feature": (entry("level_features", -1), "negative or repeated"),
    "a negative count of a level": (entry("level_counts", -5), "numbers of rows that are negative"),
    "a huge count of a level": (entry("level_counts", 2**62), "numbers of rows that are negative or too large"),
    "a feature of a date": (entry("part_features", -7), "months, weekdays and hours"),
    "a bucket beyond the last": (entry("word_buckets", 2**18), "has buckets out of range"),
    "a negative bucket": (entry("word_buckets", -1), "negative or repeated"),
    "a bucket twice": (lambda _, tensors: entry("word_buckets", tensors["encoder.word_buckets"][1])(_, tensors),
                       "repeated"),
    "words of no bucket": (entry("named", 10**6, -1), "are not in order"),
    "words out of order": (array("named", lambda a: a[::-1].copy()), "are not in order"),
    "negative votes": (entry("votes", -1), "negative or too large"),
    "words cut short": (array("words", lambda a: a[:-1].copy()), "are not divided among"),
    "another type": (array("level_counts", lambda a: a.astype(np.int32)), "said to be int64 is stored as int32"),
    "another shape": (array("mean", lambda a: a[None].copy()), "with one dimension"),
    "means of fewer columns": (array("mean", lambda a: a[:-1].copy()), r"'mean' has \d values for \d columns"),
    "negative sizes": (array("level_counts.sizes", lambda a: -a), "are not divided among"),
    "arrays exchanged": (exchange("level_counts", "bucket_counts"), "are not divided among"),
    "features exchanged": (exchange("level_features", "word_features"), "are not divided among"),
    "levels removed": (levels(lambda found: found[:-1]), "entries of 'levels' are not divided"),
    "a level twice": (levels(lambda found: strings(["a", *found.to_pylist()[:1], *found.to_pylist()[2:]])), "twice"),
    "levels of another type": (array("levels", lambda a: a.view(np.int8)), "holds no model"),
    "no stream": (array("levels", lambda a: a[:0].copy()), "levels are no stream of one record batch"),
    "levels cut short": (array("levels", lambda a: a[: a.size // 2].copy()), "levels cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_what_no_encoder_leaves(what, stored_parts, tmp_path):
    changed(tmp_path / "m", stored_parts["table"], *CHANGES[what])


def test_an_encoder_that_does_not_fit_its_coefficients(stored_parts, tmp_path):
    content, tensors = copy.deepcopy(stored_parts["table"])
    n_features = tensors["coef_"].shape[1]
    tensors["coef_"] = tensors["coef_"][:, :-1].copy()
    match = f"the encoder makes {n_features} features of the columns, and coef_ has {n_features - 1}"
    refused(tmp_path / "m", content, tensors, match)


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_shares_of_rows(share, stored_parts, tmp_path):
    content, tensors = copy.deepcopy(stored_parts["table"])
    tensors["feature_share_"] = np.full(tensors["coef_"].shape[1], 0.5)
    content["attributes"]["feature_share_"] = {"kind": "array", "dtype": "<f8", "tensor": "feature_share_"}
    container.write(tmp_path / "m", content, tensors)
    assert sgdone.load(tmp_path / "m").feature_share_[0] == 0.5
    tensors["feature_share_"][3] = share
    refused(tmp_path / "m", content, tensors, "feature_share_ holds")


def test_a_named_method_takes_numbers_only(stored_parts, tmp_path):
    """A file of such a model with the encoder of another one."""
    path = tmp_path / "m"
    sgdone.save(SGDClassifier(random_state=0).fit(FIRST[["x", "flag"]], labels(FIRST, 2)), path)
    content, tensors = container.read(path)
    other, of_other = copy.deepcopy(stored_parts["plain"])
    content["encoder"] = other["encoder"]
    tensors |= {name: tensor for name, tensor in of_other.items() if name.startswith("encoder.")}
    refused(path, content, tensors, "a SGDClassifier has no encoder")


def test_names_of_other_columns(stored_parts, tmp_path):
    content, tensors = copy.deepcopy(stored_parts["plain"])
    del content["attributes"]["feature_names_in_"], tensors["feature_names_in_"]
    refused(tmp_path / "m", content, tensors, "feature_names_in_")


def test_kinds_that_are_none(stored_parts, tmp_path):
    for value in ({"kind": "dict", "items": [["x", "book"]]}, [1], "text"):
        changed(tmp_path / "m", stored_parts["table"], hostile_files.put(value, "params", "columns"))
