"""Data sets on disk and in scikit-learn, binary tasks by name, and fetchers."""

import gzip
import os
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from scipy import sparse

from sgdone import datasets
from sgdone.datasets.dataset import split_at_random
from sgdone.datasets.loading import find, recipes
from sgdone.datasets.sets import texts

BUNDLED = ["breast-cancer", "diabetes", "digits", "iris", "wine"]


@pytest.fixture(scope="session")
def load():
    """Load a data set once per session; skip the test if it is not available."""

    @cache
    def remembered(name, subset):
        return datasets.load(name, subset=subset, dtype=np.float32)

    def load(name, subset="train"):
        folder = os.environ.get("SGDONE_DATA")
        known = max((known for known in recipes() if name.startswith(known)), key=len)
        absent = [file for file in recipes()[known].files if not (Path(folder or "") / file).is_file()]
        if absent or not folder:
            pytest.skip(f"SGDONE_DATA={folder} lacks {known}")
        return remembered(name, subset)

    return load


@pytest.fixture
def offline(monkeypatch):
    """Without the folder SGDONE_DATA and without a network."""

    def down(*_args, **_kwargs):
        raise URLError("no network in this test")

    for place in ("images.fetch_openml", "covertype.fetch_covtype", "texts.fetch_20newsgroups"):
        monkeypatch.setattr(f"sgdone.datasets.sets.{place}", down)
    monkeypatch.setattr("sgdone.datasets.sets.rcv1.fetch_rcv1", down)
    monkeypatch.delenv("SGDONE_DATA", raising=False)
    return monkeypatch


def counts(data):
    codes, numbers = np.unique(data.y, return_counts=True)
    return dict(zip(codes.tolist(), numbers.tolist(), strict=True))


def test_names():
    others = [
        "a9a",
        "bike-sharing",
        "cifar10",
        "colon",
        "covertype",
        "cpusmall",
        "endometrial",
        "mnist",
        "newsgroups20",
        "pendigits",
        "rcv1",
        "reuters-money-fx",
        "sms-spam",
        "spambase",
    ]
    assert datasets.names() == sorted(BUNDLED + others)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled(name, offline):
    train, test, both = (datasets.load(name, subset=subset) for subset in ("train", "test", "all"))
    assert len(test.y) == len(both.y) // 5
    np.testing.assert_array_equal(np.concatenate([train.X, test.X]), both.X)
    np.testing.assert_array_equal(np.concatenate([train.y, test.y]), both.y)
    assert both.X.dtype == np.float64
    assert both.X.flags.c_contiguous
    assert len(both.feature_names) == both.X.shape[1]
    assert both.task == ("regression" if name == "diabetes" else "classification")
    if both.task == "classification":
        assert both.y.dtype == np.int64
        assert len(both.target_names) == len(counts(both))
    else:
        assert both.y.dtype == np.float64
        assert both.target_names is None


def test_split_is_a_partition():
    train, test = split_at_random(np.arange(103)[:, None], np.arange(103))
    assert (len(train.y), len(test.y)) == (83, 20)
    assert sorted([*train.y, *test.y]) == list(range(103))
    np.testing.assert_array_equal(train.X[:, 0], train.y)


@pytest.mark.slow
def test_mnist(load):
    train, test = load("mnist"), load("mnist", "test")
    assert (train.X.shape, test.X.shape) == ((60_000, 784), (10_000, 784))
    assert (train.X.min(), train.X.max()) == (0, 255)
    assert counts(train) == dict(enumerate([5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]))
    assert counts(test) == dict(enumerate([980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]))
    assert train.X.dtype == np.float32


@pytest.mark.slow
def test_mnist_tasks(load):
    everything, pair, rest = load("mnist"), load("mnist-7-vs-9"), load("mnist-9-vs-rest")
    assert counts(pair) == {-1: 5949, 1: 6265}
    assert pair.target_names == ["9", "7"]
    np.testing.assert_array_equal(pair.X[pair.y == 1], everything.X[everything.y == 7])
    assert counts(rest) == {-1: 54_051, 1: 5949}
    assert rest.target_names == ["rest", "9"]
    np.testing.assert_array_equal(rest.y == 1, everything.y == 9)


