"""The Granger mask: finds a planted link, keeps to its rate, and places links in other data."""

import numpy as np
import torch

from sphunc.baselines.causal_sphhn_granger import (
    digests,
    granger_mask,
    granger_p_values,
    leading_components,
    place_links,
)
from sphunc.causal.candidates import all_pairs


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
    chosen = links[:, granger_mask(p_value, 0.01)].T.tolist()
    assert chosen == [[0, 1]]
    assert links[:, p_value.argmin()].tolist() == [0, 1]


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
    assert granger_mask(nothing, 0.01).shape == (0,)


def test_links_follow_their_agents_into_other_data() -> None:
    old, new = digests(("a", "b", "c", 7)), digests(("c", "new", "a", "b"))
    links = old[torch.tensor([[0, 1, 3], [1, 2, 0]])]
    assert place_links(links, new).T.tolist() == [[2, 3], [3, 0]]
    assert place_links(links, digests(())).shape == (2, 0)


def test_digests_tell_numbers_from_words_and_not_numbers_from_numbers() -> None:
    seven, text, numpys = digests((7, "7", np.int64(7))).tolist()
    assert seven == numpys
    assert seven != text
