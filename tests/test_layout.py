"""The rules of the repository, as tests."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sphunc"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_MODULE = 900
MATHEMATICS_MAY_IMPORT = {"torch", "numpy", "sphunc"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_module_has_a_docstring_and_stays_short(module: Path) -> None:
    text = module.read_text()
    assert ast.get_docstring(ast.parse(text)), "a module says in one sentence what it is for"
    assert text.count("\n") < LONGEST_MODULE, f"split it: {LONGEST_MODULE} lines are the most a module may have"


@pytest.mark.parametrize("module", [m for m in MODULES if m.name not in {"__init__.py", "__main__.py"}], ids=name)
def test_module_is_mirrored_by_its_test(module: Path) -> None:
    relative = module.relative_to(SOURCE)
    mirror = ROOT / "tests" / relative.parent / f"test_{relative.stem.lstrip('_')}.py"
    assert mirror.exists(), f"{name(module)} needs {name(mirror)}"


def test_rooms_called_utils_do_not_exist() -> None:
    rooms = {path.stem for path in MODULES} | {path.name for path in SOURCE.rglob("*") if path.is_dir()}
    assert not rooms & {"utils", "common", "core", "helpers", "misc"}


@pytest.mark.parametrize("module", sorted((SOURCE / "sphere").glob("*.py")), ids=name)
def test_mathematics_imports_torch_and_numpy_only(module: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    import sys

    assert imported - sys.stdlib_module_names <= MATHEMATICS_MAY_IMPORT


def test_contract_of_the_mathematics_names_every_other_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    forbidden = next(c["forbidden_modules"] for c in contracts if "mathematics" in c["name"])
    distributions = {re.split(r"[<>=\[]", line)[0] for line in project["project"]["dependencies"]}
    modules = {{"scikit-learn": "sklearn"}.get(d, d) for d in distributions} - MATHEMATICS_MAY_IMPORT
    assert modules <= set(forbidden)


def test_version_is_one() -> None:
    import sphunc

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["version"] == sphunc.__version__
    assert f"version: {sphunc.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {sphunc.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_decisions_are_numbered_and_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    records = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [int(record[:4]) for record in records] == list(range(1, len(records) + 1))
    index = (folder / "index.md").read_text()
    assert [record for record in records if f"({record})" not in index] == []
