"""Fits on Spark, against the same partitions in this process and against one machine."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frames_of_spark import fitted_here, frame_of, logistic_rows, slices, spark_warnings
from scipy import sparse

from tiers import NIGHTLY

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import types as T  # noqa: N812  # as in Spark's documentation

import sgdone
from sgdone.cluster import LocalEngine, Partition, Rounds
from sgdone.cluster.messages import to_bytes
from sgdone.cluster.statistics import Statistics
from sgdone.spark import LinearClassifier, LinearClassifierModel, LinearRegressor
from sgdone.spark import engine as engine_of_spark
from sgdone.spark.row_columns import FeatureColumns, RowColumns

pytestmark = [pytest.mark.slow, *spark_warnings]


def test_dense_vectors_with_weights(spark, tmp_path):
    X, y = logistic_rows(900)
    weight = np.random.default_rng(1).integers(0, 3, y.size).astype(float)
    sizes = [600, 0, 299, 1]
    rows = [(Vectors.dense(x), label, w) for x, label, w in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True)]
    frame = frame_of(
        spark, rows, T.StructType().add("x", VectorUDT()).add("bought", "string").add("w", "double"), sizes
    )
    model = LinearClassifier(featuresCol="x", labelCol="bought", weightCol="w", seed=3).fit(frame)

    parts = [Partition(k, X[own], y[own], weight[own]) for k, own in enumerate(slices(sizes))]
    here = fitted_here(sgdone.LinearClassifier(random_state=3), parts)
    assert model.coef_.tobytes() == here.coef_.tobytes()
    assert model.intercept_.tobytes() == here.intercept_.tobytes()
    alone = sgdone.LinearClassifier(alpha=model.alpha_).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(here.decision_function(X), alone.decision_function(X), atol=1e-3)
    assert model.trace_["bytes_received"].sum() > 0
    assert "minimum" in str(model.verdict_)

    found = model.transform(frame)
    assert found.columns == ["x", "bought", "w", "rawPrediction", "probability", "prediction"]
    table = found.collect()
    assert [row.prediction for row in table] == here.predict(X).tolist()
    # Batches of other sizes: the products of BLAS differ in their last bits.
    np.testing.assert_allclose([row.probability.toArray() for row in table], here.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose([row.rawPrediction[1] for row in table], here.decision_function(X), rtol=1e-10)
    assert model.copy().setPredictionCol("class").transform(frame).columns[-1] == "class"

    sgdone.save(model.to_sklearn(), tmp_path / "plain")
    assert np.array_equal(sgdone.load(tmp_path / "plain").predict_proba(X), here.predict_proba(X))
    model.write().overwrite().save(str(tmp_path / "model"))
    again = LinearClassifierModel.load(str(tmp_path / "model"))
    assert again.coef_.tobytes() == model.coef_.tobytes()
    assert (again.uid, again.getLabelCol(), again.getFeaturesCol()) == (model.uid, "bought", "x")
    assert again.transform(frame).collect() == table
    assert np.array_equal(sgdone.load(tmp_path / "model" / "model.safetensors").coef_, model.coef_)

    summary = model.summary(frame)
    np.testing.assert_allclose(summary.std_err, here.summary(X, y, sample_weight=weight).std_err, rtol=1e-6)


def test_sparse_and_dense_vectors_of_several_classes(spark):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((600, 12)) < 0.2, rng.standard_normal((600, 12)), 0.0)
    y = (X @ rng.standard_normal((12, 3)) + 0.3 * rng.standard_normal((600, 3))).argmax(axis=1)
    vectors = [Vectors.dense(x) if k % 5 == 0 or k >= 400 else _sparse(x) for k, x in enumerate(X)]
    sizes = [400, 200]
    schema = T.StructType().add("features", VectorUDT()).add("label", "integer")
    frame = frame_of(spark, list(zip(vectors, y.tolist(), strict=True)), schema, sizes)
    model = LinearClassifier(alpha=0.001).fit(frame)
    parts = [Partition(k, sparse.csr_array(X[own]), y[own]) for k, own in enumerate(slices(sizes))]
    here = fitted_here(sgdone.LinearClassifier(alpha=0.001, random_state=0), parts)
    assert model.coef_.tobytes() == here.coef_.tobytes()
    table = model.setProbabilityCol("").transform(frame)
    assert table.schema["prediction"].dataType == T.DoubleType()
    assert table.columns[2:] == ["rawPrediction", "prediction"]
    assert [row.prediction for row in table.collect()] == here.predict(X).tolist()


def _sparse(row):
    columns = np.flatnonzero(row)
    return Vectors.sparse(row.size, columns.tolist(), row[columns].tolist())


def test_tables_in_a_pipeline(spark, tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    city = [
        None if u < 0.1 else name
        for u, name in zip(rng.random(n), rng.choice(["Oslo", "Rome"], n).tolist(), strict=True)
    ]
    area = [None if u < 0.1 else float(v) for u, v in zip(rng.random(n), rng.uniform(20, 120, n), strict=True)]
    day = [datetime.date(2024, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 700, n)]
    new = (rng.random(n) < 0.5).tolist()
    price = np.array([3.0 * (a or 70.0) + (50.0 if c == "Oslo" else 0.0) for a, c in zip(area, city, strict=True)])
    price = (price + rng.standard_normal(n)).tolist()
    sizes = [150, 0, 250]
    schema = T.StructType().add("city name", "string").add("area", "double").add("day", "date")
    schema = schema.add("new", "boolean").add("price", "double")
    frame = frame_of(spark, list(zip(city, area, day, new, price, strict=True)), schema, sizes)
    inputs = ["city name", "area", "day", "new"]
    pipeline = Pipeline(stages=[LinearRegressor(inputCols=inputs, labelCol="price", predictionCol="expected")])
    fitted = pipeline.fit(frame)
    table = pa.table({"city name": city, "area": area, "day": day, "new": new})
    parts = [
        Partition(k, table.slice(own.start, own.stop - own.start), price[own]) for k, own in enumerate(slices(sizes))
    ]
    here = fitted_here(sgdone.LinearRegressor(random_state=0), parts)
    (model,) = fitted.stages
    assert model.coef_.tobytes() == here.coef_.tobytes()
    assert "city name=Oslo" in model.to_sklearn().encoder_.get_feature_names_out()
    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    expected = [row.expected for row in again.transform(frame.drop("price")).collect()]
    np.testing.assert_allclose(expected, here.predict(table), rtol=1e-10)
    frame = pd.DataFrame({"area": [40.0], "city name": ["Bern"], "day": day[:1], "new": [True]})
    assert np.isfinite(model.to_sklearn().predict(frame)).all()


def test_answers_merged_by_workers_are_the_same(spark, monkeypatch):
    monkeypatch.setattr(engine_of_spark, "FAN_IN", 2)
    monkeypatch.setattr(engine_of_spark, "PIECE", 0)  # rows are sent to Python one by one
    X, y = logistic_rows(100, 3)
    sizes = [20] * 5
    rows = list(zip(map(Vectors.dense, X.tolist()), y.tolist(), strict=True))
    frame = frame_of(spark, rows, T.StructType().add("features", VectorUDT()).add("label", "string"), sizes)
    columns = RowColumns.of(frame.schema, FeatureColumns("features"), "label", None, "classification")
    request, parts = Statistics("classification"), enumerate(slices(sizes))
    expected = Rounds(LocalEngine([Partition(k, X[own], y[own]) for k, own in parts]))
    with engine_of_spark.SparkEngine(frame, columns, most_collected=1) as engine:
        rounds = Rounds(engine)
        assert to_bytes(rounds.sum(request)) == to_bytes(expected.sum(request))
        assert len(engine.ask((to_bytes(request),))) == 1
    assert rounds.records[0].bytes_received == expected.records[0].bytes_received
    assert spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == "10000"


@pytest.mark.skipif(not NIGHTLY, reason="five fits: for the nightly run")
def test_cross_validation_chooses_a_penalty(spark):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.standard_normal(200)
    frame = spark.createDataFrame(pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)).repartition(2)
    model = LinearRegressor()
    grid = ParamGridBuilder().addGrid(model.alpha, [0.001, 100.0]).build()
    search = CrossValidator(
        estimator=Pipeline(stages=[VectorAssembler(inputCols=["a", "b", "c"], outputCol="features"), model]),
        estimatorParamMaps=grid,
        evaluator=RegressionEvaluator(),
        numFolds=2,
    )
    best = search.fit(frame).bestModel.stages[-1]
    assert best.getAlpha() == 0.001
    assert best.to_sklearn().feature_names_in_.tolist() == ["a", "b", "c"]
