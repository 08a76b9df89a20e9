"""Links that are given: by ids or indices, and refused in words where they fit nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import sphunc
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.legacy.scenario import check_scenario, known_links, no_links


def test_ids_and_indices_name_the_same_links(short_data) -> None:
    a, b, c = short_data.node_ids[:3]
    named = known_links([(a, b), (np.str_(c), a)], [0.5, 1], short_data)
    placed = known_links(torch.tensor([[0, 2], [1, 0]]), torch.tensor([0.5, 1.0]))
    assert torch.equal(named.links, placed.links)
    assert torch.equal(named.strengths, placed.strengths)
    assert named.gates.tolist() == [0.5, 1.0]
    assert not named.is_single_draw
    assert known_links([], [], short_data).links.shape == no_links().links.shape == (2, 0)
    check_scenario(named, short_data.num_nodes)


def test_names_are_public() -> None:
    assert sphunc.known_links is known_links
    assert sphunc.no_links is no_links
    assert isinstance(no_links(), sphunc.Scenario)


@pytest.mark.parametrize(
    ("links", "strengths", "error", "words"),
    [
        ([("a00", "nobody")], [1.0], ArgumentError, "links names agent 'nobody', which is not in the data; it has a00"),
        ([("a00", ["a01"])], [1.0], ArgumentError, "links names agent"),
        (["a00"], [1.0], ArgumentTypeError, r"links has 'a00'; with data, give pairs of ids"),
        ("a00", [1.0], ArgumentTypeError, r"links has 'a00'; with data, give pairs of ids"),
        (5, [1.0], ArgumentTypeError, r"links has 5; with data, give pairs of ids"),
        ([("a00", "a01")], [1.0, 2.0], ArgumentError, r"strengths has shape \(2,\) for 1 links; give a number"),
        ([("a00", "a01")], ["strong"], ArgumentTypeError, "strengths must be numbers, one per link; got"),
        ([("a00", "a01")], [float("nan")], ArgumentError, "strengths has an entry that is not finite"),
        ([("a00", "a01"), ("a00", "a01")], [1.0, 2.0], ArgumentError, r"links has \(0, 1\) twice, .* one strength"),
    ],
)
def test_links_that_cannot_be_meant(short_data, links, strengths, error, words) -> None:
    with pytest.raises(error, match=words):
        known_links(links, strengths, short_data)


@pytest.mark.parametrize("links", [5, "ab", [("a", "b")], torch.zeros(3, 1), torch.zeros(2, 1), torch.zeros(2).long()])
def test_indices_have_two_rows(links) -> None:
    with pytest.raises(ArgumentTypeError, match=r"links must be indices \[2, K\] .* known_links\(\[\(source, target"):
        known_links(links, [1.0])


def test_a_scenario_has_to_fit_the_data() -> None:
    with pytest.raises(ArgumentTypeError, match=r"scenario must be a Scenario, got int; make it with sphunc.known_li"):
        check_scenario(5, 30)
    for wrong in (500, -1):
        with pytest.raises(ArgumentError, match=f"scenario links agent {wrong}, but the data have 30 agents, 0 to 29"):
            check_scenario(known_links(torch.tensor([[0], [wrong]]), [1.0]), 30)
    one = known_links(torch.tensor([[0], [1]]), [1.0])
    with pytest.raises(ArgumentError, match=r"scenario has 1 links, but strengths of shape \(1, 2\)"):
        check_scenario(replace(one, strengths=torch.ones(1, 2)), 30)
    with pytest.raises(ArgumentError, match=r"scenario has 1 links, but .* gates \(2,\)"):
        check_scenario(replace(one, gates=torch.ones(2)), 30)
