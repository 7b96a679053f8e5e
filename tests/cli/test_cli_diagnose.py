import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from cli.files import write_csv, write_svmlight


@pytest.fixture
def separable(rng, tmp_path):
    """A CSV file in which every treated row is ill; `site` is constant and `dose_again` a copy."""
    n = 90
    treated = (rng.random(n) < 0.3).astype(int)
    dose = rng.integers(1, 50, n)
    ill = np.where((treated == 1) | (rng.random(n) < 0.5), "yes", "no")
    columns = {"treated": treated, "dose": dose, "ill": ill, "site": np.full(n, 4), "dose_again": dose}
    return write_csv(tmp_path / "trial.csv", columns)


def test_text_report(sgdone, separable):
    text = sgdone("diagnose", separable, "--label", "ill").stdout
    for line in ("rows               90", "features           4", "missing            none", "zero columns       none",
                 "constant columns   site", "duplicate columns  dose = dose_again",
                 "rank               3 of 5 columns, including the intercept (method: QR, tolerance 2e-14)",
                 "separation         quasi-complete", "certificate        verified exactly", "treated tends to +∞",
                 "- Use a penalty", "- Drop site: the column is", "- Drop dose_again: a duplicate"):  # fmt: skip
        assert line in text
    assert text.index("Advice:") > text.index("Quasi-complete separation")


def test_sound_data_need_nothing(sgdone, tmp_path, rng):
    a, b = rng.standard_normal((2, 80))
    path = write_csv(tmp_path / "t.csv", {"a": a, "b": b, "y": (a + 3 * rng.standard_normal(80) > 0).astype(int)})
    text = sgdone("diagnose", path).stdout
    assert "No separation" in text
    assert text.rstrip().endswith("No problems were found.")


def test_json(sgdone, separable):
    report = sgdone("diagnose", separable, "--label", "ill", "--json").report
    assert report.keys() == {
        "data", "task", "rows", "complete_rows", "features", "fit_intercept", "missing", "nonzeros", "zero_columns",
        "constant_columns", "duplicate_columns", "rank", "spread", "classes", "class_names", "separation",
        "separation_skipped", "sentences", "advice", "sgdone", "plots", "encoding", "columns", "all_rows",
    }  # fmt: skip
    assert (report["task"], report["rows"], report["features"]) == ("classification", 90, 4)
    assert report["duplicate_columns"] == [["dose", "dose_again"]]
    assert report["rank"]["value"] == 3
    assert sum(report["classes"].values()) == 90
    answer = report["separation"]["yes"]
    assert answer["kind"] == "quasi-complete"
    assert answer["certificate"]["verified"]
    assert answer["certificate"]["exact"]
    assert answer["infinite"] == {"treated": 1, "dose": 0, "site": 0, "dose_again": 0}
    assert answer["direction"]["treated"] == pytest.approx(1)
    assert len(answer["rows"]) == answer["separable"] > 0
    assert 0 < answer["infimum"] < np.log(2)


def test_missing_cells_are_reported_and_their_rows_left_out(sgdone, tmp_path, rng):
    a, b = rng.standard_normal((2, 40)).astype(str)
    a[3], b[7], b[9] = "", "NA", "inf"
    a, b = (np.append(column, ["1"]) for column in (a, b))
    path = write_csv(tmp_path / "t.csv", {"a": a, "b": b, "y": ["x", "z"] * 20 + ["x"]})
    result = sgdone("diagnose", path)
    assert "3 values (NaN in row 3, a; NaN in row 7, b; infinity in row 9, b; row numbers start at 0)" in result.stdout
    assert "41 (38 complete" in result.stdout
    report = sgdone("diagnose", path, "--json").report
    assert report["missing"]["columns"] == {"a": 1, "b": 2}
    assert report["missing"]["first"][0] == {"row": 3, "column": "a", "found": "NaN"}


def test_rows_are_named_as_in_the_file_where_others_are_left_out(sgdone, tmp_path):
    path = write_csv(tmp_path / "t.csv", {"a": ["", "1", "2", "3", "4"], "y": ["n", "n", "n", "p", "p"]})
    assert sgdone("diagnose", path, "--json").report["separation"]["p"]["rows"] == [1, 2, 3, 4]


def test_missing_cells_of_parquet_and_svmlight(sgdone, tmp_path):
    table = pa.table({"a": [1, None, 3, 4], "flag": [True, False, None, True], "none": [None] * 4, "y": [0, 1, 0, 1]})
    parquet.write_table(table, tmp_path / "t.parquet")
    report = sgdone("diagnose", tmp_path / "t.parquet", "--json").report
    assert report["missing"]["columns"] == {"a": 1, "flag": 1, "none": 4}
    assert report["complete_rows"] == 0
    assert report["separation_skipped"] == "no row is complete"
    (tmp_path / "t.svm").write_text("1 1:1 3:nan\n-1 2:1\n1 1:inf\n")
    report = sgdone("diagnose", tmp_path / "t.svm", "--json").report
    assert [(cell["row"], cell["column"]) for cell in report["missing"]["first"]] == [
        (0, "feature 3"),
        (2, "feature 1"),
    ]
    (tmp_path / "bad.svm").write_text("1 1:1 3:nan\n-1 2:word\n")
    assert "line 2: index 2: 'word' is not a number" in sgdone("diagnose", tmp_path / "bad.svm", code=1).stderr


