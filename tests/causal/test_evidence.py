import itertools
import math

import pytest
import torch

from sphunc.causal.evidence import binary_entropy, log_set_prior, prior_entropy, prior_probability, switch_evidence


@pytest.mark.parametrize("count", [3, 6])
def test_prior_sums_to_one_and_has_its_entropy(count):
    sets = [s for n in range(count + 1) for s in itertools.combinations(range(count), n)]
    sizes = torch.tensor([len(s) for s in sets], dtype=torch.double)
    log_prior = log_set_prior(sizes, torch.full_like(sizes, count))
    assert float(log_prior.exp().sum()) == pytest.approx(1, abs=1e-12)
    entropy = float(-(log_prior.exp() * log_prior).sum())
    assert float(prior_entropy(torch.tensor([count]), 7)) == pytest.approx(entropy, abs=1e-10)


def test_prior_has_two_parents_on_average():
    count = torch.tensor([14.0, 40.0])
    torch.testing.assert_close(prior_probability(count) * count, torch.tensor([2.0, 2.0]))


def test_switch_is_the_difference_of_two_evidences():
    d, g, rss, n, slab, spike = (torch.tensor(x, dtype=torch.double) for x in (9.0, 4.0, 20.0, 30.0, 2.0, 50.0))

    def full(ridge):
        return -0.5 * math.log((9 + ridge) / ridge) - 15 * math.log(20 - 16 / (9 + ridge))

    assert float(switch_evidence(d, g, rss, n, slab, spike)) == pytest.approx(full(2.0) - full(50.0), abs=1e-12)
    assert float(switch_evidence(d, g, rss, n, slab, None)) == pytest.approx(full(2.0) + 15 * math.log(20), abs=1e-12)


def test_entropy_of_a_coin():
    assert binary_entropy(torch.tensor([0.0, 0.5, 1.0])).tolist() == pytest.approx([0, math.log(2), 0])
