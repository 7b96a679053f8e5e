"""Binary classification data sets published as svmlight files."""

import bz2
from functools import partial
from pathlib import Path

from sklearn.datasets import load_svmlight_file

from sgdone.datasets.dataset import Recipe, Split
from sgdone.readers.table import Table


def _read(*paths: Path, n_features: int, zero_based: bool, target_names: list[str]) -> Split:
    def rows(path: Path) -> Table:
        with bz2.open(path) as stream:
            X, y = load_svmlight_file(stream, n_features=n_features, zero_based=zero_based)
        X.eliminate_zeros()
        return Table(X, y.astype(int))

    train, test = map(rows, paths)
    return Split(train, test, target_names=target_names)


RECIPES = (
    Recipe(
        name="a9a",
        description="a9a: 32,561 + 16,281 adults of the US census of 1994, 123 features of 0 or 1, whether "
        "they earn more than $50,000. UCI Adult (Kohavi and Becker 1996, CC BY 4.0) as prepared "
        "by Platt (1998) for LIBSVM. Split by its authors.",
        files=("a9a/adult.trn.bz2", "a9a/adult.tst.bz2"),
        read=partial(_read, n_features=123, zero_based=True, target_names=["<=50K", ">50K"]),
    ),
    Recipe(
        name="reuters-money-fx",
        description="Reuters-21578: 7,770 + 3,299 news stories, weights of 8,315 words, whether they are "
        "about foreign exchange (money-fx). Lewis (1997), free for research, as prepared for LASVM. "
        "Split by its authors.",
        files=("reuters-money-fx/reuters.trn.bz2", "reuters-money-fx/reuters.tst.bz2"),
        read=partial(_read, n_features=8_315, zero_based=False, target_names=["other", "money-fx"]),
    ),
)
