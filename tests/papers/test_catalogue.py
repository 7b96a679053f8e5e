"""Every statement is found, cited and described, without being registered."""

import importlib
import inspect
import subprocess
import sys

import pytest

from sgdone.papers.catalogue import Statement, statements
from sgdone.papers.diagnostics import theory as diagnostics


@pytest.mark.parametrize("name", statements())
def test_every_statement_is_described(name):
    statement = statements()[name]
    assert statement.paper.endswith(")")
    assert statement.place
    assert statement.meaning.endswith(".")
    assert statement.assumptions
    assert all(statement.parameters.values())
    assert list(statement.parameters) == list(inspect.signature(statement.function).parameters)
    assert ">>> " in statement.function.__doc__


def test_statements_are_importable_from_their_papers_theory():
    known = statements()
    assert len(known) >= 60
    for name, statement in known.items():
        paper = statement.function.__module__.split(".")[2]
        assert getattr(importlib.import_module(f"sgdone.papers.{paper}.theory"), name) is statement.function


def test_a_new_file_is_found_by_itself(tmp_path, monkeypatch):
    (tmp_path / "newton.py").write_text(
        '"""A paper."""\n\n__all__ = ["force", "G"]\n\nG = 6.7e-11\n\n'
        "def force(mass: float) -> float:\n"
        '    """Force.\n\n    Newton (1687), Law 2.\n\n    Assumes a\n    frame.\n\n    Parameters\n    ----------\n'
        '    mass : float\n        The\n        mass.\n\n    Returns\n    -------\n    float\n        It.\n    """\n'
        "    return mass\n\ndef hidden() -> None:\n    pass\n"
    )
    monkeypatch.setattr(diagnostics, "__path__", [*diagnostics.__path__, str(tmp_path)])
    found = statements()
    assert "hidden" not in found
    force = found["force"]
    assert (force.paper, force.place, force.meaning) == ("Newton (1687)", "Law 2", "Force.")
    assert (force.assumptions, force.parameters) == ("a frame.", {"mass": "The mass."})
    monkeypatch.delitem(sys.modules, "sgdone.papers.diagnostics.theory.newton")
    monkeypatch.delattr(diagnostics, "newton")


def test_a_docstring_without_a_source_is_reported():
    def nowhere():
        """Something.

        From nowhere.
        """

    with pytest.raises(ValueError, match="second paragraph of nowhere's docstring names no paper and theorem"):
        _ = Statement(nowhere).paper


@pytest.mark.slow
def test_theory_waits_for_no_compiler():
    code = (
        "import sys\nfrom sgdone.papers.catalogue import statements\nstatements()\nassert 'numba' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
