"""Fingerprints of what a number depends on: the code that a cell runs, and the files that it reads.

The code of a cell is every module of sphunc that its roots import, directly or not. Comments, docstrings and layout do
not count, so that a better explanation does not cost an hour of measuring again.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2]
"""The folder of the package."""
_LENGTH = 16


def code_fingerprint(*roots: str, apart: Collection[str] = ()) -> str:
    """Hash of the modules named (``"sphunc.estimator"``) and of all that they import inside sphunc.

    Args:
        roots: modules to start from.
        apart: modules left out with all that only they import, such as a registry that knows every system.
    """
    digest = hashlib.sha256()
    for module in sorted(reachable(roots, apart)):
        digest.update(module.encode())
        digest.update(ast.dump(_tree(module)).encode())
    return digest.hexdigest()[:_LENGTH]


def reachable(roots: Iterable[str], apart: Collection[str] = ()) -> frozenset[str]:
    """Modules of sphunc that the roots import, directly or not, the roots included."""
    found: set[str] = set()
    pending = list(roots)
    while pending:
        module = pending.pop()
        if module not in found and module not in apart:
            found.add(module)
            pending.extend(_imported(module))
    return frozenset(found)


def files_fingerprint(root: Path) -> str:
    """Hash of names and contents of a file, or of all files in a folder; hidden ones are left out."""
    digest = hashlib.sha256()
    for file in [root] if root.is_file() else sorted(_visible(root)):
        digest.update(str(file.relative_to(root)).encode())
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:_LENGTH]


def _visible(root: Path) -> Iterator[Path]:
    for path in root.rglob("*"):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(root).parts):
            yield path


def _file(module: str) -> Path | None:
    path = SOURCE.joinpath(*module.split(".")[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _imported(module: str) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sphunc":
            names |= {_home(node.module, alias.name) for alias in node.names}
    return frozenset(name for name in names if name.startswith("sphunc.") and _file(name))


@cache
def _home(module: str, name: str) -> str:
    """The module that a name comes from: a package that only passes it on is seen through."""
    if _file(f"{module}.{name}"):
        return f"{module}.{name}"
    file = _file(module)
    if file is not None and file.name == "__init__.py":
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.ImportFrom) and node.module and name in {a.asname or a.name for a in node.names}:
                return _home(node.module, name)
    return module


@cache
def _tree(module: str) -> ast.Module:
    """The parsed module without its docstrings."""
    file = _file(module)
    tree = ast.parse(file.read_text(encoding="utf-8") if file else "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)]
    return tree


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
