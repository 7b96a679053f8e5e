"""Where a data set is: which file of ``sets/`` describes it, and which folder or fetcher has it."""

import difflib
import importlib
import os
import pkgutil
from functools import lru_cache
from pathlib import Path

from sgdone.datasets import sets
from sgdone.datasets.dataset import DatasetNotFound, Recipe, Split

#: The environment variable that names the user's folder of data sets.
VARIABLE = "SGDONE_DATA"

#: A class, and the one to tell it from; None for all others.
BinaryTask = tuple[str, str | None]


@lru_cache(maxsize=1)
def recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    modules = [
        importlib.import_module(f"{sets.__name__}.{found.name}") for found in pkgutil.iter_modules(sets.__path__)
    ]
    return {recipe.name: recipe for module in modules for recipe in module.RECIPES}


def parse(name: str) -> tuple[Recipe, BinaryTask | None]:
    """Tell ``mnist-7-vs-9`` into the set and its task, the longest name of a set first."""
    plain = name.lower().replace("_", "-")
    for known in sorted(recipes(), key=len, reverse=True):
        if plain == known:
            return recipes()[known], None
        if plain.startswith(f"{known}-"):
            positive, versus, negative = name[len(known) + 1 :].partition("-vs-")
            if not (positive and versus and negative):
                break
            return recipes()[known], (positive, None if negative.lower() == "rest" else negative)
    near = difflib.get_close_matches(plain, recipes(), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise DatasetNotFound(
        f"no data set is called {name!r}{hint}. There are {', '.join(sorted(recipes()))}; "
        "a binary task is called '<set>-<class>-vs-<class>' or '<set>-<class>-vs-rest'"
    )


def find(recipe: Recipe) -> Split:
    """Read the set from the user's folder or else let scikit-learn fetch it."""
    looked = []
    if recipe.read is not None:
        folder = os.environ.get(VARIABLE)
        absent = [file for file in recipe.files if not (Path(folder or "") / file).is_file()]
        if folder and not absent:
            try:
                return recipe.read(Path(folder))
            except Exception as error:
                error.add_note(f"while reading {', '.join(recipe.files)} in {folder}")
                raise
        looked.append(f"{VARIABLE}={folder} lacks {', '.join(absent)}" if folder else f"{VARIABLE} is not set")
    cause: Exception | None = None
    if recipe.fetch is None:
        looked.append("scikit-learn has no fetcher for it")
    else:
        try:
            return recipe.fetch()
        except Exception as error:
            looked.append(f"scikit-learn could not fetch it ({type(error).__name__}: {error})")
            cause = error
    advice = f". Set {VARIABLE} to a folder with {', '.join(recipe.files)}" if recipe.files else ""
    raise DatasetNotFound(f"data set {recipe.name!r} not found: {'; '.join(looked)}{advice}") from cause
