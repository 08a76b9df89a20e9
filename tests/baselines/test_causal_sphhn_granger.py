"""The Granger mask: finds a planted link, keeps to its rate, and places links in other data."""

import numpy as np
import torch

from sphunc.baselines.causal_sphhn_granger import (
    digests,
    discovery_rates,
    granger_p_values,
    leading_components,
    place_links,
)
from sphunc.baselines.links import false_discovery
from sphunc.discovery.candidates import all_pairs


def chain(times: int = 12, agents: int = 6, dim: int = 4) -> torch.Tensor:
    """Agent 1 follows agent 0 by one step; all others go their own way."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(times, agents, dim, generator=generator)
    for t in range(1, times):
        x[t] = 0.3 * x[t - 1] + x[t]
        x[t, 1] = x[t, 1] + 1.5 * x[t - 1, 0]
    return x


def test_planted_link_is_found_in_its_direction() -> None:
    links = all_pairs(6)
    p_value = granger_p_values(chain(), links)
    chosen = links[:, discovery_rates(p_value) <= 0.01].T.tolist()
    assert chosen == [[0, 1]]
    assert links[:, p_value.argmin()].tolist() == [0, 1]


def test_rates_by_hand_and_as_benjamini_and_hochberg_choose() -> None:
    by_hand = discovery_rates(torch.tensor([0.8, 0.01, 0.04, 0.03], dtype=torch.double))
    assert torch.allclose(by_hand, torch.tensor([0.8, 0.04, 0.16 / 3, 0.16 / 3], dtype=torch.double))
    p_value = torch.rand(200, generator=torch.Generator().manual_seed(2), dtype=torch.double) ** 2
    for rate in (0.01, 0.1, 0.5, 0.9):
        assert torch.equal(discovery_rates(p_value) <= rate, false_discovery(p_value, rate))


def test_components_are_white_and_at_most_eight() -> None:
    x = torch.randn(10, 30, 12, generator=torch.Generator().manual_seed(1)) * torch.arange(1, 13)
    z = leading_components(x)
    assert z.shape == (10, 30, 8)
    assert torch.allclose(z.flatten(0, 1).T @ z.flatten(0, 1) / 300, torch.eye(8).double(), atol=1e-9)
    assert leading_components(torch.ones(4, 5, 3)).shape == (4, 5, 0)


def test_short_or_constant_panels_and_no_candidates_give_no_link() -> None:
    links = all_pairs(6)
    assert bool((granger_p_values(chain(times=3), links) == 1).all())
    assert bool((granger_p_values(torch.ones(9, 6, 2), links) == 1).all())
    nothing = granger_p_values(chain(), links[:, :0])
    assert nothing.shape == (0,)
    assert discovery_rates(nothing).shape == (0,)


def test_links_follow_their_agents_into_other_data() -> None:
    old, new = digests(("a", "b", "c", 7)), digests(("c", "new", "a", "b"))
    links = old[torch.tensor([[0, 1, 3], [1, 2, 0]])]
    placed, there = place_links(links, new)
    assert placed.T.tolist() == [[2, 3], [3, 0]]
    assert there.tolist() == [True, True, False]
    assert [part.shape for part in place_links(links, digests(()))] == [(2, 0), (3,)]


def test_digests_tell_numbers_from_words_and_not_numbers_from_numbers() -> None:
    seven, text, numpys = digests((7, "7", np.int64(7))).tolist()
    assert seven == numpys
    assert seven != text
