"""The demonstration: what sphunc can do today, on an embedded default."""

from __future__ import annotations

from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from sphunc.causal import discover
from sphunc.hypergraph import TemporalHypergraph, summarise
from sphunc.io.tables import read_tables, write_tables
from sphunc.sphere import VonMisesFisher, vmf_entropy
from sphunc.worlds import World, simulate

DEMO_FOLDER = Path("demo-output")
DEMO_WORLD = "snare"
DEMO_DIM = 128
DEMO_KAPPAS = (1.0, 50.0, 200.0)
DEMO_SAMPLES = 20_000


def run(folder: Path = DEMO_FOLDER, seed: int = 0) -> None:
    """Print the demonstration; the tables of its world stay in ``folder``."""
    console = Console()
    show_sphere(console, seed)
    world = simulate(DEMO_WORLD, seed=seed)
    show_data(console, world, folder)
    show_influence(console, world, seed)


def show_sphere(console: Console, seed: int) -> None:
    """Print exact entropies beside the mean resultant length of samples, for a few concentrations."""
    table = Table(title=f"Beliefs on the sphere: von Mises-Fisher laws, D = {DEMO_DIM}")
    for heading in ("kappa", "entropy (nats)", "mean resultant length", f"from {DEMO_SAMPLES:,} samples"):
        table.add_column(heading, justify="right")
    generator = torch.Generator().manual_seed(seed)
    mu = torch.nn.functional.normalize(torch.randn(DEMO_DIM, generator=generator, dtype=torch.float64), dim=0)
    for kappa in torch.tensor(DEMO_KAPPAS, dtype=torch.float64):
        law = VonMisesFisher(mu, kappa)
        samples = law.rsample((DEMO_SAMPLES,), generator=generator)
        exact, empirical = law.mean.norm().item(), (samples @ mu).mean().item()
        entropy = vmf_entropy(kappa, DEMO_DIM).item()
        table.add_row(f"{kappa.item():g}", f"{entropy:.3f}", f"{exact:.5f}", f"{empirical:.5f}")
    console.print(table)


def show_data(console: Console, world: World, folder: Path) -> TemporalHypergraph:
    """Write the tables that a user would bring, check them and read them back."""
    write_tables(world.data, folder)
    console.print(f"\nA simulated world, written to {folder}/ as the tables that you would bring:", highlight=False)
    data = read_tables(folder)
    console.print(str(summarise(data)), highlight=False)
    same = "the same, value for value" if data.same_as(world.data) else "NOT the same: please report this"
    console.print(f"\nRead back: {same}. Your own tables: sphunc check FOLDER", highlight=False)
    return data


def show_influence(console: Console, world: World, seed: int) -> None:
    """Print the ten most probable links between the agents, beside the truth that only a simulation knows."""
    with console.status("Who influences whom? Comparing sets of parents for every agent ..."):
        graph = discover(world.states, data=world.data, calibrate=False, diagnose=False, seed=seed)
    ids = world.data.node_ids
    truth = {(ids[source], ids[target]) for source, target in world.links.T.tolist()}
    table = Table(title=f"The ten most probable of {graph.links.shape[1]:,} candidate links")
    for heading in ("source", "target", "probability", "strength", "lag", "true link"):
        table.add_column(heading, justify="right")
    for source, target, probability, strength, lag in graph.top(10).iter_rows():
        known = "yes" if (source, target) in truth else "no"
        table.add_row(source, target, f"{probability:.3f}", f"{strength:+.2f}", str(lag), known)
    console.print(table)
    console.print(f"Assumed: {graph.assumptions}", highlight=False)
