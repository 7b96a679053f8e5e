"""Every experiment of the package in its form of a few seconds."""

import csv
from urllib.error import URLError

import pytest

from sgdone.datasets import DatasetNotFound
from sgdone.papers.catalogue import all_experiments
from sgdone.papers.output import write
from sgdone.papers.results import Results
from sgdone.papers.running import measure_all
from tiers import NIGHTLY

pytestmark = pytest.mark.slow

SEED = 5
#: Measured again by one worker; the others only in the nightly run.
TWICE = ("termination-gaussian", "diagnostics-detection", "margin-functions", "logistic-risk-rates", "asgd-regression")


@pytest.fixture(autouse=True)
def _no_downloads(monkeypatch):
    def down(*_args, **_kwargs):
        raise URLError("tests download nothing")

    for place in ("images.fetch_openml", "covertype.fetch_covtype", "texts.fetch_20newsgroups", "rcv1.fetch_rcv1"):
        monkeypatch.setattr(f"sgdone.datasets.sets.{place}", down)


def measured(experiment, workers=None):
    try:
        return measure_all(experiment, [SEED], workers)
    except DatasetNotFound as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", all_experiments())
def test_files_claims_and_the_same_numbers_again(name, tmp_path):
    experiment = all_experiments()[name].of_size("smoke")
    by_seed = measured(experiment, workers=2)
    results = Results.of(experiment, by_seed, "smoke", [SEED])
    paths = write(experiment, by_seed, results, tmp_path, "")
    assert paths[0].stat().st_size > 10_000, "a picture that shows something"
    assert Results.from_json(paths[2].read_text("utf-8")) == results
    assert results.verdicts
    for verdict in results.verdicts:
        assert all((verdict.words, verdict.place, verdict.reading, verdict.measured[0]))
        assert not (verdict.holds and verdict.reason), "a reason is given for what does not hold"
    assert len({verdict.reading for verdict in results.verdicts}) == len(results.verdicts)
    assert all(tried.what and tried.measured for tried in results.also_tried)
    with paths[1].open(newline="", encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) == len(by_seed[0])
    if name not in TWICE and not NIGHTLY:
        return
    again = write(experiment, measured(experiment, workers=1), results, tmp_path / "again", "")
    assert paths[1].read_bytes() == again[1].read_bytes(), "one worker or two, the seed alone decides"
