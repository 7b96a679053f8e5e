"""Texts as TF-IDF: twenty newsgroups, and text messages that are spam or not."""

import tarfile
from pathlib import Path
from typing import Any, cast

import numpy as np
from pyarrow import csv
from sklearn.datasets import fetch_20newsgroups

from sgdone.datasets.dataset import Recipe, Split, split_at_random, tfidf
from sgdone.readers.table import Table

_SPAM = ["ham", "spam"]

#: Name of the group and of the file, and the text.
_Document = tuple[str, str, str]


def _read(path: Path) -> Split:
    parts: dict[str, list[_Document]] = {"20news-bydate-train": [], "20news-bydate-test": []}
    with tarfile.open(path, "r:xz") as archive:
        for member in archive:
            if member.isfile():
                part, group, file = Path(member.name).parts[-3:]
                content = cast("Any", archive.extractfile(member)).read()
                parts[part].append((group, file, content.decode("latin-1")))
    return _split(*parts.values())


def _fetch() -> Split:
    def documents(subset: str) -> list[_Document]:
        bunch = fetch_20newsgroups(subset=subset, shuffle=False)
        groups = [bunch.target_names[code] for code in bunch.target]
        return list(zip(groups, (Path(file).name for file in bunch.filenames), bunch.data, strict=True))

    return _split(documents("train"), documents("test"))


def _split(train: list[_Document], test: list[_Document]) -> Split:
    names = sorted({group for group, _, _ in train})
    return Split(_rows(train, names), _rows(test, names), target_names=names)


def _rows(documents: list[_Document], names: list[str]) -> Table:
    """Texts sorted by group and file name, then shuffled: the order depends on the names alone."""
    documents = sorted(documents)
    texts = np.array([text for _, _, text in documents], dtype=object)
    codes = {name: code for code, name in enumerate(names)}
    groups = np.array([codes[group] for group, _, _ in documents])
    return Table(texts, groups).at(np.random.default_rng(0).permutation(len(documents)))


def _read_messages(path: Path) -> Split:
    table = csv.read_csv(str(path), parse_options=csv.ParseOptions(newlines_in_values=True))
    texts = np.array(table["text"].to_pylist(), dtype=object)
    codes = np.array([_SPAM.index(label) for label in table["label"].to_pylist()])
    return Split(*split_at_random(texts, codes), target_names=_SPAM)


RECIPES = (
    Recipe(
        name="newsgroups20",
        description="20 Newsgroups, by date: 11,314 + 7,532 messages to 20 groups, headers and quotes "
        "included, as scikit-learn's TF-IDF fitted on the training messages of the chosen groups. "
        "Lang (1995), no licence stated. Split by its authors.",
        files=("newsgroups20/20news-bydate.tar.xz",),
        read=_read,
        fetch=_fetch,
        featurize=tfidf,
    ),
    Recipe(
        name="sms-spam",
        description="SMS Spam Collection: 5,574 text messages in English, whether they are spam, as scikit-learn's "
        "TF-IDF fitted on the training messages. Almeida and Hidalgo (2011); UCI Machine Learning Repository, "
        "CC BY 4.0. Split 4 : 1 at random.",
        files=("sms-spam/sms.csv.gz",),
        read=_read_messages,
        featurize=tfidf,
    ),
)
