"""Draw the rooms from the import graph, and follow a forecast and an intervention through the modules they pass.

Writes ``docs/architecture.svg`` and the tables of ``docs/architecture.md``: ``python benchmarks/architecture.py``.
With ``--check`` it writes nothing and ends with an error where one of them is out of date.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Callable
from html import escape
from itertools import pairwise
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sphunc"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "architecture.svg"

ROW = 44
BOX_LEFT = 150
BOX_WIDTH = 130
BOX_HEIGHT = 28
WIDTH = 860
STYLE = (
    "text{font:13px sans-serif;fill:#333}.room{font-weight:bold}rect{fill:#eef2f7;stroke:#5b6b7b}"
    "path{fill:none;stroke:#5b6b7b}#head path{fill:#5b6b7b}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#2b3440}}"
)

Imports = dict[str, set[str]]


def rooms_in_order() -> list[str]:
    """Rooms from the top of the house to its foundation, as the contract of the layers names them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    names = [layer.strip("()") for layer in layers]
    return [name for name in names if (SOURCE / name).is_dir() or name == "estimator"]


def room_imports(rooms: list[str]) -> Imports:
    """Rooms that each room imports, at the head of a module or inside a function."""
    imports: Imports = {room: set() for room in rooms}
    for room in rooms:
        for module in [SOURCE / f"{room}.py", *(SOURCE / room).rglob("*.py")]:
            if module.exists():
                imports[room] |= imported_rooms(module.read_text()) & set(rooms) - {room}
    return imports


def imported_rooms(text: str) -> set[str]:
    """Names that follow ``sphunc.`` in the imports of a module."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        parts = [name.split(".") for name in names]
        found |= {part[1] for part in parts if part[0] == "sphunc" and len(part) > 1}
    return found


def without_shortcuts(imports: Imports) -> Imports:
    """Leave out an import where a longer chain of imports leads to the same room."""
    kept: Imports = {}
    for room, direct in imports.items():
        further: set[str] = set()
        for other in direct:
            further |= reachable(imports, other)
        kept[room] = direct - further
    return kept


def reachable(imports: Imports, room: str) -> set[str]:
    """Rooms that a room imports, directly or not.

    Args:
        imports: rooms that each room imports directly.
        room: where to start.
    """
    found: set[str] = set()
    waiting = [room]
    while waiting:
        for other in imports[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found


def purpose(module: str) -> str:
    """First sentence of the docstring of a module below ``sphunc``."""
    path = SOURCE.joinpath(*module.split("."))
    if path.is_dir():
        path /= "__init__.py"
    else:
        path = path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    first_paragraph = docstring.split("\n\n", 1)[0]
    return " ".join(first_paragraph.split()).rstrip(".")


def picture(rooms: list[str], imports: Imports) -> str:
    """The rooms as boxes, foundation first, and an arrow from each room to those it imports.

    Args:
        rooms: from the foundation up.
        imports: rooms that each room imports.
    """
    middle = {room: 20 + ROW * place + BOX_HEIGHT // 2 for place, room in enumerate(rooms)}
    height = 30 + ROW * len(rooms)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>The rooms of sphunc and what they import</title>",
        f"<style>{STYLE}</style>",
        '<marker id="head" orient="auto" markerWidth="8" markerHeight="8" refX="7" refY="4">'
        '<path d="M0,1 L8,4 L0,7 z"/></marker>',
    ]
    for room in rooms:
        lines += [arrow(middle[room], middle[other]) for other in sorted(imports[room])]
    for room in rooms:
        top = middle[room] - BOX_HEIGHT // 2
        text = middle[room] + 5
        lines += [
            f'<rect x="{BOX_LEFT}" y="{top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"/>',
            f'<text class="room" x="{BOX_LEFT + 10}" y="{text}">{room}</text>',
            f'<text x="{BOX_LEFT + BOX_WIDTH + 14}" y="{text}">{escape(shortened(purpose(room)))}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def arrow(start: int, end: int) -> str:
    """A curve on the left of the boxes.

    Args:
        start: height of the room that imports.
        end: height of the room that is imported.
    """
    rows = abs(start - end) / ROW
    bend = max(10, BOX_LEFT - 15 - 14 * rows)
    return (
        f'<path marker-end="url(#head)" d="M{BOX_LEFT},{start} C{bend:g},{start} {bend:g},{end} {BOX_LEFT - 1},{end}"/>'
    )


def shortened(text: str, longest: int = 76) -> str:
    """The text, cut at a word where it is too long.

    Args:
        text: of one line.
        longest: characters.
    """
    if len(text) <= longest:
        return text
    return text[:longest].rsplit(" ", 1)[0].rstrip(",;:") + " ..."


def journeys() -> dict[str, list[str]]:
    """Modules that a forecast and an intervention pass, in the order in which they are first called."""
    import sphunc

    world = sphunc.simulate("snare", agents=20, times=5, seed=0)
    past = world.data.until(3)
    model = sphunc.SphUnc(dim=8, seed=0).fit(past, verbose=False)
    held = sphunc.Do(past.node_ids[0], toward=past.class_names[0])
    return {
        "forecast": modules_called(lambda: model.predict(past)),
        "intervention": modules_called(lambda: model.intervene(held, data=past, horizon=2, samples=10, seed=0)),
    }


def modules_called(call: Callable[[], object]) -> list[str]:
    """Modules below ``sphunc`` whose functions a call reaches; those of the sphere count as one."""
    found: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("sphunc."):
            module = name.removeprefix("sphunc.")
            if module.startswith("sphere."):
                module = "sphere"
            found.setdefault(module)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(found)


def table(modules: list[str]) -> str:
    """One row per module, with the first sentence of its docstring."""
    rows = [f"| `{module}` | {shortened(purpose(module), 100 - len(module))} |" for module in modules]
    return "\n".join(["| module | what it is for |", "|---|---|", *rows])


def filled(page: str, tables: dict[str, str]) -> str:
    """Put tables into a page, between ``<!-- NAME -->`` and ``<!-- end -->``.

    Args:
        page: the text.
        tables: by name.
    """
    for name, content in tables.items():
        before, _, rest = page.partition(f"<!-- {name} -->")
        _, _, after = rest.partition("<!-- end -->")
        page = f"{before}<!-- {name} -->\n\n{content}\n\n<!-- end -->{after}"
    return page


def check_order(rooms: list[str], imports: Imports) -> None:
    """Refuse an order in which a room imports one that comes after it.

    Args:
        rooms: from the foundation up.
        imports: rooms that each room imports.
    """
    for room, next_room in pairwise(rooms):
        if next_room in imports[room]:
            raise SystemExit(f"{room} imports {next_room}, which stands above it")


def main() -> None:
    """Write the picture and the tables, or check them."""
    rooms = rooms_in_order()[::-1]
    imports = without_shortcuts(room_imports(rooms))
    check_order(rooms, imports)
    tables = {name: table(modules) for name, modules in journeys().items()}
    wanted = {PICTURE: picture(rooms, imports), PAGE: filled(PAGE.read_text(), tables)}
    for path, text in wanted.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            raise SystemExit(f"{path.name} is out of date: run python benchmarks/architecture.py")


if __name__ == "__main__":
    main()
