import pytest
import torch
from sklearn.metrics import roc_auc_score

from sphunc.causal.candidates import all_pairs
from sphunc.causal.peers import cosine, false_discovery, granger, lagged_cosine, lasso, var_gates

METHODS = {
    "lagged cosine": lagged_cosine,
    "pairwise": lambda h, c: granger(h, c, conditional=False)[0],
    "conditional": lambda h, c: granger(h, c, conditional=True)[0],
    "lasso": lasso,
}


@pytest.mark.parametrize("name", METHODS)
def test_peers_find_a_chain(latents, name):
    pairs = all_pairs(6)
    truth = (pairs[1] - pairs[0] == 1).numpy()
    assert roc_auc_score(truth, METHODS[name](latents, pairs)) > 0.8


def test_scores_follow_the_order_of_the_candidates(latents):
    pairs = all_pairs(6)
    shuffled = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    for score in (*METHODS.values(), cosine):
        torch.testing.assert_close(score(latents, pairs[:, shuffled]), score(latents, pairs)[shuffled])


def test_gates_of_the_autoregression_hold_the_chain(latents):
    pairs = all_pairs(6)
    gates, _ = var_gates(latents, pairs)
    assert bool(gates[pairs[1] - pairs[0] == 1].all())


def test_false_discovery_by_hand():
    assert false_discovery(torch.tensor([0.01, 0.2, 0.03, 0.9]), 0.1).tolist() == [True, False, True, False]