@pytest.mark.slow
def test_cifar10(load):
    train, test = load("cifar10"), load("cifar10", "test")
    assert (train.X.shape, test.X.shape) == ((20_000, 3072), (414, 3072))
    assert counts(train) == {0: 5000, 4: 5000, 6: 5000, 9: 5000}
    assert counts(test) == {0: 103, 4: 90, 6: 112, 9: 109}
    assert train.target_names == ["airplane", "deer", "frog", "truck"]
    for name, target_names in (("deer-vs-airplane", ["airplane", "deer"]), ("6-vs-9", ["truck", "frog"])):
        data = load(f"cifar10-{name}")
        assert (counts(data), data.target_names) == ({-1: 5000, 1: 5000}, target_names)


@pytest.mark.slow
def test_covertype(load):
    data, test = load("covertype", "all"), load("covertype", "test")
    assert data.X.shape == (426_598, 54)
    assert len(test.y) == 85_319
    np.testing.assert_array_equal(test.y, data.y[-len(test.y) :])
    np.testing.assert_array_equal(np.unique(data.y), np.arange(1, 8))
    assert data.feature_names[9:11] == ["Horizontal_Distance_To_Fire_Points", "Wilderness_Area_1"]
    assert data.feature_names[-1] == "Soil_Type_40"
    assert (data.X[:, 10:14].sum(axis=1) == 1).all()
    assert (data.X[:, 14:].sum(axis=1) == 1).all()
    assert 1800 < data.X[:, 0].min() < data.X[:, 0].max() < 3900
    assert data.target_names[1] == "Lodgepole Pine"


@pytest.mark.slow
def test_covertype_tasks(load):
    multi = load("covertype", "test")
    for name in (
        "covertype-2-vs-rest",
        "covertype-Lodgepole Pine-vs-rest",
        "covertype-lodgepole-pine-vs-rest",
    ):
        data = load(name, "test")
        np.testing.assert_array_equal(data.y == 1, multi.y == 2)
        assert data.target_names == ["rest", "Lodgepole Pine"]


@pytest.mark.slow
def test_a9a(load):
    train, test = load("a9a"), load("a9a", "test")
    assert (train.X.shape, test.X.shape) == ((32_561, 123), (16_281, 123))
    assert isinstance(train.X, sparse.csr_array)
    assert train.X.indices.dtype == np.int32
    assert (train.X.data == 1).all()
    assert (test.X.data == 1).all()
    assert counts(train) == {-1: 24_720, 1: 7841}
    assert counts(test) == {-1: 12_435, 1: 3846}
    assert np.diff(train.X.indptr).max() == 14
    assert load("a9a", "all").X.shape == (48_842, 123)


@pytest.mark.slow
def test_reuters_money_fx(load):
    train, test = load("reuters-money-fx"), load("reuters-money-fx", "test")
    assert (train.X.shape, test.X.shape) == ((7770, 8315), (3299, 8315))
    assert counts(train) == {-1: 7232, 1: 538}
    assert counts(test) == {-1: 3120, 1: 179}
    np.testing.assert_allclose(np.sqrt(train.X.multiply(train.X).sum(axis=1)), 1, rtol=1e-4)


def test_endometrial(load):
    data = load("endometrial")
    assert data.X.shape == (79, 3)
    assert counts(data) == {0: 49, 1: 30}
    assert (data.y[data.X[:, 0] == 1] == 1).all()
    np.testing.assert_array_equal(load("endometrial", "all").X, data.X)
    with pytest.raises(ValueError, match="endometrial has no test rows"):
        load("endometrial", "test")


def test_spambase(load):
    train, test = load("spambase"), load("spambase", "test")
    assert (train.X.shape, test.X.shape) == ((3681, 57), (920, 57))
    assert counts(load("spambase", "all")) == {0: 2788, 1: 1813}
    assert load("spambase", "all").X.max() == 15_841
    assert train.target_names == ["ham", "spam"]
    assert "spam" not in train.feature_names


