"""The demonstration: what sphunc can do today, on an embedded default, in under a minute."""

from __future__ import annotations

import torch
from rich.console import Console
from rich.table import Table

from sphunc.sphere import VonMisesFisher, vmf_entropy

DEMO_DIM = 128
DEMO_KAPPAS = (1.0, 50.0, 200.0)
DEMO_SAMPLES = 20_000


def run(seed: int = 0) -> None:
    """Print the demonstration."""
    console = Console()
    show_sphere(console, seed)


def show_sphere(console: Console, seed: int) -> None:
    """Print exact entropies beside the mean resultant length of samples, for a few concentrations."""
    table = Table(title=f"Beliefs on the sphere: von Mises-Fisher laws, D = {DEMO_DIM}")
    for heading in ("kappa", "entropy (nats)", "mean resultant length", f"the same from {DEMO_SAMPLES:,} samples"):
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
