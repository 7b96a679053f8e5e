"""How far the bounds of Xu (2011) are from the expected errors of averaged and plain SGD.

Run as ``python benchmarks/asgd_bounds.py``. Eq. (5) on three spectra from 1 down to λ₀, with γ₀ = 1 and θ₀ − θ* a
vector of ones: t times the exact expectation beside t times the bound. Theorem 1 with the recommended steps
(a = λ₀, c = 2/3) and with arbitrary ones (a = 1, c = 1/2); eq. (8) with a = λ₀, c = 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from sgdone.papers.averaging.theory import averaged_error_bound, expected_errors, sgd_error_bound

TIMES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000)

Array = NDArray[Any]
#: Eigenvalues of A and of S.
SPECTRA: dict[str, tuple[Array, Array]] = {
    "1 ×3, 0.02 ×97; S = A²": (np.array([1.0] * 3 + [0.02] * 97), np.array([1.0] * 3 + [0.0004] * 97)),
    "0.01 … 1 evenly; S = A": (np.linspace(0.01, 1.0, 100), np.linspace(0.01, 1.0, 100)),
    "1, ½, … 1/128; S = I": (2.0 ** -np.arange(8), np.ones(8)),
}


def main() -> None:
    table = Table(title="t·E‖error‖²_A: exact, bound, and the bound over the exact value")
    headings = (
        "spectrum",
        "t",
        "ASGD",
        "Theorem 1",
        "ratio",
        "a=1, c=½",
        "Theorem 1",
        "ratio",
        "SGD",
        "eq. (8)",
        "ratio",
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "spectrum" else "right")
    for spectrum, (eigenvalues, noise) in SPECTRA.items():
        given = {"A": np.diag(eigenvalues), "S": np.diag(noise), "start_error": np.ones(eigenvalues.size)}
        lambda0 = float(eigenvalues.min())
        pairs = []
        for steps in ({"gamma0": 1.0, "a": lambda0, "c": 2 / 3}, {"gamma0": 1.0, "a": 1.0, "c": 1 / 2}):
            bounds = [averaged_error_bound(t, **given, **steps) for t in TIMES]
            pairs.append((expected_errors(TIMES, **given, **steps).averaged, bounds))
        bounds = [sgd_error_bound(t, **given, gamma0=1.0) for t in TIMES]
        pairs.append((expected_errors(TIMES, **given, gamma0=1.0, a=lambda0, c=1.0).last, bounds))
        for i, t in enumerate(TIMES):
            cells = []
            for exact, bounds in pairs:
                cells += [f"{t * exact[i]:.4g}", f"{t * bounds[i]:.4g}", f"{bounds[i] / exact[i]:.3g}"]
            table.add_row(spectrum if i == 0 else "", f"{t:,}", *cells, end_section=t == TIMES[-1])
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
