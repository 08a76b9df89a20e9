"""Names become indices; what is unknown or contradictory is refused by name."""

from dataclasses import replace

import pytest
import torch

from sphunc.causal.action import Names, resolve, turn
from sphunc.causal.interventions import CutGroup, CutLink, Do, Policy, ScaleLink, Shift, Stochastic
from sphunc.errors import ArgumentError

NAMES = Names(("a", "b", "c"), ("calm", "upset"), ("g", "h"), (0, 1, 2), 2)
LINKS = torch.tensor([[0, 1], [1, 2]])


def direct(kind, index, agent):
    return torch.tensor([float(index), {"class": 1.0, "agent": 2.0, "time": 3.0}[kind]])


def put(*interventions, horizon=3):
    return resolve(interventions, NAMES, LINKS, direct, horizon)


def test_states() -> None:
    action = put(Do("a", toward="upset"), Shift("b", "c", 0.2), Stochastic("c", (0.0, 1.0), 9.0, times=1))
    assert [change.kind for change in action.states] == ["do", "shift", "draw"]
    assert [change.agent for change in action.states] == [0, 1, 2] == list(action.touched)
    assert action.states[0].direction.tolist() == [1.0, 1.0]
    assert action.states[1].direction.tolist() == [2.0, 2.0]
    assert [change.amount for change in action.states] == pytest.approx([0.0, 0.2, 9.0])
    assert put(Do("a", observed="c")).states[0].direction.tolist() == [2.0, 2.0]
    assert put(Do("a", observed=1)).states[0].direction.tolist() == [1.0, 3.0]


def test_turns_and_draws_may_take_an_observed_state() -> None:
    action = put(Shift("a", angle=0.2, observed="c"), Stochastic("b", kappa=3.0, observed=1))
    assert [change.direction.tolist() for change in action.states] == [[2.0, 2.0], [1.0, 3.0]]


@pytest.mark.parametrize("value", [1, 1.0])
def test_a_value_that_may_be_an_agent_or_a_class_is_refused(value) -> None:
    numbered = Names((1, 2, 3), ("0", "1"), (), (7, 8), 2)

    def put_one(one):
        return resolve([one], numbered, LINKS, direct, 3).states[0].direction.tolist()

    words = rf"{{}}={value} may be the agent {value} or the class '1'; write the text {{}}='1' for the class, or observ"
    with pytest.raises(ArgumentError, match=words.format("toward", "toward")):
        put_one(Shift(3, value, 0.5))
    with pytest.raises(ArgumentError, match=words.format("mu", "mu")):
        put_one(Stochastic(3, value, 2.0))
    with pytest.raises(ArgumentError, match=r"0 is neither a class .* or a unit vector: the class is the text '0'"):
        put_one(Shift(3, 0, 0.5))
    assert put_one(Shift(3, "1", 0.5)) == [1.0, 1.0]
    assert put_one(Shift(3, 2, 0.5)) == [1.0, 2.0]
    assert put_one(Shift(3, angle=0.5, observed=value)) == [0.0, 2.0]
    assert put_one(Do(3, observed=value)) == [0.0, 2.0]


def test_links_and_groups_act_at_their_times() -> None:
    action = put(CutLink("a", "b", times=1), ScaleLink("b", "c", 3.0), CutGroup("h", times=0))
    assert action.gate_factors(1, 2).tolist() == [0.0, 3.0]
    assert action.gate_factors(0, 2).tolist() == [1.0, 3.0]
    assert put(CutLink("a", "b", times=1)).gate_factors(0, 2) is None
    assert action.groups_cut(0) == (1,)
    assert action.groups_cut(1) == ()
    assert put().is_null
    assert not put(Policy(lambda step, states: {})).is_null


