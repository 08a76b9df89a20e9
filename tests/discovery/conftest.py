import pytest
import torch


@pytest.fixture(scope="session")
def ring():
    """States [20, 30, 4] in which agent i moves agent i + 1 with coefficient 0.5, and nothing else."""
    generator = torch.Generator().manual_seed(4)
    times, agents, dim = 20, 30, 4
    state = torch.randn(agents, dim, generator=generator, dtype=torch.double)
    path = []
    for _ in range(times):
        noise = torch.randn(agents, dim, generator=generator, dtype=torch.double)
        state = 0.4 * state + 0.5 * state.roll(1, 0) + noise
        path.append(state)
    return torch.stack(path)


@pytest.fixture(scope="session")
def neighbours():
    """Candidates of the ring: the two agents before and the two after, [2, 120]."""
    agent = torch.arange(30)
    parts = [torch.stack([(agent + step) % 30, agent]) for step in (-2, -1, 1, 2)]
    return torch.cat(parts, 1)
