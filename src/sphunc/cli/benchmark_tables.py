"""How a benchmark is shown: systems side by side, the best mean marked, tests below, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sphunc.evaluation.benchmark.summary import HEADLINES, Headline, Section, Standing
from sphunc.evaluation.significance import PairedTest

TITLES = {
    "sphunc": "SphUnc",
    "hypergcn": "HyperGCN",
    "sshgnn": "SS-HGNN",
    "spherenet": "SphereNet",
    "cignn": "CI-GNN",
    "causal-sphhn": "Causal-SphHN",
}
NOTHING = "–"
BEST, STAR = "•", "*"
"""Marks of the best mean, and of a difference that is shown: not the same, and not to be taken for each other."""
LEVEL = 0.05
LONGEST_LABEL = 24
"""Longer labels are wrapped: figures need less."""
Tests = Mapping[str, Mapping[str, PairedTest]]


def titled(label: str) -> str:
    """How a system is called in print."""
    return TITLES.get(label.replace("_", "-"), label)


def show_sections(console: Console, sections: Iterable[Section]) -> None:
    """Print every section, where the reference stands if there are several, and how to read it all."""
    shown = list(sections)
    for section in shown:
        show_section(console, section)
    if len(shown) > 1:
        measured = [h.column for h in HEADLINES if any(section.rank(h.column) for section in shown)]
        title = f"Place of {titled(shown[0].reference)} among all systems: 1/7 is the best mean of seven"
        _show(console, title, measured, partial(ranks_table, shown, console.width // 3))
        console.print()
    if shown:
        console.print("How to read this", style="bold")
        for line in legend(shown):
            console.print(line, highlight=False, markup=False)


def legend(sections: Sequence[Section]) -> Iterator[str]:
    """What the marks and rows mean, as far as they are there."""
    standings = [(column, found) for section in sections for column, found in section.standings.items() if found]
    there = {column for column, _ in standings}
    has_interval = any(one.half is not None for _, found in standings for one in found.values())
    width = ", ± half of their 95 % intervals" if has_interval else ""
    smaller = [h.title for h in HEADLINES if not h.larger_is_better and h.column in there]
    yield f"Figures are means over seeds{width}. Larger is better, except for {', '.join(smaller)}."
    yield f"{BEST} the best mean of all systems on that data; whether it is better with other seeds too, tests say."
    tests = [(section, test) for section in sections for test in _all_tests(section)]
    if tests:
        yield "p: of a test over seeds, after control for the number of systems compared."
    if any(_is_starred(section, test) for section, test in tests):
        yield f"{STAR} p below {LEVEL}, on worlds and with enough seeds: a difference that is shown."
    if "ece_floor" in there:
        yield (
            "Below ECE: what perfect calibration would show on the same rows (its floor is the mean, the band holds "
            "95 %), and how many seeds are not above that band."
        )
    if "ood_auroc" in there:
        yield (
            "AUROC, strangers: newcomers of a community that nobody had seen against newcomers of known ones, by the "
            "epistemic part of SphUnc and by the entropy of the others' forecasts."
        )
    if there & {"p_at_10", "auprc"}:
        yield "P@10, AUPRC: links by each system's own read-out of influence."
    if there & {"p_at_10_common", "auprc_common"}:
        yield "P@10, common and AUPRC, common: links by one attribution that is the same for all systems."
    if "oracle_share" in there:
        yield "Way to oracle: share of the NLL from the best trivial model (0) to the oracle (1)."


def show_section(console: Console, section: Section) -> None:
    """Print one data set: the systems, the controls with the oracle, the tests, the notes."""
    name = _named(section)
    _show(console, name, section.peers, partial(standings_table, section))
    others = (*section.controls, *((section.ceiling,) if section.ceiling else ()))
    ceiling = " and the oracle (the ceiling)" if section.ceiling else ""
    _show(console, f"{name}: controls (they look at no group){ceiling}", others, partial(standings_table, section))
    test = "p of the corrected resampled t-test after Holm"
    for family in (section.peers, section.controls):
        title = f"{name}: {titled(section.reference)} minus the other, {test}"
        _show(console, title, _tested(section.tests, family), partial(tests_table, section, section.tests))
    labels = _tested(section.changes, (*section.peers, *section.controls))
    title = f"{name}: this variant minus the default of the same system, {test} over its variants"
    _show(console, title, labels, partial(tests_table, section, section.changes))
    for note in section.notes:
        console.print(f"Note: {note}", highlight=False, markup=False)
    console.print()


def standings_table(section: Section, labels: Sequence[str]) -> Table:
    """Measures in rows, systems in columns."""
    table = _table(labels)
    for headline in HEADLINES:
        if not section.standings.get(headline.column):
            continue
        table.add_row(headline.title, *(_value(section, headline, label) for label in labels))
        if headline.column == "ece":
            _add_calibration(table, section, labels)
    return table


def tests_table(section: Section, tests: Tests, labels: Sequence[str]) -> Table:
    """Differences with their adjusted p-values; only what seeds can show has a star."""
    table = _table(labels)
    for headline in HEADLINES:
        if found := tests.get(headline.column):
            table.add_row(headline.title, *(_test(section, found.get(label)) for label in labels))
    return table


def _tested(tests: Tests, family: Sequence[str]) -> list[str]:
    return [label for label in family if any(label in found for found in tests.values())]


def _all_tests(section: Section) -> list[PairedTest]:
    return [test for tests in (section.tests, section.changes) for found in tests.values() for test in found.values()]


def _is_starred(section: Section, test: PairedTest) -> bool:
    """Where seeds vary the weights alone, or are too few, a small p is not marked."""
    return section.is_world and test.is_finding(LEVEL)


def ranks_table(sections: Sequence[Section], widest: int, columns: Sequence[str]) -> Table:
    """Place of the reference among all systems, per data set (rows, their names wrapped at ``widest``) and measure."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", max_width=widest, overflow="fold")
    for headline in (headline for headline in HEADLINES if headline.column in columns):
        first, _, last = headline.title.rpartition(" ")
        table.add_column(f"{first}\n{last}".lstrip(), justify="right", no_wrap=True)
    for section in sections:
        places = [section.rank(column) for column in columns]
        table.add_row(_named(section), *(NOTHING if place is None else f"{place[0]}/{place[1]}" for place in places))
    return table


