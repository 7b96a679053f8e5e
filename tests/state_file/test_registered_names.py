"""The names of classes in files."""

from sgdone.state_file.registered_names import name_of, registered, stored_fields


def test_registered_names_are_unique_and_say_no_place():
    names = registered()
    assert len(set(names.values())) == len(names)
    assert not [name for name in names if "." in name or "sgdone" in name]
    assert all(name_of(thing) == name for name, thing in names.items())
    assert {"stop", "loss/huber", "rule/gain", "rule/AnyOf", "method/sgd", "step/xu", "auto/BankState"} <= set(names)


def test_work_arrays_are_not_stored_and_the_run_is_in_checkpoints_only():
    assert "run" not in stored_fields("auto/BankState", running=False)
    assert "run" in stored_fields("auto/BankState", running=True)
    assert "in_units" not in stored_fields("auto/BankState", running=True)
    assert "folds" not in stored_fields("auto/RunState", running=True)
    assert "validation" in stored_fields("auto/RunState", running=True)
