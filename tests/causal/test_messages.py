import pytest
import torch

import sphunc
from sphunc.causal import messages
from sphunc.causal.candidates import candidate_links
from sphunc.causal.estimation import Problem, estimate, hyper_parameters
from sphunc.causal.messages import procrustes, weigh_messages
from sphunc.causal.panel import vector_panel
from sphunc.evaluation import auprc

AGENTS, TIMES = 60, 12
CLEAR, TRAIT, NOISY = [0, 1, 2], 3, [4, 5]
FAST = {"max_lag": 1, "diagnose": False, "calibrate": False}


def test_procrustes_recovers_a_rotation():
    g = torch.Generator().manual_seed(0)
    rotation, _ = torch.linalg.qr(torch.randn(5, 5, generator=g, dtype=torch.double))
    sent = torch.randn(20, 6, 5, generator=g, dtype=torch.double)
    torch.testing.assert_close(procrustes(sent @ rotation.T, sent), rotation)


def seen_through_noise(seed=0):
    """Agents follow two of eight candidates in five coordinates; two of them are seen badly, the sixth is a trait.

    Returns:
        Latents ``[T, N, 6]``, candidates ``[2, 8 N]``, which of those are links.
    """
    g = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=g, dtype=torch.double)

    offset = torch.stack([torch.randperm(AGENTS - 1, generator=g)[:8] + 1 for _ in range(AGENTS)])
    target = torch.arange(AGENTS).repeat_interleave(8)
    source = (target + offset.flatten()) % AGENTS
    is_link = torch.arange(8).repeat(AGENTS) < 2
    push = torch.zeros(AGENTS, AGENTS, dtype=torch.double)
    push[target[is_link], source[is_link]] = 0.4
    states, trait, path = normal(AGENTS, 5), normal(AGENTS, 1), []
    for _ in range(TIMES + 8):
        states = 0.15 * states + push @ states + normal(AGENTS, 5)
        trait = trait + 0.2 * normal(AGENTS, 1)
        path.append(torch.cat([states[:, :3], trait, states[:, 3:]], 1))
    latents = torch.stack(path[8:])
    latents[..., NOISY] += 3.0 * normal(TIMES, AGENTS, 2)
    return latents, torch.stack([source, target]), is_link


def problem_of(latents, candidates):
    agents = latents.shape[1]
    panel = vector_panel(latents, torch.ones(latents.shape[:2], dtype=torch.bool), None)
    return Problem(panel, candidate_links(candidates, agents), torch.zeros(agents, dtype=torch.bool))


def matrix(graph):
    full = torch.zeros(graph.num_agents, graph.num_agents, dtype=torch.double)
    full[graph.links[0], graph.links[1]] = graph.probability
    return full


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weighed_messages_find_links_that_noise_hides(seed):
    latents, (source, target), is_link = seen_through_noise(seed)
    plain, weighed = (
        matrix(sphunc.causal.discover(latents, torch.stack([source, target]), message_map=message_map, **FAST))
        for message_map in (None, "weigh")
    )
    score = [auprc(found[source, target].numpy(), is_link.numpy()) for found in (plain, weighed)]
    assert score[1] > score[0] + 0.1


def test_the_strongest_direction_passes_with_weight_one_and_the_trait_hardly():
    problem = problem_of(*seen_through_noise()[:2])
    weighed = weigh_messages(problem, 1, 0.02)
    route = weighed.panel.route
    torch.testing.assert_close(torch.linalg.matrix_norm(route, 2), torch.ones((), dtype=torch.double))
    torch.testing.assert_close(weighed.panel.messages, weighed.panel.values @ route)
    assert torch.equal(weighed.panel.values, problem.panel.values)
    passed = route.diagonal()
    assert passed[CLEAR].min() > 0.7 > 0.6 > passed[NOISY].max()
    assert route[TRAIT].norm() < 0.4


def test_weights_are_the_regression_on_what_was_received(monkeypatch):
    monkeypatch.setattr(messages, "WEIGHINGS", 1)
    problem = problem_of(*seen_through_noise()[:2])
    result = estimate(problem, hyper_parameters(problem, 1, 0.02, learn=False))
    values = problem.panel.values
    received = torch.zeros_like(values)
    for k, (source, target) in enumerate(problem.candidates.links.T.tolist()):
        received[target] += result.probability[k] * result.strength[k] * values[source]
    rows, outcomes = [], []
    for agent in range(AGENTS):
        own, sent, after = values[agent, :-1], received[agent, :-1], values[agent, 1:]
        rows.append(torch.cat([own - own.mean(0), sent - sent.mean(0)], 1))
        outcomes.append(after - after.mean(0))
    passed = torch.linalg.lstsq(torch.cat(rows), torch.cat(outcomes)).solution[6:]
    expected = passed / torch.linalg.svdvals(passed)[0]
    torch.testing.assert_close(weigh_messages(problem, 1, 0.02).panel.route, expected, atol=1e-4, rtol=0)


def test_turning_the_latents_turns_the_weights():
    latents, candidates, _ = seen_through_noise()
    turn, _ = torch.linalg.qr(torch.randn(6, 6, generator=torch.Generator().manual_seed(3), dtype=torch.double))
    plain, turned = (weigh_messages(problem_of(h, candidates), 1, 0.02).panel.route for h in (latents, latents @ turn))
    torch.testing.assert_close(turned, turn.T @ plain @ turn, atol=1e-6, rtol=0)


def test_too_few_rows_leave_the_problem_as_it_is(problem):
    assert weigh_messages(problem, 1, 0.02) is problem


def test_a_single_coordinate_is_left_as_it_is():
    latents, candidates, _ = seen_through_noise()
    problem = problem_of(latents[..., :1], candidates)
    assert weigh_messages(problem, 1, 0.02) is problem
