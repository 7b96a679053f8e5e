"""Print the lowest supported version of every dependency, for ``pip install --constraint``."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *extras["plot"], *extras["pandas"], *extras["test"]]:
    if bound := re.fullmatch(r"([\w-]+)>=([\w.]+)", requirement):
        print("==".join(bound.groups()))
