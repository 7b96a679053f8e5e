"""How experiments are found, measured and written, by one of milliseconds."""

import csv
import itertools
import json

import pytest

from sgdone.papers.catalogue import all_experiments, find
from sgdone.papers.claims import Claim, every
from sgdone.papers.experiment import Experiment
from sgdone.papers.output import check_folder, write
from sgdone.papers.running import measure_all
from tiny_experiment import Tiny


@pytest.fixture
def begun():
    Tiny.begun.clear()
    return Tiny.begun


def test_rows_depend_on_the_seed_alone_and_come_in_the_order_of_tasks():
    one_by_one = measure_all(Tiny(), seed=3, workers=1)
    at_once = measure_all(Tiny(pause=0.002), seed=3, workers=6)
    assert one_by_one == at_once
    assert [row["task"] for row in one_by_one] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert len({row["mean"] for row in one_by_one}) == 7, "each task has a seed of its own"
    assert measure_all(Tiny(), seed=4) != one_by_one


def test_forms_differ_in_their_fields_alone():
    assert [Tiny.of_size(size) for size in ("full", "quick", "smoke")] == [Tiny(), Tiny(draws=3), Tiny(draws=2)]


def test_progress_is_reported_from_none_to_all():
    calls = []
    measure_all(Tiny(draws=4), workers=2, done=lambda count, total: calls.append((count, total)))
    assert calls == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_failing_task_ends_it_all(begun):
    with pytest.raises(ValueError, match="task 0 cannot be measured"):
        measure_all(Tiny(draws=1000, pause=1e-6, fails_at=0), workers=2)
    assert 1 <= len(begun) < 1000, "those not yet begun are dropped"


def test_an_interrupt_ends_it_all(begun):
    def interrupted(count, total):
        if count == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_all(Tiny(draws=500, pause=1e-5), workers=2, done=interrupted)
    assert 2 <= len(begun) < 500


def test_three_files_are_written(tmp_path):
    experiment = Tiny(draws=2)
    rows = measure_all(experiment)
    claims = experiment.claims(rows)
    paths = write(experiment, rows, claims, tmp_path / "new" / "folder", "sgdone reproduce tiny --seed 0")
    place = tmp_path / "new" / "folder" / "tiny"
    assert paths == [place / "tiny.png", place / "tiny.csv", place / "claims.json"]
    assert sorted(place.iterdir()) == sorted(paths)
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert b"sgdone reproduce tiny --seed 0" in paths[0].read_bytes()
    with paths[1].open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert list(table[0]) == ["task", "mean", "shift"]
    assert [float(line["mean"]) for line in table[::2]] == [row["mean"] for row in rows[::2]], "no digit is lost"
    assert table[1]["mean"] == ""
    assert json.loads(paths[2].read_text("utf-8")) == [
        {"claim": "all means are below 10", "paper": "below 10", "measured": claims[0].measured, "holds": True},
        {"claim": "all means are above 10", "paper": "above 10", "measured": claims[1].measured, "holds": False,
         "reason": "they are about 0"},
    ]  # fmt: skip


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_picture_that_fails_leaves_what_was_there(tmp_path, monkeypatch, error):
    experiment = Tiny(draws=2)
    rows = measure_all(experiment)
    paths = write(experiment, rows, experiment.claims(rows), tmp_path, "")
    before = [path.read_bytes() for path in paths]

    def fail(*_):
        raise error

    monkeypatch.setattr(Tiny, "draw", fail)
    with pytest.raises(error):
        write(experiment, rows[:1], [], tmp_path, "")
    assert [path.read_bytes() for path in paths] == before
    assert len(list(paths[0].parent.iterdir())) == 3


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    check_folder(tmp_path / "none" / "yet")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ValueError, match="file is a file, not a folder to write to"):
            check_folder(place)


def test_experiments_are_found_by_name():
    known = all_experiments()
    assert {"termination-sigma", "termination-gaussian", "termination-mnist"} <= set(known)
    assert list(known) == sorted(known)
    for name, experiment in known.items():
        assert issubclass(experiment, Experiment)
        assert find(name) is find(name.replace("-", "_").upper()) is experiment
        assert "(" in experiment.paper, "authors and year"
        assert experiment.title not in [other.title for other in known.values() if other is not experiment]
    with pytest.raises(ValueError, match=r"no experiment is called 'termination'\. .*See --list"):
        find("termination")


def test_a_claim_about_every_comparison():
    comparisons = {"a": True, "b": True}
    assert every("c", "p", comparisons, ", by 3", "why") == Claim("c", "p", "in 2 of 2, by 3", True)
    comparisons |= dict.fromkeys("cdefg", False)
    assert every("c", "p", comparisons, ", by 3", "why") == Claim(
        "c", "p", "in 2 of 7, by 3; not in c, d, e and 2 more", False, "why"
    )
    nothing = every("c", "p", {}, ", by nan")
    assert not nothing.holds
    assert nothing.measured == "nothing to compare"


def test_sizes_are_reported_apart_by_their_fields():
    for first, second in itertools.pairwise(("full", "quick", "smoke")):
        for experiment in all_experiments().values():
            assert len(experiment.of_size(first).tasks()) >= len(experiment.of_size(second).tasks())
