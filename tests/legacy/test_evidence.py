"""Evidence adds, and weighs nothing where nothing was seen."""

import pytest
import torch

from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.evidence import INITIAL_FEATURE, INITIAL_MESSAGE, INITIAL_OUTCOME, Evidence
from sphunc.legacy.observed import Observed, observe
from sphunc.nn.context import AngularLayer
from sphunc.nn.encoder import Encoded, Encoder
from sphunc.worlds import simulate

DIM = 8
UNIT = DIM / 2


def parts(**settings) -> tuple[Evidence, Observed, Encoder]:
    data = simulate("snare", seed=0, agents=12, times=3, groups=12).data
    generator = torch.Generator().manual_seed(0)
    config = SphUncConfig(dim=DIM, **settings)
    evidence = Evidence(config, 3, numeric=False, generator=generator).eval()
    return evidence, observe(data), Encoder(data.num_features, DIM, generator=generator)


def test_sources_add_up() -> None:
    evidence, observed, encoder = parts()
    encoded = encoder(observed.x, observed.x_mask)
    got = evidence(observed, encoded, None)
    company = evidence.context(encoded.direction.flatten(0, 1), observed.groups).view(got.shape)
    expected = encoded.direction * evidence.of_features(encoded).unsqueeze(-1)
    expected = expected + UNIT * torch.nn.functional.softplus(evidence.company) * company
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("attention", ["others", "dot_product"])
def test_company_of_vectors_that_are_no_directions(attention) -> None:
    evidence, observed, encoder = parts(geometry="euclidean", attention=attention, outcome_evidence=False)
    encoded = encoder(observed.x, observed.x_mask)
    stretched = Encoded(encoded.direction * encoded.length.unsqueeze(-1), encoded.length, encoded.observed)
    company = evidence.context(stretched.direction.flatten(0, 1), observed.groups).view(stretched.direction.shape)
    expected = stretched.direction * evidence.of_features(stretched).unsqueeze(-1)
    expected = expected + UNIT * torch.nn.functional.softplus(evidence.company) * company
    assert 0 < len(observed.groups.node.unique()) < observed.groups.num_nodes  # somebody is alone
    torch.testing.assert_close(evidence(observed, stretched, None), expected)


def test_agent_not_seen_gives_no_evidence() -> None:
    evidence, observed, encoder = parts()
    x_mask = observed.x_mask.clone()
    x_mask[1, 4] = False
    y_mask = observed.y_mask.clone()
    y_mask[1, 4] = False
    hidden = Observed(observed.x, x_mask, observed.y, y_mask, observed.present, observed.groups, observed.pull)
    got = evidence(hidden, encoder(observed.x, x_mask), None)
    assert got[1, 4].abs().max() == 0
    assert got[1, 3].abs().max() > 0


FREQUENCY = torch.tensor([0.5, 0.3, 0.2])


