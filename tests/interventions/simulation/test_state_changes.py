"""States are set, moved, drawn or decided."""

import math

import pytest
import torch

from sphunc.interventions import Do, Policy, Shift, Stochastic
from sphunc.interventions.resolve import EntityIndex, resolve
from sphunc.interventions.simulation.state_changes import change_states, draw_directions, moved, state_length, typical

NO_LINKS = torch.zeros(2, 0, dtype=torch.long)
ENTITIES = EntityIndex(("a", "b", "c"), ("calm",), (), (0,), 2)


def changed(intervention, order=(0, 1, 2)):
    def direction(kind, index, agent):
        return torch.tensor([0.0, 1.0])

    resolved = resolve([intervention], ENTITIES, NO_LINKS, direction, 1)
    states = torch.randn(2, 3, 4, 2, generator=torch.Generator().manual_seed(0))
    before = states.clone()
    generators = [torch.Generator().manual_seed(k) for k in range(2)]
    agents = {"a": 0, "b": 1, "c": 2}
    decided = change_states(states, resolved.steps[1], 1, torch.eye(2) / 9.0, agents, generators, torch.tensor(order))
    return before, states, decided


def test_a_state_that_is_set_has_the_typical_length():
    before, after, _ = changed(Do("b", (1.0, 0.0)))
    assert torch.equal(after[:, 1], torch.tensor([3.0, 0.0]).expand(2, 4, 2))
    assert torch.equal(after[:, [0, 2]], before[:, [0, 2]])


def test_a_shift_turns_and_keeps_the_length():
    before, after, _ = changed(Shift("b", (1.0, 0.0), 0.3))
    cosine = torch.nn.functional.cosine_similarity(before[:, 1], after[:, 1], dim=-1)
    apart = torch.atan2(before[:, 1, :, 1], before[:, 1, :, 0]).abs()
    torch.testing.assert_close(cosine.acos(), apart.clamp(max=0.3), atol=2e-3, rtol=0)
    torch.testing.assert_close(after.norm(dim=-1), before.norm(dim=-1))


@pytest.mark.parametrize("angle", [0.0, 0.7, math.pi])
def test_a_shift_follows_the_geodesic(angle):
    start = torch.tensor([2.0, 0.0, 0.0], dtype=torch.float64)
    toward = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    found = moved(start, toward, torch.tensor(angle, dtype=torch.float64), torch.eye(3, dtype=torch.float64))
    turned = min(angle, math.pi / 2)
    expected = 2.0 * torch.tensor([math.cos(turned), math.sin(turned), 0.0], dtype=torch.float64)
    torch.testing.assert_close(found, expected)


def test_an_opposite_state_stays_unless_the_angle_reaches_it():
    start = torch.tensor([1.0, 0.0], dtype=torch.float64)
    plain = torch.eye(2, dtype=torch.float64)
    stays = moved(start, -start, torch.tensor(1.0, dtype=torch.float64), plain)
    turns = moved(start, -start, torch.tensor(math.pi, dtype=torch.float64), plain)
    assert stays[0] > 0
    torch.testing.assert_close(turns, -start)


def test_drawn_states_gather_around_their_direction():
    _, after, _ = changed(Stochastic("c", "calm", 1e6))
    torch.testing.assert_close(after[:, 2], torch.tensor([0.0, 3.0]).expand(2, 4, 2), atol=0.02, rtol=0)


def test_on_a_line_there_are_two_directions():
    mu = torch.tensor([[1.0]])
    drawn = draw_directions(mu, torch.tensor([0.4]), 20_000, torch.Generator().manual_seed(0))
    assert set(drawn.unique().tolist()) == {-1.0, 1.0}
    share = 1.0 / (1.0 + math.exp(-0.8))
    # Five standard errors.
    assert abs(float((drawn > 0).double().mean()) - share) < 5 * math.sqrt(share * (1 - share) / 20_000)


def test_a_policy_sees_agents_in_the_order_of_the_data():
    seen = []

    def follow(step, states):
        seen.append(states)
        return {"a": states[:, 0]}

    order = (2, 0, 1)  # the agent of row 0 is at position 2 of the data
    before, after, decided = changed(Policy(follow), order)
    directions = torch.nn.functional.normalize(before, dim=-1)
    shown = seen[0].view(2, 4, 3, 2)
    torch.testing.assert_close(shown[:, :, 2], directions[:, 0])
    torch.testing.assert_close(after[:, 0], 3.0 * directions[:, 1])
    assert decided == {0}


def test_lengths_are_those_of_the_metric():
    metric = torch.tensor([[4.0, 1.0], [1.0, 9.0]], dtype=torch.float64)
    states = torch.tensor([[1.0, 0.0], [1.0, -1.0], [0.0, 0.0]], dtype=torch.float64)
    expected = torch.tensor([[2.0], [11.0**0.5], [0.0]], dtype=torch.float64)
    torch.testing.assert_close(state_length(states, metric), expected)
    torch.testing.assert_close(state_length(typical(states, metric), metric).flatten().tolist(), [1.0, 1.0, 0.0])
