"""Data sets of Xu (2011), section 6.3, or what stands in for them."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone import datasets
from sgdone.data import ArraySource
from sgdone.datasets.pascal import pascal_like
from sgdone.losses.base import Loss

Array = NDArray[np.float64]

#: Of the generated sets: with it no classifier errs less often than in one of five rows.
_NOISE = float(np.tan(0.2 * np.pi))
#: One in so many rows of a generated set is for the test.
_TEST = 6


@final
@dataclass(frozen=True)
class SetChoice:
    """A data set and its penalty.

    ``drawn`` are arguments of `pascal_like`; without them the set is called ``loads`` in `sgdone.datasets`. Features
    are divided by the ``largest`` of all, or each brought to the ``range`` from 0 to 1, by the training rows.
    """

    alpha: float
    loads: str = ""
    drawn: dict[str, Any] = field(default_factory=dict)
    scaled: Literal["no", "largest", "range"] = "no"


#: By the paper's name where the set is the paper's, "-like" where it is drawn to the same size of rows. λ is that of
#: Tables 1 and 2 there. For mnist9 (pixels, not the paper's features) and sets that the paper does not have it is the
#: power of ten whose exact minimiser of the squared hinge had the lowest error on a fifth of the training rows,
#: ``default_rng(0).permutation(rows)[: rows // 5]``, the others being learnt from; for sci.space the larger of two that
#: differ by one row in 2262. The conditions of the generated sets are ours.
SETS = {
    "covtype": SetChoice(1e-6, "covertype-2-vs-rest", scaled="range"),
    "delta-like": SetChoice(1e-2, drawn={"condition": 10.0, "size": 3e3}),
    "mnist9": SetChoice(1e-4, "mnist-9-vs-rest", scaled="largest"),
    "a9a": SetChoice(1e-4, "a9a"),
    "money-fx": SetChoice(1e-4, "reuters-money-fx"),
    "sci.space": SetChoice(1e-5, "newsgroups20-sci.space-vs-rest"),
    "alpha-like": SetChoice(1e-5, drawn={"condition": 100.0, "normalise": True}),
    "beta-like": SetChoice(1e-4, drawn={"condition": 10.0, "normalise": True, "linear": False}),
    "gamma-like": SetChoice(1e-3, drawn={"condition": 1.0, "size": 2e3}),
    "digits9": SetChoice(1e-4, "digits-9-vs-rest", scaled="largest"),
}


@final
@dataclass(frozen=True, eq=False)
class Benchmark:
    """Training and test rows, labels −1 and 1, and the penalty λ."""

    X: Any
    labels: Array
    X_test: Any
    labels_test: Array
    alpha: float

    @classmethod
    def load(cls, name: str, limit: int | None, shape: tuple[int, int], rng: np.random.Generator) -> "Benchmark":
        """One of `SETS`.

        Parameters
        ----------
        name : str
            Its key.
        limit : int, optional
            Use so many training rows, chosen at random.
        shape : (int, int)
            Training rows and features of a generated set.
        rng : numpy.random.Generator
            Draws, and chooses.
        """
        choice = SETS[name]
        if choice.drawn:
            n_test = max(1, shape[0] // (_TEST - 1))
            data = pascal_like(rng, shape[0] + n_test, shape[1], noise=_NOISE, **choice.drawn)
            X, X_test = data.X[:-n_test], data.X[-n_test:]
            y, y_test = data.y[:-n_test], data.y[-n_test:]
        else:
            train, test = (datasets.load(choice.loads, subset=part, dtype=np.float32) for part in ("train", "test"))
            order = rng.permutation(len(train.y))[:limit]
            X, y, X_test, y_test = train.X[order], train.y[order], test.X, test.y
        if choice.scaled != "no":
            low, high = (X.min(axis=0), X.max(axis=0)) if choice.scaled == "range" else (0.0, X.max())
            width = np.where(high > low, high - low, 1.0).astype(np.float32)
            X, X_test = (X - low) / width, (X_test - low) / width
        return cls(X, y.astype(np.float64), X_test, y_test.astype(np.float64), choice.alpha)

    @cached_property
    def source(self) -> ArraySource:
        """Training rows, read in passes of random order."""
        return ArraySource(self.X, self.labels)

    @cached_property
    def source_with_constant(self) -> ArraySource:
        """The same with a feature that is always 1."""
        ones = np.ones((self.labels.size, 1), self.X.dtype)
        if sparse.issparse(self.X):
            blocks: list[Any] = [self.X, ones]
            return ArraySource(sparse.csr_array(sparse.hstack(blocks, format="csr")), self.labels)
        return ArraySource(np.hstack([self.X, ones]), self.labels)

    def few(self, rows: int) -> "Benchmark":
        """The first rows of either kind, to compile on."""
        return Benchmark(
            self.X[:rows], self.labels[:rows], self.X_test[:rows], self.labels_test[:rows], alpha=self.alpha
        )

    def judge(self, loss: Loss, coef: Array, intercept: float) -> tuple[float, float]:
        """Of the test rows: the fraction predicted wrongly, and the mean loss with the penalty."""
        z = (self.X_test @ coef.astype(self.X_test.dtype)).astype(np.float64) + intercept
        cost = float(np.mean(loss.value(z, self.labels_test))) + 0.5 * self.alpha * float(coef @ coef)
        return float(np.mean((z > 0) != (self.labels_test > 0))), cost
