"""Words of dowhy: mappings become interventions, differences have errors, outcomes are drawn from their laws."""

from datetime import date

import numpy as np
import pytest
import torch

import sphunc
from sphunc.causal.effects import Effect
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import assemble
from sphunc.legacy.dowhy import as_interventions, contrast, draw_outcomes


def effect(samples, structures=2, **changes):
    """An effect on two agents with two numbers each, of samples ``[S, 2, 2]``."""
    mean, row = samples.mean(0, keepdim=True), torch.zeros(1, 2)
    values = {
        "plan": sphunc.causal.Plan(),
        "agents": ("a", "b"),
        "intervened": torch.zeros(2, dtype=torch.bool),
        "origin": 0,
        "times": (1,),
        "class_names": (),
        "outcome_names": ("joy", "fear"),
        "outcomes": mean,
        "factual_outcomes": mean,
        "effect_errors": torch.zeros_like(mean),
        "variances": samples.var(0, correction=0).unsqueeze(0) + 4.0,
        "confidence": row[0],
        "samples": samples,
        "structure_id": torch.arange(structures).repeat_interleave(len(samples) // structures),
    }
    rows = ("entropies", "withins", "identifications", "entropy_errors", "latent_bounds")
    return Effect(**{**values, **dict.fromkeys(rows, row), **changes})


def drawn(count, seed=0):
    return torch.randn(count, 2, 2, generator=torch.Generator().manual_seed(seed))


DAY = date(2024, 1, 1)
DATA = assemble(times=[DAY, date(2024, 1, 2)], node_ids=["a", "b", "c", 3])


def test_mappings_become_do() -> None:
    made = as_interventions({"a": "calm", "b": "c", 3: [0.0, 1.0]}, ("calm",), DATA)
    assert made == (sphunc.Do("a", toward="calm"), sphunc.Do("b", observed="c"), sphunc.Do(3, (0.0, 1.0)))
    assert as_interventions(made[0] & made[1], (), DATA) == made[:2]
    assert as_interventions({"a": np.int64(3)}, ("calm",), DATA) == (sphunc.Do("a", observed=3),)
    assert as_interventions({"a": DAY}, ("calm",), DATA) == (sphunc.Do("a", observed=DAY),)
    assert as_interventions((), (), DATA) == ()
    for wrong in (None, 3, "calm"):
        with pytest.raises(ArgumentTypeError, match="must be a mapping from agents to states, or interventions; got"):
            as_interventions(wrong, ("calm",), DATA)


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
        as_interventions({"a": value}, ("calm",), DATA)


def test_values_that_name_nothing_or_two_things_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'a' to 'joy', which is no agent \(a, b, c, 3\), no time .* \(calm\)"):
        as_interventions({"a": "joy"}, ("calm",), DATA)
    with pytest.raises(ArgumentError, match=r"no class \(there are none\); give an agent, a time or a unit vector$"):
        as_interventions({"a": "joy"}, (), DATA)
    with pytest.raises(ArgumentError, match=r"the class is the text '4'$"):
        as_interventions({"a": 4}, ("3", "4"), DATA)
    both = (
        r"\{'a': 3\} may mean the agent 3 or the class '3'; write the text \{'a': '3'\} for the class, or \[Do\('a', o"
    )
    with pytest.raises(ArgumentError, match=both):
        as_interventions({"a": np.int64(3)}, ("3", "4"), DATA)
    years = assemble(times=[2020, 2021], node_ids=["a"])
    with pytest.raises(ArgumentError, match="may mean the time 2020 or the class '2020'"):
        as_interventions({"a": 2020}, ("2020",), years)
    assert as_interventions({"a": "3"}, ("3", "4"), DATA) == (sphunc.Do("a", toward="3"),)


def test_a_contrast_counts_structures_in_its_error() -> None:
    base = drawn(40)
    there = torch.arange(4).repeat_interleave(10)[:, None, None] < 2
    found = contrast(effect(base + 1.0 * there, 4), effect(base, 4), "a")
    assert found.to_dict() == pytest.approx({"mean_joy": 0.5, "mean_fear": 0.5})
    assert torch.allclose(found.error, torch.full((2,), (1 / 3) ** 0.5 / 2), atol=1e-5)


def test_numbers_are_drawn_with_the_variance_of_their_law() -> None:
    frame = draw_outcomes(effect(drawn(4000, seed=7)))
    assert frame.columns == ["a joy", "a fear", "b joy", "b fear"]
    assert torch.tensor(frame.to_numpy()).std(0).tolist() == pytest.approx([5**0.5] * 4, rel=0.05)


def test_classes_are_drawn_as_often_as_asked_for_and_evenly_over_structures() -> None:
    laws = torch.eye(2)[torch.arange(2).repeat_interleave(3)].unsqueeze(1).expand(6, 2, 2)
    named = effect(laws, class_names=("calm", "upset"), outcome_names=())
    frame = draw_outcomes(named, 4)
    assert frame["a"].to_list() == ["calm", "calm", "upset", "upset"]
    assert draw_outcomes(named).height == 6
