"""Lookup of data sets: the recipe of a name, and the files or the fetcher of a recipe."""

import difflib
import importlib
import os
import pkgutil
from functools import lru_cache
from pathlib import Path

from sgdone.datasets import sets
from sgdone.datasets.dataset import DatasetNotFound, Recipe, Split

#: Environment variable with the path of the folder of data sets.
VARIABLE = "SGDONE_DATA"

#: Positive and negative class; None for the rest.
BinaryTask = tuple[str, str | None]


@lru_cache(maxsize=1)
def recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    modules = [
        importlib.import_module(f"{sets.__name__}.{found.name}") for found in pkgutil.iter_modules(sets.__path__)
    ]
    return {recipe.name: recipe for module in modules for recipe in module.RECIPES}


def parse(name: str) -> tuple[Recipe, BinaryTask | None]:
    """Parse a name such as ``mnist-7-vs-9`` into the recipe and the binary task. Longer names are tried first."""
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
        f"no data set is named {name!r}{hint}. Known data sets: {', '.join(sorted(recipes()))}. "
        "A binary task is named '<set>-<class>-vs-<class>' or '<set>-<class>-vs-rest'"
    )


def find(recipe: Recipe) -> Split:
    """Read the data set from the folder ``SGDONE_DATA``, or else fetch it with scikit-learn."""
    tried = []
    if recipe.read is not None:
        folder = os.environ.get(VARIABLE)
        absent = [file for file in recipe.files if not (Path(folder or "") / file).is_file()]
        if folder and not absent:
            try:
                return recipe.read(Path(folder))
            except Exception as error:
                error.add_note(f"while reading {', '.join(recipe.files)} in {folder}")
                raise
        tried.append(f"{VARIABLE}={folder} lacks {', '.join(absent)}" if folder else f"{VARIABLE} is not set")
    cause: Exception | None = None
    if recipe.fetch is None:
        tried.append("scikit-learn has no fetcher for it")
    else:
        try:
            return recipe.fetch()
        except Exception as error:
            tried.append(f"scikit-learn could not fetch it ({type(error).__name__}: {error})")
            cause = error
    advice = f". Set {VARIABLE} to a folder with {', '.join(recipe.files)}" if recipe.files else ""
    raise DatasetNotFound(f"data set {recipe.name!r} not found: {'; '.join(tried)}{advice}") from cause
