"""Paths of links and shared groups; copies that do not meet."""

from dataclasses import replace

import torch

from sphunc.interventions import CutGroup, CutLink, Do
from sphunc.interventions.resolve import resolve
from sphunc.interventions.simulation.population import (
    affected_agents,
    copies,
    followed_agents,
    restrict,
    sparse_incidence,
)


def test_copies_do_not_mix(build):
    groups = build.incidence(3, [[0, 1], [1, 2]])
    states = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    together = copies(groups, 2).cohesive_mean(states.flatten(0, 1), 1.0).view(2, 3, 5)
    for k in range(2):
        torch.testing.assert_close(together[k], groups.cohesive_mean(states[k], 1.0))


def test_sparse_averages_are_those_of_the_incidence(build):
    generator = torch.Generator().manual_seed(0)
    groups = build.incidence(6, [[0, 1, 2], [2, 3], [4], [1, 2, 3]])
    weight = torch.rand(len(groups.agent), generator=generator, dtype=torch.float64) + 0.1
    groups = replace(groups, weight=weight)
    sparse = sparse_incidence(groups, torch.float64)
    states = torch.randn(6, 2, 3, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(sparse.cohesive_mean(states, 1.3), groups.cohesive_mean(states, 1.3))
    values = states.flatten(1)
    mean, count = groups.mean_of_others(values, torch.ones_like(values))
    torch.testing.assert_close(sparse.mean_of_known_others(values), mean)
    assert torch.equal(sparse.is_alone, count[:, 0] == 0)


def test_whoever_acts_on_affected_agents_is_followed(chain, neighbours):
    origin = chain.past
    affected = torch.tensor([[False] * 4, [False, False, True, False]])
    assert followed_agents(origin, affected).tolist() == [1, 2]
    origin = neighbours.past
    affected = torch.tensor([[False] * 6, [False, False, False, True, False, False]])
    rows = followed_agents(origin, affected)
    assert rows.tolist() == [3, 4]
    local = restrict(origin.groups(0), rows, affected[-1])
    assert (local.agent.tolist(), local.group.tolist()) == ([0, 1], [0, 0])
    assert (local.num_agents, local.num_groups) == (2, 1)


def test_only_paths_of_links_and_groups_reach_agents(chain, neighbours):
    def steps(system, intervention):
        origin = system.past
        resolved = resolve([intervention], system.entities, origin.candidates, origin.direction, 2)
        return affected_agents(origin, resolved).long().tolist()

    assert steps(chain, Do("a0", (1.0,))) == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    assert steps(chain, CutLink("a1", "a2")) == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]
    assert steps(neighbours, Do("a3", outcome="c1")) == [[0] * 6, [0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 1, 0]]
    assert steps(neighbours, CutGroup("g1", times=0))[1] == [0, 0, 0, 1, 1, 0]
