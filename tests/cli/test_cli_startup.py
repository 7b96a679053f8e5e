"""The command and the package start quickly: they import little; the process ends as any other."""

import subprocess
import sys

import pytest

import sgdone
from cli.files import write_csv, write_svmlight

#: Run commands in one process, and print which of some modules they have imported.
COMMANDS = """
import sys
from sgdone.cli.app import app
for arguments in {commands!r}:
    try:
        app(arguments)
    except SystemExit as end:
        assert not end.code, end.code
print("imported:", *sorted(set({modules!r}) & set(sys.modules)))
"""


def in_new_process(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def imported(commands, modules, shown=""):
    code = COMMANDS.format(commands=[[str(word) for word in command] for command in commands], modules=modules)
    output = in_new_process(code)
    assert shown in output
    return output.splitlines()[-1].removeprefix("imported:").split()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "svmlight"])
def test_fit_and_predict_import_no_scikit_learn(kind, rng, tmp_path):
    X, y = rng.standard_normal((60, 2)).round(3), rng.integers(0, 2, 60)
    if kind == "csv":
        data = write_csv(tmp_path / "t.csv", {"a": X[:, 0], "b": X[:, 1], "y": y})
    else:
        data = write_svmlight(tmp_path / "t.svm", X, y, zero_based=False)
    commands = [["fit", data, "--model", tmp_path / "m", "--json"], ["predict", tmp_path / "m", data]]
    slow = ["sklearn", "scipy.stats", "joblib", "matplotlib", "pandas", "dask", "distributed"]
    assert imported(commands, slow) == []
    assert imported([["inspect", tmp_path / "m"]], slow) == []


MAIN = """
import atexit, sys
from sgdone.cli import main
atexit.register(print, "called at the end")
sys.argv = ["sgdone", *{arguments!r}]
main()
"""


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["fit", "--seed", "x"], 2)])
def test_the_process_ends_as_any_other(arguments, code):
    """Exit codes, functions that were registered, and output that was not flushed."""
    command = [sys.executable, "-c", MAIN.format(arguments=arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == code
    assert result.stdout.endswith("called at the end\n")
    assert ("Invalid value" in result.stderr or "Missing argument" in result.stderr) == (code == 2)


def test_threads_are_waited_for():
    """A thread that ends only after the command has said all it has to say."""
    code = (
        "import sys, threading\nfrom sgdone.cli import main\nsys.argv = ['sgdone', '--version']\n"
        "said, write = threading.Event(), sys.stdout.write\n"
        "def noted(text):\n    write(text)\n    said.set() if text.endswith('\\n') else None\n"
        "sys.stdout.write = noted\n"
        "threading.Thread(target=lambda: (said.wait(60), write('the thread has ended\\n'))).start()\nmain()\n"
    )
    assert in_new_process(code).endswith("the thread has ended\n")


@pytest.mark.slow
def test_names_come_when_asked_for():
    in_new_process(
        "import sgdone, sys\nassert 'numba' not in sys.modules\n"
        "assert sgdone.losses.Huber(2.0).delta == 2.0\nassert callable(sgdone.load)\n"
    )


def test_every_name_is_there():
    for name in sgdone.__all__:
        assert getattr(sgdone, name) is not None
    assert dir(sgdone) == sgdone.__all__
    with pytest.raises(AttributeError, match="module 'sgdone' has no attribute 'nothing'"):
        _ = sgdone.nothing


def test_help_waits_for_nothing_heavy():
    heavy = ["numba", "sklearn", "scipy", "numpy", "pyarrow", "pandas"]
    assert imported([["fit", "--help"]], heavy, "Examples:\n    sgdone fit breast-cancer\n") == []
