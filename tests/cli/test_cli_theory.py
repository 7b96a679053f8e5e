"""`sgdone theory`: every statement is listed, and each can be evaluated."""

import json

import pytest

from sgdone.papers.catalogue import statements
from sgdone.papers.diagnostics.theory import gaussian_design, pflug_drift_implicit
from sgdone.papers.termination.theory import expected_stop_bound

ARGUMENTS = ["loss=logistic", "mean_norm=0.5", "sigma=0.1", "step=0.0125"]


def test_the_list_names_every_statement(sgdone):
    text = sgdone("theory").stdout
    lines = text.splitlines()
    for name, statement in statements().items():
        assert f"{statement.paper}:" in lines
        [line] = [line for line in lines if line.split()[0] == name]
        assert line.endswith(f"  {statement.place}: {statement.meaning}")
    assert len([line for line in lines if not line.startswith(" ")]) == len({s.paper for s in statements().values()})


def test_the_list_in_json(sgdone):
    listed = sgdone("theory", "--json").report["statements"]
    assert [entry["name"] for entry in listed] == list(statements())
    [entry] = [entry for entry in listed if entry["name"] == "angle_bound"]
    assert entry["place"] == "Theorem 7, eq. (42)"
    assert list(entry["parameters"]) == ["sigma", "step", "expected_stop"]


def test_one_is_evaluated(sgdone):
    lines = sgdone("theory", "expected_stop_bound", *ARGUMENTS).stdout.splitlines()
    assert lines[0].split() == ["expected_stop_bound", f"{expected_stop_bound('logistic', 0.5, 0.1, 0.0125):.6g}"]
    assert lines[1].startswith("meaning ")
    assert lines[2].split(maxsplit=1) == ["source", "Baghal, Paquette & Vavasis (2021), Theorem 5, eq. (38)"]
    assert lines[3].startswith("assumes ")
    assert "σ ≤ 0.33‖μ‖" in lines[3]


def test_one_is_evaluated_in_json(sgdone):
    report = sgdone("theory", "expected-stop-bound", *ARGUMENTS, "--json").report
    assert report["name"] == "expected_stop_bound"
    assert report["value"] == expected_stop_bound("logistic", 0.5, 0.1, 0.0125)
    assert report["arguments"] == {"loss": "logistic", "mean_norm": 0.5, "sigma": 0.1, "step": 0.0125}
    assert report["paper"] == "Baghal, Paquette & Vavasis (2021)"
    assert report["assumptions"]


def test_words_are_values_too(sgdone):
    assert sgdone("theory", "regime", *ARGUMENTS[:3]).stdout.splitlines()[0].split() == ["regime", "low", "variance"]


def test_vectors_and_matrices_are_json(sgdone):
    covariance = [[1.0, 0.5], [0.5, 2.0]]
    arguments = ["error=[0.7, 0]", "gamma=0.05", f"covariance={covariance}", "noise=2.25"]
    report = sgdone("theory", "pflug_drift_implicit", *arguments, "--json").report
    assert report["value"] == pflug_drift_implicit([0.7, 0.0], 0.05, covariance=covariance, noise=2.25)


def test_what_one_prints_another_takes(sgdone):
    lines = sgdone("theory", "gaussian_design", "covariance=[[1, 0.5], [0.5, 2]]").stdout.splitlines()
    shown = dict(line.split(maxsplit=1) for line in lines[:3])
    assert json.loads(shown["D"]) == gaussian_design([[1, 0.5], [0.5, 2]]).D.tolist()
    moments = [f"{name}={shown[name]}" for name in ("C", "D", "c2")]
    sgdone("theory", "pflug_drift", "error=[1, 0]", "gamma=0.1", "noise=1", *moments)
    report = sgdone("theory", "gaussian_design", "covariance=[[1, 0.5], [0.5, 2]]", "--json").report
    assert report["value"]["c2"] == gaussian_design([[1, 0.5], [0.5, 2]]).c2


PARAMETERS = 'Its parameters:\n  loss       "logistic" or "hinge".\n  mean_norm  ‖μ‖, the distance'
BAD_USAGE = {
    "another name": (["expected_stop_bond"], "'NAME': no statement is called 'expected_stop_bond'. Did you mean "
                                             "'expected_stop_bound'? `sgdone theory` lists them all"),
    "no name at all": (["sigma=1"], "'NAME': no statement is called 'sigma=1'"),
    "nothing given": (["expected_stop_bound"], "expected_stop_bound needs loss, mean_norm, sigma, step. " + PARAMETERS),
    "something missing": (["expected_stop_bound", *ARGUMENTS[:3]], "expected_stop_bound needs step. " + PARAMETERS),
    "another argument": (["expected_stop_bound", *ARGUMENTS, "sgima=3"],
                         "expected_stop_bound takes no 'sgima'. Did you mean 'sigma'? " + PARAMETERS),
    "both": (["angle_bound", "sigma=1", "alpha=2"], "angle_bound takes no 'alpha'. It needs step, expected_stop. Its"),
    "no value": (["regime", "hinge"], "'ARGUMENT=VALUE': 'hinge' is not of the form name=value"),
    "twice": (["regime", "loss=hinge", "loss=logistic"], "loss is given twice"),
    "no number": (["regime", "loss=hinge", "mean_norm=big", "sigma=1"], "mean_norm='big' is not a number"),
    "a truth value": (["regime", "loss=hinge", "mean_norm=true", "sigma=1"], "mean_norm=True is not a number"),
    "a negative number": (["regime", "loss=hinge", "mean_norm=1", "sigma=-1"], "sigma=-1 is not a positive finite"),
    "a loss": (["regime", "loss=hing", "mean_norm=1", "sigma=1"], "loss='hing' is not one that the paper treats. Did"),
    "no vector": (["stop_probability", "theta=1", "mean=[1]", "sigma=1"], "theta has the shape () where a vector is"),
    "no matrix": (["gaussian_design", "covariance=[[1, 2], [3]]"], "is not a matrix of numbers"),
}  # fmt: skip


@pytest.mark.parametrize("json_too", [[], ["--json"]])
@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage(case, json_too, sgdone):
    arguments, message = BAD_USAGE[case]
    result = sgdone("theory", *arguments, *json_too, code=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_an_assumption_that_fails_is_another_exit_code(sgdone):
    result = sgdone("theory", "expected_stop_bound", *ARGUMENTS[:2], "sigma=0.4", "step=1", "--json", code=1)
    assert result.stderr.startswith("error: Theorem 5 for the logistic loss assumes σ ≤ 0.33‖μ‖; found σ = 0.8‖μ‖")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
