"""An experiment of milliseconds."""

import threading
import time
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim, Sentence
from sgdone.papers.experiment import Experiment


@final
@dataclass(frozen=True)
class Tiny(Experiment[int, float]):
    draws: int = 6
    pause: float = 0.0
    fails_at: int = -1
    name: ClassVar[str] = "tiny"
    title: ClassVar[str] = "Means of a few normal numbers"
    paper: ClassVar[str] = "Nobody (1900), Fig. 0"
    quick: ClassVar = {"draws": 3}
    smoke: ClassVar = {"draws": 2}
    #: Tasks begun, by number, of all instances.
    begun: ClassVar[list[int]] = []

    def prepare(self, seed):
        return float(np.random.default_rng(seed).standard_normal())

    def tasks(self):
        return range(self.draws)

    def measure(self, task, prepared, seed):
        self.begun.append(task)
        # The later a task is, the sooner it ends: order of ends is not order of tasks.
        time.sleep(self.pause * (1 + self.draws - task))
        if task == self.fails_at:
            raise ValueError(f"task {task} cannot be measured")
        assert threading.current_thread() is not threading.main_thread()
        mean = np.random.default_rng(seed).standard_normal(10).mean()
        return [{"task": task, "mean": float(mean), "shift": prepared}, {"task": task, "mean": None, "shift": 0.0}]

    def claims(self, rows):
        means = [row["mean"] for row in rows if row["mean"] is not None]
        return [
            Claim(Sentence("below 10", "p. 1"), "all means are below 10", f"{max(means):.3f}", max(means) < 10),
            Claim(Sentence("above <10>", "p. 2"), "all are above 10", f"{min(means):.3f}", min(means) > 10, "about 0"),
            Claim(Sentence("positive", "p. 3"), "the first mean is positive", f"{means[0]:.3f}", means[0] > 0, "luck"),
        ]

    def also_tried(self, rows):
        return [AlsoTried("number of rows", str(len(rows)))]

    def draw(self, rows, figure):
        figure.subplots().plot([row["mean"] or 0.0 for row in rows])
