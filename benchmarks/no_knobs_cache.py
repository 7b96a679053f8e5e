"""Results of peers, kept in a file: they need not be fitted again when only our own fit has changed."""

import base64
import json
import os
import platform
import time
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from no_knobs_measure import Measured
from no_knobs_peers import PEERS
from no_knobs_worker import Fits


class Cache:
    """A JSON file of results by set and method, or nothing if there is no path.

    A result counts only if it was made with the same seed, the same splits, the same version of the peer's package
    and, since its seconds are part of it, on the same machine.
    """

    def __init__(self, path: Path | None, seed: int, patience: float) -> None:
        self.path, self.seed, self.patience = path, seed, patience
        self._kept: dict[str, Any] = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def find(self, name: str, method: str, n_splits: int) -> tuple[Fits | str, str] | None:
        """The results, or why there are none, and when they were made."""
        entry = self._kept.get(f"{name}/{method}")
        if entry is None or entry["made_with"] != self._stamp(method, n_splits):
            return None
        if entry["why"]:
            # More patience may be enough.
            return None if entry["patience"] < self.patience else (entry["why"], entry["when"])
        return [[_decode(one) for one in split] for split in entry["splits"]], entry["when"]

    def keep(self, name: str, method: str, n_splits: int, found: Fits | str) -> None:
        """Write results, or why there are none, at once: a long run may be interrupted."""
        if self.path is None:
            return
        splits = [] if isinstance(found, str) else found
        self._kept[f"{name}/{method}"] = {
            "made_with": self._stamp(method, n_splits),
            "when": f"{time.strftime('%Y-%m-%d %H:%M')} at a load average of {os.getloadavg()[0]:.1f}",
            "patience": self.patience,
            "why": found if isinstance(found, str) else "",
            # Rows are for the standard error of a single split.
            "splits": [[_encode(one, with_rows=n_splits == 1) for one in split] for split in splits],
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(f"{self.path.name}.part")
        draft.write_text(json.dumps(self._kept, indent=1))
        draft.replace(self.path)

    def _stamp(self, method: str, n_splits: int) -> dict[str, Any]:
        return {"seed": self.seed, "splits": n_splits, "package": PEERS[method].version, "machine": machine()}


def _encode(fit: Measured, *, with_rows: bool) -> dict[str, Any]:
    numbers = {one.name: getattr(fit, one.name) for one in fields(fit)}
    return numbers | {"rows": _pack(fit.rows) if with_rows and fit.rows is not None else None}


def _decode(numbers: dict[str, Any]) -> Measured:
    rows = numbers["rows"]
    return Measured(**numbers | {"rows": None if rows is None else _unpack(rows)})


def _pack(rows: NDArray[np.float32]) -> str:
    return base64.b64encode(zlib.compress(rows.tobytes())).decode("ascii")


def _unpack(text: str) -> NDArray[np.float32]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.float32).reshape(2, -1)


def machine() -> str:
    """What times depend on."""
    return f"{platform.system()} {platform.machine()}, {processor()}, {os.cpu_count()} cores"


def processor() -> str:
    """The processor's name, where the system tells."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "an unnamed processor"
