"""How experiments are found, measured and written, by one of milliseconds."""

import csv
import json

import pytest

from sgdone.papers.catalogue import all_experiments, find
from sgdone.papers.claims import Claim, Sentence, every, pooled
from sgdone.papers.experiment import Experiment
from sgdone.papers.output import check_folder, write
from sgdone.papers.results import Results, stored
from sgdone.papers.running import measure_all
from sgdone.papers.seeds import verdicts_of
from tiny_experiment import Tiny


@pytest.fixture
def begun():
    Tiny.begun.clear()
    return Tiny.begun


def test_rows_depend_on_the_seed_alone_and_come_in_the_order_of_tasks():
    (one_by_one,) = measure_all(Tiny(), seeds=[3], workers=1)
    _, at_once = measure_all(Tiny(pause=0.002), seeds=[8, 3], workers=6)
    assert one_by_one == at_once, "beside another seed too"
    assert [row["task"] for row in one_by_one] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert len({row["mean"] for row in one_by_one}) == 7, "each task has a seed of its own"
    assert measure_all(Tiny(), seeds=[4]) != [one_by_one]


def test_seeds_share_what_is_prepared_once(monkeypatch):
    monkeypatch.setattr(Tiny, "prepares_once", True)
    first, second = measure_all(Tiny(), seeds=[0, 1])
    assert {row["shift"] for row in first[::2]} == {row["shift"] for row in second[::2]}
    assert [row["mean"] for row in first[::2]] != [row["mean"] for row in second[::2]]


def test_forms_differ_in_their_fields_alone():
    assert [Tiny.of_size(size) for size in ("full", "quick", "smoke")] == [Tiny(), Tiny(draws=3), Tiny(draws=2)]


def test_progress_is_reported_from_none_to_all():
    calls = []
    measure_all(Tiny(draws=4), workers=2, done=lambda count, total: calls.append((count, total)))
    assert calls == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    calls.clear()
    measure_all(Tiny(draws=2), [0, 1], done=lambda count, total: calls.append((count, total)))
    assert calls == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_verdict_says_in_how_many_seeds_a_claim_holds():
    seeds = range(5)
    by_seed = [Tiny().claims(rows) for rows in measure_all(Tiny(), seeds)]
    below, above, positive = verdicts_of(by_seed)
    assert (below.text, below.holds, below.reason) == ("holds in 5 of 5 seeds", True, "")
    assert (above.text, above.holds, above.reason) == ("fails in all 5 seeds", False, "about 0")
    lucky = sum(claims[2].holds for claims in by_seed)
    assert 0 < lucky < 5, "the seeds of this test are to differ"
    assert positive.text == f"holds in {lucky} of 5 seeds"
    assert positive.holds == (lucky > 2)
    assert verdicts_of(by_seed[:1])[0].text == "holds"


def test_a_reading_with_measurements_in_it_is_refused():
    claims = [Claim(Sentence("w", "p"), f"the mean is {mean}", "", True) for mean in (1, 2)]
    with pytest.raises(ValueError, match="a reading must not contain measurements"):
        verdicts_of([[claim] for claim in claims])


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
    by_seed = measure_all(experiment, [0, 1])
    results = Results.of(experiment, by_seed, "full", [0, 1])
    paths = write(experiment, by_seed, results, tmp_path / "new" / "folder", "sgdone reproduce tiny --seed 0")
    place = tmp_path / "new" / "folder" / "tiny"
    assert paths == [place / "tiny.png", place / "tiny.csv", place / "claims.json"]
    assert sorted(place.iterdir()) == sorted(paths)
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert b"sgdone reproduce tiny --seed 0" in paths[0].read_bytes()
    with paths[1].open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert list(table[0]) == ["seed", "task", "mean", "shift"]
    rows = [row for own in by_seed for row in own]
    assert [float(line["mean"]) for line in table[::2]] == [row["mean"] for row in rows[::2]], "no digit is lost"
    assert [line["seed"] for line in table] == ["0"] * 4 + ["1"] * 4
    assert table[1]["mean"] == ""
    text = paths[2].read_text("utf-8")
    assert Results.from_json(text) == results
    assert json.loads(text)["claims"][1] == {
        "words": "above <10>", "place": "p. 2", "reading": "all are above 10", "holds_in": [False, False],
        "agreeing": 0, "pairs": 0,
        "measured": [experiment.claims(own)[1].measured for own in by_seed], "reason": "about 0",
    }  # fmt: skip
    assert json.loads(text)["also_tried"] == [{"what": "number of rows", "measured": "4"}]


