"""Names become indices; what is unknown or contradictory is refused by name."""

from dataclasses import replace

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.interventions import CutGroup, CutLink, Do, Policy, ScaleLink, Shift, Stochastic
from sphunc.interventions.resolve import EntityIndex, resolve

ENTITIES = EntityIndex(("a", "b", "c"), ("calm", "upset"), ("g", "h"), (0, 1, 2), 2)
NUMBERS = EntityIndex(("a", "b"), (), (), (0,), 2, numbers=1)
LINKS = torch.tensor([[0, 1], [1, 2]])


def direction(kind, index, agent):
    return torch.tensor([float(index), {"class": 1.0, "agent": 2.0, "time": 3.0}[kind]])


def put(*interventions, horizon=3, entities=ENTITIES):
    return resolve(interventions, entities, LINKS, direction, horizon)


def test_states_are_set_moved_and_drawn_at_their_steps() -> None:
    draw = Stochastic("c", (0.0, 1.0), 9.0, times=1)
    resolved = put(Do("a", toward="upset"), Shift("b", "c", 0.2), draw)
    assert len(resolved.steps) == 4
    assert resolved.intervened == (0, 1, 2)
    origin, first = resolved.steps[0], resolved.steps[1]
    assert origin.holds.agents.tolist() == [0]
    assert origin.holds.directions.tolist() == [[1.0, 1.0]]
    assert origin.shifts.agents.tolist() == [1]
    assert origin.shifts.directions.tolist() == [[2.0, 2.0]]
    assert origin.shifts.amounts.tolist() == pytest.approx([0.2])
    assert len(origin.draws) == 0
    assert origin.draws.directions.shape == (0, 2)
    assert first.draws.agents.tolist() == [2]
    assert first.draws.directions.tolist() == [[0.0, 1.0]]
    assert first.draws.amounts.tolist() == [9.0]
    assert first.sources[2] is draw
    assert first.changes_states
    assert resolved.steps[2] is origin


def test_references_become_directions() -> None:
    kinds = [Do("a", toward="upset"), Do("a", observed="c"), Do("a", observed=1), Do("a", (0.0, 1.0))]
    found = [put(one).steps[0].holds.directions[0].tolist() for one in kinds]
    assert found == [[1.0, 1.0], [2.0, 2.0], [1.0, 3.0], [0.0, 1.0]]
    moved = put(Shift("a", angle=0.2, observed="c"), Stochastic("b", kappa=3.0, observed=1)).steps[0]
    assert moved.shifts.directions.tolist() == [[2.0, 2.0]]
    assert moved.draws.directions.tolist() == [[1.0, 3.0]]


def test_outcomes_are_held_from_the_first_simulated_step_on() -> None:
    resolved = put(Do("b", outcome="upset"), Do("a", outcome="calm", times=2))
    assert [step.outcome_agents.tolist() for step in resolved.steps] == [[], [1], [1, 0], [1]]
    assert resolved.steps[2].outcomes.tolist() == [1, 0]
    assert resolved.steps[2].outcomes.dtype == torch.long
    assert not resolved.steps[2].changes_states
    assert resolved.intervened == (0, 1)


def test_numbers_are_held_one_or_several_per_agent() -> None:
    one = put(Do("b", outcome=5), entities=NUMBERS)
    assert one.steps[1].outcomes.tolist() == [[5.0]]
    assert one.steps[0].outcomes.shape == (0, 1)
    several = put(Do("b", outcome=[5, 6]), entities=replace(NUMBERS, numbers=2))
    assert several.steps[1].outcomes.tolist() == [[5.0, 6.0]]


@pytest.mark.parametrize("value", [1, 1.0])
def test_a_value_that_may_be_an_agent_or_a_class_is_refused(value) -> None:
    numbered = EntityIndex((1, 2, 3), ("0", "1"), (), (7, 8), 2)

    def put_one(one):
        step = put(one, entities=numbered).steps[0]
        return (step.holds.directions.tolist() + step.shifts.directions.tolist() + step.draws.directions.tolist())[0]

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
    resolved = put(CutLink("a", "b", times=1), ScaleLink("b", "c", 3.0), CutGroup("h", times=0))
    origin, first = resolved.steps[0], resolved.steps[1]
    assert dict(zip(first.link_positions.tolist(), first.link_factors.tolist(), strict=True)) == {0: 0.0, 1: 3.0}
    assert origin.link_positions.tolist() == [1]
    assert origin.groups_cut.tolist() == [1]
    assert first.groups_cut.tolist() == []
    assert resolved.intervened == ()


def test_policies_act_at_their_times() -> None:
    policy = Policy(lambda step, states: {}, times=2)
    resolved = put(policy)
    assert [step.policies for step in resolved.steps] == [(), (), (policy,), ()]
    assert resolved.steps[2].changes_states


