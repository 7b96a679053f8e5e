"""Our fits from files: one pass, from the kept cache, with nothing set, and reading only."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from files_job import Contender, Fitted, Job, size_of


def _fit(job: Job, *, one_pass: bool = True, cache: bool = False, **options: Any) -> Callable[[], Fitted]:
    from sgdone import LinearClassifier, files
    from sgdone.stopping import MaxPasses

    kept = Path(job.folder) / "sgdone-cache"

    def run() -> Fitted:
        rows = files(job.train, cache=kept if cache else None, max_memory=job.max_memory, **options)
        stop = {"stop": MaxPasses(1)} if one_pass else {}
        model = LinearClassifier(random_state=0, **stop).fit(rows)
        passes = f"{model.verdict_.passes:.3g}"
        note = "1 pass" if passes == "1" else f"{passes} passes"
        if cache:
            note += f", cache {size_of(kept) / 1e6:,.0f} MB"
        return Fitted(lambda: np.concatenate(list(model.predict_proba(files(job.test, **options))))[:, 1], note)

    return run


def _writing_cache(job: Job, **options: Any) -> Callable[[], Fitted]:
    """The first fit, which writes the cache."""
    shutil.rmtree(Path(job.folder) / "sgdone-cache", ignore_errors=True)
    return _fit(job, cache=True, **options)


def _from_cache(job: Job, **options: Any) -> Callable[[], Fitted]:
    """A later fit."""
    if not (Path(job.folder) / "sgdone-cache" / "rows.arrow").exists():
        raise FileNotFoundError("the fit that writes the cache comes first")
    return _fit(job, cache=True, **options)


def _read(job: Job, **options: Any) -> Callable[[], Fitted]:
    """Only the parser."""
    from sgdone import files

    def run() -> Fitted:
        rows = sum(table.X.shape[0] for table in files(job.train, **options).tables())
        return Fitted(note=f"{rows:,} rows")

    return run


_HASHED = {"bits": 20}
_LABELLED = {"label": "y"}
OURS: dict[str, Contender] = {
    "sgdone, svmlight": partial(_fit, **_HASHED),
    "sgdone, VW's text": partial(_fit, **_HASHED),
    "sgdone, svmlight, writing its cache": partial(_writing_cache, **_HASHED),
    "sgdone, its cache": partial(_from_cache, **_HASHED),
    "sgdone, svmlight, default": partial(_fit, one_pass=False, **_HASHED),
    "sgdone, reading svmlight": partial(_read, **_HASHED),
    "sgdone, reading VW's text": partial(_read, **_HASHED),
    "sgdone, CSV": partial(_fit, **_LABELLED),
    "sgdone, CSV, default": partial(_fit, one_pass=False, **_LABELLED),
    "sgdone, reading CSV": partial(_read, **_LABELLED),
    "sgdone, Parquet": partial(_fit, **_LABELLED),
    "sgdone, Parquet, default": partial(_fit, one_pass=False, **_LABELLED),
    "sgdone, reading Parquet": partial(_read, **_LABELLED),
}
