"""`fit` without an estimator, as the command calls it, makes the model of the estimator."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

import sgdone
from sgdone.fit.fit import fit
from sgdone.fit.loaded_rows import LoadedRows
from sgdone.fit.options import PARAMETERS, FitOptions
from sgdone.model_file import load_fitted, read_header
from tiers import interpreted

TABLE = {"a": [0.5, 1.5, -1.0, 2.0, 0.0, 1.0] * 10, "n": [3, 1, 2, 2, 5, 4] * 10}
MIXED = TABLE | {"city": ["Rome", "Oslo", "Rome", None, "Oslo", "Bern"] * 10}


def rows(kind):
    if kind in ("table", "mixed"):
        return pa.table(MIXED if kind == "mixed" else TABLE)
    X = np.column_stack(list(TABLE.values())).astype(float)
    return {"array": X, "float32": X.astype(np.float32), "integers": X.astype(int), "csr": sparse.csr_array(X)}[kind]


def fitted(name, X, y, **parameters):
    options = FitOptions.of(name, **parameters)
    return fit(LoadedRows.for_fit(X, y, None, options), options)


def contents(path):
    return {name: part for name, part in read_header(path).items() if name != "created"}


KINDS = ["table", "mixed", "array", "float32", "integers", "csr"]


@interpreted
@pytest.mark.parametrize(
    ("name", "kind"),
    # A named method takes numbers only.
    [(name, kind) for name in PARAMETERS for kind in KINDS if kind != "mixed" or not name.startswith("SGD")],
)
def test_the_same_model_and_file(name, kind, tmp_path):
    y = np.array([0, 1, 1, 0, 1, 0] * 10)
    core = fitted(name, rows(kind), y, random_state=0)
    public = getattr(sgdone, name)(random_state=0).fit(rows(kind), y)
    assert core.coef_.dtype == public.coef_.dtype
    np.testing.assert_array_equal(core.coef_, public.coef_)
    np.testing.assert_array_equal(core.predict(rows(kind)), public.predict(rows(kind)))
    files = [tmp_path / "core", tmp_path / "public"]
    for model, path in zip((core, public), files, strict=True):
        sgdone.save(model, path)
    first, second = map(contents, files)
    assert first == second
    assert type(sgdone.load(files[0])) is getattr(sgdone, name)
    assert load_fitted(files[1]).options.estimator == name
    np.testing.assert_array_equal(sgdone.load(files[0]).predict(rows(kind)), core.predict(rows(kind)))
    if kind == "mixed":
        assert type(public.encoder_) is type(sgdone.load(files[0]).encoder_) is sgdone.TableEncoder


@pytest.mark.parametrize("name", PARAMETERS)
def test_errors(name):
    X, y = rows("array"), np.array([0, 1] * 30)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 59\]"):
        fitted(name, X, y[:-1])
    with pytest.raises(ValueError, match="X has no rows"):
        fitted(name, X[:0], y[:0])
    model = fitted(name, rows("table"), y)
    with pytest.raises(ValueError, match=f"X has 1 features, but {name} is expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="other names, or another order"):
        model.predict(rows("table").select(["n", "a"]))
    with pytest.raises(TypeError, match=rf"{name}\.__init__\(\) got an unexpected keyword argument 'folds'"):
        FitOptions.of(name, folds=1)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_and_defaults_are_those_of_the_estimator(name):
    assert getattr(sgdone, name)().get_params() == PARAMETERS[name]


@pytest.mark.parametrize("name", PARAMETERS)
def test_errors_name_public_classes(name, tmp_path):
    """Whatever fails, by Python or by a check."""
    kind = getattr(sgdone, name)
    failures = {
        "unknown parameter": lambda: kind(folds=1),
        "positional parameter": lambda: kind("auto", 1.0),
        "predict": lambda: kind().predict(rows("array")),
        "coefficients": lambda: kind().coefficients(),
        "names": lambda: kind().get_feature_names_out(),
        "summary": lambda: kind().summary(rows("array"), np.array([0, 1] * 30)),
        "save": lambda: sgdone.save(kind(), tmp_path / "model"),
    }
    for fails in failures.values():
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            fails()
    with pytest.raises(TypeError, match=r"not a TableEncoder"):
        sgdone.save(sgdone.TableEncoder(), tmp_path / "model")
    with pytest.raises(TypeError, match=r"TableEncoder\.__init__\(\)"):
        sgdone.TableEncoder(folds=1)


def test_a_subclass_may_set_parameters_itself_and_have_others():
    class Median(sgdone.LinearRegressor):
        def __init__(self, extra=1, alpha=0):
            super().__init__(loss="quantile", alpha=alpha, random_state=0)
            self.extra = extra

    y = np.where(np.arange(101) < 80, 0.0, 100.0)
    model = Median().fit(np.arange(101.0)[:, None] % 2, y)
    assert model.intercept_ == pytest.approx(0.0, abs=1.0)
    assert model._fitted.options.loss.name == "quantile"


def test_coefficients_can_be_given():
    model = sgdone.LinearClassifier()
    model.coef_, model.intercept_, model.classes_ = np.array([[1.0, -1.0]]), np.zeros(1), np.array(["no", "yes"])
    model.n_features_in_ = 2
    assert model.predict([[2.0, 1.0], [1.0, 2.0]]).tolist() == ["yes", "no"]


def test_attributes_can_be_removed(tmp_path):
    """A smaller model predicts."""
    X, y = rows("array"), np.array([0, 1] * 30)
    model = sgdone.LinearClassifier(random_state=0).fit(X, y)
    expected = model.predict(X)
    del model.feature_std_
    assert not hasattr(model, "feature_std_")
    np.testing.assert_array_equal(model.predict(X), expected)
    model.set_params(stop="never")
    with pytest.raises(ValueError, match="set the parameters back, or fit it again"):
        sgdone.save(model, tmp_path / "model")
