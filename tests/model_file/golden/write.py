"""Write the golden model files of the present format, and what they predict.

Run it only when the format changes: ``python tests/model_file/golden/write.py``. Files of earlier formats stay as they
are; they were written by the version of their time.
"""

import datetime
import json
from pathlib import Path

import numpy as np
import pyarrow as pa

import sgdone
from sgdone.model_file.model import MODEL_FILE
from sgdone.stopping import MarginTest, MaxSamples

HERE = Path(__file__).parent


def rows():
    """Forty rows of three features and two classes, not separable."""
    X = np.array([[np.sin(7.0 * i + 3.0 * j) for j in range(3)] for i in range(40)])
    noise = np.array([1.5 * np.cos(11.0 * i) for i in range(40)])
    return X, np.where(X @ [1.0, -2.0, 0.5] + noise > 0, "yes", "no")


def table():
    """The same rows as a table with gaps, categories, dates and text."""
    X, _ = rows()
    words = ["free", "prize", "call", "lunch", "report", "now"]
    return pa.table(
        {
            "x": X[:, 0],
            "gaps": [None if i % 7 == 0 else float(value) for i, value in enumerate(X[:, 1])],
            "flag": X[:, 2] > 0,
            "level": [None if i % 11 == 0 else "abcé"[int(4 * abs(value)) % 4] for i, value in enumerate(X[:, 0])],
            "day": [datetime.datetime(2026, 1 + i % 12, 1 + i % 28, i % 24) for i in range(len(X))],
            "note": [" ".join(words[(i * k) % 6] for k in range(1, 6)) + f" n{i}" for i in range(len(X))],
        }
    )


if __name__ == "__main__":
    X, y = rows()
    # Its first part fires within the rows of the first call.
    rule = MarginTest(0.2) & MaxSamples(60)
    sgd = sgdone.SGDClassifier(solver="asgd", step=0.05, alpha=0.01, stop=rule, random_state=0)
    models = {
        f"format-{MODEL_FILE.version}": sgdone.LinearClassifier(random_state=0).fit(X, y),
        f"format-{MODEL_FILE.version}-sgd": sgd.partial_fit(X, y, classes=["no", "yes"]),
        f"format-{MODEL_FILE.version}-table": sgdone.LinearClassifier(random_state=0).fit(table(), y),
    }
    for name, model in models.items():
        sgdone.save(model, HERE / f"{name}.safetensors")
        some = table()[:5] if name.endswith("table") else X[:5]
        expected = {"scores": model.decision_function(some).tolist(), "verdict": str(model.verdict_)}
        if name.endswith("table"):
            expected["features"] = model.get_feature_names_out().tolist()
        if model is sgd:
            model.partial_fit(X, y)
            expected |= {"later scores": model.decision_function(X[:5]).tolist(), "later verdict": str(model.verdict_)}
        (HERE / f"{name}.json").write_text(json.dumps(expected, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
