r"""Link probabilities calibrated by decoys: sources that cannot influence the target, judged by the same sampler.

Decoys are agents the target never met, and co-members read in reversed time, which keep what is shared without any
influence: levels, autocorrelation, homophily. Where nearly everybody met, co-members whose innovations came in another
order stand for the first kind. With x the raw log-odds of a link, the share of links among candidates at x is

.. math:: q(x) = \frac{1}{1 + e^{-(t + s x)}}, \qquad
          \frac{f_{decoy}(x)}{f_{candidate}(x)} = \frac{1 - q(x)}{1 - \bar q}

a local false discovery rate with an empirical null (Efron 2004; Barber and Candes 2015 for decoys as knock-offs). It is
averaged over the posterior of (s, t), in which "no link at all" has prior mass one half; of the kinds of decoys the one
that leaves less counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Float, Tensor
from sphunc.model.dynamics import PADDING, Dynamics, Links
from sphunc.model.structure import ChainData, StructurePosterior, learn_structure

DECOYS = 8
"""Decoys of each kind for every target."""
FEWEST_DECOYS = 50
KINDS = ("reversed_links", "placebo_links")
"""What the checks of a graph call both kinds of decoys."""
SHOWN = 0.5
SWEEPS = 30
LARGEST_ODDS = 8.0
"""Log-odds beyond which raw probabilities are counted together."""
NUM_BINS = 64
SLOPES = torch.linspace(0.2, 1.2, 6, dtype=torch.float64)
OFFSETS = torch.linspace(-8.0, 1.0, 19, dtype=torch.float64)
"""Values of s and t that are averaged over."""


@dataclass(frozen=True, eq=False)
class DecoyComparison:
    """Raw probabilities of candidates and decoys, judged together.

    Attributes:
        candidates: of all candidates.
        decoys: of every kind of decoy with enough of them.
    """

    candidates: Float[Tensor, " other"]
    decoys: tuple[Tensor, ...]

    def calibrated(self, raw: Float[Tensor, "agent candidate"]) -> Float[Tensor, "agent candidate"]:
        """Lower raw probabilities to what every kind of decoy leaves of them."""
        lowered = raw
        for decoys in self.decoys:
            lowered = torch.minimum(lowered, decoy_share(raw, self.candidates, decoys))
        return lowered

    def shown_decoys(self, kind: int) -> float:
        """Links that would be shown if all candidates were decoys of a kind.

        Args:
            kind: position among the kinds.
        """
        decoys = self.decoys[kind]
        calibrated = self.calibrated(decoys.unsqueeze(0)).squeeze(0)
        return float(calibrated[calibrated > SHOWN].sum()) * len(self.candidates) / len(decoys)


def calibrate_links(
    posterior: StructurePosterior, dynamics: Dynamics, data: ChainData, seed: int, required: Tensor | None = None
) -> tuple[StructurePosterior, DecoyComparison]:
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
    extended, with_decoys, kinds = _add_decoys(links, data, dynamics, seed)
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
    candidates = found.links.probability[:, :width][links.is_candidate]
    diagnostics = []
    usable = []
    start = width
    for name, columns in zip(KINDS, kinds, strict=True):
        kind = slice(start, start + columns)
        decoys = found.links.probability[:, kind][extended.is_candidate[:, kind]]
        if len(decoys) >= FEWEST_DECOYS:
            usable.append((name, decoys))
        start = start + columns
    comparison = DecoyComparison(candidates, tuple(decoys for _, decoys in usable))
    for kind, (name, _) in enumerate(usable):
        diagnostics.append((name, comparison.shown_decoys(kind)))
    raw = links.probability
    calibrated = comparison.calibrated(raw)
    if required is not None:
        calibrated = torch.where(required, raw, calibrated)
    kept = calibrated / raw.clamp(min=1e-12)
    thinned = _thin(posterior.draws, kept.gather(1, posterior.slots), seed)
    share = float(calibrated[links.is_candidate].mean().clamp(1e-4, 0.5))
    lowered = replace(
        posterior,
        links=replace(links, probability=calibrated, mean=links.mean * kept, square=links.square * kept),
        prior=replace(posterior.prior, share=share),
        draws=thinned,
        diagnostics=(*posterior.diagnostics, *diagnostics),
    )
    return lowered, comparison


def _add_decoys(
    links: Links, data: ChainData, dynamics: Dynamics, seed: int
) -> tuple[Links, ChainData, tuple[int, int]]:
    """Append decoys to the candidates, and say how many columns each kind has.

    Co-members in reversed time or in another order are agents of their own, after all others.
    """
    agents, width = links.source.shape
    generator = torch.Generator().manual_seed(seed)
    reversed_met, is_met = _draw_met(links, generator)
    others, is_other = _draw_unmet(links, generator)
    altered = [_reversed(data.states)]
    variance = [_reversed(data.variance)]
    if int(is_other.sum()) < FEWEST_DECOYS:
        others, is_other = _draw_met(links, generator)
        others = others + 2 * agents
        altered.append(_reordered(data.states, dynamics, generator))
        variance.append(data.variance)
    source = torch.cat([links.source, reversed_met + agents, others], 1)
    # All start from no link: a candidate that is in already would keep a decoy like it out.
    nothing = links.mean.new_zeros(source.shape)
    square = torch.cat([links.square, nothing[:, width:]], 1)
    extended = Links(source, torch.cat([links.is_candidate, is_met, is_other], 1), nothing, nothing, square)
    states = torch.cat([data.states, *altered], 1)
    with_decoys = replace(data, states=states, variance=torch.cat([data.variance, *variance], 1))
    return extended, with_decoys, (reversed_met.shape[1], others.shape[1])


def _draw_met(links: Links, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random candidates of every target; False where it has fewer."""
    chance = torch.rand(links.source.shape, generator=generator).to(links.mean)
    chance = torch.where(links.is_candidate, chance, -1.0)
    drawn = chance.topk(min(DECOYS, links.source.shape[1]), 1)
    return links.source.gather(1, drawn.indices), drawn.values >= 0


