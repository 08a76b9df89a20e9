import pytest
import torch

from sphunc.discovery.posterior.parent_sets import subset_evidence, subset_tree, systematic_sets


def test_tree_holds_every_subset_up_to_the_cap_once():
    tree = subset_tree(5, 2, torch.device("cpu"))
    assert len(tree.masks) == 1 + 5 + 10
    assert len(tree.masks.unique()) == 16
    assert int(tree.masks[0]) == 0
    torch.testing.assert_close(tree.members.sum(1), tree.sizes.double())


def test_evidence_agrees_with_dense_marginal_likelihoods():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(11, 4, generator=generator, dtype=torch.double)
    y = torch.randn(11, 1, generator=generator, dtype=torch.double)
    full = torch.cat([x, y], 1)
    tree = subset_tree(4, 3, torch.device("cpu"))
    ridge = torch.tensor([0.8], dtype=torch.double)
    prior_squares = torch.tensor([3.0], dtype=torch.double)
    degrees = torch.tensor([4.0 + 11], dtype=torch.double)
    found = subset_evidence((full.T @ full).unsqueeze(0), ridge, prior_squares, degrees, tree)[0]

    def dense(members: torch.Tensor) -> torch.Tensor:
        chosen = x[:, members.bool()]
        covariance = torch.eye(11, dtype=torch.double) + chosen @ chosen.T / 0.8
        square = (y.T @ torch.linalg.inv(covariance) @ y).squeeze()
        return -0.5 * torch.logdet(covariance) - 0.5 * 15 * (3.0 + square).log()

    empty = dense(tree.members[0])
    for place, members in enumerate(tree.members):
        assert float(found[place]) == pytest.approx(float(dense(members) - empty), abs=1e-9)


def test_draws_have_the_frequencies_of_the_weights():
    tree = subset_tree(2, 2, torch.device("cpu"))
    weight = torch.tensor([[0.5, 0.25, 0.25, 0.0]], dtype=torch.double)
    drawn = systematic_sets(weight, tree, 40, torch.Generator().manual_seed(0))[0]
    counts = [int((drawn == mask).sum()) for mask in tree.masks]
    assert counts == [20, 10, 10, 0]
