import math
from itertools import product

import pytest
import torch

from sphunc.discovery.posterior.prior import mixture_weights, reference_prior, share_log_likelihood, update


def test_prior_has_half_its_mass_on_no_links():
    prior = reference_prior(20.0, 0.2, torch.device("cpu"))
    assert float(prior.weight.sum()) == pytest.approx(1.0)
    assert float(prior.weight[0]) == 0.5
    assert float(prior.share[0]) < 1e-6
    assert 0 < prior.mean < 0.1


def test_set_priors_add_up_to_one():
    prior = reference_prior(6.0, 0.2, torch.device("cpu"))
    table = prior.log_size_table(torch.tensor([6.0], dtype=torch.double), 6)[0].exp()
    total = sum(math.comb(6, size) * float(table[size]) for size in range(7))
    assert total == pytest.approx(1.0)


def test_likelihood_of_a_share_sums_over_all_sets():
    evidence = {mask: 0.3 * sum(mask) - 0.1 * mask[0] * mask[1] for mask in product((0, 1), repeat=2)}
    outside = torch.tensor([[0.7, -torch.inf]], dtype=torch.double)
    by_size = []
    for size in range(3):
        values = [math.exp(value) for mask, value in evidence.items() if sum(mask) == size]
        by_size.append(math.log(sum(values)))
    share = torch.tensor([0.1, 0.4], dtype=torch.double)
    count = torch.tensor([3.0], dtype=torch.double)
    found = share_log_likelihood(torch.tensor([by_size], dtype=torch.double), count, outside, share)[0]
    for place, pi in enumerate(share.tolist()):
        total = 0.0
        for mask, value in evidence.items():
            for third, factor in ((0, 1.0), (1, math.exp(0.7))):
                members = sum(mask) + third
                total += pi**members * (1 - pi) ** (3 - members) * math.exp(value) * factor
        assert float(found[place]) == pytest.approx(math.log(total))


def test_posterior_moves_to_the_likelier_share():
    prior = reference_prior(10.0, 0.2, torch.device("cpu"))
    likelihood = torch.zeros_like(prior.share)
    likelihood[5] = 30.0
    posterior, evidence = update(prior, likelihood)
    assert float(posterior.weight[5]) > 0.999
    assert evidence == pytest.approx(30 + math.log(float(prior.weight[5])), abs=1e-3)
    same, nothing = update(prior, torch.zeros_like(prior.share))
    torch.testing.assert_close(same.weight, prior.weight)
    assert nothing == pytest.approx(0.0)


def test_mixture_weights_are_a_softmax():
    assert mixture_weights([0.0, math.log(3.0)]) == pytest.approx([0.25, 0.75])
