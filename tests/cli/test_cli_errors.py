"""Exit code 1 for invalid data, 2 for invalid options; a message and no traceback."""

import warnings

import pytest

from cli.files import write_csv
from tiers import fast_first

BAD_USAGE = {
    "no such command": (["train"], "No such command 'train'"),
    "no data": (["fit"], "Missing argument"),
    "no such option": (["fit", "{train}", "--depth", "3"], "No such option"),
    "a loss": (["fit", "{train}", "--loss", "foo"], "'--loss': unknown loss 'foo'. Known: "),
    "a close loss": (["fit", "{train}", "--loss", "logistik"], "Did you mean 'logistic'?"),
    "a solver": (["fit", "{train}", "--solver", "adam"], "'--solver': unknown solver 'adam'. Known: auto, "),
    "nearly auto": (["fit", "{train}", "--solver", "autp"], "Did you mean 'auto'?"),
    "a step": (["fit", "{train}", "--solver", "sgd", "--step", "big"], "'--step': unknown step size 'big'. "),
    "a negative step": (["fit", "{train}", "--solver", "sgd", "--step", "-1"], "'--step': step must be a positive"),
    "a rule": (["fit", "{train}", "--stop", "never"], "'--stop': unknown stopping rule 'never'"),
    "no passes": (["fit", "{train}", "--stop", "0"], "'--stop': stop must be a positive number of passes"),
    "no pass": (["fit", "{train}", "--passes", "0"], "'--passes': passes=0 is not a positive number"),
    "passes twice": (["fit", "{train}", "--passes", "3", "--stop", "4"], "--stop 4 already sets the number of passes"),
    "a tolerance": (["fit", "{train}", "--tol", "-1"], "'--tol': tol must be a non-negative number; got -1.0"),
    "a tolerance that is no number": (["fit", "{train}", "--tol", "nan"], "a non-negative number; got nan"),
    "a tolerance of a named solver": (["fit", "{train}", "--solver", "sgd", "--tol", "1"],
                                      "'--tol': it is for --solver auto"),
    "a tolerance of another rule": (["fit", "{train}", "--tol", "1", "--stop", "progressive"],
                                    "'--tol': tol=1.0 has no effect with"),
    "a step of no solver": (["fit", "{train}", "--step", "0.1"], "'--step': it needs a named solver: add --solver"),
    "a centre of no solver": (["fit", "{train}", "--center"], "'--center': it needs a named solver: add --solver"),
    "a centre of numbers": (["fit", "diabetes", "--solver", "sgd", "--center"],
                            "'--center': it puts the origin between two classes, and this is a regression"),
    "a tolerance in words": (["fit", "{train}", "--tol", "small"], "Invalid value for '--tol'"),
    "a penalty": (["fit", "{train}", "--alpha", "-1"], "'--alpha': alpha=-1 is negative: give 0 or more"),
    "a penalty's name": (["fit", "{train}", "--alpha", "large"],
                         "'--alpha': alpha must be a finite number of 0 or more, or auto; got"),
    "a seed": (["fit", "{train}", "--seed", "-1"], "'--seed': -1 is not a whole number from 0 to 4,294,967,295"),
    "a rule of one model": (["fit", "{train}", "--stop", "margin"],
                            "'--stop': margin needs a named solver: add --solver asgd"),
    "a rule of liblinear": (["fit", "{train}", "--solver", "liblinear", "--stop", "pflug"],
                            "'--stop': liblinear ends by itself: remove --stop"),
    "passes of liblinear": (["fit", "{train}", "--solver", "liblinear", "--passes", "1"],
                            "'--passes': liblinear ends by itself: remove --passes"),
    "a task": (["fit", "{train}", "--task", "ranking"], "'ranking'"),
    "features": (["fit", "{train}", "--n-features", "0"], "'--n-features': 0 is not a positive number"),
    "another task's loss": (["fit", "{train}", "--label", "passed", "--loss", "huber", "--task", "classification"],
                            "'--loss': loss 'huber' is not for classification. Known: "),
    "nowhere to write": (["fit", "{train}", "--model", "{folder}/no/m"], "'--model': there is no folder"),
    "a folder to write": (["fit", "{train}", "--model", "{folder}"], "'--model': {folder} is a folder"),
    "a folder that is new": (["fit", "{train}", "--model", "{folder}/new/"], "'--model': {folder}/new/ is a folder"),
    "nowhere to predict": (["predict", "{model}", "{train}", "--out", "{folder}/no/p"], "'--out': there is no folder"),
    "a model over its data": (["fit", "{train}", "--label", "passed", "--model", "{folder}/../{folder.name}/train.csv"],
                              "'--model': {folder}/../{folder.name}/train.csv is read by this command: give another"),
    "a model over its test data": (["fit", "breast-cancer", "--test", "{train}", "--model", "{folder}/link"],
                                   "'--model': {folder}/link is read by this command"),
    "predictions over their data": (["predict", "{model}", "{train}", "--out", "{train}"], "'--out': {train} is read"),
    "predictions over their model": (["predict", "{model}", "{train}", "--out", "{model}"], "'--out': {model} is read"),
}  # fmt: skip

