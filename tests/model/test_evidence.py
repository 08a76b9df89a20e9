"""Evidence adds, and weighs nothing where nothing was seen."""

import pytest
import torch

from sphunc.model.config import SphUncConfig
from sphunc.model.evidence import INITIAL_FEATURE, INITIAL_MESSAGE, INITIAL_OUTCOME, Evidence
from sphunc.model.observed import Observed, observe
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
    got = evidence(observed, encoded, observed.y, None)
    company = evidence.context(encoded.direction.flatten(0, 1), observed.groups).view(got.shape)
    expected = encoded.direction * evidence.of_features(encoded).unsqueeze(-1)
    expected = expected + UNIT * torch.nn.functional.softplus(evidence.company) * company
    expected = expected + evidence.of_outcomes(observed.y)
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
    torch.testing.assert_close(evidence(observed, stretched, observed.y, None), expected)


def test_agent_not_seen_gives_no_evidence() -> None:
    evidence, observed, encoder = parts()
    x_mask = observed.x_mask.clone()
    x_mask[1, 4] = False
    y_mask = observed.y_mask.clone()
    y_mask[1, 4] = False
    hidden = Observed(observed.x, x_mask, observed.y, y_mask, observed.present, observed.groups, observed.pull)
    got = evidence(hidden, encoder(observed.x, x_mask), observed.y, None)
    assert got[1, 4].abs().max() == 0
    assert got[1, 3].abs().max() > 0


def test_outcomes_count_only_where_known_and_only_when_asked() -> None:
    evidence, observed, encoder = parts(layers=0)
    without, _, _ = parts(layers=0, outcome_evidence=False)
    encoded = encoder(observed.x, observed.x_mask)
    difference = evidence(observed, encoded, observed.y, None) - without(observed, encoded, observed.y, None)
    torch.testing.assert_close(difference, evidence.of_outcomes(observed.y) * observed.y_mask.unsqueeze(-1))


def test_weight_of_an_outcome_is_its_length() -> None:
    evidence, observed, _ = parts()
    lengths = evidence.of_outcomes(observed.y).norm(dim=-1)
    torch.testing.assert_close(lengths, torch.full_like(lengths, UNIT * INITIAL_OUTCOME))


@pytest.mark.parametrize("dim", [4, 64])
def test_concentrations_are_in_units_of_half_the_dimension(dim: int) -> None:
    evidence = Evidence(SphUncConfig(dim=dim), 3, numeric=False, generator=torch.Generator().manual_seed(0))
    seen = Encoded(torch.zeros(1, 2, dim), torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    torch.testing.assert_close(evidence.of_features(seen), torch.tensor([[dim / 2 * INITIAL_FEATURE, 0.0]]))
    length = evidence.of_outcomes(torch.zeros(1, 1, dtype=torch.long)).norm()
    torch.testing.assert_close(length, torch.tensor(dim / 2 * INITIAL_OUTCOME))


def test_context_starts_as_a_small_correction() -> None:
    evidence, _, _ = parts()
    plain = AngularLayer(DIM, dropout=0.0, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(evidence.context.layers[0].weight, INITIAL_MESSAGE * plain.weight)


def test_numbers_are_linear_evidence() -> None:
    evidence = Evidence(SphUncConfig(dim=DIM), 2, numeric=True, generator=torch.Generator().manual_seed(0))
    y = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(evidence.of_outcomes(2 * y), 2 * evidence.of_outcomes(y))
