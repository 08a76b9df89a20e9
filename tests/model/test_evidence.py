"""Evidence adds, and weighs nothing where nothing was seen."""

import torch

from sphunc.model.config import SphUncConfig
from sphunc.model.evidence import UNIT, Evidence
from sphunc.model.observed import Observed, observe
from sphunc.nn.encoder import Encoder
from sphunc.worlds import simulate

DIM = 8


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
    torch.testing.assert_close(lengths, torch.full_like(lengths, 20.0))


def test_numbers_are_linear_evidence() -> None:
    evidence = Evidence(SphUncConfig(dim=DIM), 2, numeric=True, generator=torch.Generator().manual_seed(0))
    y = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(evidence.of_outcomes(2 * y), 2 * evidence.of_outcomes(y))
