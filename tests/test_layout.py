"""The rules of the repository, as tests."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sphunc"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_MODULE = 900
MATHEMATICS_MAY_IMPORT = {"torch", "numpy", "sphunc"}

RETIRED = """
beside outlook opening beginning lasting settled sureness surer plainly rival rivals hindsight retrospect told tell
teller telling sight company situate situation lean leans humbled looks whom whose likeliest drive depart departure
felt room rooms begun strangers firmness listening filling shrinking extremes beyond diverge judged somebody everybody
"""
RETIRED_PHRASES = """
outcomes_told reached_by kept_by newcomers_ company_means reading_of left_open never_falling
"""
"""Words of an earlier vocabulary; docs/glossary.md has those of the field."""


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


def room_of(module: Path, source: Path) -> str:
    return module.relative_to(source).parts[0].removesuffix(".py")


def imported_modules(tree: ast.AST, source: Path) -> Iterator[str]:
    """Dotted names of modules that are imported, those that ``from`` takes from a door without being listed too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            listed = door_names(source.joinpath(*node.module.split(".")[1:]))
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in listed)


def door_names(folder: Path) -> set[str]:
    """Names in the ``__all__`` of a package; none where it has no such list."""
    door = folder / "__init__.py"
    if not door.exists():
        return set()
    for node in ast.parse(door.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def deep_imports(source: Path) -> dict[str, set[str]]:
    """Modules that a room imports from another one past its door, by the room that imports them.

    A door is a package that lists what it offers in ``__all__``: a room, or a folder inside a room.
    """
    found: dict[str, set[str]] = {}
    for module in source.rglob("*.py"):
        room = room_of(module, source)
        for imported in imported_modules(ast.parse(module.read_text()), source):
            parts = imported.split(".")
            if parts[0] != "sphunc" or len(parts) < 3 or parts[1] == room:
                continue
            target = source.joinpath(*parts[1:])
            is_module = target.with_suffix(".py").exists()
            is_closed = target.is_dir() and not door_names(target)
            if is_module or is_closed:
                found.setdefault(room, set()).add(f"{name_in(module, source)} imports {imported}")
    return found


def name_in(module: Path, source: Path) -> str:
    return str(module.relative_to(source))


def retired_names(source: Path) -> dict[str, set[str]]:
    """Identifiers and modules that use a retired word, by room."""
    found: dict[str, set[str]] = {}
    retired = set(RETIRED.split())
    for module in source.rglob("*.py"):
        identifiers = {module.stem}
        for node in ast.walk(ast.parse(module.read_text())):
            values = [getattr(node, field, None) for field in ("name", "id", "attr", "arg")]
            identifiers.update(value for value in values if isinstance(value, str))
        for identifier in identifiers:
            words = {word.lower() for word in re.split(r"_|(?<=[a-z])(?=[A-Z])", identifier)}
            if words & retired or any(phrase in identifier for phrase in RETIRED_PHRASES.split()):
                found.setdefault(room_of(module, source), set()).add(f"{name_in(module, source)}: {identifier}")
    return found


def test_rooms_use_each_other_through_their_doors() -> None:
    found = {room: sorted(lines) for room, lines in deep_imports(SOURCE).items()}
    assert found == {}, "import what the __init__ of the other room lists, or list it there"


def test_no_identifier_uses_a_retired_word() -> None:
    found = {room: sorted(lines) for room, lines in retired_names(SOURCE).items()}
    assert found == {}, "docs/glossary.md has the field's word"


@pytest.mark.parametrize(
    "line",
    [
        "from sphunc.nn.conv import AngularHypergraphConv",
        "import sphunc.nn.conv",
        "from sphunc.nn import conv",
        "from sphunc.nn.kernels import PairPool",
        "def f():\n    from sphunc.nn.kernels.pairs import PairPool",
    ],
)
def test_import_past_a_door_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "nn" / "kernels").mkdir(parents=True)
    (tmp_path / "nn" / "__init__.py").write_text('__all__ = ["AngularHypergraphConv"]')
    (tmp_path / "nn" / "conv.py").write_text("from sphunc.nn.kernels.pairs import PairPool")
    (tmp_path / "nn" / "kernels" / "__init__.py").write_text("")
    (tmp_path / "nn" / "kernels" / "pairs.py").write_text("")
    (tmp_path / "model.py").write_text("from sphunc.nn import AngularHypergraphConv")
    assert deep_imports(tmp_path) == {}
    (tmp_path / "model.py").write_text(line)
    assert set(deep_imports(tmp_path)) == {"model"}


@pytest.mark.parametrize(
    "line", ["drive = 1", "def telling_cells(): ...", "x.sureness", "f(beside=2)", "class Rival: ...", "a.left_open"]
)
def test_retired_word_is_found(line: str, tmp_path: Path) -> None:
    module = tmp_path / "nn.py"
    module.write_text("driver = newcomers = spread_of_lengths = 1")
    assert retired_names(tmp_path) == {}
    module.write_text(line)
    assert set(retired_names(tmp_path)) == {"nn"}
