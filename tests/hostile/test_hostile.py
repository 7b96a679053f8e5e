"""A sample of the hostile cases; `.ci/nightly` runs many more, with all losses, methods and storages."""

import pytest

from sgdone.readers.reader import readers

from .case_kind import kinds, modules_of
from .running import mixed, run

pytestmark = pytest.mark.slow

#: Cases of each kind.
COUNTS = {
    "models": 1400,
    "data": 300,
    "calls": 300,
    "frames": 400,
    "checkpoints": 200,
    "signals": 60,
    "layouts": 120,
    "links": 150,
    "members": 150,
}


def test_every_kind_of_case_and_every_format_is_known():
    """A reader that is added joins the harness by a file of `formats` with its name."""
    assert set(kinds()) == set(COUNTS)
    formats = {module.__name__.rpartition(".")[2]: module for module in modules_of("formats")}
    assert dict.fromkeys(readers(), True) == {
        name: any(set(reader.suffixes) & set(module.SUFFIXES) for module in formats.values())
        for name, reader in readers().items()
    }


def test_nothing_dies_hangs_grows_or_raises_what_is_not_for_users():
    summary = run(mixed(COUNTS, first=0), few_forms=True)
    assert sum(summary.outcomes.values()) == sum(COUNTS.values())
    assert not summary.failures, "\n\n".join(map(str, summary.failures[:5]))
