"""Whether a checkpoint belongs to a fit: every difference is said in words."""

import pytest

from sgdone.state_file.checkpoint import check_identity, check_is_plain
from sgdone.state_file.file_format import CheckpointError

STORED = {
    "files": [{"name": "clicks-1.csv", "bytes": 512, "sha256": "ab"}, {"name": "clicks-2.csv", "bytes": 1024}],
    "alpha": 0.1,
    "random_state": 0,
    "columns": {"age": "number", "city": "category"},
    "shuffle": True,
}


def test_the_same():
    check_identity("c", STORED, STORED)
    check_identity("c", {"classes": [0, 1], "alpha": 1}, {"classes": (0, 1), "alpha": 1.0})
    check_identity("c", {}, {})


def file(name, **facts):
    return {"name": name, **facts}


FIRST, SECOND = STORED["files"]


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ({"alpha": 0.2}, "alpha was 0.1 and is 0.2 now"),
        ({"alpha": None}, "alpha was 0.1 and is None now"),
        ({"random_state": 1}, "random_state was 0 and is 1 now"),
        ({"random_state": False}, "random_state was 0 and is False now"),
        ({"shuffle": 1}, "shuffle was True and is 1 now"),
        ({"columns": {"age": "category", "city": "category"}}, "columns.age was 'number' and is 'category' now"),
        ({"columns": {"age": "number"}}, "columns.city was 'category' and is not given now"),
        ({"columns": None}, "columns was {'age': 'number', 'city': 'category'} and is None now"),
        ({"loss": "huber"}, "loss was not given and is 'huber' now"),
        (
            {"files": [FIRST, file("clicks-2.csv", bytes=2048)]},
            "the file clicks-2.csv had 1,024 bytes and has 2,048 now",
        ),
        (
            {"files": [file("clicks-1.csv", bytes=512, sha256="cd"), SECOND]},
            "sha256 of the file clicks-1.csv was 'ab' and is 'cd' now",
        ),
        ({"files": [FIRST]}, "the file clicks-2.csv is no longer among the files"),
        ({"files": [FIRST, SECOND, file("clicks-3.csv", bytes=1)]}, "the file clicks-3.csv is new"),
        ({"files": [SECOND, FIRST]}, "the files are in another order"),
        ({"files": [FIRST, SECOND, SECOND]}, "a file is given more often than before, or less"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_difference(now, words):
    with pytest.raises(CheckpointError) as caught:
        check_identity("fit.checkpoint", STORED, STORED | now)
    assert str(caught.value) == (
        f"fit.checkpoint: belongs to another fit: {words}. "
        "Use the same data and options, or delete the checkpoint to start again"
    )


def test_files_without_names():
    with pytest.raises(CheckpointError, match=r"files was \[\{'name': 3\}\] and is \['a.csv'\] now"):
        check_identity("c", {"files": [{"name": 3}]}, {"files": ["a.csv"]})


def test_all_differences():
    with pytest.raises(CheckpointError, match=r"alpha was 0.1 and is 0.3 now; shuffle was True and is not given"):
        check_identity("c", {"alpha": 0.1, "shuffle": True}, {"alpha": 0.3})
    many = [[file(f"{k}.csv", bytes=size) for k in range(1000)] for size in (1, 2)]
    with pytest.raises(CheckpointError, match=r"and 980 more differences\. Use") as caught:
        check_identity("c", {"files": many[0]}, {"files": many[1]})
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    "value", [float("nan"), {1: 2}, {1}, print, [print]], ids=["nan", "dict", "set", "call", "list"]
)
def test_an_identity_that_is_not_plain(value):
    with pytest.raises(TypeError, match=r"an identity must be a dict of texts, numbers, .*; alpha is"):
        check_is_plain({"alpha": value})
    with pytest.raises(TypeError, match="an identity must be a dict"):
        check_is_plain([value])
