"""Models in Spark's way: a directory of the parameters and the model file of sgdone."""

import tempfile
from pathlib import Path
from typing import Any, final

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter
from pyspark.sql import SparkSession

from sgdone.model_file import load, save

#: The model file in the directory: `sgdone.load` reads it.
MODEL_FILE = "model.safetensors"


@final
class ModelWriter(MLWriter):
    """Writes a model to any file system that Spark knows.

    Parameters
    ----------
    model : Params
        With a fitted estimator in ``to_sklearn()``.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802  # as Spark names it
        """Write the parameters and the model file."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / MODEL_FILE
            save(self._model.to_sklearn(), file)
            content = file.read_bytes()
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession)
        _write_file(self.sparkSession, f"{path}/{MODEL_FILE}", content)


@final
class ModelReader(MLReader[Any]):
    """Reads a model that `ModelWriter` wrote.

    Parameters
    ----------
    kind : type
        Class of the model; called with the fitted estimator.
    """

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        """Read the parameters and the model file."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        files = self.sparkSession.read.format("binaryFile").load(f"{path}/{MODEL_FILE}")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / MODEL_FILE
            file.write_bytes(files.select("content").collect()[0][0])
            model = self._kind(load(file))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _write_file(session: SparkSession, path: str, content: bytes) -> None:
    """Write a file by Hadoop's file systems."""
    context = session.sparkContext
    gateway: Any = context._jvm
    target = gateway.org.apache.hadoop.fs.Path(path)
    stream = target.getFileSystem(context._jsc.hadoopConfiguration()).create(target)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()
