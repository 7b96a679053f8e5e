"""Results of peers, kept in a file: they need not be fitted again when only our own fit has changed."""

import json
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from no_knobs_measure import Measured
from no_knobs_peers import PEERS

#: A list of settings for each split.
Fits = list[list[Measured]]


class Cache:
    """A JSON file of results by set and method, or nothing if there is no path.

    A result counts only if it was made with the same seed, the same version of the peer's package and, since its
    seconds are part of it, on the same machine.
    """

    def __init__(self, path: Path | None, seed: int, patience: float, threads: int | None) -> None:
        self.path, self.seed, self.patience, self.threads = path, seed, patience, threads
        #: Of the machine before this run: what else runs makes times longer.
        self.load = os.getloadavg()[0]
        self._kept: dict[str, Any] = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def find(self, name: str, method: str) -> tuple[Fits | str, str] | None:
        """The results, or why there are none, and when they were made."""
        entry = self._kept.get(f"{name}/{method}")
        if entry is None or entry["made_with"] != self._stamp(method):
            return None
        fits: Fits | str = entry["why"] or [[Measured(**one) for one in split] for split in entry["splits"]]
        return fits, entry["when"]

    def keep(self, name: str, method: str, found: Fits | str) -> None:
        """Write results, or why there are none, at once: a long run may be interrupted."""
        if self.path is None:
            return
        self._kept[f"{name}/{method}"] = {
            "made_with": self._stamp(method),
            "when": f"{time.strftime('%Y-%m-%d')} at a load average of {self.load:.1f}",
            "why": found if isinstance(found, str) else "",
            "splits": [] if isinstance(found, str) else [[asdict(one) for one in split] for split in found],
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(f"{self.path.name}.part")
        draft.write_text(json.dumps(self._kept, indent=1))
        draft.replace(self.path)

    def _stamp(self, method: str) -> dict[str, Any]:
        stamp: dict[str, Any] = {"seed": self.seed, "package": PEERS[method].version, "machine": machine(self.threads)}
        return stamp | ({"patience": self.patience} if method == "cv" else {})


def machine(threads: int | None) -> str:
    """What times depend on."""
    limit = "" if threads is None else f", {threads} of them for linear algebra"
    return f"{platform.system()} {platform.machine()}, {processor()}, {os.cpu_count()} cores{limit}"


def processor() -> str:
    """The processor's name, where the system tells."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "an unnamed processor"
