import pytest
import torch

import sphunc
from sphunc.causal.sampling import sample_gates
from sphunc.errors import ArgumentError


@pytest.mark.parametrize("calibrate", [False, True])
def test_mean_of_structures_is_the_probability(latents, calibrate):
    graph = sphunc.causal.discover(latents, diagnose=False, calibrate=calibrate)
    drawn = graph.sample(4000, seed=3)
    error = (drawn.gates.double().mean(0) - graph.probability).abs()
    assert float(error.max()) < 0.03
    assert bool((drawn.strengths[~drawn.gates] == 0).all())


def test_same_seed_same_structures(latents):
    graph = sphunc.causal.discover(latents, diagnose=False, calibrate=False)
    assert torch.equal(graph.sample(20, seed=1).gates, graph.sample(20, seed=1).gates)
    assert not torch.equal(graph.sample(20, seed=1).gates, graph.sample(20, seed=2).gates)


def test_no_structures_are_refused():
    empty = torch.zeros(0, dtype=torch.long)
    with pytest.raises(ArgumentError, match="count is 0"):
        sample_gates(empty, empty.view(0, 0), empty.view(0, 1), empty.double(), empty.double(), 0, torch.Generator())
