"""The origin of a simulation: a fitted model, what is believed of every agent there, and directions that are named."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.discovery import binary_entropy, identification_confidence
from sphunc.forecasting import PredictiveDistribution
from sphunc.hypergraph import Incidence
from sphunc.interventions.resolve import ReferenceKind
from sphunc.model import PADDING, Covariates, FittedModel, ModelInputs, StateBelief, StateModel


@dataclass(frozen=True, eq=False)
class Origin:
    """What a simulation starts from.

    Attributes:
        model: what was learned.
        inputs: all that is known; times after the origin are abducted from.
        time: index of the origin.
        place: position of each agent among those learned, -1 for unseen ones; None where they are the same.
        group_ids: ids of the groups of each time; needed where groups after the origin are others.
    """

    model: FittedModel
    inputs: ModelInputs
    time: int
    place: Int[Tensor, " agent"] | None = None
    group_ids: tuple[tuple[Hashable, ...], ...] = ()

    @cached_property
    def fitted_states(self) -> StateModel | None:
        """Model of the states of these agents, whatever their weight; None where none were found."""
        states = self.model.one_step.states
        if states is None or self.place is None:
            return states
        return states.for_agents(self.place)

    @property
    def states(self) -> StateModel | None:
        """Model of the states that are simulated; None where states have no weight in the forecast."""
        if self.model.weight == 0.0:
            return None
        return self.fitted_states

    @property
    def num_agents(self) -> int:
        """N."""
        return self.inputs.num_agents

    @property
    def observed_steps(self) -> int:
        """Times after the origin of which something is known."""
        return self.inputs.num_times - 1 - self.time

    @cached_property
    def covariates(self) -> Covariates:
        """Covariates of the base at all times."""
        return self.model.one_step.covariates(self.inputs)

    @cached_property
    def belief(self) -> StateBelief | None:
        """What is believed of the states, given everything in ``inputs``."""
        if self.states is None:
            return None
        return self.states.infer(self.inputs, ahead=1)

    @property
    def belief_time(self) -> int:
        """Index of the origin among the times of :attr:`belief`."""
        assert self.belief is not None
        return self.belief.origin - self.observed_steps

    @cached_property
    def state_covariance(self) -> Float[Tensor, "axis axis"]:
        r"""Second moment of states :math:`\Sigma` over agents and times, what is not known of them included."""
        assert self.belief is not None
        seen = slice(PADDING, self.belief.origin + 1)
        mean = self.belief.mean[seen].flatten(0, 1)
        return mean.mT @ mean / len(mean) + torch.diag(self.belief.variance[seen].flatten(0, 1).mean(0))

    @cached_property
    def state_metric(self) -> Float[Tensor, "axis axis"]:
        r"""Metric in which a typical state has length 1, :math:`|s|^2 = s^\top \Sigma^{-1} s / K`.

        States of the paper lie on a sphere. What features show of it is stretched: noisy axes are short. The metric
        undoes this, as if all directions were equally likely.
        """
        return torch.linalg.inv(self.state_covariance) / len(self.state_covariance)

    @cached_property
    def temperature(self) -> Float[Tensor, " agent"]:
        """Temperature of each agent's forecasts; 1 unless the model tempers."""
        past = self.inputs.until(self.time)
        if self.model.temperature.is_neutral:
            return past.x.new_ones(self.num_agents)
        return self.model.temperature.of(self.model.forecast(past, self.place).total)

    @cached_property
    def forecasts(self) -> dict[int, PredictiveDistribution]:
        """Forecasts of the model from the origin, by steps ahead: one step, and the horizon it was fitted for."""
        past = self.inputs.until(self.time)
        one_step = replace(self.model, predictor=self.model.one_step)
        found = {1: one_step.forecast(past, self.place).distribution}
        horizon = self.model.predictor.horizon
        if horizon > 1:
            found[horizon] = self.model.forecast(past, self.place).distribution
        return found

    def groups(self, step: int) -> Incidence:
        """Groups that meet at a step; after the last time of the data its groups meet on."""
        return self.inputs.groups[min(self.time + step, self.inputs.num_times - 1)]

    def positions_at(self, step: int, groups: Int[Tensor, " group"]) -> Int[Tensor, " group2"]:
        """Positions at a step of the groups that have these positions at the origin, by their ids.

        Args:
            step: steps after the origin.
            groups: positions at the origin.
        """
        time = min(self.time + step, self.inputs.num_times - 1)
        if time == self.time or not len(groups):
            return groups
        names = {self.group_ids[self.time][position] for position in groups.tolist()}
        found = [position for position, name in enumerate(self.group_ids[time]) if name in names]
        return torch.tensor(found, dtype=torch.long)

    @cached_property
    def remainders(self) -> Float[Tensor, "time agent"]:
        """What the features outside the states say of the noise of outcomes, at every time."""
        assert self.states is not None
        return self.states.axes.remainder(self.inputs)

    def remainder(self, step: int) -> Float[Tensor, " agent"]:
        """What they said when last observed before a step."""
        return self.remainders[min(self.time + step - 1, self.inputs.num_times - 1)]

    def direction(self, kind: ReferenceKind, index: int, agent: int) -> Float[Tensor, " axis"]:
        r"""Unit vector of a class, of an agent's or of a time's believed state.

        The direction of class c is :math:`\Sigma (W_c - \bar W)`: of all states of typical length it is the one
        in which the readout W prefers the class most.

        Args:
            kind: what was named.
            index: of the class, agent or time.
            agent: whose state is set.
        """
        if self.states is None or self.belief is None:
            return torch.zeros(self.model.num_axes)
        if kind == "class":
            weight = self.states.readout.weight
            vector = self.state_covariance @ (weight[index] - weight.mean(0))
        elif kind == "agent":
            vector = self.belief.mean[self.belief_time, index]
        else:
            at = max(self.belief_time - (self.time - index), 0)
            vector = self.belief.mean[at, agent]
        return torch.nn.functional.normalize(vector, dim=0).to(torch.get_default_dtype())

    @cached_property
    def candidates(self) -> Int[Tensor, "2 link"]:
        """Candidate links, sources and targets; those that may be named."""
        if self.fitted_states is None or self.fitted_states.links is None:
            return torch.zeros(2, 0, dtype=torch.long)
        links = self.fitted_states.links
        target, slot = links.is_candidate.nonzero(as_tuple=True)
        return torch.stack([links.source[target, slot], target])

    @property
    def active_links(self) -> Int[Tensor, "2 link"]:
        """Candidate links that something is simulated through: none where states have no weight."""
        if self.states is None:
            return self.candidates[:, :0]
        return self.candidates

    @cached_property
    def confidence(self) -> Float[Tensor, " agent"]:
        """Identification confidence 1 - H / H_prior of each agent's parents; 0 without candidates."""
        nothing = self.inputs.x.new_zeros(self.num_agents)
        states = self.states
        if states is None or states.links is None or states.structure is None:
            return nothing
        links = states.links
        entropy = binary_entropy(links.probability) * links.is_candidate
        prior = torch.full_like(entropy, states.structure.prior.share)
        prior_entropy = binary_entropy(prior) * links.is_candidate
        return identification_confidence(entropy.sum(1), prior_entropy.sum(1))