def test_pendigits(load):
    train, test = load("pendigits"), load("pendigits", "test")
    assert (train.X.shape, test.X.shape) == ((7494, 16), (3498, 16))
    assert (train.X.min(), train.X.max()) == (0, 100)
    assert counts(train) == dict(enumerate([780, 779, 780, 719, 780, 720, 720, 778, 719, 719]))
    assert counts(test) == dict(enumerate([363, 364, 364, 336, 364, 335, 336, 364, 336, 336]))


def test_cpusmall(load):
    data = load("cpusmall", "all")
    assert (data.X.shape, data.task, data.y.dtype) == ((8192, 12), "regression", np.float64)
    assert data.X.max() > 2e6
    assert (data.y.min(), data.y.max()) == (0, 99)


def test_colon(load):
    data = load("colon", "all")
    assert (data.X.shape, counts(data)) == ((62, 2000), {0: 40, 1: 22})


def test_bike_sharing(load):
    data = load("bike-sharing", "all")
    assert (data.X.shape, data.y.min(), data.y.max()) == ((17_379, 12), 1, 977)
    assert not {"casual", "registered", "instant", "dteday"} & set(data.feature_names)


def test_sms_spam(load):
    train, test, both = (load("sms-spam", subset) for subset in ("train", "test", "all"))
    assert (train.X.shape[0], test.X.shape[0]) == (4460, 1114)
    assert train.X.shape[1] == both.X.shape[1] == len(train.feature_names)
    assert counts(both) == {0: 4827, 1: 747}
    np.testing.assert_allclose(np.sqrt(train.X.multiply(train.X).sum(axis=1)).max(), 1, rtol=1e-5)
    np.testing.assert_array_equal(both.X[[0]].toarray(), train.X[[0]].toarray())


@pytest.mark.slow
def test_newsgroups20_texts(load):
    load("newsgroups20-sci.med-vs-sci.space")
    split = find(recipes()["newsgroups20"])
    assert (len(split.train.y), len(split.test.y)) == (11_314, 7532)
    assert len(split.target_names) == 20
    assert (np.bincount(split.train.y)[[0, -1]] == [480, 377]).all()
    assert len(np.unique(split.train.y[:100])) > 10


@pytest.mark.slow
def test_newsgroups20_features(load):
    train, test = (load("newsgroups20-sci.med-vs-sci.space", subset) for subset in ("train", "test"))
    assert counts(train) == {-1: 593, 1: 594}
    assert counts(test) == {-1: 394, 1: 396}
    assert train.X.shape[1] == test.X.shape[1] == len(train.feature_names)
    assert train.target_names == ["sci.space", "sci.med"]
    np.testing.assert_allclose(np.sqrt(test.X.multiply(test.X).sum(axis=1)), 1, rtol=1e-5)
    both = load("newsgroups20-sci.med-vs-sci.space", "all")
    np.testing.assert_array_equal(both.X[[0]].toarray(), train.X[[0]].toarray())


@pytest.mark.slow
def test_newsgroups20_groups_with_hyphens(load):
    data = load("newsgroups20-comp.os.ms-windows.misc-vs-comp.graphics")
    assert data.target_names == ["comp.graphics", "comp.os.ms-windows.misc"]


@pytest.mark.parametrize("name", ["Digits-3-vs-8", "digits"])
def test_tasks_by_name_or_argument(name):
    options = {} if "vs" in name else {"positive": 3, "negative": "8"}
    data = datasets.load(name, subset="all", **options)
    assert data.target_names == ["8", "3"]
    assert counts(data) == {-1: 174, 1: 183}
    assert data.name == name


def test_underscores():
    data = datasets.load("breast_cancer-Malignant-vs-REST", subset="all")
    assert counts(data) == {-1: 357, 1: 212}


