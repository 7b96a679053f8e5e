"""Fits on rows read in parts: the same model whatever the files and their order, and that of rows in memory."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from source_problems import (
    MEMORY,
    NAMES,
    bits,
    fitted,
    frame,
    from_batches,
    from_files,
    numbers,
    table_of,
    test_loss,
    write,
)

from sgdone import LinearClassifier, files
from sgdone.interfaces.objective import Objective
from sgdone.losses import Squared
from sgdone.newton.summed_path import best_lam
from sgdone.readers import row_input, table_from_arrow, text_blocks
from sgdone.rows import ArraySource, Scaling
from sgdone.stopping import Gain, MaxPasses
from sgdone.sums.row_sum import MemoryRows
from sgdone.sums.second_order import SecondOrderAt
from sgdone.sums.system import System
from tiers import fast_first, slow

pytestmark = pytest.mark.usefixtures("own_cache_folder")


@pytest.fixture(scope="module")
def rows():
    return numbers()


@pytest.fixture(scope="module")
def expected(rows, tmp_path_factory):
    """The fit on one file."""
    return fitted(from_files(write(table_of(*rows), tmp_path_factory.mktemp("rows") / "rows.parquet")))


def test_it_is_as_good_as_a_fit_in_memory(rows, expected):
    in_memory = fitted(rows[0], fit={"y": rows[1]})
    X, y = numbers(seed=1)
    assert test_loss(expected, X, y) == pytest.approx(test_loss(in_memory, X, y), abs=2e-3)
    assert expected.verdict_.passes == 3
    assert list(expected.feature_names_in_) == list(NAMES)
    assert expected.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("cuts", fast_first(1, [(1, 7777), (), range(3000, 20_000, 3000), (10, 20, 19_999)]))
@pytest.mark.parametrize("form", fast_first(1, ["parquet", "csv"]))
def test_the_split_into_files_does_not_matter(rows, expected, tmp_path, cuts, form):
    paths = write(table_of(*rows), tmp_path / f"rows.{form}", cuts)
    assert bits(fitted(from_files(paths))) == bits(expected)


@pytest.mark.parametrize("group", fast_first(1, [100, 1000, 20_000]))
def test_row_groups_and_parts_do_not_matter(rows, expected, tmp_path, monkeypatch, group):
    monkeypatch.setattr(table_from_arrow, "PART_ROWS", 777)
    paths = write(table_of(*rows), tmp_path / "rows.parquet", (5000,), row_group_size=group)
    assert bits(fitted(from_files(paths))) == bits(expected)


@slow
@pytest.mark.parametrize("block", [2**12, 2**16])
def test_blocks_of_text_do_not_matter(rows, expected, tmp_path, monkeypatch, block):
    monkeypatch.setattr(text_blocks, "BLOCK", block)
    paths = write(table_of(*rows), tmp_path / "rows.csv", (5000,))
    assert bits(fitted(from_files(paths))) == bits(expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_and_a_folder_for_the_cache_do_not_matter(rows, expected, tmp_path, n_jobs):
    paths = write(table_of(*rows), tmp_path / "rows.parquet")
    assert bits(fitted(from_files(paths, cache=tmp_path / "cache"), n_jobs=n_jobs)) == bits(expected)
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["rows.about", "rows.arrow"]


def test_batches_with_a_cache_are_the_same_rows(rows, expected, tmp_path):
    X, y = rows
    parts = ((X[k : k + 999], y[k : k + 999]) for k in range(0, len(y), 999))
    model = fitted(from_batches(parts, cache=tmp_path / "cache"))
    assert model.coef_.tobytes() == expected.coef_.tobytes()
    frames = (table_of(X[k : k + 500], y[k : k + 500]).to_pandas() for k in range(0, len(y), 500))
    assert bits(fitted(from_batches(frames, label="y", cache=tmp_path / "cache"))) == bits(expected)
    assert not list((tmp_path / "cache").iterdir())  # other batches may come next time


@slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_states_decide(rows, expected, tmp_path, seed):
    paths = write(table_of(*rows), tmp_path / "rows.parquet", (9000,))
    one, two = (fitted(from_files(found), random_state=seed) for found in (paths, paths[:1] + paths[1:]))
    assert bits(one) == bits(two) != bits(expected)
    assert test_loss(one, *rows) == pytest.approx(test_loss(expected, *rows), abs=2e-3)


@slow
@pytest.mark.parametrize(("form", "weighted"), [("dense", False), ("dense", True), ("csr", False)])
@pytest.mark.parametrize("seed", [0, 5])
def test_arrays_in_their_order_give_the_same_bits(form, weighted, seed, tmp_path):
    """Full blocks of 65,536 rows, once from files and once from memory."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300_000, 3)).round(6) * (rng.random((300_000, 3)) < 0.5)
    y = (X @ [1, -1, 0.5] + rng.logistic(size=len(X)) > 0).astype(int)
    w = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    model = LinearClassifier(random_state=seed, shuffle=False, stop=Gain(1e-6) | MaxPasses(3))
    if form == "dense":
        weights = {"w": w} if weighted else {}
        table = pa.table({name: X[:, j] for j, name in enumerate("abc")} | weights | {"y": y})
        paths = write(table, tmp_path / "rows.parquet", (70_000, 130_001))
        source = files(paths, "y", "w" if weighted else None, max_memory=26_000_000)
        rows = pa.table({name: X[:, j] for j, name in enumerate("abc")}).to_pandas()
    else:
        rows = sparse.csr_array(X)
        for k, part in enumerate((slice(0, 70_000), slice(70_000, None))):
            dump_svmlight_file(rows[part], y[part], str(tmp_path / f"rows-{k}.svm"), zero_based=False)
        source = files(tmp_path / "*.svm", max_memory=26_000_000)
    from_disk = model.fit(source)
    coef, intercept, verdict = from_disk.coef_.copy(), from_disk.intercept_.copy(), str(from_disk.verdict_)
    model.fit(rows, y, sample_weight=w)
    assert (model.coef_.tobytes(), model.intercept_.tobytes()) == (coef.tobytes(), intercept.tobytes())
    assert str(model.verdict_) == verdict


