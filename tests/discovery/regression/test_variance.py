import pytest
import torch
from scipy import stats

from sphunc.discovery.candidates import all_pairs, candidate_links
from sphunc.discovery.regression.panel import Panel
from sphunc.discovery.regression.variance import (
    fit_variance_components,
    noise_scale,
    posterior_noise,
    t_log_density,
    without_shared,
)


def panel_of(level: float, inertia: float = 0.4, trend: float = 0.0) -> Panel:
    generator = torch.Generator().manual_seed(0)
    agents, times, dim = 120, 8, 4
    bias = level**0.5 * torch.randn(agents, dim, generator=generator, dtype=torch.double)
    slope = trend * torch.randn(agents, dim, generator=generator, dtype=torch.double)
    state = torch.zeros(agents, dim, dtype=torch.double)
    path = []
    for time in range(times + 6):
        noise = torch.randn(agents, dim, generator=generator, dtype=torch.double)
        state = inertia * state + bias + slope * max(time - 6, 0) + noise
        path.append(state)
    values = torch.stack(path[6:], 1)
    present = torch.ones(agents, times, dtype=torch.bool)
    return Panel(values, present, torch.zeros_like(values), ~present.any(1), float(dim))


def links_of(agents: int):
    target = torch.arange(agents).repeat_interleave(3)
    source = (target + torch.tensor([1, 2, 3]).repeat(agents)) % agents
    return candidate_links(torch.stack([source, target]), range(agents))


def test_components_of_a_known_process_are_recovered():
    panel = panel_of(level=0.8)
    found, _ = fit_variance_components(panel, links_of(120), torch.arange(120), 1)
    # Inertia and level are hard to tell apart over eight times: the first states stand in for part of the level.
    assert float(found.theta[0]) == pytest.approx(0.4, abs=0.2)
    assert found.scale == pytest.approx(1.0, rel=0.15)
    assert found.level > 0.02
    assert found.polygenic <= 1e-3
    assert found.trend <= 0.05
    assert found.degrees >= 14


def test_trends_are_taken_up_as_drift():
    panel = panel_of(level=0.0, trend=0.5)
    found, _ = fit_variance_components(panel, links_of(120), torch.arange(120), 1)
    assert float(found.theta[0]) > 0.8
    assert found.level + found.trend >= 0.1


def test_no_level_is_found_where_there_is_none():
    found, _ = fit_variance_components(panel_of(level=0.0), links_of(120), torch.arange(120), 1)
    assert found.level <= 0.05


def test_t_density_agrees_with_the_multivariate_t():
    rows = torch.tensor([0.3, -1.2, 0.7], dtype=torch.double)
    ours = t_log_density(rows.square().sum(), torch.tensor(3.0, dtype=torch.double), 5.0, 2.0)
    dense = stats.multivariate_t(shape=2.0 * torch.eye(3).numpy(), df=5).logpdf(rows.numpy())
    constant = -0.5 * 3 * torch.log(torch.tensor(torch.pi))
    assert float(ours + constant) == pytest.approx(float(dense))


def test_scale_maximises_the_density():
    rss = torch.tensor([1.0, 4.0, 9.0, 0.0], dtype=torch.double)
    count = torch.tensor([3.0, 4.0, 5.0, 2.0], dtype=torch.double)
    best = noise_scale(rss, count, 4.0)
    value = t_log_density(rss, count, 4.0, best).sum()
    for other in (0.9 * best, 1.1 * best):
        assert float(t_log_density(rss, count, 4.0, other).sum()) < float(value)


def test_noise_is_shrunk_towards_the_shared_scale():
    noise = posterior_noise(torch.tensor([0.0, 40.0]), torch.tensor([4.0, 4.0]), 4.0, 1.0)
    assert noise.tolist() == [0.5, 5.5]


def test_shared_part_leaves_the_outcome():
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    theta = torch.tensor([0.5, -1.0], dtype=torch.double)
    changed = x.clone()
    changed[:, 2] = x[:, 2] - x[:, :2] @ theta
    torch.testing.assert_close(without_shared((x.T @ x).unsqueeze(0), theta)[0], changed.T @ changed)


def test_every_two_agents_are_a_pair():
    assert all_pairs(2).shape == (2, 2)
