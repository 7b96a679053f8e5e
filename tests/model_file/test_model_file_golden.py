"""Files that earlier versions wrote: read as they were meant, or refused in plain words."""

import json
import re

import pytest

import sgdone
from model_file.golden.write import HERE, rows, table
from sgdone.model_file import ModelFileError, read_header
from sgdone.model_file.model import MODEL_FILE


@pytest.mark.parametrize("name", ["format-5", "format-5-sgd"])
def test_a_stored_model_predicts_what_it_did(name):
    X, y = rows()
    expected = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    model = sgdone.load(HERE / f"{name}.safetensors")
    assert model.decision_function(X[:5]) == pytest.approx(expected["scores"], rel=1e-12)
    assert str(model.verdict_) == expected["verdict"]
    before = model.verdict_.step
    assert model.partial_fit(X, y).verdict_.step > before


def test_a_stored_encoder_makes_the_features_that_it_did():
    _, y = rows()
    expected = json.loads((HERE / "format-5-table.json").read_text(encoding="utf-8"))
    model = sgdone.load(HERE / "format-5-table.safetensors")
    assert model.get_feature_names_out().tolist() == expected["features"]
    assert model.decision_function(table()[:5]) == pytest.approx(expected["scores"], rel=1e-12)
    assert str(model.verdict_) == expected["verdict"]
    before = model.verdict_.step
    assert model.partial_fit(table(), y).verdict_.step > before


def test_a_named_method_continues_as_it_did():
    X, y = rows()
    expected = json.loads((HERE / "format-5-sgd.json").read_text(encoding="utf-8"))
    model = sgdone.load(HERE / "format-5-sgd.safetensors").partial_fit(X, y)
    assert model.decision_function(X[:5]) == pytest.approx(expected["later scores"], rel=1e-9)
    assert str(model.verdict_) == expected["later verdict"]


def test_a_rule_that_had_fired_in_part_was_stored():
    model = sgdone.load(HERE / "format-5-sgd.safetensors")
    assert repr(model.stop) == "MarginTest(threshold=0.2, fresh=False) & MaxSamples(samples=60)"
    (stop,) = model._fitted.results[0].rule_state.fired.values()
    assert stop.rule == "MarginTest"


def test_the_present_format_has_its_golden_files():
    assert (HERE / f"format-{MODEL_FILE.version}.safetensors").exists()


def test_an_earlier_format_is_refused():
    path = HERE / "format-4.safetensors"
    message = (
        f"{path}: is a model file of version 4, and sgdone {sgdone.__version__} reads version 5: fit the model again"
    )
    for read in (sgdone.load, read_header):
        with pytest.raises(ModelFileError, match=re.escape(message)):
            read(path)


def test_a_file_names_no_module():
    for name in ("format-5", "format-5-sgd", "format-5-table"):
        content = json.dumps(read_header(HERE / f"{name}.safetensors"))
        assert "sgdone." not in content
