"""How a benchmark is shown: systems side by side, the best in bold with a star, tests below, in plain words."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sphunc.evaluation.benchmark.summary import HEADLINES, Headline, Section, Standing

TITLES = {
    "sphunc": "SphUnc",
    "hypergcn": "HyperGCN",
    "sshgnn": "SS-HGNN",
    "spherenet": "SphereNet",
    "cignn": "CI-GNN",
    "causal-sphhn": "Causal-SphHN",
}
NOTHING = "–"


def titled(label: str) -> str:
    """How a system is called in print."""
    return TITLES.get(label.replace("_", "-"), label)


def show_sections(console: Console, sections: Iterable[Section]) -> None:
    """Print every section, and where the reference stands if there are several."""
    shown = list(sections)
    for section in shown:
        show_section(console, section)
    if len(shown) > 1:
        reference = titled(shown[0].reference)
        _show(console, f"Place of {reference} among all systems", ranks_table(shown))
    if shown:
        console.print(
            "Mean over seeds, ± half of the 95 % interval; * is best. P@10 and AUPRC: each system's own read-out of "
            "influence; common: one attribution for all. Way to oracle: 0 is the best trivial model, 1 the oracle.",
            highlight=False,
        )


def show_section(console: Console, section: Section) -> None:
    """Print one data set: the systems, the trivial ones with the oracle, the tests, the notes."""
    variant = "" if section.variant == "default" else f", {section.variant}"
    _show(console, f"{section.data}{variant}", standings_table(section, section.peers))
    others = (*section.trivial, *((section.ceiling,) if section.ceiling else ()))
    if others:
        ceiling = " and the oracle, their ceiling" if section.ceiling else ""
        _show(console, f"{section.data}{variant}: trivial models{ceiling}", standings_table(section, others))
    if any(section.tests.values()):
        reference = titled(section.reference)
        title = f"{reference} less the other: mean, and p of the corrected resampled t-test after Holm (* below 0.05)"
        _show(console, title, tests_table(section))
    for note in section.notes:
        console.print(f"Note: {note}", highlight=False)
    console.print()


def standings_table(section: Section, labels: tuple[str, ...]) -> Table:
    """Measures in rows, systems in columns."""
    table = _table(labels)
    for headline in HEADLINES:
        if not any(label in section.standings.get(headline.column, {}) for label in labels):
            continue
        table.add_row(headline.title, *(_value(section, headline, label) for label in labels))
        if headline.column == "ece":
            _add_calibration(table, section, labels)
    return table


def tests_table(section: Section) -> Table:
    """The reference less each other system, with the adjusted p-value."""
    labels = [label for label in (*section.peers, *section.trivial) if label != section.reference]
    table = _table(labels)
    for headline in HEADLINES:
        tests = section.tests.get(headline.column, {})
        if tests:
            table.add_row(headline.title, *(_test(section, headline.column, label) for label in labels))
    return table


def ranks_table(sections: list[Section]) -> Table:
    """Place of the reference among all systems, per data set and measure."""
    named = [
        section.data if section.variant == "default" else f"{section.data}, {section.variant}" for section in sections
    ]
    table = _table(named)
    for headline in HEADLINES:
        places = [section.rank(headline.column) for section in sections]
        if any(places):
            table.add_row(headline.title, *(NOTHING if p is None else f"{p[0]} of {p[1]}" for p in places))
    return table


def _show(console: Console, title: str, table: Table) -> None:
    console.print(title, style="bold", highlight=False, markup=False)
    console.print(table)


def _table(labels: Iterable[str]) -> Table:
    table = Table(padding=(0, 1))
    table.add_column("", no_wrap=True)
    for label in labels:
        table.add_column(titled(label), justify="right", no_wrap=True)
    return table


def _value(section: Section, headline: Headline, label: str) -> Text:
    standing = section.standings.get(headline.column, {}).get(label)
    if standing is None:
        return Text(NOTHING)
    best = label in section.best[headline.column]
    mean = f"{standing.mean:.3f}{'*' if best else ' '}"
    half = "" if standing.half is None else f"\n±{standing.half:.3f} "
    return Text(mean, style="bold" if best else "") + Text(half, style="dim")


def _add_calibration(table: Table, section: Section, labels: tuple[str, ...]) -> None:
    def cell(column: str, label: str) -> str:
        standing: Standing | None = section.standings.get(column, {}).get(label)
        return NOTHING if standing is None else f"{standing.mean:.3f}"

    table.add_row("  its floor", *(f"{cell('ece_floor', label)} " for label in labels))
    table.add_row("  band from", *(f"{cell('ece_low', label)} " for label in labels))
    table.add_row("  band to", *(f"{cell('ece_high', label)} " for label in labels))
    inside = (section.calibrated.get(label) for label in labels)
    table.add_row("  not above", *(NOTHING if pair is None else f"{pair[0]} of {pair[1]} " for pair in inside))


def _test(section: Section, column: str, label: str) -> Text:
    test = section.tests.get(column, {}).get(label)
    if test is None:
        return Text(NOTHING)
    shown = test.adjusted_p < 0.05
    p = "p<0.001" if test.adjusted_p < 0.001 else f"p={test.adjusted_p:.3f}"
    return Text(f"{test.mean:+.3f} ") + Text(f"\n{p}{'*' if shown else ' '}", style="bold" if shown else "dim")
