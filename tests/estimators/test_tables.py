"""Tables as people have them: categories, missing values, dates and text in front of the default fit."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, TableEncoder
from sgdone.fit.loaded_rows import _last_coef, shares_of_rows
from sgdone.stopping import MaxSamples
from sgdone.tables.date_encoder import DateEncoder
from tiers import interpreted

N = 240


def table(seed=0, n=N):
    """Numbers, booleans, strings, dates and texts with missing values, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, n)
    job = rng.choice(["clerk", "nurse", "smith"], n, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "job": pd.Series(job, dtype=object).where(rng.random(n) > 0.1, None),
            "member": pd.Series(rng.random(n) < 0.4, dtype=object).where(rng.random(n) > 0.1, None),
            "joined": pd.Series(pd.Timestamp("2020-01-31") + pd.to_timedelta(rng.integers(0, 700, n), "D")).where(
                rng.random(n) > 0.1
            ),
        }
    )
    score = (age - 40) / 10 + (job == "nurse") + 0.5 * (frame["member"] == True).to_numpy()  # noqa: E712
    return frame, score + rng.normal(0, 0.5, n)


@pytest.fixture(scope="module")
def problem():
    frame, score = table()
    return frame, np.where(score > 0.4, "yes", "no"), score


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


KINDS = {
    "nullable": lambda frame: frame.convert_dtypes(),
    "pandas arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda frame: pl.from_arrow(arrow(frame)),
    "arrow": arrow,
    "record batch": lambda frame: pa.Table.combine_chunks(arrow(frame)).to_batches()[0],
    "chunks": lambda frame: pa.concat_tables([arrow(frame[:100]), arrow(frame[100:])]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_library_of_the_frame_does_not_matter(kind, problem, same_model):
    frame, labels, _ = problem
    expected = LinearClassifier(random_state=0).fit(frame, labels)
    other = KINDS[kind](frame)
    found = LinearClassifier(random_state=0).fit(other, labels)
    same_model(found, expected)
    assert found.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.predict_proba(other), expected.predict_proba(frame))


FLOAT32 = {
    "nullable": lambda frame: frame.astype("Float32"),
    "pandas arrow": lambda frame: frame.astype("float[pyarrow]"),
    "polars": pl.from_pandas,
    "arrow": arrow,
    "record batch": lambda frame: arrow(frame).to_batches()[0],
    "reader": lambda frame: arrow(frame).to_reader(),
}


@pytest.mark.parametrize("kind", FLOAT32)
def test_the_library_of_a_frame_of_numbers_does_not_matter(kind, binary, same_model):
    X, y = binary
    frame = pd.DataFrame(X, columns=list("abcde"), dtype=np.float32)
    expected = LinearClassifier(random_state=0).fit(frame, y)
    found = LinearClassifier(random_state=0).fit(FLOAT32[kind](frame), y)
    same_model(found, expected)
    assert found.coef_.dtype == np.float32
    assert found.feature_names_in_.tolist() == list("abcde")
    assert found.encoder_.plans_[0].encoder.imputer.mean == expected.encoder_.plans_[0].encoder.imputer.mean
    np.testing.assert_array_equal(found.predict_proba(FLOAT32[kind](frame)), expected.predict_proba(frame))


def test_names_and_shapes(problem):
    frame, labels, _ = problem
    model = LinearClassifier(random_state=0).fit(frame, labels)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == ["age", "job", "member", "joined"]
    names = model.get_feature_names_out().tolist()
    assert model.coef_.shape == (1, len(names))
    assert names[:3] == ["age", "member=True", "joined"]
    expected = {"age missing", "job=clerk", "job=nurse", "member missing", "joined.month=1", "joined.weekday=Mon"}
    assert expected < set(names)
    assert model.score(frame, labels) > 0.75


@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor])
def test_columns_are_matched_by_name(make, problem):
    frame, labels, score = problem
    model = make(random_state=0).fit(frame, labels if make is LinearClassifier else score)
    turned = frame[frame.columns[::-1]].assign(unused="?")
    np.testing.assert_array_equal(model.predict(turned), model.predict(frame))


