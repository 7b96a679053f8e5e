import inspect
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from cli.files import write_csv
from sgdone.cli.app import app

#: Click before 8.2 mixes the two streams unless told not to; later versions have no such option.
SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


@pytest.fixture
def sgdone():
    """Run a command; returns its result, with the parsed JSON if it printed any."""

    def run(*arguments, code=0, stdin=None):
        result = CliRunner(**SEPARATE).invoke(app, [str(argument) for argument in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        if "--json" in arguments and code in (0, 130):
            result.report = json.loads(result.stdout)
        return result

    return run


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def columns(rng):
    a, b = rng.standard_normal((2, 80))
    return {"a": a, "passed": np.where(a - b > 0, "yes", "no"), "b": b}


@pytest.fixture
def train(tmp_path, columns):
    """A CSV file whose label is called "passed"."""
    return write_csv(tmp_path / "train.csv", columns)


@pytest.fixture
def model(sgdone, train, tmp_path):
    """A model file of `train`."""
    sgdone("fit", train, "--label", "passed", "--model", tmp_path / "model.safetensors", "--quiet")
    return tmp_path / "model.safetensors"
