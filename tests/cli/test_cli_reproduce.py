"""``sgdone reproduce``: what it says, where it writes, and how it is stopped."""

import builtins
import json
import sys

import pytest

from cli.test_cli_process import in_terminal
from sgdone.datasets import DatasetNotFound
from sgdone.papers.catalogue import all_experiments
from tiny_experiment import Tiny


@pytest.fixture
def tiny(monkeypatch):
    """The one experiment there is."""
    for place in ("sgdone.papers.catalogue", "sgdone.cli.reproduce"):
        monkeypatch.setattr(f"{place}.all_experiments", lambda: {"tiny": Tiny})
    return Tiny


def test_the_list_names_every_experiment(sgdone):
    shown = " ".join(sgdone("reproduce", "--list").stdout.split())
    for name, experiment in all_experiments().items():
        assert f"{name} {experiment.title} {experiment.paper}" in shown


def test_files_are_written_and_claims_told(sgdone, tiny, tmp_path):
    result = sgdone("reproduce", "tiny", "--out", tmp_path / "new", "--seed", 3)
    place = tmp_path / "new" / "tiny"
    paths = [place / "tiny.png", place / "tiny.csv", place / "claims.json"]
    assert all(path.stat().st_size for path in paths)
    assert result.stdout.endswith("\n" + "".join(f"{path}\n" for path in paths))
    assert result.stderr == "", "no progress bar where there is no terminal"
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "paper read as measured verdict" in lines
    first, second, third = json.loads(paths[2].read_text("utf-8"))["claims"]
    shown = " ".join(lines)
    assert f"below 10 (p. 1) all means are below 10 {first['measured'][0]} holds in 5 of 5" in shown
    assert f"above <10> (p. 2) all are above 10 {second['measured'][0]} fails in all 5" in shown
    assert "[1] about 0" in lines
    assert f"{1 + (sum(third['holds_in']) > 2)} of 3 claims hold" in lines
    assert "- number of rows: 12" in lines, "what was also tried"
    assert "Nobody (1900), Fig. 0" in result.stdout


def test_the_quick_form_and_the_seed(sgdone, tiny, tmp_path):
    def rows(*options):
        sgdone("reproduce", "tiny", "--out", tmp_path, *options)
        return (tmp_path / "tiny" / "tiny.csv").read_text().splitlines()

    assert len(rows()) == 1 + 5 * 2 * 6, "five seeds"
    assert len(rows("--quick")) == 1 + 2 * 3
    assert rows() == rows("--seed", 0) != rows("--seed", 1)


def test_all_experiments_go_to_one_page(sgdone, tiny, tmp_path):
    tiny.begun.clear()
    first = sgdone("reproduce", "all", "--quick", "--out", tmp_path)
    assert first.stdout.startswith("[1/1] tiny: ")
    assert first.stdout.endswith(f"{tmp_path / 'index.html'}\n")
    assert len(tiny.begun) == 3
    page = (tmp_path / "index.html").read_text("utf-8")
    assert 'src="tiny/tiny.png"' in page
    assert "above &lt;10&gt;" in page, "text is escaped"
    assert "<script" not in page
    assert (tmp_path / "tiny" / "tiny.png").is_file()
    (tmp_path / "index.html").unlink()
    again = sgdone("reproduce", "all", "--quick", "--out", tmp_path)
    assert "(stored)" in again.stdout
    assert len(tiny.begun) == 3, "nothing is measured again"
    assert (tmp_path / "index.html").read_text("utf-8") == page
    sgdone("reproduce", "all", "--quick", "--out", tmp_path, "--seed", 1)
    assert len(tiny.begun) == 6, "another seed is another run"


def test_all_go_on_without_a_data_set_that_is_not_there(sgdone, tiny, tmp_path, monkeypatch):
    class Missing(tiny):
        name = "missing"

        def prepare(self, seed):
            raise DatasetNotFound("data set 'rows' not found: <here>")

    monkeypatch.setattr("sgdone.cli.reproduce.all_experiments", lambda: {"missing": Missing, "tiny": tiny})
    result = sgdone("reproduce", "all", "--quick", "--out", tmp_path)
    assert "[1/2] missing: skipped, data set 'rows' not found" in result.stdout
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "missing did not run: data set &#x27;rows&#x27; not found: &lt;here&gt;" in page
    assert "tiny/tiny.png" in page


def test_files_go_to_the_current_folder_if_no_other_is_named(sgdone, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sgdone("reproduce", "tiny", "--quick")
    assert (tmp_path / "tiny" / "claims.json").is_file()


BAD_USAGE = {
    "no name": ([], "name an experiment, or see --list"),
    "a close name": (["termination-sgima"], "no experiment is called 'termination-sgima'. Did you mean 'termination-s"),
    "another name": (["xyz"], "no experiment is called 'xyz'. See --list"),
    "a seed": (["termination-sigma", "--seed", "-1"], "'--seed'"),
    "a file for a folder": (["termination-sigma", "--out", "{file}"], "{file} is a file, not a folder to write to"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage(case, sgdone, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    arguments, message = BAD_USAGE[case]
    result = sgdone("reproduce", *(text.format(file=file) for text in arguments), code=2)
    assert message.format(file=file) in result.stderr
    assert result.stdout == ""


def test_a_data_set_that_is_not_there(sgdone, tmp_path, monkeypatch):
    monkeypatch.setenv("SGDONE_DATA", str(tmp_path))
    result = sgdone("reproduce", "termination-cifar", "--quick", "--out", tmp_path / "out", code=1)
    assert result.stderr.startswith("error: data set 'cifar10' not found: ")
    assert "Set SGDONE_DATA to a folder with cifar10/cifar10_4class_train.npz" in result.stderr
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_nothing_is_measured(sgdone, tiny, tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    tiny.begun.clear()
    monkeypatch.setattr(builtins, "__import__", without)
    result = sgdone("reproduce", "tiny", "--out", tmp_path, code=1)
    assert "pip install 'sgdone[plot]'" in result.stderr
    assert tiny.begun == []


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.slow
def test_ctrl_c_in_a_terminal_leaves_nothing(tmp_path):
    code, shown = in_terminal("reproduce", "termination-sigma", "--out", tmp_path / "out", until=b"/4000")
    assert code == 130
    assert "interrupted" in shown
    assert "termination-sigma" in shown, "the bar says what is being done"
    assert "Traceback" not in shown
    assert list(tmp_path.iterdir()) == []
