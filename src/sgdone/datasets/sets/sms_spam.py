"""Text messages, spam or not, as TF-IDF."""

from pathlib import Path

import numpy as np
from pyarrow import csv

from sgdone.datasets.dataset import Recipe, Split, split_at_random, tfidf

_FILES = ("sms-spam/sms.csv.gz",)
_CLASSES = ["ham", "spam"]


def _read(folder: Path) -> Split:
    table = csv.read_csv(str(folder / _FILES[0]), parse_options=csv.ParseOptions(newlines_in_values=True))
    texts = np.array(table["text"].to_pylist(), dtype=object)
    codes = np.array([_CLASSES.index(label) for label in table["label"].to_pylist()])
    return Split(*split_at_random(texts, codes), target_names=_CLASSES)


RECIPES = (
    Recipe(
        name="sms-spam",
        description="SMS Spam Collection: 5,574 text messages in English, whether they are spam, as scikit-learn's "
        "TF-IDF fitted on the training messages. Almeida and Hidalgo (2011); UCI Machine Learning Repository, "
        "CC BY 4.0. Split 4 : 1 at random.",
        files=_FILES,
        read=_read,
        featurize=tfidf,
    ),
)