def test_coefficients(problem):
    frame, labels, _ = problem
    model = LinearClassifier(random_state=0).fit(frame, labels)
    found = model.coefficients()
    assert found.columns.tolist() == ["name", "value", "value_per_std", "share"]
    assert found["name"].tolist() == ["(intercept)", *model.get_feature_names_out()]
    row = found.set_index("name").loc["job=nurse"]
    share = (frame["job"] == "nurse").mean()
    assert row["share"] == pytest.approx(share)
    assert row["value"] > 0
    assert row["value_per_std"] == pytest.approx(row["value"] * np.sqrt(share * (1 - share)))
    age = found.set_index("name").loc["age"]
    assert age["value_per_std"] == pytest.approx(age["value"] * frame["age"].fillna(frame["age"].mean()).std(ddof=0))
    assert age["share"] == 1


@pytest.mark.parametrize("weight", [None, np.array([1.0, 3.0])])
def test_entries_that_are_zero_are_no_share(weight):
    X = sparse.csr_array((np.array([0.0, 2.0, 5.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    expected = [0.5, 0.5] if weight is None else [0.75, 0.25]
    assert shares_of_rows(X, weight).tolist() == expected


def test_coefficients_of_classes_and_arrays(several):
    X, y = several
    found = LinearClassifier(random_state=0).fit(X, y).coefficients()
    assert len(found) == 4 * (1 + X.shape[1])
    assert found["class"].unique().tolist() == [0, 1, 2, 3]
    assert found["name"].tolist()[:2] == ["(intercept)", "x0"]
    stream = LinearClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2, 3]).coefficients()
    assert stream["value_per_std"].isna().all()


def test_weights_are_frequencies_in_means_too(problem):
    frame, _, score = problem
    weight = np.arange(N) % 3
    repeated = frame.loc[frame.index.repeat(weight)]
    weighted = LinearRegressor(random_state=0).fit(frame, score, sample_weight=weight)
    expected = LinearRegressor(random_state=0).fit(repeated, np.repeat(score, weight))
    assert weighted.encoder_.plans_[0].encoder.imputer.mean == pytest.approx(repeated["age"].mean(), rel=1e-12)
    np.testing.assert_allclose(weighted.predict(frame), expected.predict(frame), atol=0.02)
    np.testing.assert_allclose(weighted.feature_share_, expected.feature_share_, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_spreads_and_shares_are_those_of_the_rows(weighted, fit_intercept):
    """Whether the fit ends at an optimum, after some passes, or within one."""
    frame, score = table(n=3000)
    weight = np.arange(3000) % 4 if weighted else None
    for options in ({}, {"stop": 1}, {"stop": MaxSamples(700)}):
        model = LinearClassifier(random_state=0, fit_intercept=fit_intercept, **options)
        model.fit(frame, score > 0.4, sample_weight=weight)
        rows = model.encoder_.transform(frame).toarray()
        means = np.average(rows, axis=0, weights=weight)
        spreads = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=weight))
        np.testing.assert_allclose(model.feature_std_, spreads, rtol=1e-9)
        shares = np.average(rows != 0, axis=0, weights=weight)
        np.testing.assert_allclose(model.feature_share_[model.encoder_.n_dense_ :], shares[model.encoder_.n_dense_ :])


def test_labels_do_not_enter_the_encoding(problem):
    frame, labels, score = problem
    shuffled = np.random.default_rng(1).permutation(labels)
    models = [
        LinearClassifier(random_state=0).fit(frame, labels),
        LinearClassifier(random_state=0).fit(frame, shuffled),
        LinearClassifier(random_state=0, class_weight="balanced").fit(frame, labels),
        LinearRegressor(random_state=0).fit(frame, score),
    ]
    first, *others = [model.encoder_.state() for model in models]
    for other in others:
        assert other.header == first.header
        assert other.levels == first.levels
        for name, array in first.arrays.items():
            np.testing.assert_array_equal(other.arrays[name], array)


def test_stated_kinds():
    frame = pd.DataFrame({"zip": [10, 20, 30] * 20, "note": ["a b", "c d", "e f"] * 20, "id": range(60)})
    columns = {"zip": "category", "note": "text", "id": "drop"}
    y = (frame["zip"] == 20).astype(int)
    model = LinearClassifier(columns=columns, random_state=0).fit(frame, y)
    names = model.get_feature_names_out().tolist()
    assert names[:3] == ["zip=10", "zip=20", "zip=30"]
    assert "note:c d" in names
    assert model.encoder_.left_out_ == {"id": "as stated in columns"}
    assert model.score(frame, y) == 1
    with pytest.raises(ValueError, match=r"columns names 'zp', which the table does not have. Did you mean 'zip'"):
        LinearClassifier(columns={"zp": "category"}).fit(frame, y)
    with pytest.raises(ValueError, match=r"columns=.*needs a data frame"):
        LinearClassifier(columns=columns).fit(frame[["zip"]].to_numpy(), y)


def test_constant_and_repeated_columns_are_left_out_in_fit(problem):
    frame, labels, _ = problem
    wider = frame.assign(one=1, copy=frame["age"])
    model = LinearClassifier(random_state=0).fit(wider, labels)
    assert model.encoder_.left_out_ == {"one": "constant", "copy": "repeats 'age'"}
    assert model.n_features_in_ == 6
    np.testing.assert_array_equal(model.predict(wider), model.predict(frame))


def test_constant_columns_of_plain_tables_are_kept(binary):
    X, y = binary
    frame = pd.DataFrame(X, columns=list("abcde")).assign(one=1.0)
    model = LinearClassifier(random_state=0).fit(frame, y)
    assert model.coef_.shape == (1, 6)
    assert model.coef_[0, 5] == 0
    assert model.encoder_.is_plain


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_gap_first_met_in_predict_takes_the_mean(kind, binary):
    X, y = binary
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = LinearClassifier(random_state=0).fit(frame, y)
    gap, filled = frame.copy(), frame.copy()
    gap.iloc[3, 1], filled.iloc[3, 1] = np.nan, frame["b"].mean()
    with pytest.warns(
        UserWarning, match="missing values in columns that had none in fit: 'b'. They are replaced by the mean"
    ) as w:
        found = model.predict_proba(gap if kind == "pandas" else pl.from_pandas(gap))
    assert len(w) == 1
    assert w[0].filename == __file__
    np.testing.assert_allclose(found, model.predict_proba(filled), rtol=1e-12)


def test_levels_not_seen_in_fit_have_no_effect():
    frame = pd.DataFrame({"x": np.arange(60.0), "c": ["a", "b", "c"] * 20})
    y = (np.arange(60) > 30).astype(int)
    model = LinearClassifier(random_state=0).fit(frame, y)
    new = pd.DataFrame({"x": [30.0], "c": ["d"]})
    coef = dict(zip(model.get_feature_names_out(), model.coef_[0], strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.decision_function(new)[0] == pytest.approx(30 * coef["x"] + model.intercept_[0])


class TestStreams:
    def test_features_are_appended(self, problem):
        frame, labels, _ = problem
        model = LinearClassifier(random_state=0)
        before: list[str] = []
        for first in range(0, N, 40):
            rows = slice(first, first + 40)
            model.partial_fit(frame[rows], labels[rows], classes=["no", "yes"])
            names = model.get_feature_names_out().tolist()
            assert [name for name in names if name in before] == before
            assert model.coef_.shape == (1, len(names))
            model.predict(frame)
            before = [name for name in names if name in set(names)]
        assert model.score(frame, labels) > 0.7

    def test_a_plain_first_table(self, binary):
        """Numbers only, then a gap: its indicator is a new feature."""
        X, y = binary
        frame = pd.DataFrame(X, columns=list("abcde"))
        model = LinearClassifier(random_state=0).partial_fit(frame[:150], y[:150], classes=[0, 1])
        array = LinearClassifier(random_state=0).partial_fit(X[:150], y[:150], classes=[0, 1])
        np.testing.assert_array_equal(model.coef_, array.coef_)
        later = frame[150:].copy()
        later.iloc[:20, 2] = np.nan
        model.partial_fit(later, y[150:])
        assert model.get_feature_names_out().tolist() == [*"abcde", "c missing"]
        assert model.coef_.shape == (1, 6)
        model.partial_fit(frame, y)
        assert model.score(frame, y) > 0.7

    def test_after_fit(self, problem):
        frame, labels, _ = problem
        model = LinearClassifier(random_state=0).fit(frame, labels)
        known = model.coef_.shape[1]
        model.partial_fit(frame.assign(job="pilot"), labels)
        assert model.get_feature_names_out()[known] == "job=pilot"
        assert model.feature_std_.size == model.feature_share_.size == known + 1

    def test_a_type_that_changes(self, problem):
        frame, labels, _ = problem
        model = LinearClassifier(random_state=0).partial_fit(frame, labels, classes=["no", "yes"])
        coef = model.coef_.copy()
        with pytest.raises(TypeError, match=r"column 'job' was a category .* when the encoder was fitted"):
            model.partial_fit(frame.assign(job=1.5), labels)
        with pytest.raises(ValueError, match="columns of fit are missing: 'age'"):
            model.partial_fit(frame.drop(columns="age"), labels)
        with pytest.raises(ValueError, match="the first call of partial_fit had no column 'extra'"):
            model.partial_fit(frame.assign(extra=1), labels)
        np.testing.assert_array_equal(model.coef_, coef)

    def test_wrong_labels_teach_nothing(self, problem):
        frame, labels, _ = problem
        model = LinearClassifier(random_state=0).partial_fit(frame, labels, classes=["no", "yes"])
        known = model.coef_.shape[1]
        with pytest.raises(ValueError):
            model.partial_fit(frame.assign(job="pilot"), labels[:-1])
        assert model.encoder_.n_features_out_ == known

    def test_labels_that_were_not_announced_teach_nothing(self, problem):
        frame, labels, _ = problem
        model = LinearClassifier(random_state=0).partial_fit(frame, labels, classes=["no", "yes"])
        other = LinearClassifier(random_state=0).partial_fit(frame, labels, classes=["no", "yes"])
        known, coef = model.encoder_.n_features_out_, model.coef_
        with pytest.raises(ValueError, match="perhaps"):
            model.partial_fit(frame.assign(job="pilot"), np.full(N, "perhaps"))
        assert model.encoder_.n_features_out_ == known
        assert model.coef_ is coef
        for one in (model, other):
            one.partial_fit(frame.assign(job="smith"), labels)
        np.testing.assert_array_equal(model.coef_, other.coef_)

    def test_means_are_those_of_all_rows_so_far(self, binary):
        X, y = binary
        frame = pd.DataFrame(X, columns=list("abcde"))
        model = LinearClassifier(random_state=0).partial_fit(frame[:100], y[:100], classes=[0, 1])
        model.partial_fit(frame[100:], y[100:])
        means = [plan.encoder.imputer.mean for plan in model.encoder_.plans_]
        np.testing.assert_allclose(means, X.mean(axis=0), rtol=1e-12)

    def test_what_features_are_part_of(self):
        """Levels and words have units of their own, those of a later call too."""
        words = ["free entry now", "call me later", "see you soon", "never say never"]
        frame = pd.DataFrame({"x": np.arange(40.0), "c": list("abcd") * 10, "t": words * 10})
        kinds, y = {"t": "text"}, np.arange(40) % 3 % 2
        model = LinearClassifier(columns=kinds, random_state=0).fit(frame, y)
        for _ in range(2):
            names = model.get_feature_names_out().tolist()
            expected = [0 if name == "x" else 2 if name.startswith("t:") else 1 for name in names]
            assert model._fitted.results[0].state.units.roles.tolist() == expected
            model.partial_fit(frame.assign(c="e", t="another word", x=[None] + [1.0] * 39), y)
        assert {"x missing", "c=e", "t:another word"} <= set(model.get_feature_names_out())

    @interpreted
    @pytest.mark.filterwarnings("ignore:most categories were not seen in fit")
    @pytest.mark.parametrize("loss", ["logistic", pytest.param("hinge", marks=pytest.mark.slow)])
    def test_an_interrupt_while_rows_are_encoded(self, loss, problem, monkeypatch):
        """New levels of one column are learnt, those of the next one are not: the model is as before the call."""
        frame, _, score = problem
        labels = np.digitize(score, [-0.5, 0.9])
        model, other = (LinearClassifier(random_state=0, loss=loss) for _ in range(2))
        for one in (model, other):
            one.partial_fit(frame, labels, classes=[0, 1, 2])
        later = frame.assign(job="pilot", joined=pd.Timestamp("2020-01-31 07:00"))

        def interrupted(*arguments):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(DateEncoder, "encode", interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.partial_fit(later, labels)
        assert model.encoder_.n_features_out_ == model.coef_.shape[1]
        np.testing.assert_array_equal(model.decision_function(later), other.decision_function(later))
        for one in (model, other):
            one.partial_fit(later, labels)
        assert model.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
        np.testing.assert_array_equal(model.coef_, other.coef_)

    @interpreted
    def test_regression_and_a_wholly_new_kind_of_entry(self):
        """The first rows have dense features only."""
        frame = pd.DataFrame({"x": ["1", "2", "3", "4"] * 20})
        model = LinearRegressor(random_state=0).partial_fit(frame, np.arange(80.0))
        assert model.coef_.shape == (1,)
        model.partial_fit(frame.replace("4", ""), np.arange(80.0))
        assert model.get_feature_names_out().tolist() == ["x", "x missing"]


class TestEdges:
    Y = np.arange(40) % 2

    def fit(self, **columns):
        return LinearClassifier(random_state=0).fit(pd.DataFrame(columns), self.Y)

    @pytest.mark.parametrize("empty", [None, np.nan, "", "  ", pd.NaT])
    def test_a_column_without_values(self, empty):
        model = self.fit(x=np.arange(40.0), c=[empty] * 40)
        assert list(model.encoder_.left_out_) == ["c"]

    def test_no_columns_left(self):
        with pytest.raises(ValueError, match=r"no columns left to learn from: 'c' \(no values\), 'one' \(constant\)"):
            self.fit(c=[None] * 40, one=["a"] * 40)

    def test_time_zones_and_old_dates(self):
        stamps = pd.date_range("1912-04-15 02:20", periods=40, freq="37h", tz="America/New_York")
        model = self.fit(t=stamps)
        names = set(model.get_feature_names_out())
        assert {"t", "t.month=4", "t.hour=2"} < names
        moved = pd.DataFrame({"t": stamps.tz_convert("Asia/Tokyo")})
        expected = model.decision_function(pd.DataFrame({"t": stamps}))
        np.testing.assert_array_equal(model.decision_function(moved), expected)

    def test_emoji_and_combining_characters(self):
        levels = ["😀", "e\u0301", "é", "naïve 👩‍👩‍👧"]
        model = self.fit(c=levels * 10)
        assert set(model.get_feature_names_out()) == {f"c={level}" for level in levels}

    def test_empty_strings_are_missing_values(self):
        model = self.fit(c=["a", "", " ", "b"] * 10, x=["1", "", "3", " "] * 10)
        assert set(model.get_feature_names_out()) == {"x", "x missing", "c=a", "c=b", "c=(missing)"}

    def test_missing_columns(self):
        model = self.fit(age=np.arange(40.0), c=["a", "b"] * 20)
        with pytest.raises(ValueError, match=r"columns of fit are missing: 'age'. Did you mean 'agee'"):
            model.predict(pd.DataFrame({"agee": [1.0], "c": ["a"]}))

    def test_names_that_are_no_strings(self):
        frame = pd.DataFrame({0: ["a", "b"] * 20, 1: range(40)})
        model = LinearClassifier(columns={1: "category"}, random_state=0).fit(frame, self.Y)
        assert model.feature_names_in_.tolist() == ["0", "1"]
        assert str(model.encoder_.plans_[1].kind) == "category"
        assert model.predict(frame[[1, 0]]).tolist() == self.Y.tolist()

    def test_an_array_in_front_of_a_model_of_a_table(self):
        model = self.fit(c=["a", "b"] * 20)
        with pytest.raises(ValueError, match="X is a ndarray without names of columns, but the model was fitted"):
            model.predict(np.zeros((3, 1)))
        with pytest.raises(ValueError, match="X is a list without names"):
            model.partial_fit([["a"]], [0])

    def test_one_row_and_no_rows(self):
        model = self.fit(c=["a", "b"] * 20)
        assert model.predict(pd.DataFrame({"c": ["b"]})).tolist() == [1]
        with pytest.raises(ValueError, match="X has no rows"):
            LinearClassifier().fit(pd.DataFrame({"c": []}, dtype=object), [])

    def test_a_failed_fit_changes_nothing(self):
        model = self.fit(c=["a", "b"] * 20)
        before, coef = model._fitted, model.coef_
        with pytest.raises(ValueError, match="one class only"):
            model.fit(pd.DataFrame({"d": ["x", "y"] * 20}), [0] * 40)
        assert model._fitted is before
        assert model.coef_ is coef
        assert model.feature_names_in_.tolist() == ["c"]

    @interpreted
    @pytest.mark.parametrize("make", [SGDClassifier, pytest.param(SGDRegressor, marks=pytest.mark.slow)])
    def test_named_methods_take_numbers(self, make):
        frame = pd.DataFrame({"x": np.arange(40.0), "c": ["a", "b"] * 20})
        message = rf"column 'c' of X has the type large_string, and {make.__name__} takes numbers only: .*TableEncoder"
        with pytest.raises(ValueError, match=message):
            make().fit(frame, self.Y)
        model = make_pipeline(TableEncoder(), make(random_state=0)).fit(frame, self.Y)
        assert model.predict(frame).shape == (40,)


@pytest.mark.slow
def test_a_million_levels():
    keys = pd.DataFrame({"id": np.char.add("k", np.arange(1_000_000).astype(str))})
    model = LinearClassifier(random_state=0, stop=1).fit(keys, np.arange(1_000_000) % 2)
    assert 100_000 < model.coef_.shape[1] <= 100_000 + 2**18
    assert np.isfinite(model.coef_).all()


class TestContract:
    def test_grid_search(self, problem):
        frame, labels, _ = problem
        search = GridSearchCV(LinearClassifier(random_state=0), {"alpha": [1e-4, 1e-1]}, cv=2).fit(frame, labels)
        assert search.best_score_ > 0.6
        assert cross_val_score(LinearClassifier(random_state=0), frame, labels, cv=2).mean() > 0.6

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
    def test_copies(self, copied, problem):
        frame, labels, _ = problem
        model = LinearClassifier(random_state=0).fit(frame, labels)
        twin = copied(model)
        np.testing.assert_array_equal(twin.predict_proba(frame), model.predict_proba(frame))
        new = frame.assign(job="pilot")
        for one in (model, twin):
            one.partial_fit(new, labels)
        np.testing.assert_array_equal(twin.coef_, model.coef_)

    def test_column_transformer_in_front(self, problem):
        frame, labels, _ = problem
        encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]))
        pipeline = make_pipeline(encode, LinearClassifier(random_state=0)).fit(frame, labels)
        assert pipeline[-1].coef_.shape == (1, 4)
        assert not hasattr(pipeline[-1], "encoder_")

    @pytest.mark.slow
    def test_skrub_in_front(self, problem):
        skrub = pytest.importorskip("skrub")
        frame, labels, _ = problem
        pipeline = make_pipeline(skrub.TableVectorizer(), LinearClassifier(random_state=0)).fit(frame, labels)
        assert pipeline.score(frame, labels) > 0.7

    def test_warm_start_matches_features_by_name(self, problem):
        """Another level makes other numbers of features: coefficients follow their names."""
        frame, labels, _ = problem
        some = (frame["job"] != "clerk").to_numpy()
        model = LinearClassifier(random_state=0, warm_start=True).fit(frame[some], labels[some])
        names, coef = model.get_feature_names_out().tolist(), model.coef_[0]
        columns = LinearClassifier(random_state=0).fit(frame, labels)._fitted.columns
        expected = dict.fromkeys(columns.feature_names, 0.0) | dict(zip(names, coef, strict=True))
        assert dict(zip(columns.feature_names, _last_coef(model._fitted, columns)[0], strict=True)) == expected
        assert len(expected) == coef.size + 1
        assert model.fit(frame, labels).score(frame, labels) > 0.7

    @pytest.mark.parametrize("seed", range(2))
    def test_warm_start_between_tables_with_and_without_missing_values(self, seed):
        """A table of numbers is an array, another one is encoded: coefficients follow their names all the same."""
        rng = np.random.default_rng(seed)
        whole = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]).assign(c=rng.random(200) < 0.5)
        gaps = whole[["c", "b", "a"]].assign(a=whole["a"].mask(rng.random(200) < 0.1))
        y = (whole["a"] > 0.5 * rng.normal(size=200)).astype(int)
        for first, second in ((whole, gaps), (gaps, whole), (whole, whole[["c", "b", "a"]])):
            model = LinearClassifier(random_state=0, warm_start=True).fit(first, y)
            before = dict(zip(model._fitted.columns.encoded_names, model.coef_[0], strict=True))
            columns = LinearClassifier(random_state=0).fit(second, y)._fitted.columns
            start = dict(zip(columns.encoded_names, _last_coef(model._fitted, columns)[0], strict=True))
            assert start == {name: before.get(name, 0.0) for name in start}
            assert model.fit(second, y).score(second, y) > 0.8
