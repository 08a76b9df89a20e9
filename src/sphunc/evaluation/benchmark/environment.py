"""Where a number was measured: versions, processor, threads, and the state of the source in git."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from sphunc.evaluation.benchmark.fingerprint import SOURCE

PACKAGES = ("sphunc", "torch", "numpy", "scipy", "scikit-learn", "polars")


def environment() -> dict[str, str | int]:
    """Versions, processor and threads of this process, as columns of a result."""
    versions = {f"version_{name.replace('-', '_')}": _version(name) for name in PACKAGES}
    machine = {"platform": platform.platform(), "cpu": _processor(), "cores": os.cpu_count() or 0}
    return {"version_python": platform.python_version(), **versions, **machine, "threads": torch.get_num_threads()}


def git_state(source: Path = SOURCE) -> dict[str, str | bool | None]:
    """Commit of the source, and whether it has changes beyond it; None where the source is not in a repository."""
    tracked = _git(source, "ls-files", "--error-unmatch", "__init__.py")
    commit = _git(source, "rev-parse", "HEAD") if tracked else None  # a package installed below someone's project
    if commit is None:
        return {"git_commit": None, "git_dirty": None}
    return {"git_commit": commit, "git_dirty": bool(_git(source, "status", "--porcelain", "--", "."))}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        run = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