@pytest.mark.parametrize(
    ("interventions", "words"),
    [
        ([Do("z", toward="calm")], "agent 'z' is not in the data; its 3 agents are a, b, c"),
        ([Do("a", toward="joy")], "class 'joy' is not known; the classes are calm, upset"),
        ([Do("a", toward="clam")], "the classes are calm, upset; did you mean 'calm'"),
        ([Do("a", outcome="upse")], "class 'upse' is not known; .* did you mean 'upset'"),
        ([Do("a", outcome=5.0)], r"outcome=5 is a number, but the outcomes are classes \(calm, upset\); name one"),
        ([Do("a", observed="z")], r"neither an agent \(a, b, c\) nor a time up to the origin \(0, 1, 2\)"),
        ([Do("a", (0.0, 0.0, 1.0))], "direction has 3 entries, but the model's states have 2"),
        ([Shift("a", "joy", 0.1)], r"neither a class \(calm, upset\) nor an agent"),
        ([CutGroup("k")], "group 'k' does not meet at the origin; groups that do: g, h"),
        ([CutLink("c", "a")], "no influence of 'c' on 'a' is considered"),
        ([CutLink("a", "z")], "agent 'z' is not in the data"),
        ([Do("b", toward="calm"), CutLink("a", "b")], "contradict each other: nothing acts on 'b' while its state is"),
        ([CutLink("a", "b"), Do("b", toward="calm")], "contradict each other"),
        ([Stochastic("b", "calm", 3.0), CutLink("a", "b")], "nothing acts on 'b' while its state is set"),
        ([Do("b", toward="calm"), Do("b", toward="upset")], "the state of 'b' is decided twice"),
        ([Shift("b", "calm", 0.1), Do("b", toward="upset")], "decided twice"),
        ([Do("b", outcome="calm"), Do("b", outcome="upset", times=1)], "the outcome of 'b' is decided twice"),
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


def test_both_contradicting_interventions_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"Do\(agent='b', toward='calm'\) and Do\(agent='b', toward='upset'\)"):
        put(Do("b", toward="calm"), Do("b", toward="upset"))


def test_parted_times_do_not_contradict() -> None:
    put(Do("b", toward="calm", times=0), CutLink("a", "b", times=0), Do("b", toward="upset", times=2))
    put(Do("b", toward="calm", times=1), CutLink("a", "b", times=1))
    put(Do("b", toward="calm", times=0), CutLink("a", "b"))
    put(ScaleLink("a", "b", 2.0), Do("b", toward="calm", times=0))
    put(CutGroup("g", times=0), CutGroup("g", times=1), CutGroup("h"))
    put(Shift("b", "calm", 0.1, times=0), Shift("b", "upset", 0.1, times=1), Do("a", toward="calm", times=3))
    put(Do("b", outcome="calm", times=1), Do("b", outcome="upset", times=2))


def test_state_and_outcome_of_one_agent_may_both_be_set() -> None:
    step = put(Do("b", toward="calm"), Do("b", outcome="upset"), CutLink("b", "c")).steps[1]
    assert step.holds.agents.tolist() == step.outcome_agents.tolist() == [1]
    put(Do("b", outcome="calm"), CutLink("a", "b"))
    put(Shift("b", "calm", 0.1), CutLink("a", "b"))
    put(Policy(lambda step, states: {}), Policy(lambda step, states: {}))


def test_a_group_that_was_split_is_cut_in_all_its_parts() -> None:
    split = replace(ENTITIES, groups=("g", "h", "g"))
    assert put(CutGroup("g"), entities=split).steps[1].groups_cut.tolist() == [0, 2]
    with pytest.raises(ArgumentError, match=r"groups that do: g, h$"):
        put(CutGroup("k"), entities=split)
    with pytest.raises(ArgumentError, match="does not meet then; groups that do: none"):
        put(CutGroup("k"), entities=replace(ENTITIES, groups=(), met="then"))


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (Do("a", toward="calm"), "names a class, but the outcomes are numbers; use direction or observed"),
        (Do("a", outcome="calm"), "outcome='calm' names a class, but the outcomes are numbers; give a number"),
        (Do("a", outcome=(1.0, 2.0)), "outcome has 2 numbers, but every agent has 1; give as many"),
        (Shift("a", "calm", 0.1), r"'calm' is no agent \(a, b\), and there are no classes, because the outcomes"),
    ],
)
def test_numbers_have_no_classes(one, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        put(one, entities=NUMBERS)


def test_an_error_gives_the_text_of_a_class_that_reads_like_the_number() -> None:
    with pytest.raises(ArgumentError, match=r"outcome=1 is a number, .*: the class is the text '1'"):
        put(Do("a", outcome=1), entities=replace(ENTITIES, classes=("0", "1")))


def test_a_model_without_states_takes_outcomes_only() -> None:
    stateless = replace(ENTITIES, dim=0)
    assert put(Do("a", outcome="calm"), entities=stateless).steps[1].outcomes.tolist() == [0]
    with pytest.raises(ArgumentError, match="this model has no states to set; hold an outcome with"):
        put(Do("a", (0.0, 1.0)), entities=stateless)


def test_thousands_of_interventions_are_checked_pair_by_pair_only_where_they_meet() -> None:
    many = EntityIndex(tuple(range(5000)), ("calm",), (), (0,), 2)
    resolved = put(*(Do(agent, toward="calm") for agent in range(5000)), entities=many)
    assert len(resolved.intervened) == 5000