def test_rows_that_fit_into_memory_are_fitted_there(rows, tmp_path):
    X, y = rows[0][:500], rows[1][:500]
    (path,) = write(table_of(X, y), tmp_path / "rows.parquet")
    frame = table_of(X, y).drop_columns(["y"]).to_pandas()
    assert bits(fitted(files(path, "y"))) == bits(fitted(frame, fit={"y": y}))


def test_a_kept_cache_is_used_again(rows, expected, tmp_path, monkeypatch):
    paths, cache = write(table_of(*rows), tmp_path / "rows.parquet"), tmp_path / "cache"
    fitted(from_files(paths, cache=cache))
    written = (cache / "rows.arrow").stat().st_mtime_ns
    from sgdone.readers.row_input import FileInput

    monkeypatch.setattr(FileInput, "tables", None)  # it is not read
    again = fitted(from_files(paths, cache=cache))
    assert bits(again) == bits(expected)
    assert again.predict_proba(frame(rows[0])).shape == (20_000, 2)
    assert fitted(from_files(paths, cache=cache), random_state=3).verdict_.passes == 3
    assert (cache / "rows.arrow").stat().st_mtime_ns == written


def test_a_cache_of_other_rows_is_refused_and_the_change_is_named(rows, tmp_path):
    X, y = rows
    paths, cache = write(table_of(X, y), tmp_path / "rows.parquet"), tmp_path / "cache"
    fitted(from_files(paths, cache=cache))
    with pytest.raises(OSError, match=r"the cache in .* cannot be used.*drop was \[\] and is \['a'\] now"):
        fitted(from_files(paths, cache=cache, drop=["a"]))
    with pytest.raises(OSError, match=r"class_weight was None and is .*2.* now.*delete the folder, or give another"):
        fitted(from_files(paths, cache=cache), class_weight={0: 1, 1: 2})
    with pytest.raises(OSError, match=r"max_memory was 2000000 and is 2000001 now"):
        fitted(from_files(paths, cache=cache, max_memory=MEMORY + 1))
    write(table_of(X[:-1], y[:-1]), tmp_path / "rows.parquet")
    with pytest.raises(OSError, match=r"rows-0.parquet had .* bytes and has .* now"):
        fitted(from_files(paths, cache=cache))


