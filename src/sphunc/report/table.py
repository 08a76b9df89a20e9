"""One table for all results: it prints, and becomes CSV, HTML, LaTeX and Markdown."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import polars as pl

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for the beginning of a formula."""
NOTHING = "–"
"""Shown where there is no value."""
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    NOTHING: "--",
}
SHORT_TEXT = 18
LONG_TEXT = 36
WIDEST_CELL = 60
"""Characters of a cell on a terminal."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A result as rows and columns, with what a reader must know about it.

    Attributes:
        title: what it shows; the caption.
        frame: the values; CSV has them in full, everything else rounds.
        note: how to read it, in one or a few sentences.
        best: row and column of entries that are set in bold; on a terminal a dot stands beside them.

    Example:
        >>> print(Table("Two agents", pl.DataFrame({"agent": ["a", "b"], "risk": [0.25, None]})))
        Two agents
        agent   risk
        a      0.250
        b          –
    """

    title: str
    frame: pl.DataFrame
    note: str = ""
    best: tuple[tuple[int, str], ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def first(self, rows: int) -> Table:
        """Return the first rows; the note says how many there are in all."""
        if len(self) <= rows:
            return self
        note = f"{self.note} The first {rows} of {len(self):,} rows.".strip()
        return replace(self, frame=self.frame.head(rows), note=note)

    @property
    def headings(self) -> list[str]:
        """Names of the columns as people read them."""
        return [name.replace("_", " ") for name in self.frame.columns]

    @property
    def cells(self) -> list[list[str]]:
        """Rows of the values as people read them, rounded."""
        columns = [[display(value) for value in column] for column in self.frame]
        return [list(row) for row in zip(*columns, strict=True)]

    def _emphasised(self, emphasise: Callable[[str], str], escape: Callable[[str], str]) -> list[list[str]]:
        """Rows of the cells, escaped, the best ones emphasised."""
        rows = [[escape(cell) for cell in row] for row in self.cells]
        for row, column in self.best:
            k = self.frame.columns.index(column)
            rows[row][k] = emphasise(rows[row][k])
        return rows

    @property
    def is_number(self) -> list[bool]:
        """True for columns of numbers, which are set flush right."""
        return [dtype.is_numeric() for dtype in self.frame.dtypes]

    def to_csv(self) -> str:
        """All values in full; texts that spreadsheets would run as formulas get an apostrophe in front."""
        safe = [_without_formulas(column) for column in self.frame]
        return pl.DataFrame(safe).write_csv()

    def to_data_uri(self) -> str:
        """The CSV as an address that holds its own content, to be downloaded without a network."""
        encoded = base64.b64encode(self.to_csv().encode()).decode()
        return f"data:text/csv;charset=utf-8;base64,{encoded}"

    def to_html(self) -> str:
        """A ``<table>`` with caption and scopes; every text is escaped."""
        heads = "".join(
            f'<th scope="col"{kind}>{html.escape(name)}</th>'
            for name, kind in zip(self.headings, self._kinds(), strict=True)
        )
        kinds = self._kinds()
        rows = self._emphasised(lambda cell: f"<strong>{cell}</strong>", html.escape)
        body = "\n".join(_html_row(row, kinds) for row in rows)
        caption = html.escape(self.title)
        head = f"<thead><tr>{heads}</tr></thead>"
        return f"<table>\n<caption>{caption}</caption>\n{head}\n<tbody>\n{body}\n</tbody>\n</table>"

    def _kinds(self) -> list[str]:
        """Class of every column: numbers, short texts that stay on one line, long ones that need room."""
        kinds = []
        for column, is_number in zip(self.frame, self.is_number, strict=True):
            longest = max((len(display(value)) for value in column), default=0)
            kind = ' class="short"' if longest <= SHORT_TEXT else ""
            if longest > LONG_TEXT:
                kind = ' class="long"'
            kinds.append(' class="number"' if is_number else kind)
        return kinds

    def to_latex(self) -> str:
        """A ``table`` environment with rules of the package booktabs."""
        align = "".join("r" if number else "l" for number in self.is_number)
        lines = [
            r"\begin{table}",
            rf"\caption{{{_latex(self.title)}}}",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            _latex_row([_latex(name) for name in self.headings]),
            r"\midrule",
            *(_latex_row(row) for row in self._emphasised(lambda cell: rf"\textbf{{{cell}}}", _latex)),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        if self.note:
            lines.append(rf"\par\smallskip {_latex(self.note)}")
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def to_markdown(self) -> str:
        """A pipe table below its title in bold, and the note."""
        rule = ["---:" if number else "---" for number in self.is_number]
        head = [markdown_text(name) for name in self.headings]
        rows = [head, rule, *self._emphasised(lambda cell: f"**{cell}**", markdown_text)]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        text = f"**{markdown_text(self.title)}**\n\n" + "\n".join(lines) + "\n"
        if self.note:
            text += f"\n{markdown_text(self.note)}\n"
        return text

    def __str__(self) -> str:
        rows = [[_short(cell) for cell in row] for row in [self.headings, *self._emphasised(_dotted, str)]]
        widths = [max(len(row[k]) for row in rows) for k in range(len(self.headings))]
        lines = [self.title]
        for row in rows:
            justified = [
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, self.is_number, strict=True)
            ]
            lines.append("  ".join(justified).rstrip())
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Shown by notebooks."""
        return f"{self.to_html()}<p>{html.escape(self.note)}</p>"


def display(value: object) -> str:
    """A value as people read it: numbers to about three figures, a dash where there is none.

    Example:
        >>> [display(v) for v in (None, 0.25, 12.34, 1234.5, 2e-5, 7, True)]
        ['–', '0.250', '12.3', '1,234', '2.0e-05', '7', 'yes']
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _display_number(value)
    if isinstance(value, int):
        return f"{value}"
    if isinstance(value, list | tuple | pl.Series):
        return ", ".join(display(one) for one in value)
    return str(value)


def _display_number(value: float) -> str:
    size = abs(value)
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if 0 < size < 0.0005:
        return f"{value:.1e}"
    return f"{value:.3f}"


def _html_row(row: Sequence[str], kinds: Sequence[str]) -> str:
    """A row of escaped cells."""
    first = f'<th scope="row"{kinds[0]}>{row[0]}</th>'
    rest = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row[1:], kinds[1:], strict=True))
    return f"<tr>{first}{rest}</tr>"


def _without_formulas(column: pl.Series) -> pl.Series:
    """Texts of a column that a spreadsheet shows as they are; lists as one text."""
    if column.dtype == pl.List:
        column = pl.Series(column.name, [", ".join(map(str, one)) for one in column], dtype=pl.String)
    if column.dtype != pl.String:
        return column
    safe = [f"'{text}" if text is not None and text.startswith(FORMULA_STARTS) else text for text in column]
    return pl.Series(column.name, safe, dtype=pl.String)


def _latex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, on one line.

    Example:
        >>> markdown_text("a|b <script>")
        'a\\\\|b &lt;script&gt;'
    """
    escaped = html.escape(" ".join(text.split()), quote=False)
    for mark in ("\\", "|", "`", "*", "_", "[", "]"):
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped


def _short(cell: str) -> str:
    return cell if len(cell) <= WIDEST_CELL else f"{cell[: WIDEST_CELL - 1]}…"


def _dotted(cell: str) -> str:
    return f"{cell} •"
