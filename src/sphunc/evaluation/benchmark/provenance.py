"""What a number depends on, and where it was measured.

The code of a cell is every module of sphunc that its roots import, directly or not. Comments,
docstrings and layout do not count, so that a better explanation does not cost an hour of measuring
again. Beside it stand the files that a cell reads, versions, processor, threads and git's state.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import subprocess
from collections.abc import Collection, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import torch

SOURCE = Path(__file__).parents[2]
"""The folder of the package."""
PACKAGES = ("sphunc", "torch", "numpy", "scipy", "scikit-learn", "polars")
_LENGTH = 16


def code_fingerprint(*roots: str, apart: Collection[str] = ()) -> str:
    """Hash of the modules named (``"sphunc.estimator"``) and of all that they import inside sphunc.

    Args:
        roots: modules to start from.
        apart: modules left out with all that only they import, such as a registry of every system.
    """
    digest = hashlib.sha256()
    for module in sorted(reachable(roots, apart)):
        digest.update(module.encode())
        digest.update(ast.dump(_tree(module)).encode())
    return digest.hexdigest()[:_LENGTH]


def reachable(roots: Iterable[str], apart: Collection[str] = ()) -> frozenset[str]:
    """Modules of sphunc that the roots import, directly or not, the roots included.

    Args:
        roots: modules to start from.
        apart: modules left out with all that only they import.
    """
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
    for file in [root, *sorted(root.rglob("*"))]:
        name = file.relative_to(root)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            digest.update(str(name).encode())
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:_LENGTH]


def environment() -> dict[str, str | int]:
    """Versions, processor and threads of this process, as columns of a result."""
    columns: dict[str, str | int] = {"version_python": platform.python_version()}
    for package in PACKAGES:
        columns[f"version_{package.replace('-', '_')}"] = version(package)
    columns["platform"] = platform.platform()
    columns["cpu"] = _processor()
    columns["cores"] = os.cpu_count() or 0
    columns["threads"] = torch.get_num_threads()
    return columns


def git_state(source: Path = SOURCE) -> dict[str, str | bool | None]:
    """Commit of the source, and whether it has changes beyond it; None where git does not track the source."""
    if not _git(source, "ls-files", "--error-unmatch", "__init__.py"):
        return {"git_commit": None, "git_dirty": None}
    changes = _git(source, "status", "--porcelain", "--", ".")
    return {"git_commit": _git(source, "rev-parse", "HEAD"), "git_dirty": bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None where it fails, or is not there."""
    try:
        run = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()


def _processor() -> str:
    """Name of the processor, as Linux tells it."""
    file = Path("/proc/cpuinfo")
    if file.is_file():
        for line in file.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _file(module: str) -> Path | None:
    path = SOURCE.joinpath(*module.split(".")[1:])
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


@cache
def _imported(module: str) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sphunc"):
            names.update(_home(node.module, alias.name) for alias in node.names)
    return frozenset(name for name in names if name.startswith("sphunc.") and _file(name))


@cache
def _home(module: str, name: str) -> str:
    """The module that a name comes from: a package that only passes it on is seen through."""
    if _file(f"{module}.{name}"):
        return f"{module}.{name}"
    file = _file(module)
    if file is not None and file.name == "__init__.py":
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.ImportFrom) and node.module and name in [alias.name for alias in node.names]:
                return _home(node.module, name)
    return module


@cache
def _tree(module: str) -> ast.Module:
    """The parsed module without its docstrings."""
    file = _file(module)
    if file is None:
        return ast.Module([], [])
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)]
    return tree


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
