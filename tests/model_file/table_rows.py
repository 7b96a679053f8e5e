"""A table with columns of every kind, and more rows of it that bring new levels, words and gaps."""

import datetime

import numpy as np
import pandas as pd

_WORDS = np.array(
    ["free", "prize", "win", "call", "now", "hello", "meeting", "lunch", "report", "money", "offer", "dear", "friend"]
)


def table(seed: int, n_rows: int, levels: str = "abcé", extra_words: str = "") -> pd.DataFrame:
    """Numbers, gaps, booleans, categories, codes, dates, times and text."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n_rows, 2))
    words = np.append(_WORDS, extra_words.split())
    hours = pd.to_timedelta(rng.integers(0, 500 * 24, n_rows), "h")
    return pd.DataFrame(
        {
            "x": numbers[:, 0],
            "gaps": np.where(rng.random(n_rows) < 0.1, np.nan, numbers[:, 1]),
            "flag": rng.random(n_rows) < 0.5,
            "level": np.where(rng.random(n_rows) < 0.1, None, rng.choice(list(levels), n_rows)),
            "code": [f"0{k}" for k in rng.integers(10, 14, n_rows)],
            "size": pd.Categorical(rng.choice(["S", "M"], n_rows), categories=["S", "M", "L"]),
            "when": pd.Timestamp("2026-01-01", tz="Europe/Berlin") + hours,
            "time": [datetime.time(int(hour)) for hour in rng.integers(0, 24, n_rows)],
            "note": [" ".join(rng.choice(words, 6)) + f" n{seed}{i}" for i in range(n_rows)],
            "same": 1.0,
        }
    )


def labels(frame: pd.DataFrame, classes: int) -> np.ndarray:
    """Classes, or numbers for 0 classes."""
    rng = np.random.default_rng(1)
    score = frame["x"].to_numpy() + 2.0 * (frame["level"] == "a").to_numpy() + rng.standard_normal(len(frame))
    return score if classes == 0 else np.digitize(score, [[0.5], [0.0, 1.0]][classes - 2])


#: The rows of a first call, and of two later ones; the second brings levels, words and months that the first has not.
FIRST, SECOND, THIRD = table(0, 120), table(1, 60, "abxyz", "unheard word"), table(2, 40)