def _reordered(
    states: Float[Tensor, "time agent axis"], dynamics: Dynamics, generator: torch.Generator
) -> Float[Tensor, "time agent axis"]:
    """Paths of the same agents with their innovations in another order."""
    inertia = dynamics.inertia.unsqueeze(1)
    innovation = states[1:] - inertia * states[:-1]
    chance = torch.rand(innovation.shape[:2], generator=generator).to(states.device)
    order = chance.argsort(0).unsqueeze(-1).expand_as(innovation)
    path = [states[0]]
    for step in innovation.gather(0, order):
        path.append(inertia * path[-1] + step)
    return torch.stack(path)


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
    raw: Float[Tensor, "agent candidate"], candidates: Float[Tensor, " other"], decoys: Float[Tensor, " decoy"]
) -> Float[Tensor, "agent candidate"]:
    """Share of links at every raw probability, increasing in it.

    Args:
        raw: probabilities to calibrate.
        candidates: those of all candidates, judged together with the decoys.
        decoys: those of the decoys.
    """
    edges = torch.linspace(-LARGEST_ODDS, LARGEST_ODDS, NUM_BINS, dtype=torch.float64, device=raw.device)
    candidate_count = torch.bincount(_nearest(edges, candidates), minlength=NUM_BINS).double()
    decoy_count = torch.bincount(_nearest(edges, decoys), minlength=NUM_BINS).double()
    slope, offset = torch.meshgrid(SLOPES.to(edges), OFFSETS.to(edges), indexing="ij")
    log_odds = offset.reshape(-1, 1) + slope.reshape(-1, 1) * edges
    # The last row: no link at all, as probable as all others together.
    log_odds = torch.cat([log_odds, torch.full_like(edges, -torch.inf).unsqueeze(0)])
    log_prior = torch.zeros(len(log_odds)).to(edges)
    log_prior[-1] = math.log(len(log_odds) - 1)
    share = torch.sigmoid(log_odds)
    mean_share = (share @ candidate_count / candidate_count.sum()).unsqueeze(1)
    log_ratio = torch.nn.functional.logsigmoid(-log_odds) - torch.log1p(-mean_share)
    decoy_odds = log_ratio + math.log(len(decoys) / len(candidates))
    is_decoy = torch.nn.functional.logsigmoid(decoy_odds) @ decoy_count
    is_candidate = torch.nn.functional.logsigmoid(-decoy_odds) @ candidate_count
    weight = torch.softmax(is_decoy + is_candidate + log_prior, 0)
    x = _log_odds(raw)
    mapped = torch.zeros_like(raw)
    for one, s, t in zip(weight[:-1], slope.flatten(), offset.flatten(), strict=True):
        mapped = mapped + one * torch.sigmoid(t + s * x)
    return mapped


def _log_odds(probability: Tensor) -> Tensor:
    return torch.logit(probability.clamp(1e-12, 1 - 1e-12))


def _nearest(edges: Tensor, probability: Tensor) -> Tensor:
    width = edges[1] - edges[0]
    x = _log_odds(probability).clamp(-LARGEST_ODDS, LARGEST_ODDS)
    return ((x - edges[0]) / width).round().long()


def _thin(
    draws: Float[Tensor, "sample agent parent"], kept: Float[Tensor, "agent parent"], seed: int
) -> Float[Tensor, "sample agent parent"]:
    """Drop links of sampled structures so that each remains as often as its calibrated probability says."""
    if not len(draws):
        return draws
    generator = torch.Generator().manual_seed(seed + 1)
    chance = torch.rand(draws.shape, generator=generator).to(draws)
    return torch.where(chance < kept.to(draws), draws, 0.0)
