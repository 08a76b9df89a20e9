"""Training latents that are kept to recognise what training never showed."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sphunc._typing import Float
from sphunc.nn.concentration import kernel_support
from sphunc.nn.filling import some_rows

MOST = 4096
SHARPNESS = 4.0


class Support(nn.Module):
    """Owns at most 4096 training latents, and how many sightings each of them stands for."""

    latents: Tensor
    counts_for: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("latents", torch.zeros(0, dim))
        self.register_buffer("counts_for", torch.ones(()))

    @torch.no_grad()
    def store(self, seen: Float[Tensor, "sight dim"]) -> None:
        """Keep some latents, evenly; who showed no feature points nowhere, and is left out."""
        seen = seen[seen.any(-1)]
        self.latents = seen[some_rows(len(seen), MOST).to(seen.device)]
        self.counts_for = torch.tensor(len(seen) / max(1, len(self.latents)), device=seen.device)

    @torch.no_grad()
    def forward(self, direction: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"] | None:
        """Return how many sightings of somebody alike there were; None before any latent was kept."""
        if len(self.latents) == 0:
            return None
        n = kernel_support(direction.flatten(0, -2), self.latents, SHARPNESS)
        return self.counts_for * n.view(direction.shape[:-1])
