"""What else is fitted to each raw table: skrub before a linear model, LightGBM and Vowpal Wabbit."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tables_data import Split
from tables_fit import Clock, Fit, measured, predictions

#: C of the logistic regressions and alpha of the ridge regressions behind skrub.
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)


def skrub(split: Split) -> list[Fit]:
    """The vectoriser of skrub before a linear model with five penalties, encoded once; each fit is charged with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that the training rows do not have
        _skrub_encoder().fit_transform(split.X.head(200))  # imports
        encoder = _skrub_encoder()
        with Clock() as encoding:
            rows = encoder.fit_transform(split.X)
        rows_test = encoder.transform(split.X_test)
    found = []
    for penalty in PENALTIES:
        model: Any = Ridge(alpha=penalty) if split.is_regression else LogisticRegression(C=penalty)
        with warnings.catch_warnings(record=True) as caught, Clock() as fitting:
            warnings.simplefilter("always")
            model.fit(rows, split.y)
        note = "not converged" if any(issubclass(one.category, ConvergenceWarning) for one in caught) else ""
        setting = f"{'alpha' if split.is_regression else 'C'} = {penalty:g}"
        found.append(measured(split, predictions(model, rows_test), (encoding, fitting), setting, note))
    return found


def _skrub_encoder() -> Any:
    """The vectoriser of skrub, and what a linear model needs besides: an imputer and a scaler."""
    from skrub import TableVectorizer

    return make_pipeline(TableVectorizer(), SimpleImputer(), StandardScaler())


def lightgbm(split: Split) -> list[Fit]:
    """Its defaults, strings as categories: for orientation, since it is no linear model. It does not take text."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    if "text" in split.X:
        return []
    model = (LGBMRegressor if split.is_regression else LGBMClassifier)(n_jobs=1, random_state=split.seed, verbose=-1)
    with Clock() as encoding:
        rows = _with_categories(split.X, split.X)
    with Clock() as fitting:
        model.fit(rows, split.y)
    return [measured(split, predictions(model, _with_categories(split.X_test, split.X)), (encoding, fitting))]


def _with_categories(frame: pd.DataFrame, training: pd.DataFrame) -> pd.DataFrame:
    """Numbers as floats, dates as days, other strings as categories of the training rows."""
    columns: dict[str, Any] = {}
    for name, column in frame.items():
        if is_numeric_dtype(column):
            columns[str(name)] = column.astype(np.float64)
        elif name == "dteday":
            columns[str(name)] = (pd.to_datetime(column) - pd.Timestamp(0)).dt.days
        else:
            columns[str(name)] = pd.Categorical(column, categories=training[name].dropna().unique())
    return pd.DataFrame(columns)


def vowpal(split: Split) -> list[Fit]:
    """One pass with its defaults, a namespace for each column; encoding is writing its text format."""
    how = "--quiet" if split.is_regression else "--quiet --loss_function logistic"
    with tempfile.TemporaryDirectory(prefix="vowpal-") as folder:
        train, test, model, raw = (Path(folder) / name for name in ("train", "test", "model", "raw"))
        labels = split.y if split.is_regression else 2 * split.y - 1
        with Clock() as encoding:
            _write(split.X, labels, train)
        with Clock() as fitting:
            _run_vowpal(f"{how} -d {train} -f {model}")
        _write(split.X_test, split.y_test, test)
        # Margins, since probabilities near 1 are written with six digits.
        _run_vowpal(f"{how} -t -i {model} -d {test} {'-p' if split.is_regression else '-r'} {raw}")
        predicted = np.loadtxt(raw)
    return [measured(split, predicted if split.is_regression else expit(predicted), (encoding, fitting))]


def _run_vowpal(arguments: str) -> None:
    from vowpalwabbit import Workspace

    workspace = Workspace(arguments)
    workspace.run_parser()
    workspace.finish()


def _write(frame: pd.DataFrame, labels: Any, path: Path) -> None:
    """Numbers are features with a value, words of strings are features; gaps are left out."""
    columns = [np.char.mod("%g ", labels).tolist()]
    for name, column in frame.items():
        if is_numeric_dtype(column):
            texts = [f"|{name} {name}:{value:g} " for value in column.astype(np.float64).tolist()]
        else:
            words = column.fillna("").str.replace(r"[|:\s]+", " ", regex=True)
            texts = [f"|{name} {text} " for text in words.tolist()]
        columns.append([text if full else "" for text, full in zip(texts, column.notna().tolist(), strict=True)])
    path.write_text("\n".join(map("".join, zip(*columns, strict=True))) + "\n")
