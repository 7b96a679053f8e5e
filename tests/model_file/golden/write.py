"""Write the golden model files of the present format, and what they predict.

Run it only when the format changes: ``python tests/model_file/golden/write.py``. Files of earlier formats stay as they
are; they were written by the version of their time.
"""

import json
from pathlib import Path

import numpy as np

import sgdone
from sgdone.model_file.container import VERSION
from sgdone.stopping import MarginTest, MaxSamples

HERE = Path(__file__).parent


def rows():
    """Forty rows of three features and two classes, not separable."""
    X = np.array([[np.sin(7.0 * i + 3.0 * j) for j in range(3)] for i in range(40)])
    noise = np.array([1.5 * np.cos(11.0 * i) for i in range(40)])
    return X, np.where(X @ [1.0, -2.0, 0.5] + noise > 0, "yes", "no")


if __name__ == "__main__":
    X, y = rows()
    # Its first part fires within the rows of the first call.
    rule = MarginTest(0.2) & MaxSamples(60)
    sgd = sgdone.SGDClassifier(solver="asgd", step=0.05, alpha=0.01, stop=rule, random_state=0)
    models = {
        f"format-{VERSION}": sgdone.LinearClassifier(random_state=0).fit(X, y),
        f"format-{VERSION}-sgd": sgd.partial_fit(X, y, classes=["no", "yes"]),
    }
    for name, model in models.items():
        sgdone.save(model, HERE / f"{name}.safetensors")
        expected = {"scores": model.decision_function(X[:5]).tolist(), "verdict": str(model.verdict_)}
        if model is sgd:
            model.partial_fit(X, y)
            expected |= {"later scores": model.decision_function(X[:5]).tolist(), "later verdict": str(model.verdict_)}
        (HERE / f"{name}.json").write_text(json.dumps(expected, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
