"""The estimators without scikit-learn's base classes: the command uses them, and nobody sees a difference."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

import sgdone
from sgdone.estimators.estimator_cores import CORES
from sgdone.model_file import load_core, read_header
from sgdone.tables import TableEncoderCore
from tiers import interpreted

TABLE = {"a": [0.5, 1.5, -1.0, 2.0, 0.0, 1.0] * 10, "n": [3, 1, 2, 2, 5, 4] * 10}
MIXED = TABLE | {"city": ["Rome", "Oslo", "Rome", None, "Oslo", "Bern"] * 10}


def rows(kind):
    if kind in ("table", "mixed"):
        return pa.table(MIXED if kind == "mixed" else TABLE)
    X = np.column_stack(list(TABLE.values())).astype(float)
    return {"array": X, "float32": X.astype(np.float32), "integers": X.astype(int), "csr": sparse.csr_array(X)}[kind]


def contents(path):
    return {name: part for name, part in read_header(path).items() if name != "created"}


KINDS = ["table", "mixed", "array", "float32", "integers", "csr"]


@interpreted
@pytest.mark.parametrize(
    ("name", "kind"),
    # A named method takes numbers only.
    [(name, kind) for name in CORES for kind in KINDS if kind != "mixed" or not name.startswith("SGD")],
)
def test_the_same_model_and_file(name, kind, tmp_path):
    y = np.array([0, 1, 1, 0, 1, 0] * 10)
    core, public = CORES[name](random_state=0).fit(rows(kind), y), getattr(sgdone, name)(random_state=0)
    public.fit(rows(kind), y)
    assert core.coef_.dtype == public.coef_.dtype
    np.testing.assert_array_equal(core.coef_, public.coef_)
    np.testing.assert_array_equal(core.predict(rows(kind)), public.predict(rows(kind)))
    files = [tmp_path / "core", tmp_path / "public"]
    for model, path in zip((core, public), files, strict=True):
        sgdone.save(model, path)
    first, second = map(contents, files)
    assert first == second
    assert type(sgdone.load(files[0])) is getattr(sgdone, name)
    assert type(load_core(files[1])) is CORES[name]
    np.testing.assert_array_equal(sgdone.load(files[0]).predict(rows(kind)), core.predict(rows(kind)))
    if kind == "mixed":
        assert type(public.encoder_) is type(sgdone.load(files[0]).encoder_) is sgdone.TableEncoder


@pytest.mark.parametrize("name", list(CORES))
def test_errors(name):
    core, X, y = CORES[name](), rows("array"), np.array([0, 1] * 30)
    with pytest.raises(ValueError, match=f"This {name} instance is not fitted yet"):
        core.predict(X)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 59\]"):
        core.fit(X, y[:-1])
    with pytest.raises(ValueError, match="X has no rows"):
        core.fit(X[:0], y[:0])
    core.fit(rows("table"), y)
    with pytest.raises(ValueError, match=f"X has 1 features, but {name} is expecting 2 features"):
        core.predict(X[:, :1])
    with pytest.raises(ValueError, match="other names, or another order"):
        core.predict(rows("table").select(["n", "a"]))


@pytest.mark.parametrize("kind", [*CORES.values(), *(getattr(sgdone, name) for name in CORES)])
def test_errors_name_public_classes(kind, tmp_path):
    """Whatever fails, by Python or by a check."""
    name, X, y = kind.public_name, rows("array"), np.array([0, 1] * 30)
    failures = {
        "unknown parameter": lambda: kind(folds=1),
        "positional parameter": lambda: kind("auto", 1.0),
        "bad parameter": lambda: kind(alpha=-1).fit(X, y),
        "bad loss": lambda: kind(loss="cubic").fit(X, y),
        "bad rule": lambda: kind(stop="never").fit(X, y),
        "predict": lambda: kind().predict(X),
        "coefficients": lambda: kind().coefficients(),
        "names": lambda: kind().get_feature_names_out(),
        "summary": lambda: kind().summary(X, y),
        "save": lambda: sgdone.save(kind(), tmp_path / "model"),
        "no rows": lambda: kind().fit(X[:0], y[:0]),
        "other features": lambda: kind().fit(X, y).predict(X[:, :1]),
        "encoder": lambda: sgdone.save(TableEncoderCore(), tmp_path / "model"),
        "parameter of the encoder": lambda: TableEncoderCore(folds=1),
    }
    for what, fails in failures.items():
        with pytest.raises((TypeError, ValueError)) as error:
            fails()
        assert "Core" not in str(error.value), what
    for what in ("unknown parameter", "positional parameter", "predict"):
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            failures[what]()
