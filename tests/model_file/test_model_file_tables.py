"""Models of data frames in files: their encoder predicts and continues bit for bit."""

import copy
import pickle
import re
from dataclasses import replace
from types import MappingProxyType

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sgdone
from model_file.table_rows import FIRST, SECOND, THIRD, labels
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier
from sgdone.model_file import read_header, stored_encoder
from tiers import interpreted

CLASSES = {"two classes": 2, "three classes": 3, "numbers": 0}


def made(classes, **options):
    return (LinearClassifier if classes else LinearRegressor)(random_state=0, **options)


def scores(model, frame):
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(frame)


@pytest.fixture(scope="module")
def models():
    """A fitted model of each kind; copy it before it learns."""
    return {name: made(classes).fit(FIRST, labels(FIRST, classes)) for name, classes in CLASSES.items()}


def same(model, other, frame):
    assert np.array_equal(scores(model, frame), scores(other, frame))
    assert np.array_equal(model.coef_, other.coef_)
    assert model.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    assert str(model.encoder_) == str(other.encoder_)
    assert model.n_features_in_ == other.n_features_in_ == frame.shape[1]


@pytest.mark.filterwarnings("ignore:most categories were not seen in fit")
@pytest.mark.parametrize("name", CLASSES)
def test_predictions_on_raw_frames_keep_every_bit(name, models, stored):
    model = models[name]
    loaded = stored(model)
    for frame in (FIRST, SECOND):  # the second has levels and words that the model has not seen
        same(model, loaded, frame)
    for form in (pa.Table.from_pandas(FIRST, preserve_index=False), pl.from_pandas(FIRST)):
        assert np.array_equal(scores(loaded, form), scores(model, form))


@interpreted
@pytest.mark.parametrize("name", CLASSES)
def test_partial_fit_continues_with_new_levels_and_words(name, models, stored):
    model, classes = copy.deepcopy(models[name]), CLASSES[name]
    loaded = stored(model)
    n_features = model.coef_.shape[-1]
    for frame in (SECOND, THIRD):
        model.partial_fit(frame, labels(frame, classes))
        loaded = stored(loaded.partial_fit(frame, labels(frame, classes)))
        same(model, loaded, FIRST)
    assert model.coef_.shape[-1] > n_features
    assert np.array_equal(loaded.feature_std_, model.feature_std_)
    assert not model.feature_std_[n_features:].any()


def test_a_model_of_partial_fit_alone(stored):
    model = LinearClassifier(random_state=0).partial_fit(FIRST, labels(FIRST, 2), classes=[0, 1])
    loaded = stored(model)
    for each in (model, loaded):
        each.partial_fit(SECOND, labels(SECOND, 2))
    same(model, loaded, THIRD)


@pytest.mark.slow
def test_one_class_against_the_rest(stored):
    model = LinearClassifier("hinge", random_state=0).fit(FIRST, labels(FIRST, 3))
    loaded = stored(model)
    for each in (model, loaded):
        each.partial_fit(SECOND, labels(SECOND, 3))
    same(model, stored(loaded), THIRD)


def test_summaries_and_stated_kinds(stored):
    columns = MappingProxyType({"note": "drop", "code": "number"})
    model = LinearRegressor(random_state=0, columns=columns).fit(FIRST, labels(FIRST, 0))
    loaded = stored(model)
    assert loaded.columns == {"note": "drop", "code": "number"}
    one, other = (each.summary(FIRST, labels(FIRST, 0)) for each in (model, loaded))
    assert str(one) == str(other)
    assert np.array_equal(one.std_err, other.std_err, equal_nan=True)


def test_a_plain_frame_knows_its_means(stored):
    frame, y = FIRST[["x", "flag"]], labels(FIRST, 2)
    model = LinearClassifier(random_state=0).fit(frame, y)
    loaded = stored(model)
    assert loaded.encoder_.is_plain
    gaps = frame.assign(x=np.nan)
    with pytest.warns(UserWarning, match="missing values in columns that had none in fit: 'x'"):
        assert np.array_equal(loaded.decision_function(gaps), model.decision_function(gaps))
    assert np.array_equal(loaded.decision_function(frame), model.decision_function(frame))


def test_the_encoder_of_a_wide_plain_frame_is_small(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 2000))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(2000)])
    sizes = []
    for rows in (X, frame):
        sgdone.save(LinearRegressor(random_state=0).fit(rows, X[:, 0]), tmp_path / "m")
        sizes.append((tmp_path / "m").stat().st_size)
    assert sizes[1] - sizes[0] < 60 * 2000  # bytes: a name, a mean, a sum, a count
    assert len(read_header(tmp_path / "m")["encoder"]["arrays"]) < 10


