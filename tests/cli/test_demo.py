"""The demonstration runs and shows what it says."""

from pathlib import Path

from rich.console import Console

from sphunc.cli import demo
from sphunc.worlds import simulate


def recorded() -> Console:
    return Console(record=True, width=120)


def test_sphere_shows_exact_entropies_beside_samples() -> None:
    console = recorded()
    demo.show_sphere(console, seed=0)
    text = console.export_text()
    assert "-175.837" in text  # H at kappa = 200, D = 128
    assert text.count("0.") >= 2 * len(demo.DEMO_KAPPAS)


def test_same_seed_same_demonstration() -> None:
    texts = []
    for _ in range(2):
        console = recorded()
        demo.show_sphere(console, seed=3)
        texts.append(console.export_text())
    assert texts[0] == texts[1]


def test_data_are_written_checked_and_read_back(tmp_path: Path) -> None:
    console = recorded()
    data = demo.show_data(console, simulate("snare", seed=0), tmp_path / "tables")
    text = console.export_text()
    assert "the same, value for value" in text
    assert "540" in text
    assert data.num_hyperedges == 1120
    assert {"features.csv", "groups.csv", "outcomes.csv"} <= {path.name for path in (tmp_path / "tables").iterdir()}


def test_influence_stands_beside_the_truth() -> None:
    console = recorded()
    demo.show_influence(console, simulate("snare", seed=0, agents=150, times=8), seed=0)
    text = console.export_text()
    assert "true link" in text
    assert text.count("yes") >= 7
    assert "Granger" in text