def test_a_fit_still_refuses_missing_entries(sgdone, tmp_path):
    (tmp_path / "t.svm").write_text("1 1:1\n-1 1:nan\n")
    assert "missing value" in sgdone("fit", tmp_path / "t.svm", code=1).stderr


def test_sparse_files(sgdone, tmp_path, rng):
    X = sparse.random_array((300, 40), density=0.1, rng=rng, format="csr")
    y = np.where(rng.random(300) < 0.5, 1, -1)
    dump_svmlight_file(sparse.csr_matrix(X), y, str(tmp_path / "t.svm"), zero_based=False)
    report = sgdone("diagnose", tmp_path / "t.svm", "--json").report
    assert (report["rows"], report["features"], report["nonzeros"]) == (300, 40, X.nnz)
    assert report["separation"]["1"]["kind"] == "none"
    assert report["separation"]["1"]["certificate"]["verified"]


def test_zero_based(sgdone, tmp_path, rng):
    path = write_svmlight(tmp_path / "t.svm", np.column_stack([rng.random(9), np.ones(9)]), [1, -1, 1] * 3, True)
    assert sgdone("diagnose", path, "--zero-based", "--json").report["constant_columns"] == ["feature 1"]
    assert "--zero-based" in sgdone("diagnose", path, code=1).stderr


def test_no_intercept(sgdone, tmp_path):
    """Positive values of two classes: a threshold tells them apart, a sign does not."""
    path = write_csv(tmp_path / "t.csv", {"a": [1, 2, 3, 4], "y": [0, 0, 1, 1]})
    for options, kind in (((), "complete"), (("--no-intercept",), "none")):
        assert sgdone("diagnose", path, "--json", *options).report["separation"]["1"]["kind"] == kind


def test_plot(sgdone, separable, tmp_path):
    result = sgdone("diagnose", separable, "--label", "ill", "--plot", tmp_path / "s.png")
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
    assert result.stdout.rstrip().endswith("s.png")


def test_plot_of_several_classes(sgdone, tmp_path):
    report = sgdone("diagnose", "iris", "--plot", tmp_path / "s.svg", "--json").report
    assert report["plots"] == [str(tmp_path / "s-0.svg")]
    assert (tmp_path / "s-0.svg").is_file()


def test_no_plot_where_there_is_nothing_to_draw(sgdone, tmp_path):
    path = write_csv(tmp_path / "t.csv", {"a": [1, 2, 3, 4], "y": [0, 1, 0, 1]})
    result = sgdone("diagnose", path, "--plot", tmp_path / "s.png")
    assert "no plot was drawn" in result.stderr
    assert not (tmp_path / "s.png").exists()


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        ("missing/s.png", "there is no folder"),
        ("", "is a folder"),
        ("s.docx", "has no file extension of an image"),
    ],
)
def test_a_plot_that_cannot_be_written_is_an_error_at_once(sgdone, separable, tmp_path, plot, message):
    assert message in sgdone("diagnose", separable, "--label", "ill", "--plot", tmp_path / plot, code=2).stderr


def test_separation_may_be_left_out(sgdone, separable):
    report = sgdone("diagnose", separable, "--label", "ill", "--no-separation", "--json").report
    assert (report["separation"], report["separation_skipped"]) == (None, "not requested")
    assert sgdone("diagnose", separable, "--no-separation", "--plot", "s.png", code=2)


def test_regression(sgdone, tmp_path):
    report = sgdone("diagnose", "diabetes", "--json").report
    assert (report["task"], report["classes"], report["separation"]) == ("regression", None, None)
    path = write_csv(tmp_path / "t.csv", {"a": [1, 2, 3, 4], "y": [0, 1, 0, 1]})
    assert "numeric (regression)" in sgdone("diagnose", path, "--task", "regression").stdout


def test_huge_scale_spread(sgdone, tmp_path, rng):
    a, b, c = rng.standard_normal((3, 50))
    path = write_csv(tmp_path / "t.csv", {"a": a, "b": b, "income": 1e8 * c, "y": rng.integers(0, 2, 50)})
    assert "Nothing need be scaled for LinearClassifier" in sgdone("diagnose", path).stdout
    report = sgdone("diagnose", path, "--json").report
    assert report["spread"]["large"] == ["income"]
    assert report["spread"]["larger_by"] > 1e7


def test_named_sets_have_named_classes(sgdone):
    text = sgdone("diagnose", "breast-cancer").stdout
    assert "0 (malignant):" in text
    assert "Complete separation" in text
