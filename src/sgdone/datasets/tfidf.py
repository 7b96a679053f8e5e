"""Features of texts."""

from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer

from sgdone.readers.table import Table


def tfidf(train: Table, rows: Table) -> tuple[Any, list[str]]:
    """scikit-learn's TF-IDF of ``rows`` with its defaults, fitted on the training texts, and the words."""
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(train.X)
    if rows is not train:
        X = vectorizer.transform(rows.X)
    return X, vectorizer.get_feature_names_out().tolist()
