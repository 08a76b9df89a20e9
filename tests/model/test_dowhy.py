"""Words of dowhy: mappings become interventions, differences have errors, outcomes are drawn from their laws."""

from datetime import date

import numpy as np
import pytest
import torch

import sphunc
from sphunc.causal.effects import Effect
from sphunc.errors import ArgumentTypeError
from sphunc.model.dowhy import as_interventions, contrast, draw_outcomes


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


def test_mappings_become_do() -> None:
    made = as_interventions({"a": "calm", "b": "c", "d": [0.0, 1.0]}, ("calm",))
    assert made == (sphunc.Do("a", toward="calm"), sphunc.Do("b", observed="c"), sphunc.Do("d", (0.0, 1.0)))
    assert as_interventions(made[0] & made[1], ()) == made[:2]
    assert as_interventions({"a": np.int64(3)}, ("calm",)) == (sphunc.Do("a", observed=3),)
    day = date(2024, 1, 1)
    assert as_interventions({"a": day}, ("calm",)) == (sphunc.Do("a", observed=day),)
    assert as_interventions((), ()) == ()
    with pytest.raises(ArgumentTypeError, match="direction must be a vector of numbers, got bool"):
        as_interventions({"a": True}, ("calm",))
    for wrong in (None, 3, "calm"):
        with pytest.raises(ArgumentTypeError, match="must be a mapping from agents to states, or interventions; got"):
            as_interventions(wrong, ("calm",))


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
