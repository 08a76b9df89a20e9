"""Each import contract is broken on purpose, in a copy, and must be seen to fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"

BREAKS = {
    "nothing broken": (None, "", "0 broken"),
    "a stage imports one below it": ("sphere/geometry.py", "import sphunc.hypergraph", "house BROKEN"),
    "a package outside the list of layers": ("utils/__init__.py", '"""Anything."""', "sphunc.utils"),
    "a cycle between siblings": ("sphere/geometry.py", "import sphunc.sphere.distribution", "siblings BROKEN"),
    "the mathematics imports another library": ("sphere/geometry.py", "import polars", "only BROKEN"),
}


@pytest.mark.parametrize("case", BREAKS)
def test_broken_contract_is_refused(case: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    file, line, expected = BREAKS[case]
    if file:
        target = tmp_path / "src" / "sphunc" / file
        target.parent.mkdir(exist_ok=True)
        target.write_text((target.read_text() if target.exists() else "") + f"\n{line}\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "NO_COLOR": "1", "COLUMNS": "200"}
    run = subprocess.run(
        [LINT_IMPORTS, "--no-cache"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert expected in run.stdout + run.stderr
    assert (run.returncode != 0) == (file is not None)
