"""Results of a run of an experiment, as stored in ``claims.json``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from sgdone._version import __version__
from sgdone.papers.claims import AlsoTried
from sgdone.papers.experiment import Experiment, Row, Size
from sgdone.papers.seeds import ClaimVerdict, verdicts_of


@final
@dataclass(frozen=True)
class Results:
    """Claims of an experiment with their verdicts, other readings that were tried, and the settings of the run.

    Parameters
    ----------
    name, title, paper : str
        Name, title and paper of the experiment.
    run : dict
        Form, seeds, version and fields of the experiment: a stored run with equal settings is not repeated.
    verdicts : tuple of ClaimVerdict
        One per claim.
    also_tried : tuple of AlsoTried
        With the numbers of the first seed.
    """

    name: str
    title: str
    paper: str
    run: dict[str, Any]
    verdicts: tuple[ClaimVerdict, ...]
    also_tried: tuple[AlsoTried, ...]

    @classmethod
    def of(
        cls, experiment: Experiment[Any, Any], by_seed: Sequence[Sequence[Row]], size: Size, seeds: Sequence[int]
    ) -> "Results":
        """Evaluate the claims on the rows of each seed."""
        return cls(
            experiment.name,
            experiment.title,
            experiment.paper,
            run_of(experiment, size, seeds),
            tuple(verdicts_of([experiment.claims(rows) for rows in by_seed])),
            tuple(experiment.also_tried(by_seed[0])),
        )

    @property
    def authors(self) -> str:
        """Authors and year."""
        return self.paper.partition(")")[0] + ")"

    def to_json(self) -> str:
        """The text of ``claims.json``."""
        entry = {
            "name": self.name,
            "title": self.title,
            "paper": self.paper,
            "run": self.run,
            "claims": [verdict.as_json() for verdict in self.verdicts],
            "also_tried": [tried._asdict() for tried in self.also_tried],
        }
        return json.dumps(entry, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Results":
        """The inverse of `to_json`.

        Examples
        --------
        >>> found = Results("tiny", "A title", "Nobody (1900), Fig. 0", {}, (), (AlsoTried("more", "1 of 2"),))
        >>> Results.from_json(found.to_json()) == found
        True
        """
        entry = json.loads(text)
        claims = tuple(ClaimVerdict.from_json(claim) for claim in entry["claims"])
        tried = tuple(AlsoTried(**each) for each in entry["also_tried"])
        return cls(entry["name"], entry["title"], entry["paper"], entry["run"], claims, tried)


def run_of(experiment: Experiment[Any, Any], size: Size, seeds: Sequence[int]) -> dict[str, Any]:
    """Settings that identify a run: runs with equal settings have equal measurements."""
    run = {"form": size, "seeds": list(seeds), "version": __version__, "settings": vars(experiment)}
    return dict(json.loads(json.dumps(run)))


def stored(folder: Path, experiment: Experiment[Any, Any], size: Size, seeds: Sequence[int]) -> Results | None:
    """The results in ``folder/NAME`` if they are those of this run and the picture is there."""
    place = folder / experiment.name
    try:
        found = Results.from_json((place / "claims.json").read_text("utf-8"))
    except (OSError, ValueError, LookupError, TypeError):
        return None
    complete = (place / f"{experiment.name}.png").is_file() and (place / f"{experiment.name}.csv").is_file()
    return found if complete and found.run == run_of(experiment, size, seeds) else None
