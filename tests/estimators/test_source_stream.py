"""Batches that a program makes, further training on files, and predictions part by part."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from source_problems import MEMORY, NAMES, bits, fitted, frame, from_batches, from_files, numbers, table_of, write

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, batches, files
from sgdone.fit.streamed_rows import OpenedInput
from sgdone.readers import table_from_arrow
from sgdone.stopping import MaxPasses, MaxSamples
from tiers import slow

pytestmark = pytest.mark.usefixtures("own_cache_folder")


@pytest.fixture(scope="module")
def rows():
    return numbers()


@pytest.fixture(scope="module")
def expected(rows):
    """One pass over batches of arrays."""
    return fitted(from_batches(in_batches(*rows)))


def in_batches(X, *others, size=1000):
    for first in range(0, X.shape[0], size):
        yield (X[first : first + size], *(other[first : first + size] for other in others))


def test_batches_are_read_once(rows, expected):
    assert expected.verdict_.passes == 1
    assert expected.coef_.shape == (1, 4)
    assert expected.score(*rows) > 0.7
    source = from_batches(in_batches(*rows))
    fitted(source)
    with pytest.raises(ValueError, match="these batches were read before: make new ones, or give cache="):
        fitted(source)


@pytest.mark.parametrize("kind", ["other sizes", "lists", "weights of 1", "empty batches"])
def test_the_same_rows_in_other_batches_give_the_same_bits(rows, expected, kind):
    X, y = rows
    made = {
        "other sizes": lambda: in_batches(X, y, size=333),
        "lists": lambda: ((part.tolist(), labels.tolist()) for part, labels in in_batches(X, y)),
        "weights of 1": lambda: in_batches(X, y, np.ones(len(y))),
        "empty batches": lambda: itertools.chain([(X[:0], y[:0])], in_batches(X, y), [(X[:0], y[:0])]),
    }[kind]
    assert bits(fitted(from_batches(made()))) == bits(expected)


def test_float32_is_read_as_float64(rows):
    single, y = rows[0].astype(np.float32), rows[1]
    assert bits(fitted(from_batches(in_batches(single, y)))) == bits(
        fitted(from_batches(in_batches(single.astype(float), y)))
    )


@slow
@pytest.mark.parametrize("kind", ["pandas", "arrow", "record batches", "reader", "tuples of frames"])
def test_frames_and_arrow_give_the_same_bits(rows, expected, kind):
    table = table_of(*rows)
    parts = [table.slice(first, 1500) for first in range(0, len(table), 1500)]
    made = {
        "pandas": lambda: (part.to_pandas() for part in parts),
        "arrow": lambda: iter(parts),
        "record batches": lambda: iter(table.to_batches(max_chunksize=700)),
        "reader": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=700)),
        "tuples of frames": lambda: ((part.drop_columns(["y"]).to_pandas(), part["y"].to_numpy()) for part in parts),
    }[kind]
    label = None if kind == "tuples of frames" else "y"
    model = fitted(from_batches(made(), label=label))
    assert model.coef_.tobytes() == expected.coef_.tobytes()
    assert list(model.feature_names_in_) == list(NAMES)


def test_a_generator_is_taken_without_batches(rows):
    """Few rows are fitted in memory."""
    X, y = rows[0][:600], rows[1][:600]
    model = LinearClassifier(random_state=0)
    assert bits(model.fit(in_batches(X, y, size=100))) == bits(LinearClassifier(random_state=0).fit(X, y))
    reader = table_of(X, y).to_reader(max_chunksize=50)
    again = LinearClassifier(random_state=0).fit(reader)
    assert again.coef_.tobytes() == model.coef_.tobytes()


def test_an_endless_generator_ends_by_itself():
    def endless():
        for seed in itertools.count():
            yield numbers(2000, seed)

    model = LinearClassifier(random_state=0).fit(batches(endless(), max_memory=MEMORY))
    assert model.verdict_.status == "converged"
    X, y = numbers(20_000, seed=-1 % 2**32)
    assert model.score(X, y) > 0.7


@slow
def test_sparse_batches_may_grow_wider(rng):
    X = sparse.random_array((60_000, 20), density=0.2, rng=rng, format="csr")
    y = (X @ np.linspace(-4, 4, 20) + rng.logistic(size=60_000) > 0).astype(int)
    wide = fitted(from_batches(in_batches(X, y), cache=None))

    def growing():
        for first, (part, labels) in enumerate(in_batches(X, y)):
            last = part.indices.max() + 1 if part.nnz else 1
            yield (part[:, : max(last, 1)] if first % 2 else part), labels

    assert fitted(from_batches(growing())).coef_.tobytes() == wide.coef_.tobytes()


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((np.ones((3, 5)), [0, 1, 1]), r"batch 20 has 5 columns, and the first batch has 4"),
        ((np.ones((3, 4)), [0, 1]), r"batch 20 has 3 rows and labels of shape \(2,\): give one a row"),
        ((np.ones((3, 4)), [0, 1, 0], [1.0]), r"batch 20 has 3 rows"),
        ((np.ones((3, 4)),), r"batch 20 is a tuple of 1: give \(X, y\) or \(X, y, sample_weight\)"),
        ("rows", r"batch 20 is a str: give data frames with label=, or tuples"),
        ((np.full((3, 4), np.nan), [0, 1, 1]), r"batch 20, row 0, column 0 is nan"),
        ((np.ones((3, 4)), [0, 1, 1], [1.0, -1.0, 1.0]), r"batch 20, row 1: the weight is -1"),
        ((np.ones((3, 4)), [0, 1, 1], [1.0, np.nan, 1.0]), r"batch 20, row 1: the weight is nan"),
        ((np.ones(3), [0, 1, 1]), r"batch 20 has an X of shape \(3,\): give rows and columns"),
        (
            (sparse.csr_array(np.ones((3, 4))), [0, 1, 1]),
            r"batch 20 is a sparse matrix, and the first batch is an array",
        ),
    ],
)
def test_a_batch_that_cannot_be_used_is_named(rows, batch, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(from_batches(itertools.chain(in_batches(*rows), [batch])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop_columns(["b"]), r"batch 20 has no column 'b', which the first batch has"),
        (
            lambda table: table.append_column("z", table["a"]),
            r"batch 20 has a column 'z', which the first batch does not have",
        ),
        (
            lambda table: table.set_column(0, "a", pa.array(["x"] * len(table))),
            r"batch 20: the column 'a' has the type large_string, and in the first batch double",
        ),
        (lambda table: table.drop_columns(["y"]), r"batch 20.*y|no column y|'y'"),
    ],
    ids=["missing", "new", "other type", "no label"],
)
def test_columns_that_change_are_an_error(rows, change, message):
    table = table_of(*rows)
    parts = [table.slice(first, 1000) for first in range(0, len(table), 1000)]
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(from_batches([*parts, change(parts[0])], label="y"))


def test_no_rows_one_row_and_one_column():
    with pytest.raises(ValueError, match="the source has no rows to train on"):
        LinearClassifier().fit(iter(()))
    with pytest.raises(ValueError, match="the source has no rows to train on"):
        LinearClassifier().fit(iter([(np.empty((0, 3)), [])]))
    model = LinearRegressor().fit(iter([(np.array([[2.0]]), [3.0])]))
    assert model.predict(np.array([[2.0]])) == pytest.approx([3.0])
    X, y = numbers(40_000)
    one = fitted(from_batches(in_batches(X[:, :1], y), max_memory=1 << 20))
    assert one.coef_.shape == (1, 1)
    assert one.verdict_.passes == 1


def test_rows_of_weight_0_at_first(rows):
    X, y = rows
    w = (np.arange(len(y)) >= 9000).astype(float)
    model = fitted(from_batches(in_batches(X, np.where(w == 0, 1 - y, y), w)))
    assert model.score(X[9000:], y[9000:]) > 0.7
    with pytest.raises(ValueError, match=r"no row has a positive weight|all sample weights are zero"):
        fitted(from_batches(in_batches(X, y, 0 * w)))


def test_partial_fit_on_files_is_partial_fit_on_their_rows(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(table_from_arrow, "PART_ROWS", 999)
    X, y = rows
    paths = write(table_of(X, y), tmp_path / "rows.parquet", (5000,))
    one = LinearClassifier(random_state=0).partial_fit(from_files(paths))
    two = LinearClassifier(random_state=0).partial_fit(frame(X), y, classes=[0, 1])
    assert bits(one) == bits(two)
    before = bits(one)
    assert before != bits(one.partial_fit(from_files(paths))) == bits(two.partial_fit(frame(X), y))
    with pytest.raises(ValueError, match="y must be None when X is a source"):
        one.partial_fit(from_files(paths), y)


@slow
def test_methods_that_need_rows_in_memory_say_so(rows, tmp_path):
    paths = write(table_of(*rows), tmp_path / "rows.parquet")
    with pytest.raises(
        ValueError, match=r"SGDClassifier trains on rows in memory.*use LinearClassifier, or partial_fit"
    ):
        SGDClassifier().fit(from_files(paths))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "predict_log_proba"])
def test_predictions_come_part_by_part(rows, tmp_path, method, monkeypatch):
    monkeypatch.setattr(table_from_arrow, "PART_ROWS", 3000)
    X, y = rows
    model = LinearClassifier(random_state=0).fit(frame(X[:500]), y[:500])
    (path,) = write(table_of(X, y).drop_columns(["y"]), tmp_path / "new.parquet")
    parts = getattr(model, method)(from_files(path, label=None))
    first = next(parts)
    assert 0 < len(first) < len(y)
    found = np.concatenate([first, *parts])
    np.testing.assert_array_equal(found, getattr(model, method)(frame(X)))


@slow
def test_predictions_of_batches_and_of_labelled_files(rows, tmp_path):
    X, y = rows
    model = LinearRegressor(random_state=0).fit(frame(X[:500]), y[:500].astype(float))
    expected = model.predict(frame(X))
    labelled = write(table_of(X, y), tmp_path / "rows.csv")
    np.testing.assert_array_equal(np.concatenate(list(model.predict(from_files(labelled)))), expected)
    frames = (frame(X[k : k + 700]) for k in range(0, len(y), 700))
    np.testing.assert_array_equal(np.concatenate(list(model.predict(frames))), expected)
    early = model.predict(from_files(labelled))
    next(early)
    early.close()


@slow
def test_new_levels_in_batches_of_frames(rows):
    X, y = rows
    cities = np.array(["Oslo", "Rome", "Bern"])[np.minimum(np.arange(len(y)) // 8000, 2)]
    frames = (frame(X[k : k + 500]).assign(city=cities[k : k + 500], y=y[k : k + 500]) for k in range(0, len(y), 500))
    model = fitted(from_batches(frames, label="y"), stop=MaxPasses(1))
    assert {"city=Oslo", "city=Rome", "city=Bern"} <= set(model.get_feature_names_out())
    assert isinstance(model.coefficients(), pd.DataFrame)


def test_levels_of_rows_that_were_read_ahead_have_coefficients_of_0(rng):
    """A fit that ends early has encoded rows that it was not trained on."""

    def tables():
        for number in range(60):
            levels = np.where(np.arange(2000) % 50 == 0, f"level {number}", "frequent")
            x = rng.standard_normal(2000)
            yield pd.DataFrame({"x": x, "level": levels, "label": 2.0 * x})

    model = LinearRegressor(random_state=0, stop=MaxSamples(5000)).fit(batches(tables(), "label", max_memory=1_000_000))
    names = model.encoder_.get_feature_names_out().tolist()
    assert model.coef_.size == len(names)
    assert model.coef_[-1] == 0.0
    known, last = pd.DataFrame({"x": [1.0], "level": ["new"]}), pd.DataFrame({"x": [1.0], "level": [names[-1][6:]]})
    np.testing.assert_array_equal(model.predict(known), model.predict(last))


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_unseen_levels_are_warned_of_once_a_call(method):
    jobs = pa.table({"job": ["Sales ", "Tech "] * 100})
    model = LinearClassifier(random_state=0).fit(jobs, [0, 1] * 100)
    others = pa.table({"job": ["Sales", "Tech"] * 100})
    for _ in range(2):
        parts = getattr(model, method)(batches(others.slice(first, 50 + first // 50) for first in (0, 50, 100)))
        with pytest.warns(UserWarning, match="column 'job': 100 % of 50 cells") as found:
            assert len(list(parts)) == 3
        assert len(found) == 1


# ---- how many rows of files are read before a fit begins ----


@pytest.fixture
def large(tmp_path):
    """A function that writes a file of eight times the rows that are kept in memory."""

    def write(labels):
        path = tmp_path / "rows.svm"
        n_rows = 40_000
        chosen = np.resize(labels, n_rows)
        lines = [f"{label:g} 1:{k % 97}.5 2:{k % 89}.25 3:0.123456789012345678901\n" for k, label in enumerate(chosen)]
        path.write_text("".join(lines) * 2)
        return files(path, max_memory=MEMORY)

    return write


def rows_in(head):
    return sum(table.X.shape[0] for table in head)


def test_little_is_read_of_large_files(large, monkeypatch):
    monkeypatch.setattr("sgdone.readers.numeric_lines.BLOCK", 1 << 16)
    source = large([0, 1])
    assert source.total_bytes > 4 * 0.25 * MEMORY
    few, more = OpenedInput.of(source, quickly=True), OpenedInput.of(source)
    assert not few.complete
    assert not more.complete
    assert 4 * rows_in(few.head) < rows_in(more.head)
    assert few.labels().tolist() == [0, 1]
    for opened in (few, more):
        assert sum(table.X.shape[0] for table in opened.tables()) == 80_000


def test_of_many_classes_more_rows_are_read(large, monkeypatch):
    monkeypatch.setattr("sgdone.readers.numeric_lines.BLOCK", 1 << 16)
    opened = OpenedInput.of(large([0, 1, 2]), quickly=True)
    before = rows_in(opened.head)
    assert opened.labels().tolist() == [0, 1, 2]
    assert rows_in(opened.head) > before
    assert sum(table.X.shape[0] for table in opened.tables()) == 80_000


@pytest.mark.slow
def test_a_rare_class_is_found(large):
    labels = np.arange(40_000) % 2
    labels[35_000:35_500] = 7
    model = LinearClassifier(random_state=0).fit(large(labels))
    assert model.classes_.tolist() == [0, 1, 7]


# ---- steps that are too small for the rows to come are found out within the first pass ----


N_ROWS, N_LEVELS = 300_000, 1000


@pytest.fixture(scope="module")
def rows_of_levels():
    """Numbers, and a category whose many levels matter more; with the true probabilities."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, N_LEVELS, N_ROWS)
    numbers = rng.standard_normal((N_ROWS, 10))
    score = 2.0 * rng.standard_normal(N_LEVELS)[level] + 0.3 * numbers.sum(axis=1)
    p = 1.0 / (1.0 + np.exp(-score))
    names = pa.array([f"s{k}" for k in range(N_LEVELS)])
    columns = {f"x{j}": numbers[:, j] for j in range(10)} | {"shop": names.take(pa.array(level))}
    return pa.table(columns), (rng.random(N_ROWS) < p).astype(int), p


def excess_after_one_pass(rows):
    X, y, p = rows
    table = X.append_column("y", pa.array(y))
    source = batches(table.to_batches(20_000), label="y", max_memory=20_000_000)
    model = LinearClassifier(random_state=0, stop=MaxPasses(1)).fit(source)
    found = model.predict_proba(X)[:, 1]
    return float((p * np.log(p / found) + (1.0 - p) * np.log((1.0 - p) / (1.0 - found))).mean())


@pytest.mark.slow
def test_levels_are_learned_in_one_pass(rows_of_levels, monkeypatch):
    excess = excess_after_one_pass(rows_of_levels)
    assert excess < 0.1
    monkeypatch.setattr("sgdone.bank.bank.is_time_for_larger_steps", lambda steps: False)
    assert excess_after_one_pass(rows_of_levels) > 1.5 * excess