def test_types():
    assert datasets.load("iris", dtype=np.float32).X.dtype == np.float32
    data = datasets.load("iris")
    data.feature_names.clear()
    assert len(datasets.load("iris").feature_names) == 4


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("iris", {"subset": "valid"}, "subset='valid' is none of 'train', 'test', 'all'"),
        ("iris-setosa-vs-rest", {"positive": "setosa"}, "the binary task is ambiguous"),
        ("iris", {"negative": "setosa"}, "the binary task is ambiguous"),
        ("iris-rose-vs-rest", {}, "no class 'rose': the classes are setosa, versicolor, virginica"),
        ("iris-setosa-vs-rose", {}, "no class 'rose'"),
        ("iris-setosa-vs-0", {}, "'setosa' and '0' are the same class"),
        ("diabetes", {"positive": 1}, "diabetes is a regression"),
    ],
)
def test_wrong_arguments(name, options, message):
    with pytest.raises(ValueError, match=message):
        datasets.load(name, **options)


@pytest.mark.parametrize("name", ["mnits", "mnist-79", "mnist-7-vs-", "mnist-vs-rest", ""])
def test_unknown_name(name):
    with pytest.raises(datasets.DatasetNotFound, match="'<set>-<class>-vs-rest'") as caught:
        datasets.load(name)
    assert isinstance(caught.value, LookupError)
    assert "mnist, newsgroups20, pendigits, rcv1" in str(caught.value)
    assert ("Did you mean 'mnist'?" in str(caught.value)) == (name.startswith("mni") and len(name) < 12)


@pytest.mark.parametrize("name", ["mnist", "covertype-2-vs-rest", "newsgroups20"])
def test_not_found_but_fetchable(name, offline, tmp_path):
    known = name.split("-")[0]
    first = recipes()[known].files[0]
    message = (
        f"data set '{known}' not found: SGDONE_DATA is not set; scikit-learn could not fetch it "
        rf"\(URLError: .*no network in this test.*\). Set SGDONE_DATA to a folder with {first}"
    )
    with pytest.raises(datasets.DatasetNotFound, match=message) as caught:
        datasets.load(name)
    assert isinstance(caught.value.__cause__, URLError)
    offline.setenv("SGDONE_DATA", str(tmp_path))
    with pytest.raises(datasets.DatasetNotFound, match=f"SGDONE_DATA={tmp_path} lacks {first}"):
        datasets.load(name)


@pytest.mark.parametrize("name", ["a9a", "cifar10", "endometrial", "pendigits", "reuters-money-fx", "sms-spam"])
def test_not_found_and_no_fetcher(name, offline):
    with pytest.raises(
        datasets.DatasetNotFound,
        match=r"SGDONE_DATA is not set; scikit-learn has no fetcher for it. Set SGDONE_DATA",
    ):
        datasets.load(name)


def test_a_part_of_the_files_is_not_enough(offline, tmp_path):
    (tmp_path / "a9a").mkdir()
    (tmp_path / "a9a" / "adult.trn.bz2").touch()
    offline.setenv("SGDONE_DATA", str(tmp_path))
    with pytest.raises(datasets.DatasetNotFound, match=r"lacks a9a/adult\.tst\.bz2;"):
        datasets.load("a9a")


def test_damaged_files_are_named(offline, tmp_path):
    (tmp_path / "mnist").mkdir()
    for file in recipes()["mnist"].files:
        (tmp_path / file).write_bytes(gzip.compress(b"not an idx file"))
    offline.setenv("SGDONE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte\.gz: is not an idx file") as caught:
        datasets.load("mnist")
    assert "while reading mnist/train-images" in caught.value.__notes__[0]


