"""How a benchmark is shown: systems side by side, the best mean marked, tests below, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sphunc.evaluation import PairedTest
from sphunc.evaluation.benchmark import HEADLINES, Headline, Section

TITLES = {
    "sphunc": "SphUnc",
    "hypergcn": "HyperGCN",
    "sshgnn": "SS-HGNN",
    "spherenet": "SphereNet",
    "cignn": "CI-GNN",
    "causal-sphhn": "Causal-SphHN",
    "sphunc-paper": "SphUnc (paper)",
    "hgnn": "HGNN",
    "unigcnii": "UniGCNII",
    "allset": "AllSetTransformer",
    "edhnn": "ED-HNN",
    "gpn": "GPN",
    "mlp": "MLP",
    "mc-dropout": "MC dropout",
}
NOTHING = "–"
BEST = "•"
"""Mark of the best mean; whether it is better with other seeds too, tests say."""
STAR = "*"
"""Mark of a difference that seeds show."""
LEVEL = 0.05
LONGEST_LABEL = 24
"""Longer labels are wrapped: figures need less."""
Tests = Mapping[str, Mapping[str, PairedTest]]


def titled(label: str) -> str:
    """How a system is called in print."""
    return TITLES.get(label.replace("_", "-"), label)


def show_sections(console: Console, sections: Iterable[Section]) -> None:
    """Print every section, where the reference stands if there are several, and how to read it all.

    Args:
        console: where to print.
        sections: one per data set and variant.
    """
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


LEGEND = (
    (
        ("ece_floor",),
        "Below ECE: what perfect calibration would show on the same rows (its floor is the mean, the band holds 95 %), "
        "and how many seeds are not above that band.",
    ),
    (
        ("ood_auroc",),
        "OOD AUROC: unseen agents of a community that no model has met against unseen agents of known ones, by the "
        "epistemic part of SphUnc and by the entropy of the others' forecasts.",
    ),
    (("p_at_10", "auprc"), "P@10, AUPRC: links by each system's own read-out of influence."),
    (
        ("p_at_10_common", "auprc_common"),
        "P@10, common and AUPRC, common: links by one attribution that is the same for all systems.",
    ),
    (("oracle_share",), "Way to oracle: share of the NLL from the best trivial model (0) to the oracle (1)."),
)
"""Columns, and what a reader must know where one of them is shown."""


def legend(sections: Sequence[Section]) -> Iterator[str]:
    """What the marks and rows mean, as far as they are there."""
    there = {column for section in sections for column, found in section.standings.items() if found}
    smaller = [h.title for h in HEADLINES if not h.larger_is_better and h.column in there]
    intervals = ""
    if any(one.half is not None for section in sections for one in section.standings.get("nll", {}).values()):
        intervals = ", ± half of their 95 % intervals"
    yield f"Figures are means over seeds{intervals}. Larger is better, except for {', '.join(smaller)}."
    yield f"{BEST} the best mean of all systems on that data; whether it is better with other seeds too, tests say."
    tests = [(section, test) for section in sections for test in _all_tests(section)]
    if tests:
        yield "p: of a test over seeds, after control for the number of systems compared."
    if any(_is_starred(section, test) for section, test in tests):
        yield f"{STAR} p below {LEVEL}, on worlds and with enough seeds: a difference that is shown."
    for columns, line in LEGEND:
        if there.intersection(columns):
            yield line


def show_section(console: Console, section: Section) -> None:
    """Print one data set: the systems, the controls with the oracle, the tests, the notes.

    Args:
        console: where to print.
        section: one data set under one variant.
    """
    name = _named(section)
    _show(console, name, section.systems, partial(standings_table, section))
    others = list(section.controls)
    title = f"{name}: controls (they look at no group)"
    if section.ceiling:
        others.append(section.ceiling)
        title += " and the oracle (the ceiling)"
    _show(console, title, others, partial(standings_table, section))
    test = "p of the corrected resampled t-test after Holm"
    for family in (section.systems, section.controls):
        title = f"{name}: {titled(section.reference)} minus the other, {test}"
        _show(console, title, _tested(section.tests, family), partial(tests_table, section, section.tests))
    labels = _tested(section.changes, (*section.systems, *section.controls))
    title = f"{name}: this variant minus the default of the same system, {test} over its variants"
    _show(console, title, labels, partial(tests_table, section, section.changes))
    for note in section.notes:
        console.print(f"Note: {note}", highlight=False, markup=False)
    console.print()


def standings_table(section: Section, labels: Sequence[str]) -> Table:
    """Measures in rows, systems in columns.

    Args:
        section: one data set under one variant.
        labels: of the systems to show.
    """
    table = _table(labels)
    for headline in HEADLINES:
        if not section.standings.get(headline.column):
            continue
        table.add_row(headline.title, *(_value(section, headline, label) for label in labels))
        if headline.column == "ece":
            _add_calibration(table, section, labels)
    return table


def tests_table(section: Section, tests: Tests, labels: Sequence[str]) -> Table:
    """Differences with their adjusted p-values; only what seeds can show has a star.

    Args:
        section: one data set under one variant.
        tests: by column, then label.
        labels: of the systems to show.
    """
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
    """Place of the reference among all systems, per data set (rows) and measure.

    Args:
        sections: one per data set and variant.
        widest: where their names are wrapped.
        columns: of the measures to show.
    """
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", max_width=widest, overflow="fold")
    for headline in (headline for headline in HEADLINES if headline.column in columns):
        first, _, last = headline.title.rpartition(" ")
        table.add_column(f"{first}\n{last}".lstrip(), justify="right", no_wrap=True)
    for section in sections:
        table.add_row(_named(section), *(_place(section, column) for column in columns))
    return table


def _place(section: Section, column: str) -> str:
    rank = section.rank(column)
    if rank is None:
        return NOTHING
    place, systems = rank
    return f"{place}/{systems}"


def _named(section: Section) -> str:
    if section.variant == "default":
        return section.data
    return f"{section.data}, {section.variant}"


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
    shown = Text(f"{standing.mean:.3f} ")
    if _is_best(section, headline.column, label):
        shown = Text(f"{standing.mean:.3f}{BEST}", style="bold")
    if standing.half is not None:
        shown += Text(f"\n±{standing.half:.3f} ", style="dim")
    return shown


def _is_best(section: Section, column: str, label: str) -> bool:
    """Whether a system is marked: not where all that compete are equal, or one stands alone."""
    best = section.best[column]
    return label in best and len(best) < len(section.competing[column])


def _add_calibration(table: Table, section: Section, labels: Sequence[str]) -> None:
    for title, column in (("its floor", "ece_floor"), ("band from", "ece_low"), ("band to", "ece_high")):
        table.add_row(f"  {title}", *(_mean(section, column, label) for label in labels))
    counts = [section.calibrated[label] for label in labels]
    table.add_row("  not above", *(f"{inside} of {seeds} " for inside, seeds in counts))


def _mean(section: Section, column: str, label: str) -> str:
    standing = section.standings.get(column, {}).get(label)
    if standing is None:
        return NOTHING
    return f"{standing.mean:.3f} "


def _test(section: Section, test: PairedTest | None) -> Text:
    if test is None:
        return Text(NOTHING)
    p = f"p={test.adjusted_p:.3f}"
    if test.adjusted_p < 0.001:
        p = "p<0.001"
    shown = Text(f"{test.mean:+.3f} \n")
    if _is_starred(section, test):
        return shown + Text(f"{p}{STAR}", style="bold")
    return shown + Text(f"{p} ", style="dim")