@slow
def test_a_damaged_cache_is_an_error(rows, tmp_path):
    paths, cache = write(table_of(*rows), tmp_path / "rows.parquet"), tmp_path / "cache"
    fitted(from_files(paths, cache=cache))
    about = (cache / "rows.about").read_bytes()
    (cache / "rows.about").write_bytes(about[:-10])
    with pytest.raises(OSError, match="cannot be used"):
        fitted(from_files(paths, cache=cache))
    (cache / "rows.about").write_bytes(about)
    with (cache / "rows.arrow").open("rb+") as stream:
        stream.truncate(1000)
    with pytest.raises(OSError, match="cut short"):
        fitted(from_files(paths, cache=cache))


def test_one_pass_keeps_nothing_on_disk(rows, tmp_path, monkeypatch):
    def no_cache(*arguments):
        raise AssertionError("a cache was made")

    monkeypatch.setattr("sgdone.fit.streamed_rows.new_cache", no_cache)
    model = fitted(from_files(write(table_of(*rows), tmp_path / "rows.parquet")), stop=MaxPasses(1))
    assert model.verdict_.passes == 1.0


@slow
@pytest.mark.parametrize("row", [3, 5000, 15_000, 19_000, 19_999])
@pytest.mark.parametrize("kind", ["gap", "level"])
def test_a_feature_may_first_appear_at_any_row(rows, expected, tmp_path, row, kind):
    """At the first gap of a column, or at the first category of a table of categories."""
    X, y = rows
    if kind == "gap":
        table = table_of(X, y)
        table = table.set_column(1, "b", pa.array(X[:, 1], mask=np.arange(len(y)) == row))
    else:
        levels = np.where((np.arange(len(y)) > row) & (X[:, 0] > 0), "Rome", "Oslo")
        levels[row] = "Rome"
        table = pa.table({"city": levels, "sign": np.where(X[:, 2] > 0, "+", "-"), "text": levels, "y": y})
    paths = write(table, tmp_path / "rows.parquet", (4096,))
    one, two = (fitted(from_files(paths, cache=tmp_path / "cache", max_memory=1 << 20)) for _ in range(2))
    assert bits(one) == bits(two)
    names = one.get_feature_names_out().tolist()
    assert {"b missing" if kind == "gap" else "city=Rome"} <= set(names)
    assert one.coef_.shape == (1, len(names))
    if kind == "gap":
        assert test_loss(one, X, y) == pytest.approx(test_loss(expected, X, y), abs=2e-3)


@slow
def test_svmlight_files_that_grow_wider(tmp_path, rng):
    X = sparse.random_array((40_000, 30), density=0.3, rng=rng, format="csr")
    X = sparse.csr_array(X.multiply(np.arange(30) < np.where(np.arange(40_000) < 20_000, 10, 30)[:, None]))
    y = (X @ np.linspace(-3, 3, 30) + rng.logistic(size=40_000) > 0).astype(int)
    X.eliminate_zeros()
    dump_svmlight_file(X, y, str(tmp_path / "all.svm"), zero_based=False)
    lines = (tmp_path / "all.svm").read_text().splitlines(keepends=True)
    (tmp_path / "one.svm").write_text("".join(lines[:333]))
    (tmp_path / "two.svm").write_text("".join(lines[333:]))
    one = fitted(files(tmp_path / "all.svm", max_memory=MEMORY))
    two = fitted(files([tmp_path / "one.svm", tmp_path / "two.svm"], max_memory=MEMORY, cache=tmp_path / "cache"))
    three = fitted(files([tmp_path / "one.svm", tmp_path / "two.svm"], max_memory=MEMORY, cache=tmp_path / "cache"))
    assert one.coef_.shape == (1, 30)
    assert bits(one) == bits(two) == bits(three)
    in_memory = fitted(X, fit={"y": y})
    assert test_loss(one, X, y) == pytest.approx(test_loss(in_memory, X, y), abs=3e-3)


