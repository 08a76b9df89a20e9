"""Questions and answers in the words of ``dowhy.gcm``: states of agents by name, differences, draws of outcomes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import torch
from torch import Tensor

from sphunc.causal.action import class_like, some_names
from sphunc.causal.columns import id_column
from sphunc.causal.design import Layout
from sphunc.causal.effects import Effect
from sphunc.causal.interventions import Do, Intervention, Plan, flatten, is_name, plain_scalar
from sphunc.causal.monte_carlo import variance_of_mean
from sphunc.errors import ArgumentError, ArgumentTypeError, SphuncError
from sphunc.hypergraph import TemporalHypergraph


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
    values = gap.double() if alternative.numeric else gap  # squares of small numbers do not fit single precision
    unit = float(alternative.samples[:, i].abs().max()) if alternative.numeric else 1.0
    layout = Layout.of(structures, len(gap) // structures)
    error = variance_of_mean(values, layout, lined, unit).sqrt().to(gap.dtype)
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
    agents = [str(agent) for agent in id_column(effect.agents)]
    if effect.numeric:
        ends = [f" {name}" for name in effect.labels] if C > 1 else [""]
        noise = (effect.variance - effect.samples.double().var(0, correction=0)).clamp(min=0.0).sqrt()
        drawn = samples + noise * torch.randn(samples.shape, generator=generator)
        names = [agent + end for agent in agents for end in ends]
        return pl.DataFrame(dict(zip(names, drawn.flatten(1).mT.tolist(), strict=True)))
    drawn = torch.multinomial(samples.reshape(-1, C), 1, generator=generator).view(count, N)
    names = effect.class_names
    return pl.DataFrame({agent: [names[c] for c in drawn[:, i].tolist()] for i, agent in enumerate(agents)})


def as_interventions(given: Any, classes: tuple[str, ...], data: TemporalHypergraph) -> tuple[Intervention, ...]:
    """Return interventions as they are, or :class:`Do` for every entry of a mapping from agents to states.

    Args:
        given: one or the other; a text that is the name of a class means the class.
        classes: their names.
        data: with the agents and times that a value may name.
    """
    if isinstance(given, Mapping):
        return tuple(_as_do(agent, value, classes, data) for agent, value in given.items())
    if isinstance(given, str | bytes) or not isinstance(given, Iterable | Intervention):
        raise ArgumentTypeError(
            f"interventions must be a mapping from agents to states, or interventions; got {type(given).__name__}; "
            "write {agent: class} or [Do(agent, toward=class)], and () for none"
        )
    return flatten([given] if isinstance(given, Intervention | Plan) else given)


def with_samples(asked: str, options: Mapping[str, Any], count: Any) -> dict[str, Any]:
    """Options with the number of samples, after what has another name in dowhy is refused."""
    names = {"samples": "num_samples_to_draw", "data": "observed_data"}
    for name in names.keys() & options.keys():
        raise ArgumentTypeError(f"{asked} takes {names[name]}= where intervene takes {name}=; write {names[name]}=")
    return {**options, "samples": count}


def _as_do(agent: Hashable, value: Any, classes: tuple[str, ...], data: TemporalHypergraph) -> Do:
    value = plain_scalar(value)
    if isinstance(value, str) and value in classes:
        return Do(agent, toward=value)
    if value is None or isinstance(value, bool):
        raise ArgumentTypeError(f"interventions set {agent!r} to {value!r}; give {_allowed(classes)}")
    if not is_name(value) or isinstance(value, tuple):
        return Do(agent, value)
    for known, kind in ((data.node_ids, "agent"), (data.times, "time")):
        if (text := class_like(value, known, classes)) is not None:
            raise ArgumentError(
                f"{{{agent!r}: {value!r}}} may mean the {kind} {value!r} or the class {text!r}; write the text "
                f"{{{agent!r}: {text!r}}} for the class, or [Do({agent!r}, observed={value!r})] for the {kind}"
            )
    if value not in data.node_ids and value not in data.times:
        raise _unknown(agent, value, classes, data)
    return Do(agent, observed=value)


def _unknown(agent: Hashable, value: Any, classes: tuple[str, ...], data: TemporalHypergraph) -> SphuncError:
    if callable(value):
        return ArgumentTypeError(
            f"interventions set {agent!r} to a function, which is not taken there; give {_allowed(classes)}, or let a "
            "function decide with [Policy(function)], function(step, states) -> {agent: unit vector}"
        )
    hint = f"; the class is the text {str(value)!r}" if str(value) in classes else ""
    return ArgumentError(
        f"interventions set {agent!r} to {value!r}, which is no agent ({some_names(data.node_ids)}), no time "
        f"({some_names(data.times)}) and no class ({some_names(classes) or 'there are none'}); "
        f"give {_allowed(classes)}{hint}"
    )


def _allowed(classes: tuple[str, ...]) -> str:
    return f"{'the name of a class, ' if classes else ''}an agent, a time or a unit vector"
