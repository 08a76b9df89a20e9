"""The answer to "who influences whom": a frozen value that prints, ranks, samples and explains itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
import torch
from torch import Tensor

from sphunc._checks import seed_number, whole_number
from sphunc._typing import Bool, Float, Int, Whole
from sphunc.discovery.confidence import binary_entropy, identification_confidence
from sphunc.discovery.verdict import Check, check_rows, verdict
from sphunc.errors import ArgumentError
from sphunc.forecasting import id_column

if TYPE_CHECKING:
    import networkx

ASSUMPTIONS = (
    "Granger identification: a link means that the source's past helps to predict the target beyond the target's own "
    "past, its persistent level and the mean of its groups. It is causal only if no hidden cause that varies in time "
    "drives both, nothing acts within one time step, and sampling is as fast as the influence. High confidence does "
    "not protect against a hidden confounder."
)
MARGIN = 0.05
"""How far above the prior the probability of a link has to be for :meth:`InfluenceGraph.top` to show it."""
SHOWN = 0.5
"""Links above this probability are counted as found."""


@dataclass(frozen=True, eq=False)
class Structures:
    """Influence structures drawn from the posterior.

    Attributes:
        exists: ``[S, K]`` True where the candidate link exists.
        strengths: ``[S, K]`` signed coefficient, 0 where the link does not exist.
        strata: ``[S, N]`` which part of each agent's posterior over parent sets the structure comes from.
    """

    exists: Bool[Tensor, "sample link"]
    strengths: Float[Tensor, "sample link"]
    strata: Int[Tensor, "sample agent"]


@dataclass(frozen=True, eq=False, repr=False)
class InfluenceGraph:
    """Posterior over directed, lagged influence links.

    Only the first five are needed; what is left out is derived from the link probabilities as if links were
    independent.

    Attributes:
        links: ``[2, K]`` candidate links, row 0 source, row 1 target.
        agents: the user's ids, N of them.
        probability: ``[K]`` that the link exists.
        strength: ``[K]`` signed coefficient beta, given that the link exists.
        deviation: ``[K]`` its posterior standard deviation.
        lag: ``[K]`` most probable lag, in times; 1 everywhere when None.
        prior: ``[K]`` probability of each link before the data; a half where None.
        set_entropy: ``[N]`` entropy of the posterior over parent sets, in nats; None adds those of the links.
        structure_draws: ``[R, K]`` structures drawn from the posterior (by a Gibbs sampler, or at even quantiles);
            None draws links independently.
        calibrated: whether probabilities were compared with what is found where no influence can be.
        fit: what was estimated on the way (lags, share of links, size of effects, effective dimension, ...).
        diagnostics: checks of this result, by name; empty where none was run.
        notes: what a reader must know about particular agents (constant, duplicated, without candidates).
    """

    links: Tensor
    agents: tuple[Hashable, ...]
    probability: Tensor
    strength: Tensor
    deviation: Tensor
    lag: Tensor = field(default=None)  # pyright: ignore[reportAssignmentType]
    prior: Tensor = field(default=None)  # pyright: ignore[reportAssignmentType]
    set_entropy: Tensor | None = None
    structure_draws: Tensor | None = None
    calibrated: bool = False
    fit: Mapping[str, float | int] = field(default_factory=dict)
    diagnostics: Mapping[str, float | int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        count = self.probability.shape[0]
        if tuple(self.links.shape) != (2, count):
            raise ArgumentError(
                f"links has shape {tuple(self.links.shape)}; {count} probabilities ask for [2, {count}]"
            )
        object.__setattr__(self, "agents", tuple(self.agents))
        if self.lag is None:
            object.__setattr__(self, "lag", torch.ones_like(self.links[0]))
        if self.prior is None:
            object.__setattr__(self, "prior", torch.full_like(self.probability, 0.5))

    @property
    def num_agents(self) -> int:
        """N."""
        return len(self.agents)

    @property
    def coefficient(self) -> Float[Tensor, " link"]:
        """Posterior mean of the coefficient, link or not: probability times strength."""
        return self.probability * self.strength

    @property
    def entropy(self) -> Float[Tensor, " agent"]:
        """Entropy of the posterior over each agent's parent sets, in nats."""
        independent = self._sum_by_target(binary_entropy(self.probability))
        if self.set_entropy is None:
            return independent
        return torch.minimum(self.set_entropy, independent)

    @property
    def prior_entropy(self) -> Float[Tensor, " agent"]:
        """Entropy of the prior over each agent's parent sets, in nats."""
        return self._sum_by_target(binary_entropy(self.prior))

    @property
    def agent_confidence(self) -> Float[Tensor, " agent"]:
        """Identification confidence 1 - H / H_prior per agent, 0 where nothing could be identified."""
        return identification_confidence(self.entropy, self.prior_entropy)

    @property
    def link_confidence(self) -> Float[Tensor, " link"]:
        """1 - h(p) / log 2 per link: 1 where it is decided, 0 at probability one half."""
        return 1 - binary_entropy(self.probability) / torch.log(self.probability.new_tensor(2.0))

    @property
    def confidence(self) -> float:
        """Identification confidence of the whole: 1 - sum H / sum H_prior; 0 without candidates."""
        return float(identification_confidence(self.entropy.sum(), self.prior_entropy.sum()))

    @property
    def assumptions(self) -> str:
        """What has to hold for the links to be causal."""
        return ASSUMPTIONS

    @property
    def verdict(self) -> str:
        """One line a user can act on."""
        if not self.probability.numel():
            return "no candidate links: nothing can be said about influence (see notes)"
        return verdict(self._found, self.fit, self.diagnostics)

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every check that was run: its value, what to compare it with, and how to read it."""
        return tuple(check_rows(self._found, self.diagnostics))

    def checks_to_frame(self) -> pl.DataFrame:
        """One row per check: name, value, reference, reading."""
        columns: dict[str, list[object]] = {
            "check": [check.name for check in self.checks],
            "value": [check.value for check in self.checks],
            "reference": [check.reference for check in self.checks],
            "reading": [check.reading for check in self.checks],
        }
        types = {"check": pl.String, "value": pl.Float64, "reference": pl.Float64, "reading": pl.String}
        return pl.DataFrame(columns, schema=types)

    def is_informative(self) -> Bool[Tensor, " link"]:
        """True for links about which the data say more than the prior: probability above it by ``MARGIN``."""
        return self.probability > self.prior + MARGIN

    def parents(self, agent: Hashable) -> list[tuple[Hashable, float, float]]:
        """Parents of an agent above one half: (id, probability, strength), the most probable first.

        Args:
            agent: id of the target.
        """
        into_agent = self.links[1] == self._index(agent)
        found = (into_agent & (self.probability > SHOWN)).nonzero().flatten()
        found = found[torch.argsort(self.probability[found], descending=True, stable=True)]
        return [
            (self.agents[int(self.links[0, k])], float(self.probability[k]), float(self.strength[k])) for k in found
        ]

    def top(self, count: Whole = 10) -> pl.DataFrame:
        """The most probable links, at most ``count``; ties go to the stronger one.

        Links whose probability is not above their prior by 0.05 are left out: the data say nothing about them.

        Args:
            count: most rows to return.
        """
        most = whole_number("count", count, least=1)
        order = self._order()
        return self._frame(order[self.is_informative()[order]][:most])

    def to_frame(self) -> pl.DataFrame:
        """All candidate links, most probable first: source, target, probability, strength, lag."""
        return self._frame(self._order())

    def agents_to_frame(self) -> pl.DataFrame:
        """One row per agent: candidates, expected parents, entropy, confidence."""
        return pl.DataFrame(
            {
                "agent": id_column(self.agents),
                "candidates": torch.bincount(self.links[1], minlength=self.num_agents).tolist(),
                "expected_parents": self._sum_by_target(self.probability).tolist(),
                "entropy": self.entropy.tolist(),
                "confidence": self.agent_confidence.tolist(),
            }
        )

    def to_networkx(self, threshold: float = SHOWN) -> networkx.DiGraph:
        """Directed graph of the links at or above ``threshold``; every agent is a node.

        Args:
            threshold: least probability of a link.
        """
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.agents)
        for k in (self.probability >= threshold).nonzero().flatten().tolist():
            source = self.agents[int(self.links[0, k])]
            target = self.agents[int(self.links[1, k])]
            graph.add_edge(
                source,
                target,
                probability=float(self.probability[k]),
                strength=float(self.strength[k]),
                lag=int(self.lag[k]),
            )
        return graph

    def sample(self, count: Whole, seed: Whole = 0, *, vary_strength: bool = False) -> Structures:
        """Draw structures, stratified: every link exists in ``count`` times its probability of them, within one.

        Args:
            count: number of structures S.
            seed: of the generator.
            vary_strength: draw coefficients from their posterior too, in place of their means.
        """
        number = whole_number("count", count, least=1)
        generator = torch.Generator().manual_seed(seed_number(seed))
        if self.structure_draws is None:
            exists, strata = self._independent(number, generator)
        else:
            exists, strata = self._from_draws(self.structure_draws, number, generator)
        strength = self.strength.expand(number, -1)
        if vary_strength:
            noise = torch.randn(exists.shape, generator=generator, dtype=torch.double).to(strength)
            strength = strength + noise * self.deviation
        return Structures(exists, torch.where(exists, strength, torch.zeros_like(strength)), strata)

    def __repr__(self) -> str:
        return (
            f"InfluenceGraph({self.num_agents} agents, {self.links.shape[1]} candidate links, "
            f"{int((self.probability > SHOWN).sum())} above {SHOWN}, confidence {self.confidence:.2f}; {self.verdict})"
        )

    def _independent(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        uniform, strata = stratified_uniform(count, self.links.shape[1], generator)
        exists = uniform.to(self.probability) < self.probability
        per_agent = torch.zeros(count, self.num_agents, dtype=torch.long, device=exists.device)
        return exists, per_agent.index_copy_(1, self.links[1].long(), strata.to(exists.device))

    def _from_draws(self, draws: Tensor, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Take stored draws at even positions, per target, then move their frequencies to ``probability``."""
        stored = draws.shape[0]
        position, _ = stratified_uniform(count, self.num_agents, generator)
        row = (position * stored).long().clamp(max=stored - 1).to(draws.device)
        drawn = torch.gather(draws.bool(), 0, row[:, self.links[1].long()])
        frequency = draws.to(self.probability).mean(0)
        tiny = torch.finfo(frequency.dtype).tiny
        keep = (self.probability / frequency.clamp(min=tiny)).clamp(max=1)
        add = ((self.probability - frequency) / (1 - frequency).clamp(min=tiny)).clamp(0, 1)
        uniform, _ = stratified_uniform(count, self.links.shape[1], generator)
        uniform = uniform.to(self.probability)
        return torch.where(drawn, uniform < keep, uniform < add), row

    @property
    def _found(self) -> float:
        """Expected number of true links among those above one half."""
        return float(self.probability[self.probability > SHOWN].sum())

    def _sum_by_target(self, values: Tensor) -> Tensor:
        return values.new_zeros(self.num_agents).index_add_(0, self.links[1].long(), values)

    def _order(self) -> Tensor:
        by_strength = torch.argsort(self.strength.abs(), descending=True, stable=True)
        return by_strength[torch.argsort(self.probability[by_strength], descending=True, stable=True)]

    def _frame(self, rows: Tensor) -> pl.DataFrame:
        ids = pl.Series(id_column(self.agents))
        return pl.DataFrame(
            {
                "source": ids.gather(self.links[0, rows].tolist()),
                "target": ids.gather(self.links[1, rows].tolist()),
                "probability": pl.Series(self.probability[rows].tolist(), dtype=pl.Float64),
                "strength": pl.Series(self.strength[rows].tolist(), dtype=pl.Float64),
                "lag": pl.Series(self.lag[rows].tolist(), dtype=pl.Int64),
            }
        )

    def _index(self, agent: Hashable) -> int:
        if agent not in self.agents:
            known = ", ".join(map(str, self.agents[:3]))
            raise ArgumentError(f"unknown agent {agent!r}; the {self.num_agents} known ones begin {known}")
        return self.agents.index(agent)


def stratified_uniform(
    count: int, columns: int, generator: torch.Generator
) -> tuple[Float[Tensor, "sample column"], Int[Tensor, "sample column"]]:
    """Uniform numbers with one in each of ``count`` equal strata per column, in random order, and their strata.

    Args:
        count: number of strata, S.
        columns: independent columns.
        generator: source of randomness.
    """
    strata = torch.argsort(torch.rand(count, columns, generator=generator), 0)
    offset = torch.rand(1, columns, generator=generator, dtype=torch.double)
    return (strata + offset) / count, strata
