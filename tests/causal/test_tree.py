"""The tree against a dense transcription of every subset."""

import itertools

import pytest
import torch

from sphunc.causal.tree import subset_evidence, tree_plan


def dense_evidence(moments, slab, spike, degrees, subset):
    """log N-inverse-gamma evidence of one subset, by determinants and solves."""
    K = moments.shape[0] - 1
    kept = list(range(K)) if spike is not None else list(subset)
    ridge = torch.tensor([slab if j in subset else spike for j in kept], dtype=torch.double)
    rss, logdet = moments[-1, -1], torch.tensor(0.0)
    if kept:
        system = moments[kept][:, kept] + torch.diag(ridge)
        rss = rss - moments[kept, -1] @ torch.linalg.solve(system, moments[kept, -1])
        logdet = torch.logdet(system) - ridge.log().sum()
    return -0.5 * logdet - 0.5 * degrees * rss.log()


@pytest.mark.parametrize("cap", [2, 5])
@pytest.mark.parametrize("spike", [None, 900.0])
@pytest.mark.parametrize("rows", [40, 4])
def test_every_subset_matches_the_dense_transcription(rows, spike, cap):
    z = torch.randn(3, rows, 6, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    moments = z.mT @ z
    plan = tree_plan(5, cap, moments.device)
    slab = torch.tensor([2.0, 5.0, 9.0], dtype=torch.double)
    degrees = torch.tensor([40.0, 30.0, 20.0], dtype=torch.double)
    thin = None if spike is None else torch.full_like(slab, spike)
    found = subset_evidence(moments, slab, thin, degrees, plan)
    assert len(plan.masks) == sum(1 for n in range(cap + 1) for _ in itertools.combinations(range(5), n))
    for b in range(3):
        for s, mask in enumerate(plan.masks.tolist()):
            subset = [j for j in range(5) if mask >> j & 1]
            expected = dense_evidence(moments[b], float(slab[b]), spike, float(degrees[b]), subset)
            assert found[b, s] == pytest.approx(float(expected), abs=1e-8, rel=1e-10)


def test_plan_visits_each_subset_once():
    plan = tree_plan(12, 7, torch.device("cpu"))
    assert len(plan.masks.unique()) == len(plan.masks) == 3302
    assert int(plan.sizes.max()) == 7
