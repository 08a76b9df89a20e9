r"""One simulator of states and outcomes, with and without interventions, under the same random numbers.

.. math:: s_{t+1} &= [\lambda (s_t + p\, m_t) + c + \beta s_t] + e_t, \qquad e_t \sim N(0, Q) \\
          \log p(y_{t+1}) &= (1 - \alpha) \log p_B(y | \phi_t) + \alpha \log p(y | s_{t+1}) + \text{const}

[.] draws a transition that would be longer than a typical state back to its length: what acts on an agent turns it.
Outcomes are drawn by their inverse distribution functions and enter the covariates :math:`\phi` of the next step.

**Structures and draws.** Links, their coefficients and those of the base are drawn once for each structure; origin
states, persistent effects and noise for each draw of a structure. Everything is one batch over arms, structures and
draws, in blocks of structures that bound memory.

**The interventional arm.** The base is a regression: it cannot know that a state was set. A change of a state therefore
changes log p by all that the readout says of it, and not by the share :math:`\alpha` that states have in the pool:
:math:`\log p' = \log p_{pool}(\phi', s) + \log p(y | s') - \log p(y | s)`. What all agents share (level, trend, class
frequencies) is taken from the factual arm: it is no path from one agent to another. Agents that no path of links and
shared groups reaches are exactly as in the factual arm.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.hypergraph import Incidence
from sphunc.interventions.abduction import coupled_probabilities, draw_paths, observed_cell
from sphunc.interventions.affected import affected_agents, copies
from sphunc.interventions.calibration import Correction
from sphunc.interventions.origin import Origin
from sphunc.interventions.parameters import ParameterDraws
from sphunc.interventions.resolve import ResolvedInterventions
from sphunc.interventions.simulated_covariates import (
    converted_history,
    feature_covariates,
    is_feature_column,
    outcome_covariates,
    select_columns,
)
from sphunc.interventions.state_changes import change_states, state_length
from sphunc.model.covariates import OutcomeHistory
from sphunc.model.dynamics import next_state_mean

BLOCK = 2**24
"""Numbers that the widest tensor of a block may have: 64 MB in single precision."""
KNOWN_VARIANCE = 1e-6
"""Of a number that is held or was observed, in units of the variance of all; its entropy stays finite."""
SMALLEST_UNIFORM = 1e-7


@dataclass(frozen=True, eq=False)
class StepSamples:
    """Outcome distributions of both arms at one step, for a block of samples.

    Attributes:
        step: after the origin.
        factual: class probabilities, or means of numbers, without the intervention ``[S, N, C]``.
        outcome: the same with it.
        noise: conditional variance of numbers with it ``[S, N, C]``; None for classes.
        structure: of every sample ``[S]``.
        factual_noise: conditional variance of numbers without it; None for classes.
    """

    step: int
    factual: Float[Tensor, "sample agent output"]
    outcome: Float[Tensor, "sample agent output"]
    noise: Float[Tensor, "sample agent output"] | None
    structure: Int[Tensor, " sample"]
    factual_noise: Float[Tensor, "sample agent output"] | None


@dataclass(eq=False)
class Simulator:
    """A simulation that can be run in blocks of structures.

    Attributes:
        origin: model, data and beliefs.
        parameters: Q structures with their coefficients.
        interventions: what acts at each step.
        agents: index of every agent id, for policies.
        order: position in the data of each agent; policies see agents in the order of the data.
        draws: R, samples of the noise for each structure.
        seed: of everything random; each structure has its own stream.
        corrections: of the outcome distributions, by step (:mod:`sphunc.interventions.calibration`).
        dtype: single precision is enough for what Monte Carlo leaves open.
        decided: agents that policies set, filled on the way.
    """

    origin: Origin
    parameters: ParameterDraws
    interventions: ResolvedInterventions
    agents: Mapping[Hashable, int]
    order: Int[Tensor, " agent"]
    draws: int
    seed: int
    corrections: dict[int, Correction] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32
    decided: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        base = self.origin.model.one_step.base
        is_feature = is_feature_column(self.origin.covariates)
        self.arms = 1 if self.interventions.is_null else 2
        self.by_outcomes = select_columns(base.standardiser, ~is_feature, self.dtype)
        self.by_features = select_columns(base.standardiser, is_feature, torch.float64)
        row = torch.cat([~is_feature, torch.tensor([False])])
        self.outcome_rows = row.nonzero().flatten()
        self.feature_rows = (~row).nonzero().flatten()
        self.affected = affected_agents(self.origin, self.interventions)
        self.metric = torch.zeros(0, 0, dtype=self.dtype)
        if self.origin.states is not None:
            self.metric = self.origin.state_metric.to(self.dtype)
        self.tau = self.origin.temperature.to(self.dtype)
        generator = torch.Generator().manual_seed(self.seed)
        self.streams = torch.randint(2**62, (len(self.parameters.coefficients),), generator=generator)
        self._groups: dict[tuple[int, tuple[int, ...]], Incidence] = {}

    def blocks(self) -> list[Int[Tensor, " structure"]]:
        """Structures that are simulated together."""
        origin = self.origin
        axes = 0
        if origin.states is not None:
            axes = origin.states.axes.num_axes
        widest = origin.num_agents * len(self.outcome_rows)
        widest = max(widest, len(origin.groups(0).agent) * axes)
        per_structure = max(1, self.arms * self.draws * widest)
        size = max(1, BLOCK // per_structure)
        return list(torch.arange(len(self.streams)).split(size))

    def run(self, structures: Int[Tensor, " structure"], horizon: int) -> Iterator[StepSamples]:
        """Simulate a block of structures, and yield every step.

        Args:
            structures: indices.
            horizon: steps.
        """
        origin = self.origin
        generators = [torch.Generator().manual_seed(int(stream)) for stream in self.streams[structures]]
        shape = (self.arms, len(structures), self.draws)
        history = converted_history(origin.covariates.outcomes[origin.time], self.dtype).expand(*shape)
        states = None
        path = None
        effect = None
        if origin.states is not None:
            path, effect = self._start(generators)
            states = path[0].unsqueeze(2).repeat(1, 1, self.arms, 1, 1)
            self._intervene_on_states(states, 0, generators)
        structure_id = structures.repeat_interleave(self.draws)
        for step in range(1, horizon + 1):
            groups = [self._groups_in(arm, step - 1) for arm in range(self.arms)]
            if states is not None and path is not None and effect is not None:
                drift = self._drift(states, effect, groups, structures, step - 1)
                states = drift + self._innovation(drift, path, step, generators)
                self._intervene_on_states(states, step, generators)
            first, noise = self._distribution(states, history, groups, structures, step)
            uniform = torch.stack([self._uniform(generator) for generator in generators])
            outcome, first, noise = self._outcomes(first, noise, uniform, step)
            yield self._samples(step, first, noise, structure_id)
            history = self._updated(history, outcome)

    def _normal(self, generator: torch.Generator) -> Float[Tensor, "agent draw axis"]:
        assert self.origin.states is not None
        shape = (self.origin.num_agents, self.draws, self.origin.states.axes.num_axes)
        return torch.randn(shape, generator=generator, dtype=self.dtype)

    def _uniform(self, generator: torch.Generator) -> Float[Tensor, "draw agent"]:
        shape = (self.draws, self.origin.num_agents)
        return torch.rand(shape, generator=generator, dtype=self.dtype)

    def _start(self, generators: list[torch.Generator]) -> tuple[Tensor, Tensor]:
        """States at the origin and at the observed times after it ``[L + 1, Q, N, R, K]``, persistent effects."""
        origin = self.origin
        assert origin.states is not None
        assert origin.belief is not None
        first = origin.belief_time
        drawn = [
            draw_paths(
                origin.belief.filtered,
                origin.states.dynamics.inertia,
                first,
                origin.belief.origin,
                origin.states.variance_scale,
                self.draws,
                generator,
                self.dtype,
            )
            for generator in generators
        ]
        paths = torch.stack([path for path, _ in drawn], 1)
        return paths, torch.stack([effect for _, effect in drawn])

    def _groups_in(self, arm: int, step: int) -> Incidence:
        """Groups that meet in an arm at a step; the same object where they are the same."""
        cut: tuple[int, ...] = ()
        if arm:
            acting = self.interventions.steps[step]
            cut = tuple(self.origin.positions_at(step, acting.groups_cut).tolist())
        time = min(self.origin.time + step, self.origin.inputs.num_times - 1)
        if (time, cut) not in self._groups:
            groups = self.origin.groups(step)
            groups = replace(groups, weight=groups.weight.to(self.dtype))
            if cut:
                groups = groups.without(torch.tensor(cut))
            self._groups[time, cut] = groups
        return self._groups[time, cut]

    def _links_in(self, arm: int, structures: Int[Tensor, " structure"], step: int) -> Tensor:
        acting = self.interventions.steps[step]
        factor = None
        if arm and len(acting.link_positions):
            factor = torch.ones(self.origin.candidates.shape[1], dtype=self.dtype)
            factor[acting.link_positions] = acting.link_factors.to(self.dtype)
        return self.parameters.link_matrix(structures, self.origin.num_agents, factor)

    def _drift(
        self,
        states: Float[Tensor, "structure agent arm draw axis"],
        effect: Float[Tensor, "structure agent draw axis"],
        groups: list[Incidence],
        structures: Int[Tensor, " structure"],
        step: int,
    ) -> Float[Tensor, "structure agent arm draw axis"]:
        """Mean of the next state, drawn back to the length of a typical state where it is longer.

        All structures are one population of Q N agents: links of one structure stay within it.
        """
        assert self.origin.states is not None
        shape = states.shape
        count = shape[0]
        flat = states.flatten(0, 1)
        effects = effect.flatten(0, 1).unsqueeze(1)
        dynamics = self.origin.states.dynamics
        dynamics = replace(dynamics, inertia=dynamics.inertia.to(self.dtype).repeat(count))
        # Arms in which the same groups meet and the same links act are moved together.
        is_changed = self.arms == 2 and (
            groups[1] is not groups[0] or bool(len(self.interventions.steps[step].link_positions))
        )
        parts = []
        for arm in range(2 if is_changed else 1):
            part = flat[:, arm : arm + 1] if is_changed else flat
            links = self._links_in(arm, structures, step)
            influence = torch.sparse.mm(links, part.reshape(len(part), -1)).view(part.shape)
            everybody = copies(groups[arm], count)
            parts.append(next_state_mean(part, dynamics, effects.expand_as(part), everybody, influence))
        drift = torch.cat(parts, 1)
        length = state_length(drift, self.metric)
        return (drift / length.clamp(min=1.0)).view(shape)

    def _innovation(
        self,
        drift: Float[Tensor, "structure agent arm draw axis"],
        path: Float[Tensor, "time structure agent draw axis"],
        step: int,
        generators: list[torch.Generator],
    ) -> Float[Tensor, "structure agent one draw axis"]:
        """Noise of a transition, the same in both arms: what an abducted path leaves to it, or drawn."""
        assert self.origin.states is not None
        if step < len(path):
            return (path[step] - drift[:, :, 0]).unsqueeze(2)
        variance = self.origin.states.variance_scale * self.origin.states.dynamics.transition_variance
        noise = torch.stack([self._normal(generator) for generator in generators])
        return (variance.sqrt().to(self.dtype) * noise).unsqueeze(2)

    def _intervene_on_states(
        self, states: Float[Tensor, "structure agent arm draw axis"], step: int, generators: list[torch.Generator]
    ) -> None:
        if self.arms == 1:
            return
        acting = self.interventions.steps[step]
        changed = states[:, :, 1]
        if acting.changes_states and self.origin.states is not None:
            self.decided |= change_states(changed, acting, step, self.metric, self.agents, generators, self.order)
        same = ~self.affected[step]
        states[:, same, 1] = states[:, same, 0]

    def _distribution(
        self,
        states: Float[Tensor, "structure agent arm draw axis"] | None,
        history: OutcomeHistory,
        groups: list[Incidence],
        structures: Int[Tensor, " structure"],
        step: int,
    ) -> tuple[Float[Tensor, "arm structure draw agent output"], Tensor | None]:
        """Class probabilities of the next outcomes; of numbers means and variances.

        Outputs come first in memory, where sums over few classes are fast, and last in shape.
        """
        population = _of_arm(history, 0).population
        means = []
        variances = []
        for arm in range(self.arms):
            own = _of_arm(history, arm)
            mean, variance = self._base(own, groups[arm], population, structures, step)
            means.append(mean)
            variances.append(variance)
        base = torch.stack(means, 1)
        read = None
        if states is not None:
            read = self._read(states)
        if self.origin.inputs.is_numeric:
            return self._numbers(base, torch.stack(variances, 1), read, step)
        return self._class_probabilities(base, read, step), None

    def _class_probabilities(
        self,
        base: Float[Tensor, "output arm structure draw agent"],
        read: Float[Tensor, "output arm structure draw agent"] | None,
        step: int,
    ) -> Float[Tensor, "arm structure draw agent output"]:
        # Unnormalised: what a row has in common does not survive the softmax.
        log_p = base
        if read is not None and self.origin.states is not None:
            weight = self.origin.model.weight
            readout = self.origin.states.readout
            share = readout.noise_share(self.origin.remainder(step)).to(self.dtype)
            chance = _outputs_first(share.unsqueeze(-1) * readout.frequency.to(self.dtype))
            by_state = torch.softmax(read, 0).mul_(1.0 - share).add_(chance).log_()
            log_p = (1.0 - weight) * base + by_state
            log_p = log_p.sub_((1.0 - weight) * by_state[:, :1])
        log_p = log_p / self.tau
        if step in self.corrections:
            log_p = log_p + _outputs_first(self.corrections[step].shift.to(self.dtype))
        p = torch.softmax(log_p, 0).movedim(0, -1)
        self._share_unaffected(p, step)
        return p

    def _numbers(
        self,
        mean: Float[Tensor, "output arm structure draw agent"],
        variance: Float[Tensor, "output arm structure draw agent"],
        read: Float[Tensor, "output arm structure draw agent"] | None,
        step: int,
    ) -> tuple[Tensor, Tensor]:
        weight = self.origin.model.weight
        if read is not None and self.origin.states is not None:
            noise = self.origin.states.readout.noise.exp().to(self.dtype).view(-1, 1, 1, 1, 1)
            precision = (1.0 - weight) / variance + weight / noise
            pooled = ((1.0 - weight) * mean / variance + weight * read[:, :1] / noise) / precision
            mean = pooled + (read - read[:, :1])
            variance = 1.0 / precision
        variance = variance * self.tau.square()
        if step in self.corrections:
            mean = mean + _outputs_first(self.corrections[step].shift.to(self.dtype))
            variance = variance * _outputs_first(self.corrections[step].factor.to(self.dtype))
        mean = mean.movedim(0, -1)
        variance = variance.movedim(0, -1)
        self._share_unaffected(mean, step)
        self._share_unaffected(variance, step)
        return mean, variance

    def _share_unaffected(self, values: Float[Tensor, "arm structure draw agent output"], step: int) -> None:
        if self.arms == 2:
            same = ~self.affected[step]
            values[1][:, :, same] = values[0][:, :, same]

    def _read(
        self, states: Float[Tensor, "structure agent arm draw axis"]
    ) -> Float[Tensor, "output arm structure draw agent"]:
        assert self.origin.states is not None
        readout = self.origin.states.readout
        logits = readout.weight.to(self.dtype) @ states.flatten(0, -2).mT
        logits = logits + readout.bias.to(self.dtype).unsqueeze(-1)
        return logits.view(-1, *states.shape[:-1]).permute(0, 3, 1, 4, 2).contiguous()

    def _base(
        self,
        history: OutcomeHistory,
        groups: Incidence,
        population: Float[Tensor, "structure draw output"],
        structures: Int[Tensor, " structure"],
        step: int,
    ) -> tuple[Float[Tensor, "output structure draw agent"], Tensor | None]:
        """Logits of the base, or means and variances of numbers."""
        base = self.origin.model.one_step.base
        z = self.by_outcomes(outcome_covariates(history, groups, population))
        coefficients = self.parameters.coefficients[structures]
        exact = replace(groups, weight=groups.weight.double())
        fixed = self.by_features(feature_covariates(self.origin.features(step - 1), exact))
        fixed = torch.cat([fixed, fixed.new_ones(len(fixed), 1)], 1).to(self.dtype)
        logits = coefficients[:, self.outcome_rows].mT @ z.flatten(1, 2).mT
        logits = logits.view(*logits.shape[:2], *z.shape[1:3])
        by_features = coefficients[:, self.feature_rows].mT @ fixed.mT
        logits = (logits + by_features.unsqueeze(2)).transpose(0, 1)
        if not base.is_numeric:
            return logits, None
        last = torch.where(history.ever.unsqueeze(-1) > 0, history.last, population.unsqueeze(-2))
        slopes = base.log_variance.to(self.dtype)
        log_variance = z @ slopes[self.outcome_rows] + fixed @ slopes[self.feature_rows]
        return logits + last.movedim(-1, 0), log_variance.exp().movedim(-1, 0)

    def _outcomes(
        self,
        first: Float[Tensor, "arm structure draw agent output"],
        noise: Tensor | None,
        uniform: Float[Tensor, "structure draw agent"],
        step: int,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Draw outcomes of both arms; condition on those observed, hold those that are set.

        Returns:
            Outcomes ``[A, Q, R, N, C]``, and the distributions given what was observed and set.
        """
        if noise is None:
            outcome, first = self._classes(first, uniform, step)
        else:
            outcome, first, noise = self._drawn_numbers(first, noise, uniform, step)
        acting = self.interventions.steps[step]
        if self.arms == 2 and len(acting.outcome_agents):
            held = acting.outcomes.to(self.dtype)
            if noise is None:
                held = torch.nn.functional.one_hot(acting.outcomes, first.shape[-1]).to(self.dtype)
            else:
                noise = noise.clone()
                noise[1][:, :, acting.outcome_agents] = KNOWN_VARIANCE
            first = first.clone()
            first[1][:, :, acting.outcome_agents] = held
            outcome[1][:, :, acting.outcome_agents] = held
        return outcome, first, noise

    def _observed(self, step: int) -> tuple[Bool[Tensor, " agent"], Float[Tensor, "agent output"]] | None:
        """Outcomes that were observed at a step after the origin; None without any."""
        time = self.origin.time + step
        inputs = self.origin.inputs
        if time >= inputs.num_times or not bool(inputs.y_mask[time].any()):
            return None
        return inputs.y_mask[time], inputs.y[time].to(self.dtype)

    def _classes(self, p: Tensor, uniform: Tensor, step: int) -> tuple[Tensor, Tensor]:
        seen = self._observed(step)
        if seen is not None:
            mask, y = seen
            low, width = observed_cell(p[0], y)
            uniform = torch.where(mask, low + uniform * width, uniform)
        steps = p.cumsum(-1)[..., :-1]
        drawn = (uniform.unsqueeze(-1) > steps).sum(-1)
        # Outputs first in memory, as probabilities are.
        classes = torch.arange(p.shape[-1]).view(-1, 1, 1, 1, 1)
        outcome = (drawn == classes).to(self.dtype).movedim(0, -1)
        if seen is None:
            return outcome, p
        mask, y = seen
        there = mask.unsqueeze(-1)
        outcome[0] = torch.where(there, y, outcome[0])
        conditioned = p.clone()
        if self.arms == 2:
            conditioned[1] = torch.where(there, coupled_probabilities(p[1], p[0], y), p[1])
        conditioned[0] = torch.where(there, y, p[0])
        if self.arms == 2:
            # What no path reaches did not change: not its probabilities, and not its outcome.
            self._share_unaffected(outcome, step)
            self._share_unaffected(conditioned, step)
        return outcome, conditioned

    def _drawn_numbers(self, mean: Tensor, noise: Tensor, uniform: Tensor, step: int) -> tuple[Tensor, Tensor, Tensor]:
        inside = uniform.clamp(SMALLEST_UNIFORM, 1.0 - SMALLEST_UNIFORM)
        residual = torch.special.ndtri(inside).unsqueeze(-1).expand_as(mean[0])
        seen = self._observed(step)
        if seen is None:
            return mean + noise.sqrt() * residual, mean, noise
        mask, y = seen
        there = mask.unsqueeze(-1)
        residual = torch.where(there, (y - mean[0]) / noise[0].sqrt(), residual)
        outcome = mean + noise.sqrt() * residual
        known = torch.full_like(noise, KNOWN_VARIANCE)
        return outcome, torch.where(there, outcome, mean), torch.where(there, known, noise)

    def _updated(self, history: OutcomeHistory, outcome: Tensor) -> OutcomeHistory:
        """History one step later; what all agents share is that of the factual arm."""
        everybody = torch.ones(outcome.shape[:-1], dtype=torch.bool)
        updated = history.update(outcome, everybody)
        return replace(
            updated,
            level=updated.level[:1].expand_as(updated.level),
            earlier_level=updated.earlier_level[:1].expand_as(updated.level),
        )

    def _samples(self, step: int, first: Tensor, noise: Tensor | None, structure: Tensor) -> StepSamples:
        factual = first[0].flatten(0, 1)
        outcome = first[self.arms - 1].flatten(0, 1)
        own_noise = None
        factual_noise = None
        if noise is not None:
            own_noise = noise[self.arms - 1].flatten(0, 1)
            factual_noise = noise[0].flatten(0, 1)
        return StepSamples(step, factual, outcome, own_noise, structure, factual_noise)


def _outputs_first(values: Float[Tensor, "agent output"]) -> Float[Tensor, "output one one one agent"]:
    return values.mT[:, None, None, None]


def _of_arm(history: OutcomeHistory, arm: int) -> OutcomeHistory:
    names = ("last", "first", "previous", "total", "count", "recent", "recent_count", "kept", "age")
    names = (*names, "level", "earlier_level")
    return replace(history, **{name: getattr(history, name)[arm] for name in names})
