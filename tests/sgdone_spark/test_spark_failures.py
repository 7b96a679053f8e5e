"""Columns and rows that cannot be used, workers that are killed, and functions of the user that fail."""

import threading
import time

import numpy as np
import pandas as pd
import pytest
from frames_of_spark import frame_of, logistic_rows, spark_warnings

from tiers import at_night

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation
from pyspark.sql import types as T  # noqa: N812

import sgdone
from sgdone.cluster import PartitionError
from sgdone.spark import LinearClassifier, LinearClassifierModel, LinearRegressor

pytestmark = [pytest.mark.slow, *spark_warnings]

SCHEMA = T.StructType().add("features", VectorUDT()).add("label", "string").add("number", "double")


def rows_of(n_rows):
    X, y = logistic_rows(n_rows, 2)
    return list(zip(map(Vectors.dense, X.tolist()), y.tolist(), map(float, range(n_rows)), strict=True))


def test_columns_that_cannot_be_used(spark):
    frame = spark.createDataFrame([], SCHEMA)
    twice = frame.select("*", F.col("number").alias("label"))
    for model, data, error, text in (
        (LinearClassifier(labelCol="Label"), frame, ValueError, "no such column. Did you mean 'label'.*'features'"),
        (LinearClassifier(featuresCol="number"), frame, TypeError, "type double, but vectors are needed"),
        (LinearClassifier(inputCols=["features"]), frame, TypeError, "'features' has the type vector: use numbers"),
        (LinearRegressor(), frame, TypeError, "a regression needs labels that are numbers"),
        (LinearClassifier(labelCol="features"), frame, TypeError, "use numbers, strings or booleans"),
        (LinearClassifier(weightCol="label"), frame, TypeError, "weights are numbers"),
        (LinearClassifier(), twice, ValueError, "several columns have this name"),
        (LinearClassifier(resume=True), frame, ValueError, "needs the name of the checkpoint"),
    ):
        with pytest.raises(error, match=text):
            model.fit(data)


def test_rows_that_cannot_be_used(spark):
    good = rows_of(22)
    for bad, text in (
        ((good[0][0], None, 0.0), r"partition 1: the label of row 2 is null \(column 'label'\)"),
        ((Vectors.dense([1.0, np.nan]), "yes", 0.0), "partition 1: .*row 2 .*NaN"),
    ):
        frame = frame_of(spark, [*good, bad], SCHEMA, [20, 3])
        with pytest.raises(PartitionError, match=text):
            LinearClassifier().fit(frame)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_no_rows_and_one_class(spark):
    empty = frame_of(spark, [], SCHEMA, [0, 0])
    with pytest.raises(ValueError, match="no partition has a row of positive weight"):
        LinearClassifier().fit(empty)
    with pytest.raises(ValueError, match="nothing to fit"):
        LinearClassifier().fit(empty.filter("false"))
    one = frame_of(spark, [row for row in rows_of(30) if row[1] == "yes"][:5], SCHEMA, [2, 3])
    with pytest.raises(ValueError, match="one class only"):
        LinearClassifier().fit(one)


def test_a_function_of_the_user_that_always_fails(spark):
    @F.udf("double")
    def broken(number):
        if number == 25.0:
            raise RuntimeError("no price for 25")
        return number

    frame = frame_of(spark, rows_of(30), SCHEMA, [20, 10]).withColumn("number", broken("number"))
    with pytest.raises(PartitionError, match=r"partition 1 of stage \d+: .*RuntimeError: no price for 25"):
        LinearRegressor(labelCol="number").fit(frame)


def test_predictions_of_other_columns(spark):
    X, y = logistic_rows(60, 2)
    model = LinearClassifierModel(sgdone.LinearClassifier(alpha=1.0).fit(X, y))
    frame = frame_of(spark, rows_of(60), SCHEMA, [60])
    with pytest.raises(ValueError, match="has a column 'prediction' already"):
        model.transform(frame.withColumn("prediction", F.lit(1)))
    with pytest.raises(ValueError, match="featuresCol='features': the data frame has no such column"):
        model.transform(frame.drop("features"))
    with pytest.raises(ValueError, match="needs groupsCol"):
        model.summary(frame, cov="cluster")
    found = model.setProbabilityCol("").setRawPredictionCol("").transform(frame.filter("number < 0"))
    assert found.columns == [*frame.columns, "prediction"]
    assert found.collect() == []


@pytest.mark.parametrize("seed", [0, *at_night(range(1, 5))])
def test_a_worker_that_is_killed(spark, seed):
    psutil = pytest.importorskip("psutil", reason="psutil finds the workers")
    X, y = logistic_rows(4_000, 5)
    frame = spark.createDataFrame(pd.DataFrame(X, columns=list("abcde")).assign(label=y)).repartition(2).cache()
    frame.count()
    model = LinearClassifier(inputCols=list("abcde"), alpha=0.001)
    began = time.monotonic()
    expected = model.fit(frame)
    killer = Killer(psutil.Process(spark.sparkContext._gateway.proc.pid), seed, time.monotonic() - began)
    killer.start()
    found = model.fit(frame)
    killer.join()
    assert killer.killed
    assert found.coef_.tobytes() == expected.coef_.tobytes()
    assert found.intercept_.tobytes() == expected.intercept_.tobytes()
    frame.unpersist()


class Killer(threading.Thread):
    """Kills a Python worker of Spark at a random moment of a fit."""

    def __init__(self, java, seed, seconds):
        super().__init__(daemon=True)
        self._java, self._rng, self.killed = java, np.random.default_rng(seed), None
        self._wait = self._rng.uniform(0.1, 0.7) * seconds

    def run(self):
        time.sleep(self._wait)
        # Workers are children of a daemon, which is a child of the Java process.
        workers = [worker for daemon in self._java.children() for worker in daemon.children()]
        worker = workers[self._rng.integers(len(workers))]
        worker.kill()
        self.killed = worker.pid
