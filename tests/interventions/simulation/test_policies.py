"""Policies see unit states and return unit states of known agents that nothing else decides."""

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.interventions import Do, Policy
from sphunc.interventions.resolve import EntityIndex, resolve
from sphunc.interventions.simulation.policies import policy_states

ENTITIES = EntityIndex(("a", "b", "c"), ("calm",), (), (0,), 2)
AGENTS = {"a": 0, "b": 1, "c": 2}
STATES = torch.nn.functional.normalize(torch.randn(4, 3, 2, generator=torch.Generator().manual_seed(0)), dim=-1)


def decide(*interventions, step=1):
    resolved = resolve(
        interventions, ENTITIES, torch.zeros(2, 0, dtype=torch.long), lambda *_: torch.tensor([0.0, 1.0]), 2
    )
    return policy_states(resolved.steps[step], step, STATES, AGENTS)


def test_one_state_for_all_samples_or_one_for_each() -> None:
    agents, states = decide(Policy(lambda step, states: {"b": states[:, 0], "c": [0.6, 0.8]}))
    assert agents.tolist() == [1, 2]
    torch.testing.assert_close(states[:, 0], STATES[:, 0])
    torch.testing.assert_close(states[:, 1], torch.tensor([[0.6, 0.8]]).expand(4, 2))


def test_a_policy_that_sets_none_and_one_that_rests() -> None:
    for policy in (Policy(lambda step, states: {}), Policy(lambda step, states: {"a": states[0, 0]}, times=0)):
        agents, states = decide(policy)
        assert agents.shape == (0,)
        assert states.shape == (4, 0, 2)


def test_a_policy_cannot_change_the_states_it_sees_and_gradients_end() -> None:
    before = STATES.clone()

    def spoil(step, states):
        states.zero_()
        return {"a": torch.tensor([1.0, 0.0], requires_grad=True)}

    _, states = decide(Policy(spoil))
    assert torch.equal(STATES, before)
    assert not states.requires_grad


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda step, states: None, "the policy returned None; return a mapping from agents to states"),
        (lambda step, states: {"z": states[0, 0]}, "the policy set agent 'z', which is not in the data"),
        (lambda step, states: {"a": "north"}, "to 'north'; give a state, a vector of numbers"),
        (lambda step, states: {"a": [1.0, 0.0, 0.0]}, r"of shape \(3,\); give numbers of shape \(4, 2\) or \(2,\)"),
        (lambda step, states: {"a": [float("nan"), 0.0]}, "with an entry that is not finite"),
        (lambda step, states: {"a": [2.0, 0.0]}, "a state of length 2, not 1; divide it by its length"),
    ],
)
def test_what_cannot_be_used_is_refused(function, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        decide(Policy(function))


def test_nothing_is_decided_twice() -> None:
    follow = Policy(lambda step, states: {"a": states[:, 1]}, "follow")
    for other in (Do("a", toward="calm"), follow):
        with pytest.raises(ArgumentError, match=r"and Policy\(.* contradict each other: the state of 'a' is decided"):
            decide(other, follow)
    decide(Do("b", toward="calm"), follow)
    decide(Do("a", toward="calm", times=0), follow)
    decide(Do("a", outcome="calm"), follow)
