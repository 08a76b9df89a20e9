import pytest
import torch

from sphunc.causal.two_groups import fit_two_groups, unshrunk


def estimates(count=4000, share=0.15, size=0.3, error=0.08, seed=0):
    g = torch.Generator().manual_seed(seed)
    link = torch.rand(count, generator=g) < share
    sign = torch.where(torch.rand(count, generator=g) < 0.8, 1.0, -1.0).double()
    noise = torch.randn(count, 2, generator=g, dtype=torch.double)
    beta = torch.where(link, sign * (size + 0.06 * noise[:, 0]), torch.zeros(count, dtype=torch.double))
    return beta + error * noise[:, 1], torch.full((count,), error, dtype=torch.double), link


def test_share_sign_and_size_are_found():
    value, error, link = estimates()
    groups = fit_two_groups(value, error, 0.0, 0.2)
    assert groups.share == pytest.approx(0.15, abs=0.03)
    assert groups.positive == pytest.approx(0.8, abs=0.06)
    assert groups.size == pytest.approx(0.3, abs=0.04)
    probability = 1 - groups.membership(value, error)[:, 0]
    assert float(probability.mean()) == pytest.approx(float(link.double().mean()), abs=0.02)


def test_draws_are_near_the_truth_for_links_and_small_for_others():
    value, error, link = estimates()
    groups = fit_two_groups(value, error, 0.0, 0.15)
    drawn = groups.draw(value, error, link, torch.Generator().manual_seed(1))
    assert float(drawn[link].abs().mean()) == pytest.approx(0.3, abs=0.05)
    assert float(drawn[~link].abs().max()) < 0.15


def test_unshrunk_undoes_the_slab():
    value, error, tau = torch.tensor([0.3]).double(), torch.tensor([0.1]).double(), 0.25
    gain = tau**2 / (tau**2 + error**2)
    again, error_again = unshrunk(gain * value, (gain * error**2).sqrt(), tau)
    torch.testing.assert_close(again, value)
    torch.testing.assert_close(error_again, error)
