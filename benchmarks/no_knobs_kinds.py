"""Kinds of data on which the choice of a penalty is difficult: few rows, many columns, word counts, heavy tails.

Rows of data sets that `sgdone.datasets` has, in other features or fewer of them, and generated ones. Each split draws
its training and test rows with a random number generator of its own.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from sgdone import datasets
from sgdone.datasets.dataset import Split
from sgdone.datasets.loading import find, parse

#: Training rows with their labels, and test rows with theirs.
Rows = tuple[Any, NDArray[Any], Any, NDArray[Any]]


def sms_counts(split: int) -> Rows:
    """Word counts of text messages."""
    return _word_counts(*_texts("sms-spam"), split)


def science_counts(split: int) -> Rows:
    """Word counts of messages to twenty newsgroups, four of them about science."""
    texts, groups = _texts("newsgroups20")
    science = [code for code, name in enumerate(_recipe("newsgroups20").target_names or ()) if name.startswith("sci.")]
    return _word_counts(texts, np.isin(groups, science).astype(np.int64), split)


def politics_counts(split: int) -> Rows:
    """Word counts of messages to two newsgroups: twenty times as many words as messages."""
    names = _recipe("newsgroups20").target_names or []
    codes = [names.index(name) for name in ("talk.politics.guns", "talk.politics.misc")]
    texts, groups = _texts("newsgroups20")
    chosen = np.isin(groups, codes)
    return _word_counts(texts[chosen], groups[chosen], split)


def products_of_pixels(split: int) -> Rows:
    """Two digits that look alike, 4 and 9, as 5,000 products of pixels."""
    X, y = _digits(4, 9)
    X_train, X_test, y_train, y_test = _draw(X, y, 700, 1000, split)
    first, second = np.random.default_rng(0).choice(_inked(X), (2, 5000))
    return X_train[:, first] * X_train[:, second], y_train, X_test[:, first] * X_test[:, second], y_test


def pixels(split: int) -> Rows:
    """Ten digits as 380 of their pixels."""
    X, y = _digits(*range(10))
    X_train, X_test, y_train, y_test = _draw(X, y, 1400, 2000, split)
    columns = np.sort(np.random.default_rng(0).choice(_inked(X), 380, replace=False))
    return X_train[:, columns], y_train, X_test[:, columns], y_test


def heavy_tails(split: int) -> Rows:
    """Counts that grow with three sizes, log-normal as are those of software modules; labels depend on their logs."""
    rng, n_rows, n_train = np.random.default_rng([1, split]), 5205, 1205
    sizes = rng.standard_normal((n_rows, 3)) @ np.array([[1.2, 0.3, 0.0], [0.0, 0.8, 0.4], [0.3, 0.0, 0.8]])
    loadings = 0.6 * rng.standard_normal((3, 30)) + np.array([[0.8], [0.2], [0.2]])
    X = np.round(np.exp(1.0 + sizes @ loadings + 0.5 * rng.standard_normal((n_rows, 30))))
    scores = -2.0 + 0.9 * sizes[:, 0] + 0.5 * sizes[:, 1] - 0.3 * np.maximum(sizes[:, 2], 0.0)
    y = (rng.uniform(size=n_rows) < 1.0 / (1.0 + np.exp(-scores))).astype(np.int64)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def few_tissues(split: int) -> Rows:
    """26 of the 62 tissues of colon; the others are for testing."""
    data = datasets.load("colon", subset="all")
    X_train, X_test, y_train, y_test = _draw(data.X, data.y, 26, 36, split)
    return X_train, y_train, X_test, y_test


def few_expressions(split: int) -> Rows:
    """26 rows of 7,129 gene expressions: 25 factors, and 300 genes that depend on the class."""
    rng, n_rows, n_genes, n_train = np.random.default_rng([2, split]), 326, 7129, 26
    factors = rng.standard_normal((n_rows, 25))
    loadings = rng.standard_normal((25, n_genes)) * (rng.uniform(size=(25, n_genes)) < 0.15)
    y = (rng.uniform(size=n_rows) < 0.35).astype(np.int64)
    effects = np.zeros(n_genes)
    effects[rng.choice(n_genes, 300, replace=False)] = 0.8 * rng.standard_normal(300)
    X = np.exp(6.0 + 0.8 * (factors @ loadings + rng.standard_normal((n_rows, n_genes)) + np.outer(y, effects)))
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


#: The kinds, the cheapest first, and their numbers of splits.
KINDS: dict[str, tuple[Callable[[int], Rows], int]] = {
    "colon-26-rows": (few_tissues, 20),
    "gene-expressions": (few_expressions, 20),
    "heavy-tails": (heavy_tails, 20),
    "sms-spam-counts": (sms_counts, 10),
    "mnist-4-vs-9-products": (products_of_pixels, 5),
    "newsgroups20-politics-counts": (politics_counts, 5),
    "mnist-1400-rows": (pixels, 5),
    "newsgroups20-science-counts": (science_counts, 2),
}


@lru_cache(maxsize=1)
def _recipe(name: str) -> Split:
    return find(parse(name)[0])


def _texts(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """All texts of a set, and the numbers of their classes."""
    found = _recipe(name)
    assert found.test is not None
    return np.concatenate([found.train.X, found.test.X]), np.concatenate([found.train.y, found.test.y])


def _word_counts(texts: NDArray[Any], y: NDArray[Any], split: int) -> Rows:
    """Counts of the words of the training texts; a quarter of the texts is for testing."""
    train, test, y_train, y_test = train_test_split(texts, y, test_size=0.25, stratify=y, random_state=split)
    words = CountVectorizer(dtype=np.float64)
    return sparse.csr_array(words.fit_transform(train)), y_train, sparse.csr_array(words.transform(test)), y_test


@lru_cache(maxsize=1)
def _digits(*classes: int) -> tuple[NDArray[Any], NDArray[Any]]:
    data = datasets.load("mnist")
    chosen = np.isin(data.y, classes)
    return data.X[chosen], data.y[chosen]


def _inked(X: NDArray[Any]) -> NDArray[np.intp]:
    """Pixels with ink in more than one image of a hundred."""
    return np.flatnonzero((X > 0).mean(axis=0) > 0.01)


def _draw(X: Any, y: NDArray[Any], n_train: int, n_test: int, split: int) -> list[Any]:
    draw = partial(train_test_split, train_size=n_train, test_size=n_test, random_state=split)
    return list(draw(X, y, stratify=y))
