import gc
import os
import shutil
import sys
import warnings

import pytest


@pytest.fixture(scope="session")
def spark():
    """A session with two cores, and four attempts for each task."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs a Java runtime, and there is none")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        # Queries are small and run once: compiling them takes longer than they do.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.codegen.wholeStage": "false",
        # The union of data frames of one partition each has as many partitions.
        "spark.sql.unionOutputPartitioning": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = SparkSession.builder.master("local[2,4]").config(map=options).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    yield session
    with warnings.catch_warnings():
        # Spark leaves sockets and pipes open.
        warnings.simplefilter("ignore")
        gateway = session.sparkContext._gateway
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=30)
        gc.collect()