def _named(section: Section) -> str:
    return section.data if section.variant == "default" else f"{section.data}, {section.variant}"


def _show(console: Console, title: str, labels: Sequence[str], build: Callable[[Sequence[str]], Table]) -> None:
    """Print a table in as many parts as its columns need to fit."""
    rest = list(labels)
    while rest:
        count = next((k for k in range(len(rest), 1, -1) if _width(build(rest[:k])) <= console.width), 1)
        console.print(title, style="bold", highlight=False, markup=False)
        console.print(build(rest[:count]))
        rest = rest[count:]


def _width(table: Table) -> int:
    return Console(width=1000).measure(table).maximum


def _table(labels: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for label in labels:
        table.add_column(titled(label), justify="right", max_width=LONGEST_LABEL, overflow="fold")
    return table


def _value(section: Section, headline: Headline, label: str) -> Text:
    standing = section.standings.get(headline.column, {}).get(label)
    if standing is None:
        return Text(NOTHING)
    best = _is_best(section, headline.column, label)
    mean = f"{standing.mean:.3f}{BEST if best else ' '}"
    half = "" if standing.half is None else f"\n±{standing.half:.3f} "
    return Text(mean, style="bold" if best else "") + Text(half, style="dim")


def _is_best(section: Section, column: str, label: str) -> bool:
    """Whether a system is marked: not where all that compete are equal, or one stands alone."""
    best = section.best[column]
    return label in best and len(best) < len(section.competing[column])


def _add_calibration(table: Table, section: Section, labels: Sequence[str]) -> None:
    def cell(column: str, label: str) -> str:
        standing: Standing | None = section.standings.get(column, {}).get(label)
        return NOTHING if standing is None else f"{standing.mean:.3f}"

    table.add_row("  its floor", *(f"{cell('ece_floor', label)} " for label in labels))
    table.add_row("  band from", *(f"{cell('ece_low', label)} " for label in labels))
    table.add_row("  band to", *(f"{cell('ece_high', label)} " for label in labels))
    inside = (section.calibrated.get(label) for label in labels)
    table.add_row("  not above", *(NOTHING if pair is None else f"{pair[0]} of {pair[1]} " for pair in inside))


def _test(section: Section, test: PairedTest | None) -> Text:
    if test is None:
        return Text(NOTHING)
    shown = _is_starred(section, test)
    p = "p<0.001" if test.adjusted_p < 0.001 else f"p={test.adjusted_p:.3f}"
    return Text(f"{test.mean:+.3f} ") + Text(f"\n{p}{STAR if shown else ' '}", style="bold" if shown else "dim")
