"""Words of dowhy: mappings become interventions, differences have errors, outcomes are drawn."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.interventions import Do, Effect, Plan, Shift, dowhy
from sphunc.interventions.resolve import EntityIndex

DAY = date(2024, 1, 1)
ENTITIES = EntityIndex(("a", "b", "c", 3), ("calm",), (), (DAY, date(2024, 1, 2)), 2)


def answer(samples, structures=2, **changes):
    """An effect on two agents with two numbers each, of samples ``[S, 2, 2]``."""
    mean, row = samples.mean(0, keepdim=True), torch.zeros(1, 2)
    values = {
        "plan": Plan(),
        "agents": ("a", "b"),
        "intervened": torch.tensor([True, False]),
        "origin": 0,
        "times": (1,),
        "class_names": (),
        "outcome_names": ("joy", "fear"),
        "outcomes": mean,
        "factual_outcomes": mean,
        "monte_carlo_errors": torch.zeros_like(mean),
        "posterior_deviations": torch.zeros_like(mean),
        "interval": torch.zeros(2, 2, 2),
        "variances": samples.var(0, correction=0).unsqueeze(0) + 4.0,
        "confidence": row[0],
        "samples": samples,
        "structure_id": torch.arange(structures).repeat_interleave(len(samples) // structures),
    }
    rows = ("entropies", "withins", "identifications", "entropy_errors")
    return Effect(**{**values, **dict.fromkeys(rows, row), **changes})


def drawn(count, seed=0):
    return torch.randn(count, 2, 2, generator=torch.Generator().manual_seed(seed))


def test_mappings_become_do() -> None:
    made = dowhy.as_interventions({"a": "calm", "b": "c", 3: [0.0, 1.0]}, ENTITIES)
    assert made == (Do("a", toward="calm"), Do("b", observed="c"), Do(3, (0.0, 1.0)))
    assert dowhy.as_interventions(made[0] & made[1], ENTITIES) == made[:2]
    assert dowhy.as_interventions(made[0], ENTITIES) == made[:1]
    assert dowhy.as_interventions({"a": np.int64(3)}, ENTITIES) == (Do("a", observed=3),)
    assert dowhy.as_interventions({"a": DAY}, ENTITIES) == (Do("a", observed=DAY),)
    assert dowhy.as_interventions((), ENTITIES) == ()
    for wrong in (None, 3, "calm"):
        with pytest.raises(ArgumentTypeError, match="must be a mapping from agents to states, or interventions; got"):
            dowhy.as_interventions(wrong, ENTITIES)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "interventions set 'a' to True; give the name of a class, an agent, a time or a unit vector"),
        (None, "interventions set 'a' to None; give the name of a class"),
        (lambda x: x + 1, r"set 'a' to a function, which is not taken there; .* \[Policy\(function\)\]"),
    ],
)
def test_values_that_are_no_states_are_refused_in_the_words_of_the_mapping(value, words) -> None:
    with pytest.raises(ArgumentTypeError, match=words):
        dowhy.as_interventions({"a": value}, ENTITIES)


def test_values_that_name_nothing_or_two_things_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'a' to 'joy', which is no agent \(a, b, c, 3\), no time .* \(calm\)"):
        dowhy.as_interventions({"a": "joy"}, ENTITIES)
    with pytest.raises(ArgumentError, match=r"no class \(there are none\); give an agent, a time or a unit vector$"):
        dowhy.as_interventions({"a": "joy"}, replace(ENTITIES, classes=()))
    numbered = replace(ENTITIES, classes=("3", "4"))
    with pytest.raises(ArgumentError, match=r"the class is the text '4'$"):
        dowhy.as_interventions({"a": 4}, numbered)
    both = (
        r"\{'a': 3\} may mean the agent 3 or the class '3'; write the text \{'a': '3'\} for the class, or \[Do\('a', o"
    )
    with pytest.raises(ArgumentError, match=both):
        dowhy.as_interventions({"a": np.int64(3)}, numbered)
    years = EntityIndex(("a",), ("2020",), (), (2020, 2021), 2)
    with pytest.raises(ArgumentError, match="may mean the time 2020 or the class '2020'"):
        dowhy.as_interventions({"a": 2020}, years)
    assert dowhy.as_interventions({"a": "3"}, numbered) == (Do("a", toward="3"),)


def test_effect_asks_for_both_plans_and_compares_them() -> None:
    base = drawn(40)
    there = torch.arange(4).repeat_interleave(10)[:, None, None] < 2
    answers = {Plan(Do("a", toward="calm")): answer(base + 1.0 * there, 4), Plan(): answer(base, 4)}
    found = dowhy.effect(answers.__getitem__, "b", {"a": "calm"}, (), ENTITIES)
    assert found.to_dict() == pytest.approx({"mean_joy": 0.5, "mean_fear": 0.5})
    # Two structures of four have it: variance of their means 1/3, over 4 of them.
    assert torch.allclose(found.monte_carlo_error, torch.full((2,), (1 / 3) ** 0.5 / 2), atol=1e-5)
    ace = dowhy.average_causal_effect(answers.__getitem__, "b", {"a": "calm"}, (), ENTITIES)
    assert ace == found.to_dict()
    with pytest.raises(ArgumentError, match="target_node 'z' is not in the data; it has 4 agents"):
        dowhy.effect(answers.__getitem__, "z", (), (), ENTITIES)


def test_few_structures_give_no_error() -> None:
    assert dowhy.contrast(answer(drawn(6)), answer(drawn(6, 1)), "a").monte_carlo_error.isnan().all()


def test_numbers_are_drawn_with_the_variance_of_their_distribution() -> None:
    frame = dowhy.draw_outcomes(answer(drawn(4000, seed=7)))
    assert frame.columns == ["a joy", "a fear", "b joy", "b fear"]
    assert torch.tensor(frame.to_numpy()).std(0).tolist() == pytest.approx([5**0.5] * 4, rel=0.05)


def test_classes_are_drawn_as_often_as_asked_for_and_evenly_over_structures() -> None:
    certain = torch.eye(2)[torch.arange(2).repeat_interleave(3)].unsqueeze(1).expand(6, 2, 2)
    named = answer(certain, class_names=("calm", "upset"), outcome_names=())
    frame = dowhy.interventional_samples(lambda plan: named, (), ENTITIES, 4)
    assert frame["a"].to_list() == ["calm", "calm", "upset", "upset"]
    assert dowhy.counterfactual_samples(lambda plan: named, (), ENTITIES).height == 6


def test_noise_is_abducted_and_not_given() -> None:
    from inspect import unwrap

    with pytest.raises(ArgumentTypeError, match="takes no noise_data, got dict: noise is abducted"):
        unwrap(dowhy.counterfactual_samples)(lambda plan: None, (), ENTITIES, None, {})


def test_options_with_another_name_in_dowhy_are_refused() -> None:
    allowed = ("origin", "horizon", "seed")
    dowhy.dowhy_options("effect", {"seed": 1}, allowed)
    with pytest.raises(ArgumentTypeError, match="effect takes num_samples_to_draw= where intervene takes samples="):
        dowhy.dowhy_options("effect", {"samples": 1}, allowed)
    with pytest.raises(ArgumentTypeError, match="does not know the option 'size'; its options are origin, horizon"):
        dowhy.dowhy_options("effect", {"size": 1}, allowed)


def test_sweep_has_a_row_per_angle_with_means_over_the_others() -> None:
    asked = []

    def ask(plan):
        asked.append(plan)
        (shift,) = plan
        return answer(drawn(4), entropies=torch.tensor([[9.0, shift.angle]]))

    frame = dowhy.sweep(ask, "a", "calm", np.array([0.0, 0.5]))
    assert asked == [Plan(Shift("a", "calm", 0.0)), Plan(Shift("a", "calm", 0.5))]
    assert frame["angle"].to_list() == [0.0, 0.5]
    assert frame["entropy"].to_list() == [0.0, 0.5]
    assert frame["own_entropy"].to_list() == [9.0, 9.0]


@pytest.mark.parametrize("angles", [0.5, "wide", {0.5: 1}, np.ones((2, 2))])
def test_angles_are_several_numbers(angles) -> None:
    with pytest.raises(ArgumentTypeError, match="must be several numbers; give a list, such as"):
        dowhy.sweep(lambda plan: pytest.fail("asked"), "a", "calm", angles)


def test_angles_are_checked_before_the_first_is_asked_for() -> None:
    for angles, words in (([], "angles is empty; give radians"), ([0.5, 9.0], "angle=9 is outside 0")):
        with pytest.raises(ArgumentError, match=words):
            dowhy.sweep(lambda plan: pytest.fail("asked"), "a", "calm", angles)
