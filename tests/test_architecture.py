"""The picture of the rooms and the modules that an answer passes are those of the code."""

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "architecture.py"
REMEDY = "run python benchmarks/architecture.py"


def test_picture_shows_the_imports_between_rooms() -> None:
    script = runpy.run_path(str(SCRIPT))
    rooms = script["rooms_in_order"]()[::-1]
    imports = script["without_shortcuts"](script["room_imports"](rooms))
    drawn = script["picture"](rooms, imports)
    assert (ROOT / "docs" / "architecture.svg").read_text() == drawn, REMEDY


def test_import_that_a_longer_chain_implies_is_left_out() -> None:
    without_shortcuts = runpy.run_path(str(SCRIPT))["without_shortcuts"]
    imports = {"model": {"nn", "sphere"}, "nn": {"sphere"}, "sphere": set()}
    assert without_shortcuts(imports) == {"model": {"nn"}, "nn": {"sphere"}, "sphere": set()}


@pytest.mark.slow
def test_tables_of_modules_are_up_to_date() -> None:
    run = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr or REMEDY


def test_modules_of_the_glossary_exist() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    named = re.findall(r"`([a-z_.]+)` \|$", glossary, re.MULTILINE)
    source = ROOT / "src" / "sphunc"
    paths = {module: source.joinpath(*module.split(".")) for module in named}
    assert len(paths) > 20
    assert [module for module, path in paths.items() if not (path.is_dir() or path.with_suffix(".py").exists())] == []


def labels_of_the_glossary() -> list[tuple[str, str]]:
    """Label and module of every row of the glossary that names one: ``("eq:joint_loss", "model.paper.objective")``."""
    rows = (ROOT / "docs" / "glossary.md").read_text().splitlines()
    found = []
    for row in rows:
        module = re.search(r"`([a-z_.]+)` \|$", row)
        if module:
            found += [(label, module[1]) for label in re.findall(r"`((?:eq|alg|tab):\w+)`", row)]
    return found


def docstrings(module: str) -> str:
    """Docstrings of a module below ``sphunc``, or of all modules of a room, with their lines joined."""
    path = ROOT.joinpath("src", "sphunc", *module.split("."))
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, documented)]
    return " ".join(" ".join((ast.get_docstring(node) or "").split()) for node in nodes)


def test_glossary_names_labels() -> None:
    assert len(labels_of_the_glossary()) > 10


@pytest.mark.parametrize(("label", "module"), labels_of_the_glossary())
def test_label_of_the_glossary_is_in_a_docstring_of_its_module(label: str, module: str) -> None:
    kind, equation = label.split(":")
    assert f"{kind}. ({equation}) of the paper" in docstrings(module)