@pytest.mark.parametrize(
    ("interventions", "words"),
    [
        ([Do("z", toward="calm")], "agent 'z' is not in the data; its 3 agents are a, b, c"),
        ([Do("a", toward="joy")], "class 'joy' is not known; the classes are calm, upset"),
        ([Do("a", observed="z")], r"neither an agent \(a, b, c\) nor a time up to the origin \(0, 1, 2\)"),
        ([Do("a", (0.0, 0.0, 1.0))], "direction has 3 entries, but the model's states have 2"),
        ([Shift("a", "joy", 0.1)], r"neither a class \(calm, upset\) nor an agent"),
        ([CutGroup("k")], "group 'k' does not meet at the origin; groups that do: g, h"),
        ([CutLink("c", "a")], "no influence of 'c' on 'a' is considered"),
        ([CutLink("a", "z")], "agent 'z' is not in the data"),
        ([Do("b", toward="calm"), CutLink("a", "b")], "contradict each other: nothing acts on 'b' while its state is"),
        ([CutLink("a", "b"), Do("b", toward="calm")], "contradict each other"),
        ([Do("b", toward="calm"), Do("b", toward="upset")], "the state of 'b' is decided twice"),
        ([Shift("b", "calm", 0.1), Do("b", toward="upset")], "decided twice"),
        ([CutLink("a", "b"), ScaleLink("a", "b", 2.0)], "they change the same link"),
        ([CutGroup("g"), CutGroup("g")], "the group is cut twice"),
        ([Do("a", toward="calm", times=4)], "acts at step 4, after the horizon 3"),
        ([Shift("b", "calm", 0.1), Shift("b", "upset", 0.1, times=1)], "the state of 'b' is decided twice"),
        ([Shift("b", "calm", 0.1), Stochastic("b", "upset", 3.0)], "the state of 'b' is decided twice"),
        ([CutGroup("g", times=0), CutGroup("g", times=[0, 1])], "the group is cut twice"),
        ([CutGroup("g"), CutGroup("g", times=2)], "the group is cut twice"),
        ([CutLink("a", "b", times=3)], "begins at step 3, but the horizon 3 is its end; choose times from 0 to 2"),
        ([ScaleLink("a", "b", 2.0, times=[0, 3])], "begins at step 3, but the horizon 3 is its end"),
        ([CutGroup("g", times=3)], "begins at step 3, but the horizon 3 is its end"),
        ([Do("b", toward="calm", times=2), CutLink("a", "b", times=1)], "nothing acts on 'b' while its state is set"),
    ],
)
def test_faults_are_named(interventions, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        put(*interventions)


def test_parted_times_do_not_contradict() -> None:
    put(Do("b", toward="calm", times=0), CutLink("a", "b", times=0), Do("b", toward="upset", times=2))
    put(Do("b", toward="calm", times=1), CutLink("a", "b", times=1))
    put(Do("b", toward="calm", times=0), CutLink("a", "b"))
    put(ScaleLink("a", "b", 2.0), Do("b", toward="calm", times=0))
    put(CutGroup("g", times=0), CutGroup("g", times=1), CutGroup("h"))
    put(Shift("b", "calm", 0.1, times=0), Shift("b", "upset", 0.1, times=1), Do("a", toward="calm", times=3))


def test_a_group_that_was_torn_is_cut_in_all_its_parts() -> None:
    torn = replace(NAMES, groups=("g", "h", "g"))
    assert resolve([CutGroup("g")], torn, LINKS, direct, 2).groups_cut(1) == (0, 2)
    with pytest.raises(ArgumentError, match=r"groups that do: g, h$"):
        resolve([CutGroup("k")], torn, LINKS, direct, 2)


def test_numbers_have_no_classes() -> None:
    numbers = Names(("a",), (), (), (0,), 2)
    with pytest.raises(ArgumentError, match="the outcomes are numbers; use direction or observed"):
        resolve([Do("a", toward="calm")], numbers, LINKS, direct, 1)
    with pytest.raises(
        ArgumentError, match=r"'calm' is no agent \(a\), and there are no classes, because the outcomes"
    ):
        resolve([Shift("a", "calm", 0.1)], numbers, LINKS, direct, 1)


def unit(*shape, seed=0):
    return torch.nn.functional.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def test_turn_stops_at_the_target_and_keeps_the_length() -> None:
    h, target = unit(5, 24, seed=11), unit(24, seed=12)
    assert torch.allclose(turn(h, target, 3.2), target.expand(5, -1), atol=1e-4)
    by = turn(h, target, 0.3)
    assert torch.allclose(by.norm(dim=-1), torch.ones(5), atol=1e-5)
    assert torch.allclose(torch.acos((by * h).sum(-1)), torch.full((5,), 0.3), atol=1e-3)
    assert torch.equal(turn(target.expand(1, -1), target, 0.3), target.expand(1, -1))