def test_without_words_predictions_stay_and_names_are_buckets(models, stored, tmp_path):
    model = models["two classes"]
    loaded = stored(model, words=False)
    assert np.array_equal(scores(loaded, FIRST), scores(model, FIRST))
    data = (tmp_path / "model.safetensors").read_bytes()
    assert not [word for word in ("prize", "lunch", "meeting") if word.encode() in data]
    texts = [name for name in loaded.get_feature_names_out() if name.startswith("note:")]
    assert len(texts) > 100
    assert all(name.startswith("note:(bucket ") for name in texts)
    assert "level=é" in loaded.get_feature_names_out()
    # It continues as the model with words does, and names the buckets that it meets.
    model = copy.deepcopy(model)
    for each in (model, loaded):
        each.partial_fit(SECOND, labels(SECOND, 2))
    assert np.array_equal(scores(loaded, THIRD), scores(model, THIRD))
    assert "note:unheard" in loaded.get_feature_names_out()


@interpreted
def test_words_are_kept_for_the_largest_coefficients(models, stored, monkeypatch):
    monkeypatch.setattr(stored_encoder, "MOST_WORDS", 7)
    for name, model in models.items():
        names = model.get_feature_names_out()
        effect = np.abs(np.atleast_2d(model.coef_)).max(axis=0) * model.feature_std_
        texts = [j for j in np.argsort(-effect, kind="stable") if names[j].startswith("note:")]
        loaded = stored(model)
        found = loaded.get_feature_names_out()
        kept = {j for j in texts if not found[j].startswith("note:(bucket ")}
        assert kept == set(texts[:7])
        assert all(found[j] == names[j] for j in kept)
        more = copy.deepcopy(model)
        for each in (more, loaded):
            each.partial_fit(SECOND, labels(SECOND, CLASSES[name]))
        assert np.array_equal(scores(loaded, FIRST), scores(more, FIRST))


def test_without_words_the_verdict_names_buckets_too(models, stored, tmp_path):
    model = copy.deepcopy(models["two classes"])
    # As the check of the optimum names coefficients without a finite value.
    model.verdict_ = replace(model.verdict_, advice="note:prize → +∞, note:lunch → −∞, level=a → +∞")
    loaded = stored(model, words=False)
    data = (tmp_path / "model.safetensors").read_bytes()
    assert b"prize" not in data
    assert b"lunch" not in data
    assert re.fullmatch(r"note:\(bucket \d+\) → \+∞, note:\(bucket \d+\) → −∞, level=a → \+∞", loaded.verdict_.advice)
    assert stored(model).verdict_ == model.verdict_


def test_words_is_true_or_false(models, tmp_path):
    with pytest.raises(TypeError, match="words must be True or False; got 'no'"):
        sgdone.save(models["numbers"], tmp_path / "m", words="no")


@pytest.mark.parametrize(
    "copied",
    [
        lambda model, path: pickle.loads(pickle.dumps(model)),
        lambda model, path: joblib.load(joblib.dump(model, path)[0]),
        lambda model, path: copy.deepcopy(model),
    ],
    ids=["pickle", "joblib", "deepcopy"],
)
def test_copies_continue_alike_and_alone(copied, models, tmp_path):
    model = copy.deepcopy(models["two classes"])
    names = model.get_feature_names_out().tolist()
    other = copied(model, tmp_path / "model.joblib")
    same(model, other, FIRST)
    other.partial_fit(SECOND, labels(SECOND, 2))
    assert model.get_feature_names_out().tolist() == names
    model.partial_fit(SECOND, labels(SECOND, 2))
    same(model, other, THIRD)


def test_a_stated_kind_and_a_constant_column(stored):
    """A table of numbers with a column left out is encoded: an array has other columns than the coefficients."""
    frame, y = FIRST[["x", "same"]], labels(FIRST, 2)
    model = LinearClassifier(random_state=0, columns={"x": "number"}).fit(frame, y)
    assert np.array_equal(stored(model).decision_function(frame), model.decision_function(frame))
    assert model.get_feature_names_out().tolist() == ["x"]
    with pytest.raises(ValueError, match="needs a data frame: X is a ndarray without names"):
        model.predict(frame.to_numpy())


def test_a_named_method_does_not_learn_from_gaps():
    frame, y = FIRST[["x", "flag"]], labels(FIRST, 2)
    model = SGDClassifier(random_state=0).partial_fit(frame, y, classes=[0, 1])
    with pytest.raises(ValueError, match="column 'x' of X has no value in row 0, and SGDClassifier takes numbers only"):
        model.partial_fit(frame.assign(x=np.nan), y)


def test_a_model_without_features(tmp_path):
    """The only column is a text without words."""
    model = LinearRegressor(columns={"t": "text"}).fit(pd.DataFrame({"t": ["?", "!"]}), [1.0, 2.0])
    sgdone.save(model, tmp_path / "m")
    again = sgdone.load(tmp_path / "m")
    assert again.coef_.shape == (0,)
    assert again.predict(pd.DataFrame({"t": ["?"]})) == [1.5]
