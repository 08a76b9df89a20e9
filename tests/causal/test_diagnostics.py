import sphunc
from sphunc.causal.diagnostics import agreement, wrong_times


def test_a_true_chain_passes_its_checks(latents):
    graph = sphunc.causal.discover(latents, calibrate=False)
    assert graph.diagnostics["placebo_links"] < 0.4 * graph.diagnostics["links"]
    assert graph.diagnostics["fixed_effect_agreement"] > 0.8
    assert "checks passed" in graph.verdict


def test_no_time_keeps_its_place(problem):
    times = wrong_times(problem, 0)
    assert sorted(times.tolist()) == list(range(8))
    assert all(t != k for k, t in enumerate(times.tolist()))


def test_agreement_is_an_auc():
    import torch

    assert agreement(torch.tensor([0.9, 0.1, 0.2]), torch.tensor([0.8, 0.1, 0.3])) == 1.0
    assert agreement(torch.tensor([0.9, 0.1, 0.2]), torch.tensor([0.2, 0.1, 0.3])) == 0.5