BAD_DATA = {
    "no such file": (["fit", "{folder}/nowhere.csv"], "nowhere.csv: no such file"),
    "no such set": (["fit", "breast_canser"], "there is no file 'breast_canser', and no data set is named"),
    "a folder": (["fit", "{folder}"], "half.csv: has no column 'y', which "),
    "no label": (["fit", "{train}"], "choose the label with --label, one of 'a', 'passed', 'b'"),
    "another label": (["fit", "{train}", "--label", "pass"], "no column is named 'pass' (did you mean 'passed'?)"),
    "a name too long": (["fit", "x" * 300 + ".csv"], "cannot be read (File name too long)"),
    "text to regress": (["fit", "{train}", "--label", "passed", "--task", "regression"], "is no number, as a"),
    "numbers to classify": (["fit", "{folder}/half.csv", "--label", "a", "--loss", "hinge"],
                            "of column 'a' is no class: use --task regression"),
    "a full disk": (["predict", "{model}", "{train}", "--out", "/dev/full"], "No space left on device: '/dev/full'"),
    "a broken line": (["fit", "{folder}/broken.csv"], "broken.csv, line 3: found 1 field, but the header"),
    "a loss for a named solver": (["fit", "{train}", "--label", "passed", "--loss", "margin-distribution"],
                                  "'margin_distribution' is not convex: use --solver sgd, --solver asgd or "),
    "one class": (["fit", "{folder}/one.csv"], "y holds one class only ('x')"),
    "strange test labels": (["fit", "{train}", "--label", "passed", "--test", "{folder}/strange.csv"],
                            "strange.csv: no label is one of the training rows' ('no', 'yes'); it has '8', '9'"),
    "no model": (["predict", "{folder}/nowhere", "{train}"], "nowhere: there is no such file"),
    "another file": (["predict", "{train}", "{train}"], "train.csv: is not a model file"),
    "a model cut short": (["inspect", "{folder}/short"], "is cut short"),
    "columns missing": (["predict", "{model}", "{folder}/one.csv"], "1 feature not found ('b')"),
}  # fmt: skip


@pytest.fixture
def places(train, model, tmp_path):
    (tmp_path / "broken.csv").write_text("a,y\n1,2\n3\n")
    (tmp_path / "one.csv").write_text("a,y\n1,x\n3,x\n")
    write_csv(tmp_path / "strange.csv", {"a": [1, 2], "b": [1, 2], "passed": [8, 9]})
    (tmp_path / "half.csv").write_text("a,b\n0.5,1\n1,2\n")
    (tmp_path / "link").symlink_to(train)
    (tmp_path / "short").write_bytes(model.read_bytes()[:-1])
    return {"train": train, "model": model, "folder": tmp_path}


@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage(case, sgdone, places):
    arguments, message = BAD_USAGE[case]
    before = [places[file].read_bytes() for file in ("train", "model")]
    result = sgdone(*(text.format_map(places) for text in arguments), code=2)
    assert [places[file].read_bytes() for file in ("train", "model")] == before
    assert message.format_map(places) in result.stderr
    assert "Core" not in result.stderr  # the command's estimators have names that no user knows
    assert result.stdout == ""


@pytest.mark.parametrize("json", fast_first(1, [[], ["--json"]]))
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(case, json, sgdone, places):
    arguments, message = BAD_DATA[case]
    result = sgdone(*(text.format_map(places) for text in arguments), *json, code=1)
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert "Core" not in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_warning_is_a_line(sgdone, columns, tmp_path):
    columns["passed"] = [k // 2 for k in range(79)] + [99]
    columns["passed"][:2] = [77, 78]
    path = write_csv(tmp_path / "t.csv", columns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = sgdone("fit", path, "--label", "passed", "--task", "classification", "--stop", 1, "--json")
    assert result.stderr.startswith("warning: The number of unique classes is greater than 50%")
    assert result.stderr.count("\n") == 1


def test_a_mistake_of_ours_is_not_hidden(sgdone, train, monkeypatch):
    def wrong(*_, **__):
        raise KeyError("a bug")

    monkeypatch.setattr("sgdone.cli.input_data.read", wrong)
    with pytest.raises(KeyError, match="a bug"):
        sgdone("fit", train)
