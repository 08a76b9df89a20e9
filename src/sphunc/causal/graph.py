"""The answer to "who influences whom": a frozen value that prints, ranks, samples and explains itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
import torch
from torch import Tensor

from sphunc._typing import Float, Whole
from sphunc.causal.columns import id_column
from sphunc.causal.counts import seed_number, whole_number
from sphunc.causal.sampling import Structures, sample_gates
from sphunc.causal.verdict import verdict
from sphunc.errors import ArgumentError

if TYPE_CHECKING:
    import networkx

ASSUMPTIONS = (
    "Granger identification: a link means that the source's past helps to predict the target beyond the target's own "
    "past, its persistent bias and its group's pull. It is causal only if no hidden cause that varies in time drives "
    "both, nothing acts within one time step, and sampling is as fast as the influence. High confidence does not "
    "protect against a hidden confounder."
)


@dataclass(frozen=True, eq=False, repr=False)
class InfluenceGraph:
    """Posterior over directed, lagged influence links.

    Attributes:
        links: ``[2, K]`` candidate links, row 0 source, row 1 target, sorted by target then source.
        probability: ``[K]`` that the link exists; calibrated when ``calibrated`` is True.
        raw_probability: ``[K]`` as the enumeration gives it.
        strength: ``[K]`` signed coefficient, given that the link exists.
        deviation: ``[K]`` its posterior standard deviation.
        lag: ``[K]`` most probable lag.
        most_probable: ``[K]`` True where the link belongs to its target's most probable parent set.
        entropy: ``[N]`` of the parent-set posterior, in nats.
        prior_entropy: ``[N]`` of the prior over parent sets.
        best_mass: ``[N]`` probability of the most probable parent set.
        agents: the user's ids, or 0 ... N-1.
        calibrated: whether probabilities were mapped to frequencies by simulating from the fit.
        fit: what was estimated or chosen on the way (lags, phi, tau, effective dimension, ...).
        diagnostics: checks of this result, by name; empty on the fast path.
        notes: what a reader must know about particular agents (constant, duplicate, without candidates).
    """

    links: Tensor
    probability: Tensor
    raw_probability: Tensor
    strength: Tensor
    deviation: Tensor
    lag: Tensor
    most_probable: Tensor
    entropy: Tensor
    prior_entropy: Tensor
    best_mass: Tensor
    agents: tuple[Hashable, ...]
    draws: Tensor = field(repr=False)
    bits: Tensor = field(repr=False)
    calibrated: bool = False
    fit: Mapping[str, float | int] = field(default_factory=dict)
    diagnostics: Mapping[str, float | int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def num_agents(self) -> int:
        """N."""
        return len(self.agents)

    @property
    def gates(self) -> Float[Tensor, " link"]:
        """Soft gate per link: probability times signed strength, the posterior mean of the coefficient."""
        return self.probability * self.strength

    @property
    def agent_confidence(self) -> Float[Tensor, " agent"]:
        """Identification confidence 1 - H / H_prior per agent, 0 where nothing could be identified."""
        known = self.prior_entropy > 0
        ratio = self.entropy / torch.where(known, self.prior_entropy, torch.ones_like(self.entropy))
        return torch.where(known, (1 - ratio).clamp(0, 1), torch.zeros_like(ratio))

    @property
    def link_confidence(self) -> Float[Tensor, " link"]:
        """1 - h(p) / log 2 per link: 1 when it is decided, 0 at probability one half."""
        p = self.probability
        return 1 - (torch.special.entr(p) + torch.special.entr(1 - p)) / torch.log(p.new_tensor(2.0))

    @property
    def confidence(self) -> float:
        """Identification confidence of the whole: 1 - sum H / sum H_prior."""
        total = float(self.prior_entropy.sum())
        return max(0.0, min(1.0, 1 - float(self.entropy.sum()) / total)) if total > 0 else 0.0

    @property
    def assumptions(self) -> str:
        """What has to hold for the links to be causal."""
        return ASSUMPTIONS

    @property
    def verdict(self) -> str:
        """One line a user can act on."""
        found = float(self.probability[self.probability > 0.5].sum())
        return verdict(found, self.diagnostics, self.calibrated)

    def parents(self, agent: Hashable) -> list[tuple[Hashable, float, float]]:
        """Most probable parents of an agent: (id, probability, strength), the most probable first."""
        mine = ((self.links[1] == self._index(agent)) & self.most_probable).nonzero().flatten()
        mine = mine[torch.argsort(self.probability[mine], descending=True)]
        return [(self.agents[int(self.links[0, k])], float(self.probability[k]), float(self.strength[k])) for k in mine]

    def top(self, count: Whole = 10) -> pl.DataFrame:
        """The ``count`` most probable links; ties go to the stronger one."""
        return self.to_frame().head(whole_number("count", count, least=1))

    def to_frame(self) -> pl.DataFrame:
        """All candidate links, most probable first: source, target, probability, strength, lag."""
        order, ids = self._order(), id_column(self.agents)
        source, target = self.links[:, order].tolist()
        return pl.DataFrame(
            {
                "source": [ids[k] for k in source],
                "target": [ids[k] for k in target],
                "probability": self.probability[order].tolist(),
                "strength": self.strength[order].tolist(),
                "lag": self.lag[order].tolist(),
            }
        )

    def agents_to_frame(self) -> pl.DataFrame:
        """One row per agent: candidates, expected parents, entropy, confidence, probability of the best set."""
        expected = torch.zeros_like(self.entropy).index_add_(0, self.links[1], self.probability)
        return pl.DataFrame(
            {
                "agent": id_column(self.agents),
                "candidates": torch.bincount(self.links[1], minlength=self.num_agents).tolist(),
                "expected_parents": expected.tolist(),
                "entropy": self.entropy.tolist(),
                "confidence": self.agent_confidence.tolist(),
                "best_set_probability": self.best_mass.tolist(),
            }
        )

    def to_networkx(self, threshold: float = 0.5) -> networkx.DiGraph:
        """Directed graph of the links at or above ``threshold``; every agent is a node."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.agents)
        for k in (self.probability >= threshold).nonzero().flatten().tolist():
            source, target = (self.agents[int(a)] for a in self.links[:, k])
            graph.add_edge(
                source,
                target,
                probability=float(self.probability[k]),
                strength=float(self.strength[k]),
                lag=int(self.lag[k]),
            )
        return graph

    def sample(self, count: Whole, seed: Whole = 0, *, vary_strength: bool = False) -> Structures:
        """Draw ``count`` structures, stratified: each target's sets come from evenly spaced posterior quantiles.

        Args:
            count: number of structures S.
            seed: of the generator.
            vary_strength: draw coefficients from their posterior too, in place of their means.
        """
        count = whole_number("count", count, least=1)
        generator = torch.Generator().manual_seed(seed_number(seed))
        marginals = self.raw_probability, self.probability
        gates, strata = sample_gates(self.links[1], self.draws, self.bits, *marginals, count, generator)
        strength = self.strength.expand(count, -1)
        if vary_strength:
            noise = torch.randn(gates.shape, generator=generator, dtype=torch.double).to(strength)
            strength = strength + noise * self.deviation
        return Structures(gates, torch.where(gates, strength, torch.zeros_like(strength)), strata)

    def __repr__(self) -> str:
        return (
            f"InfluenceGraph({self.num_agents} agents, {self.links.shape[1]} candidate links, "
            f"{int((self.probability > 0.5).sum())} above 0.5, confidence {self.confidence:.2f}; {self.verdict})"
        )

    def _order(self) -> Tensor:
        strength = torch.argsort(self.strength.abs(), descending=True, stable=True)
        return strength[torch.argsort(self.probability[strength], descending=True, stable=True)]

    def _index(self, agent: Hashable) -> int:
        try:
            return self.agents.index(agent)
        except ValueError:
            known: Any = ", ".join(map(str, self.agents[:3]))
            raise ArgumentError(f"unknown agent {agent!r}; the {self.num_agents} known ones begin {known}") from None
