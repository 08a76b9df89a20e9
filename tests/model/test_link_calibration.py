"""Decoys lower what they reach as often as candidates do, and leave the order of the links alone."""

import pytest
import torch

import sphunc
from sphunc.model.dynamics import initial_dynamics
from sphunc.model.inputs import read_inputs
from sphunc.model.link_calibration import _reordered, decoy_share
from sphunc.model.states import fit_chains
from sphunc.model.structure import learn_structure


def draw(seed, count):
    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_nothing_is_left_where_decoys_do_as_well():
    raw = draw(0, 2000)
    share = decoy_share(raw.view(40, 50), raw, draw(1, 2000))
    assert float(share.max()) < 0.5
    assert float(share.mean()) < 0.05


def test_links_that_no_decoy_reaches_stay():
    candidates = torch.cat([0.2 * draw(0, 1800), 0.9 + 0.1 * draw(1, 200)])
    decoys = 0.2 * draw(2, 2000)
    share = decoy_share(torch.tensor([[0.1, 0.95, 0.99]], dtype=torch.float64), candidates, decoys)
    assert float(share[0, 0]) < 0.2
    assert float(share[0, 1]) > 0.9


def test_order_of_the_links_stays():
    candidates = torch.cat([draw(0, 1500), 0.8 + 0.2 * draw(1, 300)])
    raw = draw(3, 100).sort().values.view(1, -1)
    share = decoy_share(raw, candidates, draw(2, 1500))
    assert bool((share.diff(dim=1) >= 0).all())


def test_share_of_links_is_that_among_candidates():
    # Log-odds of links and of others are normal with one variance: the share of links is logistic, of slope 0.8.
    generator = torch.Generator().manual_seed(0)
    x = 3 * torch.randn(20_000, generator=generator, dtype=torch.float64) - 4
    is_link = torch.arange(20_000) % 10 == 0
    candidates = torch.sigmoid(x + 7.2 * is_link)
    decoys = torch.sigmoid(3 * torch.randn(5_000, generator=generator, dtype=torch.float64) - 4)
    share = decoy_share(candidates.view(100, 200), candidates, decoys).flatten()
    assert float(share.sum()) == pytest.approx(2000, rel=0.15)
    for low, high in ((0.1, 0.4), (0.4, 0.7), (0.7, 1.0)):
        inside = (share > low) & (share <= high)
        assert float(is_link[inside].double().mean()) == pytest.approx(float(share[inside].mean()), abs=0.1)


def test_decoys_start_level_with_candidates(monkeypatch):
    # A candidate that is a link already would keep its own copy out of the structure.
    seen = {}

    def watch(dynamics, links, data, prior, **settings):
        seen.setdefault("starts", []).append(links)
        return learn_structure(dynamics, links, data, prior, **settings)

    monkeypatch.setattr("sphunc.model.link_calibration.learn_structure", watch)
    data = sphunc.simulate("snare", agents=60, times=6, seed=0).data
    fit_chains(read_inputs(data, data.num_classes, data.num_classes), most_axes=8, seed=0)
    (links,) = seen["starts"]
    assert not links.mean.any()
    assert links.square.any()


def test_reordered_paths_keep_start_and_innovations():
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(9, 4, 2, generator=generator, dtype=torch.float64)
    dynamics = initial_dynamics(torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64), 4)
    path = _reordered(states, dynamics, generator)
    innovation = path[1:] - 0.3 * path[:-1]
    before = states[1:] - 0.3 * states[:-1]
    assert torch.equal(path[0], states[0])
    assert torch.allclose(innovation.sort(0).values, before.sort(0).values)
    assert not torch.allclose(path, states)


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
