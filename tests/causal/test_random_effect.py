import pytest
import torch

from sphunc.causal.candidates import all_pairs, candidate_links
from sphunc.causal.estimation import Problem, columns_of
from sphunc.causal.panel import vector_panel
from sphunc.causal.random_effect import variance_components


@pytest.mark.parametrize(("phi", "low", "high"), [(0.0, 0.0, 0.06), (0.5, 0.2, 1.1)])
def test_bias_is_found_at_small_dimension(phi, low, high):
    g = torch.Generator().manual_seed(0)
    agents, times, dim = 60, 10, 4
    bias = phi**0.5 * torch.randn(agents, dim, generator=g, dtype=torch.double)
    h, path = bias.clone(), []
    for _ in range(times + 20):
        h = 0.4 * h + bias + torch.randn(agents, dim, generator=g, dtype=torch.double)
        path.append(h)
    latents = torch.stack(path[20:])
    pairs = all_pairs(agents)
    links = candidate_links(pairs[:, (pairs[0] - pairs[1]).remainder(agents) <= 8], agents)
    panel = vector_panel(latents, torch.ones(times, agents, dtype=torch.bool), None)
    problem = Problem(panel, links, torch.zeros(agents, dtype=torch.bool))
    found = variance_components([columns_of(problem, torch.arange(agents), 1)], panel.effective, dim)
    assert low <= found.phi <= high