def test_fetch_mnist(offline):
    calls = []

    def fetch_openml(*args, **kwargs):
        calls.append((args, kwargs))
        X = np.arange(70_000.0)[:, None] * np.ones(3)
        return X, np.array([str(i % 10) for i in range(70_000)], dtype=object)

    offline.setattr("sgdone.datasets.sets.images.fetch_openml", fetch_openml)
    train, test = datasets.load("mnist"), datasets.load("mnist-7-vs-9", subset="test")
    assert calls[0] == (("mnist_784",), {"version": 1, "return_X_y": True, "as_frame": False})
    assert (len(train.y), train.X[-1, 0]) == (60_000, 59_999)
    assert counts(test) == {-1: 1000, 1: 1000}
    assert test.X[0, 0] == 60_007


def test_fetch_covertype(offline):
    def fetch_covtype(*, return_X_y, shuffle):
        assert return_X_y
        assert not shuffle
        return np.ones((700, 54)), np.arange(700) % 7 + 1

    offline.setattr("sgdone.datasets.sets.covertype.fetch_covtype", fetch_covtype)
    data = datasets.load("covertype-2-vs-rest", subset="all")
    assert counts(data) == {-1: 600, 1: 100}
    assert len(data.feature_names) == 54


def test_fetch_newsgroups20(offline):
    def fetch_20newsgroups(*, subset, shuffle):
        assert not shuffle
        texts = {"train": ["the cat sat", "dogs bark", "cat and dog", "bark"], "test": ["cat", "bark"]}[subset]
        targets = np.arange(len(texts)) % 2
        files = [f"/cache/{subset}/{i}" for i in range(len(texts))]
        return SimpleNamespace(data=texts, target=targets, target_names=["cats", "dogs"], filenames=files)

    offline.setattr("sgdone.datasets.sets.texts.fetch_20newsgroups", fetch_20newsgroups)
    train = datasets.load("newsgroups20")
    assert train.feature_names == ["and", "bark", "cat", "dog", "dogs", "sat", "the"]
    assert counts(train) == {0: 2, 1: 2}
    test = datasets.load("newsgroups20-cats-vs-dogs", subset="test")
    np.testing.assert_array_equal(test.X[:, [2]].toarray().ravel() > 0, test.y == 1)


def test_folder_and_fetcher_agree_on_the_order_of_newsgroups20():
    documents = [("b", "2", "x"), ("a", "10", "y"), ("a", "9", "z"), ("b", "1", "w")]
    one = texts._split(documents, documents)
    other = texts._split(documents[::-1], documents)
    np.testing.assert_array_equal(one.train.X, other.train.X)
    np.testing.assert_array_equal(one.train.y, other.train.y)


def test_fetch_rcv1(offline):
    def fetch_rcv1(*, subset, shuffle):
        assert (subset, shuffle) == ("all", False)
        n = 23_200
        topics = sparse.csr_matrix(np.column_stack([np.arange(n) % 2, np.arange(n) % 4 == 0]).astype(np.uint8))
        X = sparse.eye(n, 5, format="csr")
        return SimpleNamespace(data=X, target=topics, target_names=np.array(["CCAT", "ECAT"], dtype=object))

    offline.setattr("sgdone.datasets.sets.rcv1.fetch_rcv1", fetch_rcv1)
    train, test = datasets.load("rcv1"), datasets.load("rcv1-ecat-vs-rest", subset="test")
    assert train.X.shape == (23_149, 5)
    assert isinstance(train.X, sparse.csr_array)
    assert train.target_names == ["rest", "CCAT"]
    assert counts(train) == {-1: 11_575, 1: 11_574}
    assert len(test.y) == 51
    assert test.target_names == ["rest", "ECAT"]
    with pytest.raises(ValueError, match="a story may have both topics 'CCAT' and 'ECAT'"):
        datasets.load("rcv1-CCAT-vs-ECAT")


def test_rcv1_not_found(offline):
    with pytest.raises(datasets.DatasetNotFound, match=r"'rcv1' not found: scikit-learn could not fetch it"):
        datasets.load("rcv1")


@pytest.mark.parametrize("name", datasets.names())
def test_descriptions_tell_the_origin(name):
    description = recipes()[name].description
    assert any(word in description for word in ("licence", "CC BY", "reuse", "free"))
    assert any(word in description for word in ("Split", "Used whole", "to test"))
