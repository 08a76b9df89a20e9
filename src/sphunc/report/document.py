"""The report as one file: HTML that needs nothing else, or Markdown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from polars import selectors

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.estimator import SphUnc
from sphunc.forecasting import check_data
from sphunc.hypergraph import TemporalHypergraph
from sphunc.interventions import Effect
from sphunc.report.checks import check_fitted
from sphunc.report.drawing import Figure
from sphunc.report.sections import Block, Bullets, Download, ReportValues, Section, all_sections
from sphunc.report.table import Table, markdown_text

SHOWN_ROWS = 15
"""Rows of a table on the page; its download has more."""
MOST_ROWS = (10_000, 5_000, 2_500, 1_000, 300, 100)
"""Rows of a download, fewer where there is much to download."""
MOST_CELLS = 250_000
"""Cells of all downloads together: the page stays below 5 MB."""
DIGITS = 7
"""Figures of a number in a download: as many as single precision holds."""
TITLE = "What happens next, how sure, who influences whom, what if"

Interventions = Sequence[Effect | tuple[str, Effect]]


def write_report(
    model: SphUnc,
    data: TemporalHypergraph,
    out: str | os.PathLike[str],
    *,
    interventions: Interventions = (),
    later: TemporalHypergraph | None = None,
    run_info: Mapping[str, object] | None = None,
    markdown: bool = False,
) -> Path:
    """Write everything that a fit has to say into one file, and return its path.

    Forecast quality is that of outcomes later than the training data; without any, the same settings are fitted again
    without the last times. The HTML holds its figures and downloads, and needs no network.

    Args:
        model: as fitted.
        data: the forecast is from its last time; outcomes after the training data say how good forecasts are.
        out: the file; or a folder, which gets ``report.html`` or ``report.md``.
        interventions: effects, or pairs of a title and an effect.
        later: ``data`` and outcomes after it, which say how good forecasts are and serve for nothing else.
        run_info: how the run was made, such as ``{"command": "sphunc fit ..."}``; ``title`` becomes the heading.
        markdown: write Markdown in place of HTML; figures are told in words.

    Example:
        >>> import sphunc, tempfile
        >>> data = sphunc.simulate("snare", agents=40, times=6, seed=0).data
        >>> model = sphunc.SphUnc(quick=True).fit(data, verbose=False)
        >>> write_report(model, data, tempfile.mkdtemp()).name
        'report.html'
    """
    check_fitted("write_report", model)
    check_data("write_report", data)
    if later is not None:
        check_data("write_report", later)
    information = dict(run_info or {})
    title = str(information.pop("title", TITLE))
    path = _path(out, "report.md" if markdown else "report.html")
    sections = all_sections(ReportValues(model, data, titled(interventions), information, later))
    text = to_markdown(title, sections) if markdown else to_html(title, sections)
    path.write_text(text, encoding="utf-8")
    return path


def titled(interventions: Sequence[object]) -> list[tuple[str, Effect]]:
    """Effects with their titles; those without one are named by what they change.

    Args:
        interventions: effects, or pairs of a title and an effect.
    """
    pairs = []
    for one in interventions:
        if isinstance(one, Effect):
            title = " and ".join(map(str, one.plan)) or "no intervention"
            pairs.append((title, one))
        elif isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], Effect):
            pairs.append((str(one[0]), one[1]))
        else:
            raise ArgumentTypeError(
                f"interventions has a {type(one).__name__}; give effects of model.intervene, or pairs (title, effect)"
            )
    return pairs


def _path(out: str | os.PathLike[str], name: str) -> Path:
    path = Path(out)
    if path.is_dir():
        path = path / name
    if not path.parent.is_dir():
        raise ArgumentError(f"out is {path}, but there is no folder {path.parent}; make it, or give another path")
    return path


def to_html(title: str, sections: Sequence[Section]) -> str:
    """One page that holds its figures, styles and downloads.

    Args:
        title: heading.
        sections: of the report.
    """
    environment = Environment(
        loader=PackageLoader("sphunc.report", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["table"] = lambda block: isinstance(block, Table)
    environment.tests["figure"] = lambda block: isinstance(block, Figure)
    environment.tests["download"] = lambda block: isinstance(block, Download)
    environment.tests["bullets"] = lambda block: isinstance(block, Bullets)
    environment.filters["table"] = _shown_table
    limit = download_rows(sections)
    environment.filters["download"] = lambda table: _download(table, limit)
    environment.filters["drawing"] = lambda figure: Markup(figure.svg)
    style, _, _ = environment.loader.get_source(environment, "style.css")  # pyright: ignore[reportOptionalMemberAccess]
    template = environment.get_template("report.html.j2")
    return template.render(title=title, sections=sections, style=Markup(style), made=_now())


def _shown_table(table: Table) -> Markup:
    return Markup(table.first(SHOWN_ROWS).to_html())


def download_rows(sections: Sequence[Section]) -> int:
    """Most rows of a download, so that the page stays small.

    Args:
        sections: of the report.
    """
    tables = []
    for section in sections:
        tables += [block for block in section.blocks if isinstance(block, Table)]
        tables += [block.table for block in section.blocks if isinstance(block, Download)]
    for limit in MOST_ROWS:
        cells = sum(min(len(table), limit) * table.frame.width for table in tables)
        if cells <= MOST_CELLS:
            return limit
    return MOST_ROWS[-1]


def _download(table: Table, limit: int) -> dict[str, str]:
    """Address, file name and words of the link to a table, with at most so many rows."""
    rounded = table.frame.with_columns(selectors.float().round_sig_figs(DIGITS))
    kept = replace(table, frame=rounded).first(limit)
    name = "".join(letter if letter.isalnum() else "-" for letter in table.title.lower()).strip("-")
    number = f"{len(kept):,} of {len(table):,}" if len(kept) < len(table) else f"{len(table):,}"
    return {"href": kept.to_data_uri(), "name": f"{name[:60]}.csv", "text": f"CSV, {number} rows"}


def to_markdown(title: str, sections: Sequence[Section]) -> str:
    """The same as Markdown; figures are told in words.

    Args:
        title: heading.
        sections: of the report.
    """
    lines = [f"# {markdown_text(title)}", f"Made by sphunc on {_now()}."]
    for section in sections:
        lines.append(f"## {markdown_text(section.title)}")
        lines += [_markdown_block(block) for block in section.blocks]
    return "\n\n".join(lines) + "\n"


def _markdown_block(block: Block) -> str:
    if isinstance(block, Table):
        return block.first(SHOWN_ROWS).to_markdown().rstrip()
    if isinstance(block, Figure):
        return f"*{markdown_text(block.title)}: {markdown_text(block.description)}*"
    if isinstance(block, Download):
        return f"{markdown_text(block.table.title)}: {len(block.table):,} rows, in the HTML report."
    if isinstance(block, Bullets):
        return "\n".join(f"- {markdown_text(item)}" for item in block.items)
    return markdown_text(block)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
