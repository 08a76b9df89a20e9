"""`discover` end to end: truth, symmetries, scalars, seeds, bad input."""

import math

import pytest
import torch

import sphunc
from sphunc.causal.candidates import all_pairs
from sphunc.errors import ArgumentError, DataError
from sphunc.hypergraph import comembers

FAST = {"diagnose": False, "calibrate": False}


def matrix(graph):
    """Probabilities as [source, target]."""
    full = torch.zeros(graph.num_agents, graph.num_agents, dtype=torch.double)
    full[graph.links[0], graph.links[1]] = graph.probability
    return full


def test_a_chain_is_found_with_its_direction(latents):
    graph = sphunc.causal.discover(latents, **FAST)
    found = matrix(graph)
    chain = torch.diagonal(found, offset=1)
    assert float(chain.min()) > 0.5
    assert float(chain.mean()) > 0.8
    assert float((found.sum() - chain.sum()) / 25) < 0.15
    assert graph.parents(3)[0][0] == 2
    assert float(graph.strength[(graph.links[0] == 2) & (graph.links[1] == 3)]) > 0.1


def test_relabelling_agents_relabels_the_result(latents):
    order = torch.tensor([3, 1, 5, 0, 4, 2])
    plain, moved = sphunc.causal.discover(latents, **FAST), sphunc.causal.discover(latents[:, order], **FAST)
    torch.testing.assert_close(matrix(moved), matrix(plain)[order][:, order], atol=1e-6, rtol=0)


def test_rotating_the_latents_changes_nothing(latents):
    rotation, _ = torch.linalg.qr(torch.randn(24, 24, generator=torch.Generator().manual_seed(3), dtype=torch.double))
    torch.testing.assert_close(
        matrix(sphunc.causal.discover(latents @ rotation, **FAST)),
        matrix(sphunc.causal.discover(latents, **FAST)),
        atol=1e-6,
        rtol=0,
    )


def test_same_seed_same_graph(latents):
    first, second = (sphunc.causal.discover(latents[:, :4], max_lag=1, diagnose=False, seed=5) for _ in range(2))
    assert torch.equal(first.probability, second.probability)
    assert torch.equal(first.draws, second.draws)


@pytest.mark.parametrize("replicates", [1, 6])
def test_scalar_series_work(replicates):
    g = torch.Generator().manual_seed(0)
    x, path = torch.zeros(4, replicates, dtype=torch.double), []
    for _ in range(150):
        push = torch.cat([torch.zeros(1, replicates, dtype=torch.double), 0.6 * x[:-1]])
        x = 0.3 * x + push + torch.randn(4, replicates, generator=g, dtype=torch.double)
        path.append(x)
    found = matrix(sphunc.causal.discover(torch.stack(path), replicates=replicates > 1, max_lag=1, **FAST))
    assert float(torch.diagonal(found, offset=1).min()) > 0.9
    assert float(torch.diagonal(found, offset=-1).max()) < 0.5


def test_required_and_forbidden_links_are_obeyed(latents):
    required, forbidden = torch.tensor([[5], [0]]), torch.tensor([[0], [1]])
    graph = sphunc.causal.discover(latents, required=required, forbidden=forbidden, diagnose=False)
    assert float(matrix(graph)[5, 0]) == pytest.approx(1)
    assert not bool(((graph.links[0] == 0) & (graph.links[1] == 1)).any())


def test_absent_states_are_never_read(latents):
    mask = torch.ones(latents.shape[:2], dtype=torch.bool)
    mask[2, 1] = mask[5, 4] = False
    broken = latents.clone()
    broken[~mask] = math.nan
    first = sphunc.causal.discover(broken, mask=mask, **FAST)
    broken[~mask] = 7.0
    torch.testing.assert_close(sphunc.causal.discover(broken, mask=mask, **FAST).probability, first.probability)


def test_few_times_have_one_lag(latents):
    assert sphunc.causal.discover(latents[:5], **FAST).fit["lags"] == 1


