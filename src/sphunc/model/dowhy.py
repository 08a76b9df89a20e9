"""Questions and answers in the words of ``dowhy.gcm``: states of agents by name, differences, draws of outcomes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import torch
from torch import Tensor

from sphunc.causal.design import Layout
from sphunc.causal.effects import Effect
from sphunc.causal.interventions import Do, Intervention, Plan, flatten, is_name, plain_scalar
from sphunc.causal.monte_carlo import variance_of_mean
from sphunc.errors import ArgumentTypeError


@dataclass(frozen=True, eq=False)
class Contrast:
    """Difference between two interventions in one agent's outcome, under the same noise and structures.

    Attributes:
        target: the agent.
        names: of the classes, or ``mean_<name>`` of the numbers.
        difference: alternative less reference, probabilities or means ``[C]``.
        error: Monte Carlo standard error ``[C]``.
    """

    target: Hashable
    names: tuple[str, ...]
    difference: Tensor
    error: Tensor

    def to_dict(self) -> dict[str, float]:
        """Return the difference by name."""
        return dict(zip(self.names, self.difference.tolist(), strict=True))


def contrast(alternative: Effect, reference: Effect, target: Hashable, order: Tensor | None = None) -> Contrast:
    """Compare two effects that share data, seed and amounts, in one agent's outcome at their target.

    Args:
        alternative: one effect.
        reference: the other one, which is subtracted.
        target: the agent.
        order: structures by stratum, for every agent; None if they were not stratified.
    """
    i = alternative.agents.index(target)
    structures = int(alternative.structure_id.max()) + 1
    gap = alternative.samples[:, i] - reference.samples[:, i]
    lined = None if order is None else order[:, i : i + 1].expand(-1, gap.shape[-1])
    error = variance_of_mean(gap, Layout.of(structures, len(gap) // structures), lined).sqrt()
    return Contrast(target, alternative.columns, alternative.outcomes[-1, i] - reference.outcomes[-1, i], error)


def draw_outcomes(effect: Effect, count: int | None = None) -> pl.DataFrame:
    """Draw ``count`` outcomes of every agent at the target, one per sample by default, from the samples' laws.

    Several numbers per agent have a column each, ``<agent> <name of the number>``.
    """
    generator = torch.Generator().manual_seed(effect.seed)
    S, N, C = effect.samples.shape
    count = S if count is None else count
    # Evenly over structures, of which every one has the same number of samples.
    samples = effect.samples[torch.arange(count) * S // count]
    agents = [str(agent) for agent in effect.agents]
    if effect.numeric:
        ends = [f" {name}" for name in effect.labels] if C > 1 else [""]
        noise = (effect.variance - effect.samples.var(0, correction=0)).clamp(min=0.0).sqrt()
        drawn = samples + noise * torch.randn(samples.shape, generator=generator)
        names = [agent + end for agent in agents for end in ends]
        return pl.DataFrame(dict(zip(names, drawn.flatten(1).mT.tolist(), strict=True)))
    drawn = torch.multinomial(samples.reshape(-1, C), 1, generator=generator).view(count, N)
    names = effect.class_names
    return pl.DataFrame({agent: [names[c] for c in drawn[:, i].tolist()] for i, agent in enumerate(agents)})


def as_interventions(given: Any, classes: tuple[str, ...]) -> tuple[Intervention, ...]:
    """Return interventions as they are, or :class:`Do` for every entry of a mapping from agents to states."""
    if isinstance(given, Mapping):
        return tuple(_as_do(agent, value, classes) for agent, value in given.items())
    if isinstance(given, str | bytes) or not isinstance(given, Iterable | Intervention):
        raise ArgumentTypeError(
            f"interventions must be a mapping from agents to states, or interventions; got {type(given).__name__}; "
            "write {agent: class} or [Do(agent, toward=class)], and () for none"
        )
    return flatten([given] if isinstance(given, Intervention | Plan) else given)


def _as_do(agent: Hashable, value: Any, classes: tuple[str, ...]) -> Do:
    value = plain_scalar(value)
    if isinstance(value, str) and value in classes:
        return Do(agent, toward=value)
    return Do(agent, observed=value) if is_name(value) and not isinstance(value, tuple) else Do(agent, value)
