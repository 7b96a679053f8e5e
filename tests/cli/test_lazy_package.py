"""`import sgdone` is quick, and nobody notices."""

import subprocess
import sys

import pytest

import sgdone


def in_new_process(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


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
