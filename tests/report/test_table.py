import base64
import io

import polars as pl
import pytest

from sphunc.report import Table
from sphunc.report.table import display, markdown_text

NAMES = ['<script>alert("x")</script>', "a & b", "=1+1", "100 % of_it {x} ~ ^ \\ $ #"]


@pytest.fixture
def table() -> Table:
    frame = pl.DataFrame(
        {"agent": NAMES, "odds_ratio": [1.23456, None, 1e-7, 12345.6], "sure": [True, False, True, None]}
    )
    return Table("Agents <b>", frame, "Read & weep.")


def test_csv_holds_values_in_full_and_no_formulas(table: Table) -> None:
    read = pl.read_csv(io.StringIO(table.to_csv()))
    assert read["odds_ratio"].to_list() == [1.23456, None, 1e-7, 12345.6]
    assert read["agent"].to_list() == [NAMES[0], NAMES[1], "'=1+1", NAMES[3]]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_csv_takes_the_formula_out_of_texts_but_not_of_numbers(start: str) -> None:
    table = Table("t", pl.DataFrame({"a": [f"{start}cmd"], "b": [-1.5]}))
    assert pl.read_csv(io.StringIO(table.to_csv())).row(0) == (f"'{start}cmd", -1.5)


def test_data_uri_is_the_csv(table: Table) -> None:
    head, _, body = table.to_data_uri().partition(",")
    assert head == "data:text/csv;charset=utf-8;base64"
    assert base64.b64decode(body).decode() == table.to_csv()


def test_html_escapes_every_text_and_has_caption_and_scopes(table: Table) -> None:
    html = table.to_html()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(&quot;x&quot;)" in html
    assert "<caption>Agents &lt;b&gt;</caption>" in html
    assert html.count('scope="col"') == 3
    assert html.count('scope="row"') == 4
    assert '<td class="number">1.235</td>' in html


def test_latex_escapes_what_tex_reads(table: Table) -> None:
    latex = table.to_latex()
    assert r"100 \% of\_it \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ \#" in latex
    assert r"a \& b & -- & no \\" in latex
    assert r"\begin{tabular}{lrl}" in latex
    assert latex.count("{") == latex.count("}")


def test_markdown_has_a_row_per_row_and_no_raw_html(table: Table) -> None:
    lines = table.to_markdown().splitlines()
    assert lines[0] == "**Agents &lt;b&gt;**"
    assert lines[3] == "| --- | ---: | --- |"
    assert len([line for line in lines if line.startswith("|")]) == 6
    assert "<script>" not in table.to_markdown()


def test_text_is_aligned_and_ends_with_the_note(table: Table) -> None:
    lines = str(table).splitlines()
    assert lines[0] == "Agents <b>"
    assert lines[-1] == "Read & weep."
    ends = {
        line.index(cell) + len(cell) for line, cell in zip(lines[2:6], ["1.235", "–", "1.0e-07", "12,346"], strict=True)
    }
    assert len(ends) == 1


def test_first_rows_say_how_many_there_are(table: Table) -> None:
    assert len(table.first(2)) == 2
    assert table.first(2).note == "Read & weep. The first 2 of 4 rows."
    assert table.first(9) is table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (0.0, "0.000"),
        (-0.0001, "-1.0e-04"),
        (99.96, "100.0"),
        (["a", 1], "a, 1"),
    ],
)
def test_values_are_shown_to_about_three_figures(value: object, text: str) -> None:
    assert display(value) == text


def test_markdown_text_stays_on_one_line() -> None:
    assert markdown_text("a\n| *b* `c`") == r"a \| \*b\* \`c\`"


def test_best_entries_are_set_in_bold_everywhere() -> None:
    table = Table("t", pl.DataFrame({"who": ["a<b", "c_d"], "score": ["1", "2"]}), best=((1, "score"), (0, "who")))
    assert "<strong>2</strong>" in table.to_html()
    assert "<strong>a&lt;b</strong>" in table.to_html()
    assert r"\textbf{2}" in table.to_latex()
    assert "| **2** |" in table.to_markdown()
    assert "2 •" in str(table)
