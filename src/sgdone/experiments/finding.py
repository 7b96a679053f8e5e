"""Experiments by name: found in this folder, not registered anywhere."""

from typing import Any

from sgdone import experiments
from sgdone.experiments.base import Experiment
from sgdone.registry import did_you_mean, names


def all_experiments() -> dict[str, type[Experiment[Any, Any]]]:
    """Every experiment by its name, in alphabetical order."""
    return dict(sorted(names(Experiment, experiments).items()))


def find(name: str) -> type[Experiment[Any, Any]]:
    """The experiment of that name; names take ``-`` or ``_``.

    Examples
    --------
    >>> find("termination_sgima")
    Traceback (most recent call last):
        ...
    ValueError: no experiment is called 'termination_sgima'. Did you mean 'termination-sigma'? See --list
    """
    known = all_experiments()
    key = name.lower().replace("_", "-")
    if key not in known:
        raise ValueError(f"no experiment is called {name!r}.{did_you_mean(key, known)} See --list")
    return known[key]
