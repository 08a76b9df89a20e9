"""Decoys lower what they reach as often as candidates do, and leave the order of the links alone."""

import pytest
import torch

import sphunc
from sphunc.model.inputs import read_inputs
from sphunc.model.link_calibration import decoy_share
from sphunc.model.states import fit_chains


def draw(seed, count):
    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_nothing_is_left_where_decoys_do_as_well():
    raw = draw(0, 2000)
    share = decoy_share(raw.view(40, 50), raw, draw(1, 2000))
    assert float(share.max()) < 0.5
    assert float(share.mean()) < 0.05


def test_links_that_no_decoy_reaches_stay():
    rivals = torch.cat([0.2 * draw(0, 1800), 0.9 + 0.1 * draw(1, 200)])
    decoys = 0.2 * draw(2, 2000)
    share = decoy_share(torch.tensor([[0.1, 0.95, 0.99]], dtype=torch.float64), rivals, decoys)
    assert float(share[0, 0]) < 0.2
    assert float(share[0, 1]) > 0.9


def test_order_of_the_links_stays():
    rivals = torch.cat([draw(0, 1500), 0.8 + 0.2 * draw(1, 300)])
    raw = draw(3, 100).sort().values.view(1, -1)
    share = decoy_share(raw, rivals, draw(2, 1500))
    assert bool((share.diff(dim=1) >= 0).all())


@pytest.mark.parametrize("seed", [0, 1])
def test_panel_without_influence_shows_no_certain_link(seed):
    generator = torch.Generator().manual_seed(seed)
    data = sphunc.simulate("snare", agents=60, times=6, seed=seed).data
    inputs = read_inputs(data, data.num_classes, data.num_classes)
    # Every agent by itself: a persistent level and fresh noise.
    level = torch.randn(1, 60, inputs.x.shape[2], generator=generator, dtype=torch.float64)
    noise = torch.randn(inputs.x.shape, generator=generator, dtype=torch.float64)
    object.__setattr__(inputs, "x", torch.where(inputs.x_mask, level + noise, 0.0))
    chains = fit_chains(inputs, most_axes=8, seed=0)
    assert chains is not None
    assert chains.links is not None
    assert float(chains.links.probability.max()) < 0.9
