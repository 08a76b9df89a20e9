"""Write a figure as PNG, SVG and PDF, each with its alternative text, whole or not at all."""

from __future__ import annotations

import html
import io
import os
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from sphunc.errors import ArgumentError
from sphunc.figures.style import figure_style
from sphunc.io import replacing

FORMATS = ("png", "svg", "pdf")
RESOLUTION = 200
"""Dots per inch of PNG files."""


def figure_bytes(figure: Figure, kind: str, alt: str) -> bytes:
    """Return the file of a figure; the same figure gives the same bytes.

    Args:
        figure: what was drawn.
        kind: "png", "svg" or "pdf".
        alt: what it shows, in words; kept inside the file.
    """
    if kind not in FORMATS:
        raise ArgumentError(f"format is {kind!r}; choose {', '.join(FORMATS)}")
    metadata: dict[str, str | None] = {"Title": alt}
    if kind == "svg":
        metadata["Date"] = None
    if kind == "pdf":
        metadata["CreationDate"] = None
    buffer = io.BytesIO()
    with figure_style():
        figure.savefig(buffer, format=kind, dpi=RESOLUTION, metadata=metadata)
    content = buffer.getvalue()
    if kind == "svg":
        content = _described(content.decode(), alt).encode()
    return content


def save_figure(
    figure: Figure, folder: str | os.PathLike[str], name: str, alt: str, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write ``name.png``, ``name.svg``, ``name.pdf`` and ``name.txt`` with the alternative text; return their paths.

    Args:
        figure: what was drawn.
        folder: where files go; it exists.
        name: of the files, without an ending.
        alt: what the figure shows, in words.
        formats: of :data:`FORMATS`.
    """
    contents = {kind: figure_bytes(figure, kind, alt) for kind in formats}
    contents["txt"] = f"{alt}\n".encode()
    paths = []
    for ending, content in contents.items():
        path = Path(folder) / f"{name}.{ending}"
        with replacing(path) as temporary:
            temporary.write_bytes(content)
        paths.append(path)
    return paths


def _described(svg: str, alt: str) -> str:
    """Let screen readers say the alternative text: a role, and a title as the first child."""
    start = svg.index("<svg")
    end = svg.index(">", start)
    head = f'{svg[:end]} role="img"'
    return f"{head}>\n <title>{html.escape(alt)}</title>{svg[end + 1 :]}"
