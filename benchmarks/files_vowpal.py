"""Vowpal Wabbit: one pass over text, writing its cache or not, and over its cache."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from files_job import Contender, Fitted, Job, MissingError


def _fit(job: Job, *, text: bool, cache: bool) -> Callable[[], Fitted]:
    try:
        from vowpalwabbit import Workspace
    except ImportError as error:
        raise MissingError("pip install vowpalwabbit") from error
    kept = Path(job.folder) / "vw.cache"
    if text:
        kept.unlink(missing_ok=True)
    elif not kept.exists():
        raise FileNotFoundError("the fit that writes the cache comes first")
    given = f" -d {job.train}" if text else ""
    given += f" --cache_file {kept}" if cache else ""

    def run() -> Fitted:
        learner = Workspace(f"--loss_function logistic -b 20 --quiet{given}")
        learner.run_parser()

        def predict() -> Any:
            from scipy.special import expit

            with Path(job.test).open() as lines:
                return expit([learner.predict(line.rstrip()) for line in lines])

        return Fitted(predict, f"1 pass, cache {kept.stat().st_size / 1e6:,.0f} MB" if kept.exists() else "1 pass")

    return run


VOWPAL: dict[str, Contender] = {
    "VW, text": partial(_fit, text=True, cache=False),
    "VW, text, writing its cache": partial(_fit, text=True, cache=True),
    "VW, its cache": partial(_fit, text=False, cache=True),
}
