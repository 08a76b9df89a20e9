"""The demonstration runs and shows what it says."""

from rich.console import Console

from sphunc.cli import demo


def test_sphere_shows_exact_entropies_beside_samples() -> None:
    console = Console(record=True, width=120)
    demo.show_sphere(console, seed=0)
    text = console.export_text()
    assert "-175.837" in text  # H at kappa = 200, D = 128
    assert text.count("0.") >= 2 * len(demo.DEMO_KAPPAS)


def test_same_seed_same_demonstration() -> None:
    texts = []
    for _ in range(2):
        console = Console(record=True, width=120)
        demo.show_sphere(console, seed=3)
        texts.append(console.export_text())
    assert texts[0] == texts[1]