def classes(agents: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Outcomes, and the logs of what was expected."""
    logits = torch.randn(agents, 3, generator=torch.Generator().manual_seed(2))
    return torch.arange(agents) % 3, torch.log_softmax(logits, -1)


def test_what_was_expected_says_nothing_new() -> None:
    evidence, _, _ = parts()
    with torch.no_grad():
        evidence.expected.fill_(50.0)  # all of it is taken off
    outcome, expected = classes()
    certain = torch.log_softmax(100.0 * torch.nn.functional.one_hot(outcome, 3), -1)
    assert evidence.of_classes(outcome, certain, torch.full((5,), 0.1), FREQUENCY).abs().max() < 1e-6
    assert (evidence.of_classes(outcome, expected, None, FREQUENCY).norm(dim=-1) > 1.0).all()


def test_classes_against_the_equation_written_out() -> None:
    evidence, _, _ = parts()
    outcome, log_p = classes()
    p, variance, part = log_p.exp(), torch.tensor([1e-3, 0.1, 0.2, 0.5, 9.0]), torch.sigmoid(evidence.expected)
    share = variance / (1 + variance)
    d = torch.nn.functional.normalize(evidence.outcome_directions, dim=-1)
    weight = UNIT * torch.nn.functional.softplus(evidence.outcome)
    for i, y in enumerate(outcome.tolist()):
        q = (1 - share[i]) * p[i, y] / ((1 - share[i]) * p[i, y] + share[i] * FREQUENCY[y])
        expected = weight * q * sum((float(y == c) - part * p[i, c]) * d[c] for c in range(3))
        torch.testing.assert_close(evidence.of_classes(outcome, log_p, variance, FREQUENCY)[i], expected)


def test_evidence_of_a_class_is_the_gradient_of_its_likelihood() -> None:
    evidence, _, _ = parts()
    with torch.no_grad():
        evidence.expected.fill_(50.0)
    outcome, _ = classes()
    readout = evidence.directions().detach()
    state = torch.randn(5, DIM, generator=torch.Generator().manual_seed(3)).mul(0.1).requires_grad_()
    log_p, variance = torch.log_softmax(state @ readout.mT, -1), torch.full((5,), 0.25)
    likelihood = 0.8 * log_p.exp()[torch.arange(5), outcome] + 0.2 * FREQUENCY[outcome]
    (gradient,) = torch.autograd.grad(likelihood.log().sum(), state)
    torch.testing.assert_close(evidence.of_classes(outcome, log_p.detach(), variance, FREQUENCY), gradient)


def test_an_outcome_that_must_be_chance_says_nothing_and_one_that_cannot_be_says_all() -> None:
    evidence, _, _ = parts()
    never = torch.log_softmax(torch.tensor([[200.0, 0.0, 0.0]]), -1)
    chance = evidence.of_classes(torch.tensor([1]), never, torch.tensor([0.3]), FREQUENCY)
    assert chance.abs().max() < 1e-30
    d, part = evidence.directions(), torch.sigmoid(evidence.expected)
    meant = evidence.of_classes(torch.tensor([1]), never, None, FREQUENCY)
    torch.testing.assert_close(meant[0], d[1] - part * d[0])


@pytest.mark.parametrize("gap", [0.0, 50.0, 90.0, 200.0])
@pytest.mark.parametrize("variance", [None, 0.0, 1e-30, 0.1, 1e6])
def test_surprise_has_finite_gradients(gap: float, variance: float | None) -> None:
    evidence, _, _ = parts()
    logits = torch.tensor([[gap, 0.0, 0.0]], requires_grad=True)
    noise = None if variance is None else torch.tensor([variance], requires_grad=True)
    said = evidence.of_classes(torch.tensor([1]), torch.log_softmax(logits, -1), noise, FREQUENCY)
    given = [logits, evidence.outcome_directions, *([] if noise is None else [noise])]
    assert said.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(said.sum(), given))


@pytest.mark.parametrize("dim", [4, 64])
def test_concentrations_are_in_units_of_half_the_dimension(dim: int) -> None:
    evidence = Evidence(SphUncConfig(dim=dim), 3, numeric=False, generator=torch.Generator().manual_seed(0))
    seen = Encoded(torch.zeros(1, 2, dim), torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    torch.testing.assert_close(evidence.of_features(seen), torch.tensor([[dim / 2 * INITIAL_FEATURE, 0.0]]))
    lengths = evidence.directions().norm(dim=-1)
    torch.testing.assert_close(lengths, torch.full_like(lengths, dim / 2 * INITIAL_OUTCOME))


def test_context_starts_as_a_small_correction() -> None:
    evidence, _, _ = parts()
    plain = AngularLayer(DIM, dropout=0.0, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(evidence.context.layers[0].weight, INITIAL_MESSAGE * plain.weight)


def test_numbers_are_linear_evidence() -> None:
    evidence = Evidence(SphUncConfig(dim=DIM), 2, numeric=True, generator=torch.Generator().manual_seed(0))
    y = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(evidence.of_numbers(2 * y), 2 * evidence.of_numbers(y))
