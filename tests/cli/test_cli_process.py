"""The command in a process of its own: pipes, terminals, signals, and how soon it starts."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import sgdone
from cli.files import write_csv

COMMAND = [sys.executable, "-m", "sgdone.cli"]


def run(*arguments, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, env=env, check=False)


def in_terminal(*arguments, until=None, **environment):
    """Run in a terminal; Ctrl-C once ``until`` is seen. Returns the exit code and all that was shown."""
    terminal, end = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdin=end, stdout=end, stderr=end, env=env)
    os.close(end)
    shown = b""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        shown += piece
        if not piece:
            break
        if until is not None and until in shown:
            process.send_signal(signal.SIGINT)
            until = None
    os.close(terminal)
    return process.wait(300), shown.decode()


def test_version():
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"sgdone {sgdone.__version__}\n")


@pytest.mark.slow
def test_pipes_and_exit_codes():
    result = run("fit", "iris", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["data"] == "iris"
    result = run("fit", "nothing", "--json")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: there is no file 'nothing'")
    result = run("fit", "iris", "--loss", "foo", "--json")
    assert (result.returncode, result.stdout) == (2, "")


@pytest.mark.slow
def test_characters_that_a_terminal_lacks():
    result = run("fit", "diabetes", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert result.returncode == 0
    assert "\nR? " in result.stdout
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


@pytest.mark.slow
def test_the_reader_may_go_away(model, columns, tmp_path):
    many = write_csv(tmp_path / "many.csv", {name: list(columns[name]) * 50 for name in ("a", "b")})
    process = subprocess.Popen(
        [*COMMAND, "predict", model, many, "--proba"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert b"Traceback" not in process.communicate()[1]


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.slow
def test_ctrl_c_in_a_terminal(tmp_path):
    model = tmp_path / "m"
    code, shown = in_terminal("fit", "digits", "--solver", "asgd", "--stop", 1e9, "--model", model, until=b"samples")
    assert code == 130
    assert re.search(
        r"training · class \d+ of 10 · [\d,]+ samples · [\d.]+ passes · progressive loss \S+ · \d+ s", shown
    )
    assert "\x1b[33mInterrupted after" in shown
    assert sgdone.load(model).verdict_.status == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.slow
def test_a_terminal_without_colour():
    code, shown = in_terminal("fit", "iris", NO_COLOR="1")
    assert code == 0
    assert not re.search(r"\x1b\[3\d", shown)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
@pytest.mark.slow
def test_sigterm_writes_a_checkpoint(rng, tmp_path):
    a, b = rng.standard_normal((2, 40_000)).round(3)
    data = write_csv(tmp_path / "t.csv", {"a": a, "b": b, "y": np.where(a > b + rng.logistic(size=a.size), 1, 0)})
    options = ["fit", data, "--max-memory", "1MB", "--cache", tmp_path, "--tol", 0, "--passes", 300]
    options = [
        *map(str, options),
        "--model",
        str(tmp_path / "m"),
        "--checkpoint",
        str(tmp_path / "c"),
        "--every",
        "0.1",
    ]
    process = subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (tmp_path / "c").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    assert "SIGTERM ended it; the model so far is kept, and a checkpoint to resume from" in out
    assert out.endswith("To go on where it ended, give the same command with --resume.\n")
    assert sgdone.load(tmp_path / "m").verdict_.status == "interrupted"
    resumed = run(*options, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    found = sgdone.load(tmp_path / "m").coef_
    assert run(*options[:-4]).returncode == 0
    np.testing.assert_array_equal(sgdone.load(tmp_path / "m").coef_, found)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.slow
def test_progress_of_files_in_a_terminal(rng, tmp_path):
    a, b = rng.standard_normal((2, 100_000)).round(3)
    data = write_csv(tmp_path / "t.csv", {"a": a, "b": b, "y": np.where(a > b + rng.logistic(size=a.size), 1, 0)})
    code, shown = in_terminal(
        "fit", data, "--max-memory", "1MB", "--cache", tmp_path, "--tol", 0, "--passes", 60, NO_COLOR="1"
    )
    assert code == 0
    assert re.search(r"training · [\d.]+ MB of [\d.]+ MB · ", shown)
    assert re.search(r"training · pass \d+, \d+% · progressive loss \S+ · \d+ s", shown)