@slow
def test_json_lines_and_arrow_files_give_the_same_bits(rows, expected, tmp_path):
    table = table_of(*rows)
    with pa.ipc.new_file(tmp_path / "rows.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1234)
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    (tmp_path / "rows.jsonl").write_text(lines)
    for name in ("rows.arrow", "rows.jsonl"):
        assert bits(fitted(from_files(tmp_path / name))) == bits(expected)


def test_arguments_that_are_not_taken(rows, tmp_path):
    (path,) = write(table_of(*rows), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="sample_weight must be None when X is a source"):
        fitted(from_files(path), fit={"sample_weight": np.ones(20_000)})
    with pytest.raises(ValueError, match="warm_start=True needs rows in memory"):
        fitted(from_files(path), warm_start=True)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all labels at once"):
        fitted(from_files(path), class_weight="balanced")


def hashed_rows(n_rows=40_000, width=1 << 18, used=60, seed=0):
    """Sparse rows with few of many columns, and labels 0 and 1."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.choice(width, used, replace=False))
    dense = sparse.random_array((n_rows, used), density=0.2, rng=rng, format="csr")
    indices, indptr = columns[dense.indices].astype(np.int32), dense.indptr.astype(np.int32)
    X = sparse.csr_array((dense.data, indices, indptr), shape=(n_rows, width))
    score = dense @ rng.standard_normal(used)
    return X, (score + rng.logistic(size=n_rows) > 0).astype(int), columns


def svmlight_fit(path, **options):
    return fitted(files(path, max_memory=MEMORY, zero_based=True, bits=18, **options))


@pytest.fixture(scope="module")
def hashed(tmp_path_factory):
    X, y, columns = hashed_rows()
    path = tmp_path_factory.mktemp("hashed") / "rows.svm"
    dump_svmlight_file(X, y, str(path), zero_based=True)
    return X, y, columns, path


@slow
def test_columns_that_never_appear_have_coefficients_of_0(hashed):
    X, _, columns, path = hashed
    model = svmlight_fit(path)
    assert model.coef_.shape == (1, 1 << 18)
    assert np.flatnonzero(model.coef_[0]).tolist() == columns.tolist()
    assert model.n_features_in_ == model.feature_std_.size == 1 << 18
    state = model._fitted.results[0].state  # what partial_fit goes on from
    np.testing.assert_allclose(state.solution().coef, model.coef_, rtol=1e-9)
    assert np.flatnonzero(state.units.scale).tolist() == columns.tolist()
    shares = np.diff(sparse.csc_array(X).indptr) / X.shape[0]
    np.testing.assert_allclose(model.feature_share_, shares, atol=0.01)
    np.testing.assert_allclose(model.decision_function(X[:50]), (X[:50] @ model.coef_[0]) + model.intercept_)


@slow
def test_a_kept_cache_knows_the_columns(hashed, tmp_path):
    path = hashed[3]
    first = svmlight_fit(path, cache=tmp_path / "cache")
    assert bits(svmlight_fit(path, cache=tmp_path / "cache")) == bits(first) == bits(svmlight_fit(path))


@pytest.mark.slow
def test_training_goes_on_after_a_fit_on_some_of_the_columns(hashed):
    X, y, columns, path = hashed
    model = svmlight_fit(path)
    before = model.coef_.copy()
    others = sparse.csr_array(([1.0], [int(columns[0]) + 1], [0, 1]), shape=(1, 1 << 18))
    model.partial_fit(sparse.vstack([X[:2000], others]).tocsr(), [*y[:2000], 1], resume=True)
    assert model.coef_[0, columns[0] + 1] != 0.0
    known = model.coef_[0, columns]
    assert np.corrcoef(known, before[0, columns])[0, 1] > 0.9


def test_files_in_memory_do_without_the_columns_that_never_appear(hashed):
    X, y, columns, path = hashed
    model = LinearClassifier(random_state=0).fit(files(path, zero_based=True, bits=18))
    few = LinearClassifier(random_state=0).fit(X[:, columns], y)
    assert model.coef_.shape == (1, 1 << 18)
    np.testing.assert_allclose(model.coef_[0, columns], few.coef_[0], rtol=1e-9)  # the file has 16 digits
    np.testing.assert_array_equal(model.feature_share_[columns], few.feature_share_)
    assert np.count_nonzero(model.coef_) == columns.size
    assert model.verdict_.passes == few.verdict_.passes
    model.partial_fit(X[:100], y[:100])
    assert model.coef_.shape == (1, 1 << 18)


def test_rows_too_few_to_validate_in_parts(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(row_input, "IN_MEMORY", 0.0)
    columns = {f"c{column}": rng.standard_normal(40) for column in range(5)}
    pq.write_table(pa.table({**columns, "y": rng.integers(0, 2, 40)}), tmp_path / "t.parquet")
    model = LinearClassifier(random_state=0).fit(files(tmp_path / "t.parquet", label="y"))
    assert np.all(np.isfinite(model.coef_))


# ---- fits from files end at the exact optimum, and their summaries are those of the rows in memory ----


@pytest.fixture
def problem():
    return numbers(30_000)


@pytest.mark.parametrize("order", ["as they come", "sorted by label", "not shuffled"])
def test_coefficients_within_a_tenth_of_a_standard_error(problem, tmp_path, order):
    X, y = problem
    rows = np.argsort(y, kind="stable") if order == "sorted by label" else np.arange(len(y))
    paths = write(table_of(X[rows], y[rows]), tmp_path / "t.parquet", cuts=[7_000])
    model = LinearClassifier(random_state=0, shuffle=order != "not shuffled").fit(from_files(paths))
    assert model.verdict_.finish_passes > 0
    summary = model.summary(frame(X), y)
    assert np.abs((model.coef_[0] - summary.coef[1:]) / summary.std_err[1:]).max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("cov", ["robust", "classical"])
def test_a_summary_is_that_of_rows_in_memory(problem, tmp_path, cov):
    X, y = problem
    table = table_of(X, y, job=np.array(["a", "b", "c"])[np.arange(len(y)) % 3], w=1.0 + np.arange(len(y)) % 2)
    source = from_files(write(table, tmp_path / "t.parquet", cuts=[10_000]), weight="w")
    model = LinearClassifier(random_state=0).fit(source)
    found = model.summary(source, cov=cov)
    expected = model.summary(table.drop_columns(["y", "w"]), y, table["w"].to_numpy(), cov=cov)
    assert found.features == expected.features
    np.testing.assert_array_equal(found.coef, expected.coef)
    np.testing.assert_array_equal(found.std_err, expected.std_err)


def test_the_penalty_of_least_expected_loss():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    objective = Objective(Squared(), 0.0, predicts="target")

    def strength(coefficient):
        y = X @ np.full(20, coefficient) + rng.standard_normal(400)
        y -= y.mean()
        block = next(iter(ArraySource(X, y, shuffle=False).blocks(rng)))
        model = np.append(np.linalg.lstsq(X, y)[0], 0.0)[:, None]
        system = System(objective, Scaling(np.ones(20)))
        return best_lam(system, MemoryRows(block).sum(SecondOrderAt(system, model)), model)

    # Ridge: the best penalty is about the variance of the noise over that of the coefficients.
    assert strength(1.0) < 5 < 100 < strength(0.02)


# ---- sorted files are no worse than shuffled ones once a second pass is made ----


def by_label(X, y):
    return np.argsort(y, kind="stable")


def by_column(X, y):
    return np.argsort(X[:, 0], kind="stable")


def first_quarter_of_one_class(X, y):
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    first = ones[: len(y) // 4]
    return np.r_[first, np.random.default_rng(0).permutation(np.r_[ones[first.size :], zeros])]


def the_rarer_class_last(X, y):
    """Nine tenths of the rows, then the others."""
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    return np.r_[ones, zeros[: len(ones) // 9]]


ORDERS = (by_label, by_column, first_quarter_of_one_class, the_rarer_class_last)


@slow
@pytest.mark.parametrize("order", fast_first(1, ORDERS))
def test_a_sorted_file_is_as_good_as_a_shuffled_one(order, tmp_path):
    X, y = numbers(40_000)
    rows = order(X, y)
    shuffled = np.random.default_rng(1).permutation(rows)
    models = []
    for number, found in enumerate((rows, shuffled)):
        paths = write(table_of(X[found], y[found]), tmp_path / f"{number}.parquet")
        models.append(fitted(from_files(paths), stop=Gain() | MaxPasses(20)))
    new, labels = numbers(40_000, seed=9)
    kept = order(new, labels)
    losses = [test_loss(model, new[kept], labels[kept]) for model in models]
    assert losses[0] < losses[1] + 2e-3
    if order is not by_column:
        assert models[0].verdict_.passes >= 2


@slow
@pytest.mark.parametrize("order", [by_label, by_column, the_rarer_class_last])
def test_a_sorted_file_is_nearly_as_good_without_an_exact_finish(order, tmp_path, without_finish):
    """As with many columns: buffers of pieces from all over the file make up for its order."""
    X, y = numbers(160_000)
    rows, losses = order(X, y), []
    new, labels = numbers(40_000, seed=9)
    kept = order(new, labels)
    for number, found in enumerate((rows, np.random.default_rng(1).permutation(rows))):
        model = fitted(
            from_files(write(table_of(X[found], y[found]), tmp_path / f"{number}.parquet")), stop=Gain() | MaxPasses(20)
        )
        losses.append(test_loss(model, new[kept], labels[kept]))
    assert losses[0] < losses[1] + 4e-3


@slow
def test_several_classes_sorted_by_class(tmp_path, rng):
    X, _ = numbers(40_000)
    y = np.array(["p", "q", "r", "s"])[np.digitize(X[:, 0] + rng.logistic(size=len(X)), [-1, 0.5, 2])]
    losses = []
    for number, found in enumerate((np.argsort(y, kind="stable"), np.arange(len(y)))):
        paths = write(table_of(X[found], y[found]), tmp_path / f"{number}.parquet")
        model = fitted(from_files(paths), stop=Gain() | MaxPasses(20))
        assert model.classes_.tolist() == ["p", "q", "r", "s"]
        losses.append(test_loss(model, X, y))
    assert losses[0] < losses[1] + 4e-3


@slow
@pytest.mark.parametrize("last", [1, 500])
def test_a_class_that_first_appears_late_is_found(tmp_path, last):
    """The classes of the first rows are taken for all of them; the rows are then read once more."""
    X, y = numbers()
    labels = np.array(["no", "yes"])[y].astype(object)
    labels[-last:] = "perhaps"
    paths = write(table_of(X, labels.astype(str)), tmp_path / "rows.parquet", (5000,))
    model = fitted(from_files(paths))
    assert model.classes_.tolist() == ["no", "perhaps", "yes"]
    with pytest.raises(
        ValueError, match=r"row 1\d,\d{3} has the label 'perhaps'.*read once must show all classes at first"
    ):
        fitted(from_batches((X[k : k + 500], labels[k : k + 500].astype(str)) for k in range(0, len(y), 500)))


def test_in_one_pass_the_verdict_says_that_the_order_matters(tmp_path):
    X, y = numbers()
    rows = by_label(X, y)
    paths = write(table_of(X[rows], y[rows]), tmp_path / "rows.parquet")
    sorted_rows = fitted(from_files(paths), stop=MaxPasses(1))
    assert "The rows are sorted by label" in sorted_rows.verdict_.advice
    rows = by_column(X, y)
    paths = write(table_of(X[rows], y[rows]), tmp_path / "rows.parquet")
    assert "The rows are sorted by a" in fitted(from_files(paths), stop=MaxPasses(1)).verdict_.advice
    shuffled = fitted(from_files(write(table_of(X, y), tmp_path / "rows.parquet")), stop=MaxPasses(1))
    assert "sorted" not in shuffled.verdict_.advice


def test_one_class_is_an_error(tmp_path):
    X, y = numbers()
    paths = write(table_of(X, np.ones_like(y)), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"the rows have one class only \(1\): a classifier needs two or more"):
        fitted(from_files(paths))
    with pytest.raises(ValueError, match="the first rows have one class only, and the rows can be read once"):
        fitted(from_batches((X[k : k + 500], np.ones(500)) for k in range(0, len(y), 500)))
