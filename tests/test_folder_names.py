"""pytest puts the folder of the tests on the path: a folder there must not be imported in place of a library."""

import re
import tomllib
from itertools import chain
from pathlib import Path

TESTS = Path(__file__).parent


def test_no_folder_of_the_tests_has_the_name_of_a_library():
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    libraries = {re.match(r"[\w-]+", one)[0].replace("-", "_") for one in needed}
    assert {"dask", "numpy"} <= libraries
    assert not libraries & {file.relative_to(TESTS).parts[0].removesuffix(".py") for file in TESTS.rglob("*.py")}
