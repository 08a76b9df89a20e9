"""Questions in the words of ``dowhy.gcm``: states of agents by name, differences, drawn outcomes.

Every function takes ``ask``, which simulates interventions and returns an
:class:`~sphunc.interventions.Effect`; calls of one ``ask`` share data, seed and sizes, so that two
answers differ by their interventions alone. Reference: Bloebaum, Goetz, Budhathoki, Mastakouri and
Janzing, DoWhy-GCM, JMLR 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import torch

from sphunc._checks import did_you_mean, is_name, plain_scalar, some_names
from sphunc._typing import Float, Tensor
from sphunc.errors import ArgumentError, ArgumentTypeError, SphuncError
from sphunc.forecasting import id_column
from sphunc.interventions.effects import Effect
from sphunc.interventions.estimation import FEWEST_FOR_ERROR
from sphunc.interventions.resolve import EntityIndex, class_that_reads_like
from sphunc.interventions.values import Do, Intervention, Plan, Shift, flatten

Ask = Callable[[Plan], Effect]
ANGLES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
DOWHY_NAMES = {"samples": "num_samples_to_draw", "data": "observed_data"}


@dataclass(frozen=True, eq=False)
class Contrast:
    """Difference between two interventions in one agent's outcome, under the same noise.

    Attributes:
        target: the agent.
        names: of the classes, or ``mean_<name>`` of the numbers.
        difference: alternative less reference, probabilities or means ``[C]``.
        monte_carlo_error: its standard error; NaN below four structures ``[C]``.
    """

    target: Hashable
    names: tuple[str, ...]
    difference: Float[Tensor, " output"]
    monte_carlo_error: Float[Tensor, " output"]

    def to_dict(self) -> dict[str, float]:
        """Return the difference by name."""
        return dict(zip(self.names, self.difference.tolist(), strict=True))


def effect(
    ask: Ask,
    target_node: Hashable,
    interventions_alternative: object,
    interventions_reference: object,
    entities: EntityIndex,
) -> Contrast:
    """Compare two interventions in one agent's outcome, under the same noise and structures.

    Args:
        ask: simulates interventions.
        target_node: the agent.
        interventions_alternative: interventions, or a mapping from agents to states.
        interventions_reference: the same; ``()`` for none.
        entities: what may be named.
    """
    if not is_name(target_node) or target_node not in entities.agents:
        raise ArgumentError(
            f"target_node {target_node!r} is not in the data; it has {len(entities.agents)} agents"
            f"{did_you_mean(target_node, entities.agents)}"
        )
    plans = [Plan(as_interventions(given, entities)) for given in (interventions_alternative, interventions_reference)]
    alternative = ask(plans[0])
    reference = ask(plans[1])
    return contrast(alternative, reference, target_node)


def contrast(alternative: Effect, reference: Effect, target: Hashable) -> Contrast:
    """Compare two effects that share data, seed and sizes, in one agent's outcome at the target.

    Args:
        alternative: one effect.
        reference: the other one, which is subtracted.
        target: the agent.
    """
    row = alternative.index(target)
    gap = alternative.samples[:, row].double() - reference.samples[:, row].double()
    structure = alternative.structure_id
    count = torch.bincount(structure).double()
    means = torch.zeros(len(count), gap.shape[-1], dtype=torch.double).index_add_(0, structure, gap)
    means = means / count.unsqueeze(-1)
    error = torch.full_like(means[0], torch.nan)
    if len(count) >= FEWEST_FOR_ERROR:
        error = means.std(0) / len(count) ** 0.5
    difference = alternative.outcomes[-1, row] - reference.outcomes[-1, row]
    return Contrast(target, alternative.columns, difference, error.to(difference.dtype))


def average_causal_effect(
    ask: Ask,
    target_node: Hashable,
    interventions_alternative: object,
    interventions_reference: object,
    entities: EntityIndex,
) -> dict[str, float]:
    """Return the difference of :func:`effect` by class, or by ``mean_<name>``; same arguments."""
    found = effect(ask, target_node, interventions_alternative, interventions_reference, entities)
    return found.to_dict()


def interventional_samples(
    ask: Ask, interventions: object, entities: EntityIndex, count: int | None = None
) -> pl.DataFrame:
    """Draw outcomes at the target after interventions, one row per sample, one column per agent.

    Several numbers per agent have a column each, ``<agent> <name of the number>``.

    Args:
        ask: simulates interventions.
        interventions: interventions, or a mapping from agents to states.
        entities: what may be named.
        count: of rows; as many as samples were simulated by default.
    """
    return draw_outcomes(ask(Plan(as_interventions(interventions, entities))), count)


def counterfactual_samples(
    ask: Ask,
    interventions: object,
    entities: EntityIndex,
    count: int | None = None,
    noise_data: None = None,
) -> pl.DataFrame:
    """Draw counterfactual outcomes at the target, as :func:`interventional_samples`.

    Args:
        ask: simulates counterfactuals: what was observed after the origin is abducted.
        interventions: interventions, or a mapping from agents to states.
        entities: what may be named.
        count: of rows; as many as samples were simulated by default.
        noise_data: has a place in dowhy only, and is refused: noise is abducted.
    """
    if noise_data is not None:
        raise ArgumentTypeError(
            f"counterfactual_samples takes no noise_data, got {type(noise_data).__name__}: noise is "
            "abducted from observed_data; leave it out"
        )
    return interventional_samples(ask, interventions, entities, count)


def sweep(
    ask: Ask,
    agent: Hashable,
    toward: object = None,
    angles: Any = ANGLES,
    *,
    observed: object = None,
) -> pl.DataFrame:
    """H_causal against the strength of an intervention: an agent is moved by each of the angles.

    Args:
        ask: simulates interventions.
        agent: id of the agent that is moved.
        toward: a class, an agent or a unit vector.
        angles: radians.
        observed: in place of ``toward``, an agent or a time as in :class:`~sphunc.Do`.

    Returns:
        One row per angle. Means over the other agents: entropy, within, identification, effect, and
        agent_error, the Monte Carlo standard error of one agent's entropy. own_entropy is that of
        the agent that is moved.
    """
    is_listed = isinstance(angles, Iterable) and not isinstance(angles, str | bytes | Mapping)
    if not is_listed or getattr(angles, "ndim", 1) != 1:
        raise ArgumentTypeError(f"angles={angles!r} must be several numbers; give a list, such as [0.5, 1.0]")
    # All are checked before the first is simulated.
    shifts = [Shift(agent, toward, angle, observed=observed) for angle in angles]
    if not shifts:
        raise ArgumentError("angles is empty; give radians from 0 to pi, such as [0.5, 1.0]")
    rows = [_sweep_row(shift.angle, ask(Plan((shift,)))) for shift in shifts]
    return pl.DataFrame(rows)


def _sweep_row(angle: float, found: Effect) -> dict[str, float]:
    others = ~found.intervened
    per_agent = {
        "entropy": found.entropy,
        "within": found.within,
        "identification": found.identification,
        "agent_error": found.standard_error,
        "effect": found.size,
    }
    row = {"angle": angle}
    for name, values in per_agent.items():
        row[name] = float(values[others].nanmean())
    row["own_entropy"] = float(found.entropy[found.intervened].mean())
    return row


def draw_outcomes(found: Effect, count: int | None = None) -> pl.DataFrame:
    """Draw outcomes of every agent at the target from the distributions of the samples.

    Args:
        found: with the samples; its seed is that of the draws.
        count: of rows, evenly over samples; one per sample by default.
    """
    generator = torch.Generator().manual_seed(found.seed)
    S, N, C = found.samples.shape
    if count is None:
        count = S
    samples = found.samples[torch.arange(count) * S // count]
    agents = [str(agent) for agent in id_column(found.agents)]
    if found.numeric:
        ends = [""]
        if C > 1:
            ends = [f" {name}" for name in found.labels]
        simulated = found.samples.double().var(0, correction=0)
        noise = (found.variance - simulated).clamp(min=0.0).sqrt()
        numbers = samples + noise * torch.randn(samples.shape, generator=generator)
        names = [agent + end for agent in agents for end in ends]
        return pl.DataFrame(dict(zip(names, numbers.flatten(1).mT.tolist(), strict=True)))
    drawn = torch.multinomial(samples.reshape(-1, C), 1, generator=generator).view(count, N)
    classes = {agent: drawn[:, i].tolist() for i, agent in enumerate(agents)}
    named = {agent: [found.class_names[c] for c in rows] for agent, rows in classes.items()}
    return pl.DataFrame(named)


def as_interventions(given: object, entities: EntityIndex) -> tuple[Intervention, ...]:
    """Return interventions as they are, or :class:`Do` for every entry of a mapping.

    Args:
        given: interventions, or a mapping from agents to states: the name of a class (which wins),
            an agent, a time, or a unit vector.
        entities: what may be named.
    """
    if isinstance(given, Mapping):
        return tuple(_as_do(agent, value, entities) for agent, value in given.items())
    if isinstance(given, str | bytes) or not isinstance(given, Iterable | Intervention):
        raise ArgumentTypeError(
            "interventions must be a mapping from agents to states, or interventions; got "
            f"{type(given).__name__}; write {{agent: class}} or [Do(agent, toward=class)], and () "
            "for none"
        )
    return flatten(given)


def dowhy_options(asked: str, options: Mapping[str, object], allowed: Sequence[str]) -> None:
    """Refuse options that have another name in dowhy, and those that are unknown.

    Args:
        asked: the method that was called.
        options: given by name.
        allowed: names that it takes.
    """
    for name in options:
        if name in DOWHY_NAMES and name not in allowed:
            right = DOWHY_NAMES[name]
            raise ArgumentTypeError(f"{asked} takes {right}= where intervene takes {name}=; write {right}=")
        if name not in allowed:
            raise ArgumentTypeError(f"{asked} does not know the option {name!r}; its options are {', '.join(allowed)}")


def _as_do(agent: Hashable, value: object, entities: EntityIndex) -> Do:
    value = plain_scalar(value)
    classes = entities.classes
    if isinstance(value, str) and value in classes:
        return Do(agent, toward=value)
    if value is None or isinstance(value, bool):
        raise ArgumentTypeError(f"interventions set {agent!r} to {value!r}; give {_allowed(classes)}")
    if not is_name(value) or isinstance(value, tuple):
        return Do(agent, value)
    for known, kind in ((entities.agents, "agent"), (entities.times, "time")):
        text = class_that_reads_like(value, known, classes)
        if text is not None:
            raise ArgumentError(
                f"{{{agent!r}: {value!r}}} may mean the {kind} {value!r} or the class {text!r}; "
                f"write the text {{{agent!r}: {text!r}}} for the class, or [Do({agent!r}, "
                f"observed={value!r})] for the {kind}"
            )
    if value not in entities.agents and value not in entities.times:
        raise _unknown_state(agent, value, entities)
    return Do(agent, observed=value)


def _unknown_state(agent: Hashable, value: object, entities: EntityIndex) -> SphuncError:
    classes = entities.classes
    if callable(value):
        return ArgumentTypeError(
            f"interventions set {agent!r} to a function, which is not taken there; give "
            f"{_allowed(classes)}, or let a function decide with [Policy(function)], "
            "function(step, states) -> {agent: unit vector}"
        )
    hint = did_you_mean(value, [*classes, *entities.agents])
    if str(value) in classes:
        hint = f"; the class is the text {str(value)!r}"
    return ArgumentError(
        f"interventions set {agent!r} to {value!r}, which is no agent "
        f"({some_names(entities.agents)}), no time ({some_names(entities.times)}) and no class "
        f"({some_names(classes) or 'there are none'}); give {_allowed(classes)}{hint}"
    )


def _allowed(classes: tuple[str, ...]) -> str:
    if classes:
        return "the name of a class, an agent, a time or a unit vector"
    return "an agent, a time or a unit vector"
