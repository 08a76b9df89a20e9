"""The posterior of a target against a brute-force transcription over all subsets."""

import itertools

import pytest
import torch

from sphunc.causal.estimation import columns_of
from sphunc.causal.evidence import log_set_prior
from sphunc.causal.posterior import Hyper, moments, target_posterior


@pytest.mark.parametrize("min_effect", [0.0, 0.05])
@pytest.mark.parametrize("lags", [1, 2])
def test_probabilities_match_brute_force(problem, lags, min_effect):
    hyper = Hyper(lags=lags, phi=0.3, tau=0.3, min_effect=min_effect, effective=24.0, dim=24)
    columns = columns_of(problem, torch.arange(6), lags)
    usable = torch.ones(6, 5, dtype=torch.bool)
    found = target_posterior(columns, usable, ~usable, hyper, torch.Generator().manual_seed(0))
    m = moments(columns, usable.repeat(1, lags), hyper)
    for b in (0, 3):
        probability, entropy = brute_force(m, b, 5 * lags, 5)
        torch.testing.assert_close(found.probability[b], probability, atol=1e-8, rtol=0)
        assert float(found.entropy[b]) == pytest.approx(entropy, abs=1e-8)


def brute_force(m, b, columns, slots):
    scores, parents = [], []
    for size in range(8):
        for subset in itertools.combinations(range(columns), size):
            scores.append(log_posterior(m, b, subset, columns))
            parents.append(frozenset(j % slots for j in subset))
    weight = torch.softmax(torch.stack(scores), 0)
    probability = torch.stack([sum(w for w, p in zip(weight, parents, strict=True) if j in p) for j in range(slots)])
    mass = {}
    for w, p in zip(weight.tolist(), parents, strict=True):
        mass[p] = mass.get(p, 0.0) + w
    return probability, float(torch.special.entr(torch.tensor(list(mass.values()), dtype=torch.double)).sum())


def log_posterior(m, b, subset, columns):
    kept = list(subset) if m.spike is None else list(range(columns))
    ridge = torch.stack([m.slab[b] if j in subset else m.spike[b] for j in kept]) if kept else torch.zeros(0)
    rss, logdet = m.matrix[b, -1, -1], torch.tensor(0.0, dtype=torch.double)
    if kept:
        system = m.matrix[b][kept][:, kept] + torch.diag(ridge)
        cross = m.matrix[b][kept, -1]
        rss = rss - cross @ torch.linalg.solve(system, cross)
        logdet = torch.logdet(system) - ridge.log().sum()
    size, count = torch.tensor(float(len(subset))).double(), torch.tensor(float(columns)).double()
    return -0.5 * logdet - 0.5 * m.degrees[b] * rss.log() + log_set_prior(size, count)
