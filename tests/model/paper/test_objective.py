"""The composite objective against dense transcriptions."""

import math

import pytest
import torch

from sphunc.model.paper import PaperConfig
from sphunc.model.paper.network import PaperOutput
from sphunc.model.paper.objective import (
    SPARSITY,
    causal_loss,
    composite_loss,
    entropy_loss,
    negative_log_likelihood,
    prediction_loss,
    squared_residuals,
)
from sphunc.sphere import VonMisesFisher

T, N, D = 3, 4, 5


def output(generator: torch.Generator, *, numeric: bool = False) -> PaperOutput:
    def unit() -> torch.Tensor:
        return torch.nn.functional.normalize(torch.randn(T, N, D, generator=generator), dim=-1)

    logits = torch.randn(T, N, 2, generator=generator)
    ones = torch.rand(T, N, generator=generator)
    return PaperOutput(
        directions=unit(),
        next_mean=unit(),
        kappa=1.0 + 10 * ones,
        epistemic=ones,
        epistemic_scaled=ones,
        aleatoric=ones,
        total=torch.rand(T, N, generator=generator),
        read_out=logits,
        log_probabilities=None if numeric else logits.log_softmax(-1),
        mean=logits if numeric else None,
        variance=0.5 + torch.rand(T, N, 2, generator=generator) if numeric else None,
    )


@pytest.fixture
def mask() -> torch.Tensor:
    mask = torch.ones(T, N, dtype=torch.bool)
    mask[0, 1] = False
    mask[2] = False
    return mask


def test_likelihood_of_classes(generator: torch.Generator, mask: torch.Tensor) -> None:
    found = output(generator)
    y = torch.randint(2, (T, N), generator=generator)
    expected = [-float(found.log_probabilities[t, i, y[t, i]]) for t in range(T) for i in range(N) if mask[t, i]]
    nll = negative_log_likelihood(found, y, mask, torch.ones(2))
    assert nll.tolist() == pytest.approx(expected)
    loss = prediction_loss(found, y, mask, torch.ones(2))
    assert float(loss) == pytest.approx(sum(expected) / len(expected))
    assert float(prediction_loss(found, y, torch.zeros_like(mask), torch.ones(2))) == 0.0


def test_likelihood_of_numbers(generator: torch.Generator, mask: torch.Tensor) -> None:
    found = output(generator, numeric=True)
    y = torch.randn(T, N, 2, generator=generator)
    law = torch.distributions.Normal(found.mean, found.variance.sqrt())
    expected = -law.log_prob(y).sum(-1)[mask]
    torch.testing.assert_close(negative_log_likelihood(found, y, mask, torch.tensor([2.0, 3.0])), expected)


def test_residuals_are_brier_scores_or_squashed_squares(generator: torch.Generator) -> None:
    found = output(generator)
    y = torch.randint(2, (T, N), generator=generator)
    p = found.log_probabilities.exp()
    brier = squared_residuals(found, y, torch.ones(2))
    # Two classes: half the sum of both squares is the square of one.
    wrong = 1.0 - p.gather(-1, y.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(brier, wrong.square())
    numbers = output(generator, numeric=True)
    r = (torch.zeros(T, N, 2) - numbers.mean) / torch.tensor([1.0, 2.0])
    square = r.square().mean(-1)
    found = squared_residuals(numbers, torch.zeros(T, N, 2), torch.tensor([1.0, 2.0]))
    torch.testing.assert_close(found, square / (1 + square))


def test_entropy_loss_is_the_mean_square_of_the_gap(generator: torch.Generator, mask: torch.Tensor) -> None:
    total = torch.rand(T, N, generator=generator)
    empirical = torch.rand(T, N, generator=generator)
    gaps = [float(total[t, i] - empirical[t, i]) ** 2 for t in range(T) for i in range(N) if mask[t, i]]
    assert float(entropy_loss(total, empirical, mask)) == pytest.approx(sum(gaps) / len(gaps))
    assert float(entropy_loss(total, empirical, torch.zeros_like(mask))) == 0.0


def test_causal_loss_is_fidelity_and_sparsity(generator: torch.Generator) -> None:
    found = output(generator)
    observed = torch.ones(T, N, dtype=torch.bool)
    observed[1, 0] = False
    agents = torch.tensor([True, True, False, True])
    links = torch.tensor([[1, 2], [0, 2]])
    gamma = torch.tensor([[0.5, -0.25], [3.0, 3.0]])
    total = 0.0
    count = 0
    for t in range(T - 1):
        for i in (0, 1, 3):
            if observed[t, i] and observed[t + 1, i]:
                law = VonMisesFisher(found.next_mean[t, i], found.kappa[t, i])
                total -= float(law.log_prob(found.directions[t + 1, i])) / D
                count += 1
    expected = total / count + SPARSITY * 0.75 / 3
    assert float(causal_loss(found, observed, gamma, links, agents, "sphere")) == pytest.approx(expected, rel=1e-5)
    nobody = causal_loss(found, torch.zeros_like(observed), gamma[:0], links[:, :0], agents, "sphere")
    assert float(nobody) == 0.0


def test_the_assignment_meets_the_encoder_and_not_the_reverse(generator: torch.Generator) -> None:
    found = output(generator)
    found.directions.requires_grad_()
    found.next_mean.requires_grad_()
    observed = torch.ones(T, N, dtype=torch.bool)
    links = torch.zeros(2, 0, dtype=torch.long)
    loss = causal_loss(found, observed, torch.zeros(0, 1), links, observed[0], "sphere")
    loss.backward()
    assert found.directions.grad is None
    assert bool(found.next_mean.grad.any())


def test_the_composite_is_the_weighted_sum() -> None:
    config = PaperConfig(lambda_entropy=0.5, lambda_causal=2.0)
    parts = [torch.tensor(value) for value in (1.0, 3.0, math.pi)]
    assert float(composite_loss(*parts, config)) == pytest.approx(1.0 + 1.5 + 2 * math.pi)
