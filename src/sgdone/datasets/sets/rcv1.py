"""RCV1: 804,414 news stories, each with several topics."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.datasets import fetch_rcv1

from sgdone.datasets.dataset import Recipe, Split, find_class
from sgdone.readers.table import Table

#: LYRL2004: the stories of the first twelve days.
_N_TRAIN = 23_149


def _fetch() -> Split:
    bunch = fetch_rcv1(subset="all", shuffle=False)
    rows = Table(bunch.data, bunch.target)
    return Split(
        rows.at(slice(_N_TRAIN)),
        rows.at(slice(_N_TRAIN, None)),
        target_names=[str(name) for name in bunch.target_names],
    )


def _choose(split: Split, positive: str, negative: str | None) -> Split:
    if negative is not None:
        raise ValueError(f"rcv1: a story may have both topics {positive!r} and {negative!r}: use '{positive}-vs-rest'")
    names = split.target_names or []
    topic = find_class(positive, np.arange(len(names)), names)

    def relabelled(rows: Table) -> Table:
        topics: Any = rows.y  # a sparse matrix with a column for each topic
        member = topics[:, [topic]].toarray().ravel()
        return Table(rows.X, np.where(member > 0, 1, -1))

    test = None if split.test is None else relabelled(split.test)
    return replace(split, train=relabelled(split.train), test=test, target_names=["rest", names[topic]])


RECIPES = (
    Recipe(
        name="rcv1",
        description="RCV1-v2: 23,149 + 781,265 news stories, TF-IDF of 47,236 words, one of 103 topics "
        "against the rest, CCAT unless another is named. Lewis, Yang, Rose and Li (2004), no "
        "licence stated. Split by its authors.",
        fetch=_fetch,
        choose=_choose,
        positive="CCAT",
    ),
)