def test_stored_results_are_those_of_the_same_run(tmp_path, monkeypatch):
    experiment = Tiny(draws=2)
    by_seed = measure_all(experiment)
    results = Results.of(experiment, by_seed, "quick", [0])
    paths = write(experiment, by_seed, results, tmp_path, "")
    assert stored(tmp_path, experiment, "quick", [0]) == results
    assert stored(tmp_path, experiment, "full", [0]) is None
    assert stored(tmp_path, experiment, "quick", [1]) is None
    assert stored(tmp_path, Tiny(draws=3), "quick", [0]) is None
    assert stored(tmp_path / "elsewhere", experiment, "quick", [0]) is None
    with monkeypatch.context() as patch:
        patch.setattr("sgdone.papers.results.__version__", "0.0.0")
        assert stored(tmp_path, experiment, "quick", [0]) is None
    paths[0].rename(tmp_path / "picture.png")
    assert stored(tmp_path, experiment, "quick", [0]) is None
    paths[2].write_text("[]")
    assert stored(tmp_path, experiment, "quick", [0]) is None, "a file of another kind"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_picture_that_fails_leaves_what_was_there(tmp_path, monkeypatch, error):
    experiment = Tiny(draws=2)
    by_seed = measure_all(experiment)
    results = Results.of(experiment, by_seed, "full", [0])
    paths = write(experiment, by_seed, results, tmp_path, "")
    before = [path.read_bytes() for path in paths]

    def fail(*_):
        raise error

    monkeypatch.setattr(Tiny, "draw", fail)
    with pytest.raises(error):
        write(experiment, [by_seed[0][:1]], results, tmp_path, "")
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
    sentence, comparisons = Sentence("w", "p"), {"a": True, "b": True}
    assert every(sentence, "r", comparisons, ", by 3", "why") == Claim(sentence, "r", "in 2 of 2, by 3", True)
    comparisons |= dict.fromkeys("cdefg", False)
    assert every(sentence, "r", comparisons, ", by 3", "why") == Claim(
        sentence, "r", "in 2 of 7, by 3; not in c, d, e and 2 more", False, "why"
    )


@pytest.mark.parametrize("kind", [every, pooled])
def test_a_claim_about_nothing_does_not_hold(kind):
    nothing = kind(Sentence("w", "p"), "r", {}, ", by nan")
    assert not nothing.holds
    assert nothing.measured == "nothing to compare"


@pytest.mark.parametrize(
    ("right", "of", "words", "holds", "reason"),
    [
        (6, 6, "6 of 6 pairs, 95 % interval 54 % to 100 %", True, ""),
        (5, 6, "5 of 6 pairs, 95 % interval 36 % to 100 %", False, "the interval contains one half; why"),
        (65, 100, "65 of 100 pairs, 95 % interval 55 % to 74 %", True, ""),
        (0, 6, "0 of 6 pairs, 95 % interval 0 % to 46 %", False, "why"),
    ],
)
def test_pooled_pairs_are_judged_by_their_interval(right, of, words, holds, reason):
    claim = pooled(Sentence("w", "p"), "r", {k: k < right for k in range(of)}, ", by 3", "why")
    assert claim == Claim(Sentence("w", "p"), "r", f"{words}, by 3", holds, reason, right, of)


def test_pairs_are_also_counted_over_all_seeds():
    claims = [pooled(Sentence("w", "p"), "r", {k: k < right for k in range(10)}) for right in (7, 8, 8)]
    (verdict,) = verdicts_of([[claim] for claim in claims])
    assert not verdict.holds, "the verdict is that of the seeds one by one"
    assert verdict.together == "with all seeds together 23 of 30, 95 % interval 58 % to 90 %"
    assert verdicts_of([[claims[0]]])[0].together == ""


@pytest.mark.parametrize("size", ["quick", "smoke"])
def test_the_full_form_has_the_most_tasks(size):
    for experiment in all_experiments().values():
        assert len(experiment.of_size("full").tasks()) >= len(experiment.of_size(size).tasks())
