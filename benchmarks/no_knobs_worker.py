"""Fits of peers in a process of their own: one that takes too long is ended, and one that crashes does no harm."""

import multiprocessing
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from contenders.contender import MissingError
from no_knobs_data import Problem
from no_knobs_measure import Measured
from no_knobs_peers import PEERS, Circumstances

#: For each split, the fits with each setting.
Fits = list[list[Measured]]


class Worker:
    """A process that fits peers to one set. It starts with the first fit, and again after it was ended."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._process: Any = None
        self._pipe: Any = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def fit(self, method: str, around: Circumstances, five: Fits | None) -> Fits | str:
        """Fit a peer to all splits, or say why it cannot be done."""
        if self._process is None:
            self._start()
        self._pipe.send((method, around, five))
        if not self._pipe.poll(around.patience):
            self._end()
            return f"stopped after {around.patience:,.0f} s"
        try:
            found: Fits | str = self._pipe.recv()
        except EOFError:
            self._process.join()
            found = f"the process ended with exit code {self._process.exitcode}"
            self._end()
        return found

    def _start(self) -> None:
        # A forked process would share the state of the parent's threads.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self.problem), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()  # the data have arrived

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


def _work(pipe: Connection, problem: Problem) -> None:
    pipe.send("ready")
    while True:
        method, around, five = pipe.recv()
        pipe.send(_fits(problem, method, around, five))


def _fits(problem: Problem, method: str, around: Circumstances, five: Fits | None) -> Fits | str:
    try:
        return [
            PEERS[method].fit(part, replace(around, five=five[k] if five else ()))
            for k, part in enumerate(problem.parts)
        ]
    except MissingError as missing:
        return str(missing)
    except Exception as error:
        # A peer that fails is a result: steps too large for the data, for example, end in overflow.
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
