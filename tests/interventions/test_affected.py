"""Paths of links and shared groups; copies that do not meet."""

import torch

from sphunc.interventions import CutGroup, CutLink, Do
from sphunc.interventions.affected import affected_agents, copies
from sphunc.interventions.resolve import resolve


def test_copies_do_not_mix(build):
    groups = build.incidence(3, [[0, 1], [1, 2]])
    states = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    together = copies(groups, 2).cohesive_mean(states.flatten(0, 1), 1.0).view(2, 3, 5)
    for k in range(2):
        torch.testing.assert_close(together[k], groups.cohesive_mean(states[k], 1.0))


def test_only_paths_of_links_and_groups_reach_agents(chain, neighbours):
    def steps(system, intervention):
        origin = system.at_origin(with_future=False)
        resolved = resolve([intervention], system.entities, origin.candidates, origin.direction, 2)
        return affected_agents(origin, resolved).long().tolist()

    assert steps(chain, Do("a0", (1.0,))) == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    assert steps(chain, CutLink("a1", "a2")) == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]
    assert steps(neighbours, Do("a3", outcome="c1")) == [[0] * 6, [0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 1, 0]]
    assert steps(neighbours, CutGroup("g1", times=0))[1] == [0, 0, 0, 1, 1, 0]
