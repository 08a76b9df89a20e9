"""The three parts of the objective, each against its definition."""

import pytest
import torch

from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.objective import causal_loss, entropy_loss, losses, prediction_loss
from sphunc.legacy.observed import Observed, observe
from sphunc.legacy.run import Run
from sphunc.legacy.targets import Targets
from sphunc.sphere import VonMisesFisher
from sphunc.worlds import simulate

TIMES, AGENTS, CLASSES, DIM = 3, 10, 3, 16


@pytest.fixture
def run() -> Run:
    generator = torch.Generator().manual_seed(0)

    def unit() -> torch.Tensor:
        return torch.nn.functional.normalize(torch.randn(TIMES, AGENTS, DIM, generator=generator), dim=-1)

    scores = torch.rand(TIMES, AGENTS, generator=generator)
    return Run(
        log_probabilities=torch.randn(TIMES, AGENTS, CLASSES, generator=generator).log_softmax(-1),
        mean=None,
        variance=scores,
        kappa=1 + 50 * scores,
        epistemic=scores,
        epistemic_scaled=scores,
        total=scores,
        latents=unit().requires_grad_(),
        ahead=unit().requires_grad_(),
        ahead_strength=1 + 50 * scores,
    )


@pytest.fixture
def observed() -> Observed:
    return observe(simulate("snare", seed=0, agents=AGENTS, times=TIMES, groups=9).data)


def targets(observed: Observed) -> Targets:
    mask = torch.zeros(TIMES, AGENTS, dtype=torch.bool)
    mask[:2, ::2] = True
    return Targets(observed.y, mask)


def test_prediction_is_the_mean_surprise_of_what_counts(run: Run, observed: Observed) -> None:
    chosen = targets(observed)
    assert run.log_probabilities is not None
    by_hand = [-run.log_probabilities[t, i, observed.y[t, i]] for t in range(2) for i in range(0, AGENTS, 2)]
    torch.testing.assert_close(prediction_loss(run, chosen), torch.stack(by_hand).mean())


def test_entropy_is_the_squared_distance_to_the_errors(run: Run, observed: Observed) -> None:
    mask = targets(observed).mask
    assert entropy_loss(run.total, run.total, mask) == 0
    torch.testing.assert_close(entropy_loss(run.total, run.total + 0.5, mask), torch.tensor(0.25))


def test_causal_is_the_surprise_of_the_next_latents(run: Run, observed: Observed) -> None:
    law = VonMisesFisher(run.ahead[:-1].detach(), run.ahead_strength[:-1])
    expected = -law.log_prob(run.latents[1:].detach()).mean() / DIM
    torch.testing.assert_close(causal_loss(run, observed, DIM), expected, atol=1e-5, rtol=1e-5)


def test_causal_teaches_the_step_and_not_the_encoder(run: Run, observed: Observed) -> None:
    causal_loss(run, observed, DIM).backward()
    assert run.latents.grad is None
    assert run.ahead.grad is not None
    assert run.ahead.grad.abs().max() > 0


def test_total_weighs_the_parts(run: Run, observed: Observed) -> None:
    config = SphUncConfig(dim=DIM, lambda_entropy=0.3, lambda_causal=0.7)
    parts = losses(None, run, observed, targets(observed), config, run.total + 0.5)
    expected = parts.prediction + 0.3 * parts.entropy + 0.7 * parts.causal
    torch.testing.assert_close(parts.total, expected)
    bare = losses(None, run, observed, targets(observed), SphUncConfig(lambda_causal=0.0), None)
    assert bare.entropy == 0
    assert bare.causal == 0
