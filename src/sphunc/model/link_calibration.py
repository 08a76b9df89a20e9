r"""Link probabilities calibrated by decoys: sources that cannot influence the target, judged by the same sampler.

Decoys are agents the target never met, and co-members read in reversed time, which keep what is shared without any
influence: levels, autocorrelation, homophily. The share of links among candidates of raw probability p is

.. math:: q(p) = 1 - f_{decoy}(p) / f_{candidate}(p)

a local false discovery rate with an empirical null (Efron 2004; Barber and Candes 2015 for decoys as knock-offs). The
ratio is estimated by isotonic regression, with an upper limit of the number of decoys at every level, and interpolated,
so that the order of the links stays as it was.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from sklearn.isotonic import IsotonicRegression

from sphunc._typing import Float, Tensor
from sphunc.model.dynamics import PADDING, Dynamics, Links
from sphunc.model.structure import ChainData, StructurePosterior, learn_structure

DECOYS = 8
"""Decoys of each kind for every target."""
FEWEST_DECOYS = 50
SWEEPS = 30
LIMIT = 1.0
"""Standard deviations of a Poisson count by which the number of decoys is raised."""


def calibrate_links(
    posterior: StructurePosterior, dynamics: Dynamics, data: ChainData, seed: int, required: Tensor | None = None
) -> StructurePosterior:
    """Lower probabilities, coefficients and sampled structures to what decoys leave of them.

    Args:
        posterior: as sampled.
        dynamics: that it was sampled with.
        data: observations and beliefs.
        seed: of the decoys and of the structures that are thinned.
        required: candidates that are links for certain, which stay as they are.
    """
    links = posterior.links
    width = links.source.shape[1]
    extended, with_decoys = _add_decoys(links, data, seed)
    found = learn_structure(
        dynamics,
        extended,
        with_decoys,
        posterior.prior,
        sweeps=SWEEPS,
        burn_in=SWEEPS // 3,
        chains=2,
        seed=seed,
        adapts=False,
    )
    is_decoy = extended.is_candidate[:, width:]
    decoys = found.links.probability[:, width:][is_decoy]
    if len(decoys) < FEWEST_DECOYS:
        return posterior
    rivals = found.links.probability[:, :width][links.is_candidate]
    raw = links.probability
    calibrated = torch.minimum(raw, decoy_share(raw, rivals, decoys))
    if required is not None:
        calibrated = torch.where(required, raw, calibrated)
    kept = calibrated / raw.clamp(min=1e-12)
    thinned = _thin(posterior.draws, kept.gather(1, posterior.slots), seed)
    share = float(calibrated[links.is_candidate].mean().clamp(1e-4, 0.5))
    return replace(
        posterior,
        links=replace(links, probability=calibrated, mean=links.mean * kept, square=links.square * kept),
        prior=replace(posterior.prior, share=share),
        draws=thinned,
    )


def _add_decoys(links: Links, data: ChainData, seed: int) -> tuple[Links, ChainData]:
    """Append decoys to the candidates; co-members in reversed time are agents of their own, after all others."""
    agents, width = links.source.shape
    generator = torch.Generator().manual_seed(seed)
    chance = torch.rand(agents, width, generator=generator).to(links.mean)
    chance = torch.where(links.is_candidate, chance, -1.0)
    met = chance.topk(min(DECOYS, width), 1)
    reversed_met = links.source.gather(1, met.indices) + agents
    unmet, is_unmet = _draw_unmet(links, generator)
    source = torch.cat([links.source, reversed_met, unmet], 1)
    there = torch.cat([links.is_candidate, met.values >= 0, is_unmet], 1)
    nothing = links.mean.new_zeros(agents, source.shape[1] - width)
    extended = Links(
        source=source,
        is_candidate=there,
        probability=torch.cat([links.probability, nothing], 1),
        mean=torch.cat([links.mean, nothing], 1),
        square=torch.cat([links.square, nothing], 1),
    )
    states = torch.cat([data.states, _reversed(data.states)], 1)
    variance = torch.cat([data.variance, _reversed(data.variance)], 1)
    return extended, replace(data, states=states, variance=variance)


def _reversed(values: Float[Tensor, "time agent axis"]) -> Float[Tensor, "time agent axis"]:
    return torch.cat([values[:PADDING], values[PADDING:].flip(0)])


def _draw_unmet(links: Links, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random agents that are neither the target nor its candidates; False where a draw hit one."""
    agents = len(links.source)
    drawn = torch.randint(agents, (agents, DECOYS), generator=generator).to(links.source)
    own = torch.arange(agents, device=drawn.device).unsqueeze(1)
    key = own * agents + links.source
    met = key[links.is_candidate]
    is_free = ~torch.isin(own * agents + drawn, met) & (drawn != own)
    return drawn, is_free


def decoy_share(
    raw: Float[Tensor, "agent candidate"], rivals: Float[Tensor, " rival"], decoys: Float[Tensor, " decoy"]
) -> Float[Tensor, "agent candidate"]:
    """Share of links at every raw probability, non-decreasing in it.

    Args:
        raw: probabilities to calibrate.
        rivals: those of candidates, judged together with the decoys.
        decoys: those of the decoys.
    """
    values = torch.cat([rivals, decoys]).cpu().numpy()
    is_candidate = np.concatenate([np.ones(len(rivals)), np.zeros(len(decoys))])
    weight = len(rivals) / len(decoys)
    isotonic = IsotonicRegression(y_min=0.0, y_max=1.0)
    level = isotonic.fit(values, is_candidate, sample_weight=np.where(is_candidate > 0, 1.0, weight)).predict(values)
    _, block = np.unique(level, return_inverse=True)
    candidates = np.bincount(block, is_candidate)
    count = np.bincount(block, 1.0 - is_candidate)
    expected = (count + LIMIT * np.sqrt(count + 1.0)) * weight
    share = np.clip(1.0 - expected / np.maximum(candidates, 1e-12), 0.0, 1.0)
    share = np.maximum.accumulate(share)
    centre = np.bincount(block, values) / np.bincount(block)
    order = np.argsort(centre)
    knots = np.concatenate([[0.0], centre[order], [1.0]])
    heights = np.concatenate([[0.0], share[order], [min(1.0, float(share[-1]))]])
    mapped = np.interp(raw.cpu().numpy(), knots, heights)
    # A block of equal shares would lose the order of its links.
    mapped = np.maximum(mapped, 0.02 * raw.cpu().numpy() * float(share.max(initial=0.0)))
    return torch.from_numpy(mapped).to(raw)


def _thin(
    draws: Float[Tensor, "sample agent parent"], kept: Float[Tensor, "agent parent"], seed: int
) -> Float[Tensor, "sample agent parent"]:
    """Drop links of sampled structures so that each remains as often as its calibrated probability says."""
    if not len(draws):
        return draws
    generator = torch.Generator().manual_seed(seed + 1)
    chance = torch.rand(draws.shape, generator=generator).to(draws)
    return torch.where(chance < kept.to(draws), draws, 0.0)
