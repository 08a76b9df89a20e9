import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import sphunc
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.report import Table, write_report
from sphunc.report.document import download_rows, titled, to_html
from sphunc.report.sections import Download, Section

SCRIPT = "<script>alert('x')</script>"
EVIL = [SCRIPT, '"><img src=x onerror=alert(1)>', "a|b*c_d", "=1+1", "{{ 7*7 }}"]


class Page(HTMLParser):
    """Collects elements, ids and nesting of a page."""

    VOID = ("meta", "link", "br", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(
    weighted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph, tmp_path_factory: pytest.TempPathFactory
) -> str:
    agent = weighted.influence().top(1)["source"][0]
    effect = weighted.intervene(sphunc.Do(agent, toward="class-0"), data=world_data, samples=20, seed=0)
    path = write_report(
        weighted,
        world_data,
        tmp_path_factory.mktemp("report"),
        interventions=[effect, ("What if <b>it</b> turned", effect)],
        run_info={"title": "A <i>class</i>", "command": "sphunc fit <folder>"},
    )
    assert path.name == "report.html"
    return path.read_text()


def test_page_is_well_formed_and_asks_no_network(page: str) -> None:
    parsed = Page(page)
    assert parsed.open == []
    assert parsed.all("script") == []
    addresses = [one.get("href") or "" for tag in ("a", "link") for one in parsed.all(tag)]
    assert {
        address.split(":")[0].split(",")[0] if address.startswith("data") else address[:1] for address in addresses
    } == {
        "#",
        "data",
    }
    assert not re.search(r"url\(|@import|src=", page)


def test_page_can_be_walked_by_keyboard_and_screen_reader(page: str) -> None:
    parsed = Page(page)
    assert parsed.all("html")[0]["lang"] == "en"
    assert (
        len(parsed.all("main")) == len(parsed.all("header")) == len(parsed.all("footer")) == len(parsed.all("h1")) == 1
    )
    assert parsed.all("nav")[0]["aria-label"] == "Sections"
    ids = [one["id"] for _, one in parsed.elements if "id" in one]
    assert len(ids) == len(set(ids))
    anchors = [str(one["href"])[1:] for one in parsed.all("a") if str(one["href"]).startswith("#")]
    assert set(anchors) <= set(ids)
    assert anchors[0] == "content"
    assert len(parsed.all("h2")) == len(parsed.all("section")) == len(anchors) - 1
    assert all(one.get("role") == "img" and one.get("aria-label") for one in parsed.all("svg"))
    assert len(parsed.all("caption")) == len(parsed.all("table"))
    assert len(parsed.all("figcaption")) == len(parsed.all("figure")) == len(parsed.all("svg"))
    regions = [one for one in parsed.all("div") if one.get("role") == "region"]
    assert all(one.get("tabindex") == "0" and one.get("aria-label") for one in regions)


def test_every_part_that_people_expect_is_there(page: str) -> None:
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert titles == [
        "In short",
        "What was asked",
        "The data",
        "Forecast quality",
        "How sure, and why not more",
        "Agents to look at first",
        "Who influences whom",
        "What if",
        "The model: does it fit, and what did it learn",
        "Assumptions and limits",
        "How this was made",
    ]
    assert "sphunc fit &lt;folder&gt;" in page
    assert "<h1>A &lt;i&gt;class&lt;/i&gt;</h1>" in page
    assert "<b>it</b>" not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_downloads_hold_the_forecast_in_full(
    page: str, weighted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    link = next(one for one in Page(page).all("a") if str(one.get("download")).startswith("forecast-for"))
    text = base64.b64decode(str(link["href"]).split(",")[1]).decode()
    frame = pl.read_csv(text.encode())
    forecast = weighted.predict(world_data)
    assert frame["agent"].to_list() == list(forecast.agents)
    assert frame["p(class-1)"].to_list() == pytest.approx(forecast.probabilities[:, 1].tolist())


@pytest.mark.parametrize("markdown", [False, True])
def test_names_of_users_are_escaped_everywhere(markdown: bool, tmp_path: Path) -> None:
    world = sphunc.simulate("snare", agents=24, times=5, seed=2).data
    sphunc.write_tables(world, tmp_path / "tables")
    frames = {}
    for name in ("features", "groups", "outcomes"):
        path = next((tmp_path / "tables").glob(f"{name}.*"))
        frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
        old = sorted(set(frame["agent"].to_list()))[: len(EVIL)]
        frames[name] = frame.with_columns(pl.col("agent").replace(dict(zip(old, EVIL, strict=True))))
    frames["features"] = frames["features"].rename({frames["features"].columns[2]: SCRIPT})
    frames["outcomes"] = frames["outcomes"].with_columns(
        pl.col("outcome").replace({"class-0": SCRIPT, "class-1": "{{ 7*7 }}"})
    )
    data = sphunc.from_frames(**frames)
    model = sphunc.SphUnc(quick=True).fit(data, verbose=False)
    (tmp_path / "out").mkdir()
    effect = model.intervene(sphunc.Do(SCRIPT, outcome=SCRIPT), data=data, samples=10)
    path = write_report(
        model, data, tmp_path / "out", interventions=[(SCRIPT, effect)], run_info={SCRIPT: SCRIPT}, markdown=markdown
    )
    text = path.read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text
    if not markdown:
        assert "{{ 7*7 }}" in text
        assert Page(text).all("script") == []


def test_markdown_has_the_same_sections_and_its_tables(
    quick: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph, tmp_path: Path
) -> None:
    path = write_report(quick, world_data, tmp_path, markdown=True)
    text = path.read_text()
    assert path.name == "report.md"
    assert text.startswith("# What happens next")
    assert text.count("\n## ") == 10
    assert "| model | nll | gain |" in text
    assert "*Outcomes over time: " in text


def test_numbers_have_a_report(
    number_model: sphunc.SphUnc, number_data: sphunc.TemporalHypergraph, tmp_path: Path
) -> None:
    agent = number_data.node_ids[0]
    effect = number_model.intervene(sphunc.Do(agent, outcome=12.0), data=number_data, samples=20)
    text = write_report(number_model, number_data, tmp_path / "r.html", interventions=[effect]).read_text()
    assert "root mean square error" in text
    assert Page(text).open == []


def test_what_cannot_be_written_or_read_is_refused(
    quick: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph, tmp_path: Path
) -> None:
    with pytest.raises(ArgumentError, match=r"out is .*/nowhere/r.html, but there is no folder .*; make it"):
        write_report(quick, world_data, tmp_path / "nowhere" / "r.html")
    with pytest.raises(ArgumentTypeError, match=r"interventions has a Do; give effects of model.intervene"):
        titled([sphunc.Do("a", toward="b")])


def test_much_to_download_is_cut_so_that_the_page_stays_small() -> None:
    table = Table("t", pl.DataFrame({f"c{k}": [1.0 / 3] * 10_000 for k in range(20)}))
    few = [Section("a", "A", (table,))]
    many = [Section("a", "A", (table, Download(table), Download(table), Download(table)))]
    assert download_rows(few) == 10_000
    assert download_rows(many) == 2_500
    assert len(to_html("t", many)) < 5_000_000
