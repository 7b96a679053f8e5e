"""Every experiment of the package in its form of a few seconds."""

import csv
import json
from urllib.error import URLError

import pytest

from sgdone.datasets import DatasetNotFound
from sgdone.papers.catalogue import all_experiments
from sgdone.papers.output import write
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

    for place in (
        "mnist.fetch_openml",
        "covertype.fetch_covtype",
        "newsgroups20.fetch_20newsgroups",
        "rcv1.fetch_rcv1",
    ):
        monkeypatch.setattr(f"sgdone.datasets.sets.{place}", down)


def measured(experiment, workers=None):
    try:
        return measure_all(experiment, SEED, workers)
    except DatasetNotFound as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", all_experiments())
def test_files_claims_and_the_same_numbers_again(name, tmp_path):
    experiment = all_experiments()[name].of_size("smoke")
    rows = measured(experiment, workers=2)
    paths = write(experiment, rows, experiment.claims(rows), tmp_path, "")
    assert paths[0].stat().st_size > 10_000, "a picture that shows something"
    entries = json.loads(paths[2].read_text("utf-8"))
    assert entries
    for entry in entries:
        assert set(entry) - {"reason"} == {"claim", "paper", "measured", "holds"}
        assert all(entry[key] and isinstance(entry[key], str) for key in entry if key != "holds")
        assert isinstance(entry["holds"], bool)
        assert not (entry["holds"] and "reason" in entry), "a reason is given for what does not hold"
    assert len({entry["claim"] for entry in entries}) == len(entries)
    with paths[1].open(newline="", encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) == len(rows)
    if name not in TWICE and not NIGHTLY:
        return
    again = write(experiment, measured(experiment, workers=1), [], tmp_path / "again", "")
    assert paths[1].read_bytes() == again[1].read_bytes(), "one worker or two, the seed alone decides"
