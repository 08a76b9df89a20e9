"""Pages are true: every example of the README and of docs/ runs, and every name that they mention exists."""

import importlib
import re
import runpy
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

import sphunc
from sphunc.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
PROSE = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
LONGEST_LINE = 120

SLOW = {"README.md", "docs/baselines.md", "docs/benchmark.md", "docs/model.md", "docs/structure.md", "docs/whatif.md"}
"""Pages that take more than about ten seconds."""

COSTLY = {
    "sphunc demo": "tests/cli/test_demo.py runs it",
    "sphunc benchmark --quick": "six systems take minutes; tests/cli/test_benchmark.py runs small ones",
    "sphunc benchmark examples/experiment.toml": "minutes",
    "sphunc benchmark benchmarks/six_systems.toml": "hours",
    "sphunc tables --quick": "minutes; tests/cli/test_tables.py makes those that need no benchmark",
    "sphunc tables main --out my-tables": "hours",
    "sphunc figures RUN --out pictures": "tests/cli/test_figures.py runs it on a run",
    "sphunc figures results/tables/main --out pictures": "tests/figures/test_results.py draws them",
}
"""Commands that a test cannot wait for: only their options are checked."""

EXPERIMENT = """
name = "mine"
models = ["majority", "persistence"]
seeds = [0, 1]
reference = "persistence"
[[data]]
world = "snare"
knobs = { agents = 40, times = 8 }
"""

SHELLS = {"sh", "bash", "console"}
NOT_RUN = {"text", "json", "toml", "csv"}


class Block(NamedTuple):
    """A fenced block of a page; ``title`` names the file that it shows, if it is one."""

    line: int
    language: str
    title: str
    text: str


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    fence = re.compile(r'^( *)```(\w*)(?: title="([^"]*)")?\n(.*?)^\1```$', re.DOTALL | re.MULTILINE)
    text = page.read_text()
    return [
        Block(text.count("\n", 0, found.start()) + 1, found[2], found[3] or "", found[4])
        for found in fence.finditer(text)
    ]


def commands(block: Block) -> Iterator[list[str]]:
    """Arguments of every line ``sphunc ...`` of a block of the shell; other commands are not ours to run."""
    joined = block.text.replace("\\\n", " ")
    for line in joined.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words and words[0] == "sphunc":
            yield words[1:]


def write_tables(folder: Path, seed: int = 0, times: int = 6) -> None:
    sphunc.write_tables(sphunc.simulate("snare", agents=40, times=times, seed=seed).data, folder)


def write_pheme(path: Path) -> None:
    pheme = runpy.run_path(str(ROOT / "tests" / "datasets" / "pheme" / "conftest.py"))
    folder = pheme["veracity"].__wrapped__(path.parent / "pheme")
    with tarfile.open(path, "w:bz2") as archive:
        archive.add(folder, folder.name)


def bring_files(page: Path, folder: Path) -> None:
    """Write what only a user has: the files that a page shows, and tables of the names that it mentions."""
    text = page.read_text()
    for block in blocks(page):
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text)
    if "my-folder" in text:
        write_tables(folder / "my-folder")
    if "my-file.hif.json" in text:
        data = sphunc.simulate("snare", agents=20, times=4, seed=1).data
        sphunc.write_hif(data, folder / "my-file.hif.json")
    if "PHEME_veracity.tar.bz2" in text:
        write_pheme(folder / "PHEME_veracity.tar.bz2")
    if "my.toml" in text:
        (folder / "my.toml").write_text(EXPERIMENT)


def run_page(page: Path, folder: Path) -> None:
    """Run the blocks of a page in order: Python in one namespace, commands in this process."""
    bring_files(page, folder)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            padding = "\n" * block.line  # so that a traceback names the line of the page
            exec(compile(padding + block.text, name(page), "exec"), namespace)
        elif block.language in SHELLS:
            for words in commands(block):
                run_command(words)


def run_command(words: list[str]) -> None:
    if shlex.join(["sphunc", *words]) in COSTLY:
        check_options(words)
        return
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, f"sphunc {shlex.join(words)} ends with {result.exit_code}:\n{result.output}"


def check_options(words: list[str]) -> None:
    """Fail unless the first word is a command and every ``--option`` is one of it."""
    group = typer.main.get_command(app)
    if not words or words[0].startswith("-"):
        return
    known = group.commands
    assert words[0] in known, f"sphunc {words[0]}: commands are {', '.join(sorted(known))}"
    options = {
        option for parameter in known[words[0]].params for option in [*parameter.opts, *parameter.secondary_opts]
    }
    used = {word.split("=")[0] for word in words[1:] if word.startswith("--") and len(word) > 2}
    assert used <= options | {"--help"}, f"sphunc {words[0]} has no {', '.join(sorted(used - options))}"


def with_examples() -> Iterator[Any]:
    for page in PAGES:
        if any(block.language in SHELLS | {"python"} for block in blocks(page)):
            marks = [pytest.mark.slow] if name(page) in SLOW else []
            yield pytest.param(page, id=name(page), marks=marks)


@pytest.mark.parametrize("page", list(with_examples()))
def test_examples_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    run_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_name_their_language(page: Path) -> None:
    assert page.read_text().count("```") == 2 * len(blocks(page)), "a fence that is not closed, or not understood"
    unknown = [f"line {block.line}" for block in blocks(page) if block.language not in SHELLS | NOT_RUN | {"python"}]
    assert unknown == [], "python and sh are run; text, json, toml and csv are not"


@pytest.mark.parametrize("page", PROSE, ids=name)
def test_lines_are_short(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE] == []


def inline_code(page: Path) -> Iterator[str]:
    """Code in the prose of a page, blocks left out."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    yield from (found.replace("\n", " ") for found in re.findall(r"`([^`]+)`", text))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_of_the_prose_exist(page: Path) -> None:
    for code in inline_code(page):
        if re.fullmatch(r"sphunc [a-z].*", code) and "|" not in code:
            check_options(shlex.split(code)[1:])


def resolves(dotted: str) -> bool:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            fields = getattr(found, "__dataclass_fields__", {}) | getattr(found, "__annotations__", {})
            if not hasattr(found, part):
                return part in fields
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_dotted_names_of_the_prose_exist(page: Path) -> None:
    found = {match for code in inline_code(page) for match in re.findall(r"^sphunc(?:\.\w+)+", code)}
    found -= {"sphunc.json", "sphunc.toml"}  # files
    assert [dotted for dotted in sorted(found) if not resolves(dotted)] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_to_other_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    local = [link for link in links if not re.match(r"https?:|mailto:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []
