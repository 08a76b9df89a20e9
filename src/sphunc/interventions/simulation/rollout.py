r"""One simulator of states and outcomes, with and without interventions, under the same random numbers.

.. math:: s_{t+1} &= [\lambda (s_t + p\, m_t) + c + \beta s_t] + e_t, \qquad e_t \sim N(0, Q) \\
          \log p(y_{t+1}) &= (1 - \alpha) \log p_B(y | \phi_t) + \alpha \log p(y | s_{t+1}) + \text{const}

[.] draws a transition that would be longer than a typical state back to its length: what acts on an agent turns it.
Outcomes are drawn by their inverse distribution functions and enter the covariates :math:`\phi` of the next step.

**Structures and draws.** Links, their coefficients and those of the base are drawn once for each structure; origin
states, persistent effects and noise for each draw of a structure. Structures are simulated in blocks that bound memory.

**The interventional arm.** The base is a regression: it cannot know that a state was set. A change of a state therefore
changes log p by all that the readout says of it, and not by the share :math:`\alpha` that states have in the pool:
:math:`\log p' = \log p_{pool}(\phi', s) + \log p(y | s') - \log p(y | s)`. What all agents share (level, trend, class
frequencies) is taken from the factual arm: it is no path from one agent to another. Agents that no path of links and
shared groups reaches are exactly as in the factual arm, and are not simulated again
(:mod:`sphunc.interventions.simulation.population`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.hypergraph import Incidence
from sphunc.interventions.resolve import ResolvedInterventions
from sphunc.interventions.simulation.abduction import coupled_probabilities, draw_paths, observed_cell
from sphunc.interventions.simulation.calibration import Correction
from sphunc.interventions.simulation.covariates import (
    Common,
    OutcomeRegression,
    SimulatedHistory,
    simulated_history,
)
from sphunc.interventions.simulation.origin import Origin
from sphunc.interventions.simulation.parameters import ParameterDraws
from sphunc.interventions.simulation.population import (
    SparseIncidence,
    affected_agents,
    copies,
    followed_agents,
    restrict,
    sparse_incidence,
)
from sphunc.interventions.simulation.state_changes import change_states, state_length
from sphunc.model import next_state_mean

BLOCK = 2**20
"""Numbers that the widest tensor of a block may have: what fits into a processor's cache is simulated fastest."""
KNOWN_VARIANCE = 1e-6
"""Of a number that is held or was observed, in units of the variance of all; its entropy stays finite."""
SMALLEST_UNIFORM = 1e-7


@dataclass(frozen=True, eq=False)
class StepSamples:
    """Outcome distributions of both arms at one step, for a block of structures.

    Attributes:
        step: after the origin.
        structures: indices of the structures ``[Q]``.
        factual: class probabilities, or means of numbers, without the intervention ``[Q, C, N, R]``.
        factual_noise: conditional variances of numbers without it; None for classes.
        agents: whom the interventional arm follows ``[n]``; all others are as without the intervention.
        outcome: the same of these agents with it ``[Q, C, n, R]``.
        noise: conditional variances of their numbers; None for classes.
    """

    step: int
    structures: Int[Tensor, " structure"]
    factual: Float[Tensor, "structure output agent draw"]
    factual_noise: Float[Tensor, "structure output agent draw"] | None
    agents: Int[Tensor, " followed"]
    outcome: Float[Tensor, "structure output followed draw"]
    noise: Float[Tensor, "structure output followed draw"] | None


@dataclass(eq=False)
class Arm:
    """What one arm carries from step to step, for a block of structures.

    Attributes:
        is_factual: whether nothing acts in it.
        agents: whom it follows ``[n]``.
        states: s ``[Q, n, R, K]``; None without states.
        effect: persistent effects c.
        history: outcomes so far.
        by_features: outputs of the base that features give, by time and groups.
        links: matrices of the links, by position and factor of those that are changed.
        read: what the readout says of the states ``[Q, C, n, R]``.
    """

    is_factual: bool
    agents: Int[Tensor, " followed"]
    states: Float[Tensor, "structure followed draw axis"] | None
    effect: Float[Tensor, "structure followed draw axis"] | None
    history: SimulatedHistory
    by_features: dict[tuple[int, tuple[int, ...]], Tensor] = field(default_factory=dict)
    links: dict[tuple[tuple[int, float], ...], Tensor] = field(default_factory=dict)
    read: Float[Tensor, "structure output followed draw"] | None = None


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
        corrections: of the outcome distributions, by step (:mod:`sphunc.interventions.simulation.calibration`).
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
        origin = self.origin
        self.device = origin.inputs.x.device
        coefficients = self.parameters.coefficients
        self.base = OutcomeRegression(origin.model.one_step.base, origin.covariates, coefficients, self.dtype)
        self.affected = affected_agents(origin, self.interventions)
        self.all_agents = torch.arange(origin.num_agents, device=self.device)
        self.followed = followed_agents(origin, self.affected)
        self.number = torch.full_like(self.all_agents, -1)
        self.number[self.followed] = torch.arange(len(self.followed), device=self.device)
        self.metric = torch.zeros(0, 0, dtype=self.dtype, device=self.device)
        if origin.states is not None:
            self.metric = origin.state_metric.to(self.dtype)
        self.tau = origin.temperature.to(self.dtype).unsqueeze(1)
        generator = torch.Generator().manual_seed(self.seed)
        self.streams = torch.randint(2**62, (len(coefficients),), generator=generator)
        self._sparse: dict[tuple[tuple[int, tuple[int, ...]], bool, int], SparseIncidence] = {}
        self._designs: dict[tuple[tuple[int, tuple[int, ...]], bool], Tensor] = {}

    def blocks(self) -> list[Int[Tensor, " structure"]]:
        """Structures that are simulated together."""
        widest = self.origin.num_agents * len(self.base.sampled)
        if self.origin.states is not None:
            axes = self.origin.states.axes.num_axes
            widest = max(widest, max(len(self.origin.groups(0).agent), self.origin.num_agents) * axes)
        size = max(1, BLOCK // max(1, self.draws * widest))
        return list(torch.arange(len(self.streams), device=self.device).split(size))

    def run(
        self, structures: Int[Tensor, " structure"], horizon: int, *, factual_only: bool = False
    ) -> Iterator[StepSamples]:
        """Simulate a block of structures, and yield every step.

        Args:
            structures: indices.
            horizon: steps.
            factual_only: leave the interventional arm out.
        """
        origin = self.origin
        generators = [
            torch.Generator(self.device).manual_seed(int(stream)) for stream in self.streams[structures.cpu()]
        ]
        history, common = simulated_history(
            origin.covariates.outcomes[origin.time], len(structures), self.draws, self.dtype
        )
        factual = Arm(True, self.all_agents, None, None, history)
        path = None
        if origin.states is not None:
            path, factual.effect = self._start(generators)
            factual.states = path[0]
        other = None
        if len(self.followed) and not factual_only:
            other = Arm(False, self.followed, None, None, history.select(self.followed))
            if factual.states is not None and factual.effect is not None:
                other.states = factual.states[:, self.followed]
                other.effect = factual.effect[:, self.followed]
            self._intervene_on_states(other, factual, 0, generators)
        for step in range(1, horizon + 1):
            if path is not None:
                self._transition(factual, other, path, structures, step, generators)
            first, noise = self._distribution(factual, factual, common, structures, step)
            uniform = torch.stack([self._uniform(generator) for generator in generators])
            outcome, seen, seen_noise = self._outcomes(first, noise, first, noise, uniform, self.all_agents, step)
            followed = self.all_agents[:0]
            own = seen[:, :, :0]
            own_noise = None
            own_outcome = outcome
            if other is not None:
                followed = self.followed
                own, own_noise = self._distribution(other, factual, common, structures, step)
                self._share_unaffected(own, first, step)
                if own_noise is not None and noise is not None:
                    self._share_unaffected(own_noise, noise, step)
                own_outcome, own, own_noise = self._outcomes(own, own_noise, first, noise, uniform, self.followed, step)
                # What no path reaches did not change: not its probabilities, and not its outcome.
                self._share_unaffected(own, seen, step)
                self._share_unaffected(own_outcome, outcome, step)
                own_noise = self._hold_outcomes(own, own_noise, own_outcome, step)
            yield StepSamples(step, structures, seen, seen_noise, followed, own, own_noise)
            factual.history = factual.history.update(outcome)
            common = factual.history.common(common)
            if other is not None:
                other.history = other.history.update(own_outcome)

    def _uniform(self, generator: torch.Generator) -> Float[Tensor, "agent draw"]:
        shape = (self.draws, self.origin.num_agents)
        return torch.rand(shape, generator=generator, dtype=self.dtype, device=self.device).mT

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

    def _transition(
        self,
        factual: Arm,
        other: Arm | None,
        path: Float[Tensor, "time structure agent draw axis"],
        structures: Int[Tensor, " structure"],
        step: int,
        generators: list[torch.Generator],
    ) -> None:
        """Next states of both arms; the noise is what an abducted path leaves to it, or drawn."""
        assert self.origin.states is not None
        drift = self._drift(factual, structures, step - 1)
        if step < len(path):
            innovation = path[step] - drift
        else:
            variance = self.origin.states.variance_scale * self.origin.states.dynamics.transition_variance
            shape = drift.shape[1:]
            normal = [torch.randn(shape, generator=one, dtype=self.dtype, device=self.device) for one in generators]
            innovation = torch.stack(normal).mul_(variance.sqrt().to(self.dtype))
        factual.states = drift + innovation
        if other is not None:
            other.states = self._drift(other, structures, step - 1) + innovation[:, self.followed]
            self._intervene_on_states(other, factual, step, generators)

    def _groups(self, arm: Arm, step: int) -> tuple[tuple[int, tuple[int, ...]], Incidence]:
        """Groups that meet in an arm at a step, and what they are kept under: the time and who was cut."""
        cut: tuple[int, ...] = ()
        if not arm.is_factual:
            acting = self.interventions.steps[step]
            cut = tuple(self.origin.positions_at(step, acting.groups_cut).tolist())
        groups = self.origin.groups(step)
        if cut:
            groups = groups.without(torch.tensor(cut, device=self.device))
        return (min(self.origin.time + step, self.origin.inputs.num_times - 1), cut), groups

    def _own_groups(self, arm: Arm, step: int) -> Incidence:
        """Groups of the agents that an arm follows."""
        _, groups = self._groups(arm, step)
        if arm.is_factual:
            return groups
        return restrict(groups, self.followed, self.affected[-1])

    def _sparse_groups(self, arm: Arm, step: int, count: int) -> SparseIncidence:
        """The same for several structures side by side."""
        name, _ = self._groups(arm, step)
        key = (name, arm.is_factual, count)
        if key not in self._sparse:
            self._sparse[key] = sparse_incidence(copies(self._own_groups(arm, step), count), self.dtype)
        return self._sparse[key]

    def _drift(
        self, arm: Arm, structures: Int[Tensor, " structure"], step: int
    ) -> Float[Tensor, "structure followed draw axis"]:
        """Mean of the next state, drawn back to the length of a typical state where it is longer.

        All structures are one population of Q n agents: links of one structure stay within it.
        """
        assert self.origin.states is not None
        assert arm.states is not None
        assert arm.effect is not None
        states = arm.states.flatten(0, 1)
        links = self._link_matrix(arm, structures, step)
        influence = (links @ states.flatten(1)).view(states.shape)
        groups = self._sparse_groups(arm, step, len(structures))
        dynamics = self.origin.states.dynamics
        inertia = dynamics.inertia[arm.agents].to(self.dtype).repeat(len(structures))
        dynamics = replace(dynamics, inertia=inertia)
        drift = next_state_mean(states, dynamics, arm.effect.flatten(0, 1), groups, influence)
        length = state_length(drift, self.metric)
        return drift.div_(length.clamp_(min=1.0)).view(arm.states.shape)

    def _link_matrix(self, arm: Arm, structures: Int[Tensor, " structure"], step: int) -> Tensor:
        """Links of an arm in the transition that begins at a step; most steps have those of the one before."""
        if arm.is_factual:
            if () not in arm.links:
                arm.links[()] = self.parameters.link_matrix(structures, self.origin.num_agents)
            return arm.links[()]
        acting = self.interventions.steps[step]
        changed = tuple(zip(acting.link_positions.tolist(), acting.link_factors.tolist(), strict=True))
        if changed not in arm.links:
            factor = None
            if changed:
                factor = torch.ones(self.origin.candidates.shape[1], dtype=self.dtype, device=self.device)
                factor[acting.link_positions] = acting.link_factors.to(factor)
            arm.links[changed] = self.parameters.link_matrix(structures, self.origin.num_agents, factor, self.number)
        return arm.links[changed]

    def _intervene_on_states(self, arm: Arm, factual: Arm, step: int, generators: list[torch.Generator]) -> None:
        if arm.states is None or factual.states is None:
            return
        acting = self.interventions.steps[step]
        if acting.changes_states:
            decided = change_states(
                arm.states, acting, step, self.metric, self.agents, generators, self.order, self.number
            )
            self.decided |= decided
        same = ~self.affected[step][self.followed]
        arm.states[:, same] = factual.states[:, self.followed[same]]

    def _share_unaffected(self, values: Tensor, factual: Tensor, step: int) -> None:
        """Give the agents of the interventional arm that nothing has reached yet what the factual arm has."""
        same = ~self.affected[step][self.followed]
        values[:, :, same] = factual[:, :, self.followed[same]]

    def _distribution(
        self, arm: Arm, factual: Arm, common: Common, structures: Int[Tensor, " structure"], step: int
    ) -> tuple[Float[Tensor, "structure output followed draw"], Tensor | None]:
        """Class probabilities of the next outcomes; of numbers means and variances."""
        base = self._base(arm, common, structures, step)
        pooled = None
        if arm.states is not None:
            assert factual.states is not None
            arm.read = self._read(arm, step)
            assert factual.read is not None
            pooled = factual.read
            if not arm.is_factual:
                pooled = factual.read[:, :, arm.agents]
        if self.origin.inputs.is_numeric:
            last = arm.history.last
            if step == 1:
                last = torch.where(arm.history.count > 0, last, common.population)
            outputs = last.shape[1]
            return self._numbers(base[:, :outputs] + last, base[:, outputs:].exp(), arm, pooled, step)
        return self._class_probabilities(base, arm, pooled, step), None

    def _base(
        self, arm: Arm, common: Common, structures: Int[Tensor, " structure"], step: int
    ) -> Float[Tensor, "structure output followed draw"]:
        """Outputs of the base regression."""
        if step == 1:
            outputs = self.base.at_origin(self._design(arm, 0), structures)
            return outputs.expand(*outputs.shape[:-1], self.draws)
        name, _ = self._groups(arm, step - 1)
        if name not in arm.by_features:
            arm.by_features[name] = self.base.by_features(self._design(arm, step - 1), structures)
        sparse = self._sparse_groups(arm, step - 1, len(structures))
        return self.base(arm.history, common, sparse, arm.by_features[name], structures)

    def _design(self, arm: Arm, step: int) -> Float[Tensor, "followed column"]:
        """Columns of the base that are the same in all samples: all at the origin, later those of features."""
        name, groups = self._groups(arm, step)
        is_origin = step == 0
        if (name, is_origin) not in self._designs:
            time, cut = name
            covariates = self.origin.covariates
            if cut:
                meeting = list(covariates.inputs.groups)
                meeting[time] = groups
                covariates = replace(covariates, inputs=replace(covariates.inputs, groups=tuple(meeting)))
            make = self.base.design if is_origin else self.base.feature_design
            self._designs[name, is_origin] = make(covariates.at(time))
        design = self._designs[name, is_origin]
        if arm.is_factual:
            return design
        return design[arm.agents]

    def _read(self, arm: Arm, step: int) -> Float[Tensor, "structure output followed draw"]:
        """Log probabilities of classes, or means of numbers, that the readout gives to the states."""
        assert self.origin.states is not None
        assert arm.states is not None
        readout = self.origin.states.readout
        structures, agents, draws, _ = arm.states.shape
        logits = readout.weight.to(self.dtype) @ arm.states.flatten(0, -2).mT
        logits = logits.view(-1, structures, agents, draws).transpose(0, 1)
        logits = logits + readout.bias.to(self.dtype)[:, None, None]
        if readout.is_numeric:
            return logits
        share = readout.noise_share(self.origin.remainder(step)[arm.agents]).to(self.dtype).unsqueeze(1)
        chance = readout.frequency.to(self.dtype)[:, None, None] * share
        return torch.softmax(logits, 1).mul_(1.0 - share).add_(chance).log_()

    def _class_probabilities(
        self, base: Tensor, arm: Arm, pooled: Tensor | None, step: int
    ) -> Float[Tensor, "structure output followed draw"]:
        # Unnormalised: what a row has in common does not survive the softmax.
        log_p = base
        if arm.read is not None and pooled is not None:
            weight = self.origin.model.weight
            log_p = (1.0 - weight) * (base - pooled) + arm.read
        if not self.origin.model.temperature.is_neutral:
            log_p = log_p / self.tau[arm.agents]
        if step in self.corrections:
            log_p = log_p + self.corrections[step].shift.to(self.dtype).mT[:, arm.agents, None]
        return torch.softmax(log_p, 1)

    def _numbers(
        self, mean: Tensor, variance: Tensor, arm: Arm, pooled: Tensor | None, step: int
    ) -> tuple[Tensor, Tensor]:
        weight = self.origin.model.weight
        if arm.read is not None and pooled is not None and self.origin.states is not None:
            noise = self.origin.states.readout.noise.exp().to(self.dtype)[:, None, None]
            precision = (1.0 - weight) / variance + weight / noise
            mean = ((1.0 - weight) * mean / variance + weight * pooled / noise) / precision
            mean = mean + (arm.read - pooled)
            variance = 1.0 / precision
        variance = variance * self.tau[arm.agents].square()
        if step in self.corrections:
            correction = self.corrections[step]
            mean = mean + correction.shift.to(self.dtype).mT[:, arm.agents, None]
            variance = variance * correction.factor.to(self.dtype).mT[:, arm.agents, None]
        return mean, variance

    def _outcomes(
        self,
        first: Float[Tensor, "structure output followed draw"],
        noise: Tensor | None,
        factual: Float[Tensor, "structure output agent draw"],
        factual_noise: Tensor | None,
        uniform: Float[Tensor, "structure agent draw"],
        agents: Int[Tensor, " followed"],
        step: int,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Draw outcomes, conditioned on those that were observed.

        Returns:
            Outcomes ``[Q, C, n, R]``, and the distributions given what was observed.
        """
        is_factual = len(agents) == len(self.all_agents) and first is factual
        if not is_factual:
            uniform = uniform[:, agents]
        seen = self._observed(step, agents)
        if seen is not None and not is_factual:
            factual = factual[:, :, agents]
            factual_noise = None if factual_noise is None else factual_noise[:, :, agents]
        if noise is not None and factual_noise is not None:
            return self._draw_numbers(first, noise, factual, factual_noise, uniform, seen)
        classes = torch.arange(first.shape[1], device=self.device)[:, None, None]
        if seen is None:
            drawn = (uniform.unsqueeze(1) > first.cumsum(1)[:, :-1]).sum(1, keepdim=True)
            return (drawn == classes).to(self.dtype), first, None
        # Classes last, as abduction has them.
        mask, y = seen
        there = mask[:, None, None]
        known = y.unsqueeze(1).expand(*factual.movedim(1, -1).shape)
        p = first.movedim(1, -1)
        factual_p = factual.movedim(1, -1)
        low, width = observed_cell(factual_p, known)
        uniform = torch.where(mask[:, None], low + uniform * width, uniform)
        drawn = (uniform.unsqueeze(-1) > p.cumsum(-1)[..., :-1]).sum(-1).unsqueeze(1)
        outcome = (drawn == classes).to(self.dtype)
        conditioned = known
        if not is_factual:
            conditioned = coupled_probabilities(p, factual_p, known)
        else:
            outcome = torch.where(mask.unsqueeze(1), known.movedim(-1, 1), outcome)
        return outcome, torch.where(there, conditioned, p).movedim(-1, 1).contiguous(), None

    def _draw_numbers(
        self,
        mean: Tensor,
        noise: Tensor,
        factual: Tensor,
        factual_noise: Tensor,
        uniform: Tensor,
        seen: tuple[Tensor, Tensor] | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        inside = uniform.clamp(SMALLEST_UNIFORM, 1.0 - SMALLEST_UNIFORM)
        residual = torch.special.ndtri(inside).unsqueeze(1).expand_as(mean)
        if seen is None:
            return mean + noise.sqrt() * residual, mean, noise
        mask, y = seen
        there = mask.unsqueeze(1)
        residual = torch.where(there, (y.mT.unsqueeze(-1) - factual) / factual_noise.sqrt(), residual)
        outcome = mean + noise.sqrt() * residual
        known = torch.full_like(noise, KNOWN_VARIANCE)
        return outcome, torch.where(there, outcome, mean), torch.where(there, known, noise)

    def _hold_outcomes(
        self, first: Tensor, noise: Tensor | None, outcome: Tensor, step: int
    ) -> Float[Tensor, "structure output followed draw"] | None:
        """Set outcomes that are held, in place, and what is known of them; return the variances of numbers."""
        acting = self.interventions.steps[step]
        if not len(acting.outcome_agents):
            return noise
        held = self.number[acting.outcome_agents]
        if noise is None:
            values = torch.nn.functional.one_hot(acting.outcomes, first.shape[1]).to(first)
        else:
            values = acting.outcomes.to(first)
            noise = noise.clone()
            noise[:, :, held] = KNOWN_VARIANCE
        first[:, :, held] = values.mT.unsqueeze(-1)
        outcome[:, :, held] = values.mT.unsqueeze(-1)
        return noise

    def _observed(
        self, step: int, agents: Int[Tensor, " followed"]
    ) -> tuple[Bool[Tensor, " followed"], Float[Tensor, "followed output"]] | None:
        """Outcomes that were observed at a step after the origin; None without any."""
        time = self.origin.time + step
        inputs = self.origin.inputs
        if time >= inputs.num_times or not bool(inputs.y_mask[time].any()):
            return None
        return inputs.y_mask[time, agents], inputs.y[time, agents].to(self.dtype)