def test_neutral_results_are_stated(latents):
    still = latents.clone()
    still[:, 2] = still[:1, 2]
    still[:, 4] = still[:, 5]
    pairs = all_pairs(6)
    graph = sphunc.causal.discover(still, pairs[:, pairs[1] != 0], **FAST)
    text = " ".join(graph.notes)
    assert "1 agents never change: their links keep the prior probability (indices 2)" in text
    assert "1 agents have no candidates" in text
    assert "2 agents have the same series as another agent" in text
    assert float(graph.agent_confidence[0]) == 0
    into_still = graph.probability[graph.links[1] == 2]
    assert float(into_still.min()) > 0


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        (lambda h: h[:2], {}, ArgumentError, "latents has 2 times; influence over time needs at least 3"),
        (lambda h: h[:, :1], {}, ArgumentError, "latents has 1 agents"),
        (lambda h: h * math.nan, {}, DataError, r"latents\[0, 0\] has NaN or infinity"),
        (lambda h: h[:1].expand_as(h), {}, DataError, "do not change over time for any agent"),
        (lambda h: h, {"max_lag": 0}, ArgumentError, "max_lag is 0; the smallest lag is 1"),
        (lambda h: h, {"min_effect": -1.0}, ArgumentError, "min_effect is -1.0"),
        (lambda h: h, {"phi": -1.0}, ArgumentError, "phi is -1.0"),
        (lambda h: h, {"message_map": "guess"}, ArgumentError, r"message_map is 'guess'; .* 'learn', 'weigh' or None"),
        (lambda h: h, {"message_map": torch.eye(3)}, ArgumentError, r"message_map has shape \(3, 3\)"),
        (lambda h: h, {"message_map": "learn"}, ArgumentError, "needs more rows than coordinates"),
        (lambda h: h.repeat(1, 40, 1), {}, ArgumentError, "neither candidates nor data is given"),
        (lambda h: h, {"candidates": torch.tensor([[9], [0]])}, ArgumentError, "names agent 9"),
    ],
)
def test_bad_input_is_refused_with_a_way_out(latents, change, options, error, message):
    with pytest.raises(error, match=message):
        sphunc.causal.discover(change(latents), **options, **FAST)


def test_too_many_required_parents_are_refused():
    latents = torch.randn(6, 10, 4, generator=torch.Generator().manual_seed(0))
    pairs = torch.stack([torch.arange(1, 10), torch.zeros(9, dtype=torch.long)])
    with pytest.raises(ArgumentError, match="agent 0 has 9 required parents; at most 7"):
        sphunc.causal.discover(latents, required=pairs, **FAST)


def test_data_gives_candidates_ids_and_pull():
    world = sphunc.simulate("snare", seed=0, agents=40, times=5)
    graph = sphunc.causal.discover(world.states, data=world.data, **FAST)
    pairs = comembers(world.data)
    ours = set(zip(*graph.links.tolist(), strict=True))
    assert ours == set(zip(*pairs.tolist(), strict=True))
    frame = graph.to_frame()
    assert set(frame["source"]) | set(frame["target"]) <= set(world.data.node_ids)
    alone = sphunc.causal.discover(world.states, pairs, mask=world.data.present, **FAST)
    assert not torch.allclose(alone.probability, graph.probability)


def rotated_messages(agents=80, times=8, dim=4):
    """Agents follow one predecessor through a shared rotation; candidates are the three before."""
    g = torch.Generator().manual_seed(0)
    rotation, _ = torch.linalg.qr(torch.randn(dim, dim, generator=g, dtype=torch.double))
    h, path = torch.zeros(agents, dim, dtype=torch.double), []
    for _ in range(times + 8):
        h = 0.3 * h + 0.7 * h.roll(1, 0) @ rotation.T + torch.randn(agents, dim, generator=g, dtype=torch.double)
        path.append(h)
    target = torch.arange(agents).repeat(3)
    source = (target - torch.arange(1, 4).repeat_interleave(agents)) % agents
    return torch.stack(path[8:]), torch.stack([source, target])


def test_a_learned_message_map_finds_what_the_identity_misses():
    latents, candidates = rotated_messages()
    options = {"max_lag": 1, **FAST}
    means = []
    for message_map in ("learn", None):
        graph = sphunc.causal.discover(latents, candidates, message_map=message_map, **options)
        true = (graph.links[1] - graph.links[0]) % latents.shape[1] == 1
        means.append((float(graph.probability[true].mean()), float(graph.probability[~true].mean())))
    assert means[0][0] > 0.9 > 0.2 > means[0][1]
    assert means[0][0] - means[0][1] > 0.3 + means[1][0] - means[1][1]
