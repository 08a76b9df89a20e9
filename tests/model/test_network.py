"""The network as a whole: no leak, no order of agents, every ablation, every kind of outcome."""

from dataclasses import replace

import pytest
import torch

from sphunc.hypergraph import TemporalHypergraph, scramble_future
from sphunc.model.config import ABLATIONS, SphUncConfig
from sphunc.model.network import Network, Run
from sphunc.model.observed import observe
from sphunc.worlds import simulate

DIM = 16
LINKS, GATES = torch.tensor([[0, 1, 5], [2, 3, 0]]), torch.tensor([0.4, -0.3, 0.2])


def world() -> TemporalHypergraph:
    return simulate("snare", seed=0, agents=30, times=5, groups=40).data


def make(data: TemporalHypergraph, **settings) -> Network:
    config = SphUncConfig(**{"dim": DIM, **settings})
    numeric = not data.class_names
    outputs = data.y.shape[-1] if numeric else data.num_classes
    network = Network(config, data.num_features, outputs, numeric=numeric, generator=torch.Generator().manual_seed(0))
    network.learn_scale(observe(data))
    with torch.no_grad():
        network.readout.weight.normal_(generator=torch.Generator().manual_seed(1))
    return network.eval()


def outputs(run: Run) -> list[torch.Tensor]:
    return [v for v in (run.log_probabilities, run.mean, run.variance, run.kappa, run.total) if v is not None]


def test_nothing_after_an_origin_moves_its_forecast() -> None:
    data = world()
    network = make(data)
    other = scramble_future(data, 2, seed=3)
    here = network(observe(data), LINKS, GATES)
    there = network(observe(other), LINKS, GATES)
    for a, b in zip(outputs(here), outputs(there), strict=True):
        torch.testing.assert_close(a[:3], b[:3])
    assert not torch.allclose(here.total[3:], there.total[3:])


def test_shorter_past_gives_the_same_forecasts() -> None:
    data = world()
    network = make(data)
    whole, part = network(observe(data), LINKS, GATES), network(observe(data, upto=3), LINKS, GATES)
    for a, b in zip(outputs(whole), outputs(part), strict=True):
        torch.testing.assert_close(a[:3], b, atol=1e-5, rtol=1e-4)


def test_order_of_agents_does_not_matter() -> None:
    data = world()
    network = make(data)
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(5))
    place = torch.argsort(order)
    nodes, edges = place[data.hyperedge_index[0]], data.hyperedge_index[1]
    by_group = torch.argsort(edges * data.num_nodes + nodes)
    moved = replace(
        data,
        x=data.x[:, order],
        x_mask=data.x_mask[:, order],
        y=data.y[:, order],
        y_mask=data.y_mask[:, order],
        node_ids=tuple(data.node_ids[i] for i in order.tolist()),
        hyperedge_index=torch.stack([nodes, edges])[:, by_group],
        influence=None,
        influence_kind="",
    )
    here, there = network(observe(data), LINKS, GATES), network(observe(moved), place[LINKS], GATES)
    for a, b in zip(outputs(here), outputs(there), strict=True):
        torch.testing.assert_close(a[:, order], b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_forecasts_and_learns(name: str) -> None:
    data = world()
    network = make(data, **ABLATIONS[name]).train()
    run = network(observe(data), LINKS, GATES, generator=torch.Generator().manual_seed(0))
    assert run.log_probabilities is not None
    torch.testing.assert_close(run.log_probabilities.exp().sum(-1), torch.ones(5, 30))
    run.log_probabilities[..., 0].sum().backward()
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    assert all(g.isfinite().all() for g in gradients)
    assert len(gradients) > 10


def test_contaminated_outcomes_are_never_certain() -> None:
    data = world()
    run = make(data, noise="contamination")(observe(data), LINKS, GATES)
    assert run.log_probabilities is not None
    share = run.variance / (1 + run.variance)
    assert (run.log_probabilities.exp() >= share.unsqueeze(-1) / 3 - 1e-6).all()


def test_blocks_hold_every_trained_parameter_once() -> None:
    network = make(world())
    blocks = network.blocks()
    assert set(blocks) == {"encoder", "kappa", "structure", "fusion"}
    flat = [id(p) for block in blocks.values() for p in block]
    assert sorted(flat) == sorted(id(p) for p in network.parameters() if p.requires_grad)


def test_links_move_their_targets_only() -> None:
    data = world()
    network = make(data)
    none = torch.zeros(2, 0, dtype=torch.long)
    one = network(observe(data, upto=1), torch.tensor([[0], [2]]), torch.tensor([1.0])).log_probabilities
    zero = network(observe(data, upto=1), none, torch.zeros(0)).log_probabilities
    moved = (one - zero).abs().amax((0, 2)) > 1e-6
    assert moved.nonzero().flatten().tolist() == [2]


def test_longer_horizon_takes_more_steps() -> None:
    data = world()
    near, far = make(data), make(data, horizon=3)
    far.load_state_dict(near.state_dict())
    assert not torch.allclose(near(observe(data), LINKS, GATES).kappa, far(observe(data), LINKS, GATES).kappa)


def test_numbers_are_forecast_in_their_own_units() -> None:
    data = world()
    y = 100.0 + 5.0 * torch.randn(5, 30, 1, generator=torch.Generator().manual_seed(0))
    numeric = replace(data, y=y, class_names=())
    run = make(numeric)(observe(numeric), LINKS, GATES)
    assert run.log_probabilities is None
    assert run.mean is not None
    assert run.mean.shape == (5, 30, 1)
    assert 50 < run.mean.mean().item() < 150


def test_agent_never_seen_is_least_certain() -> None:
    data = world()
    x_mask, y_mask = data.x_mask.clone(), data.y_mask.clone()
    x_mask[:, 7], y_mask[:, 7] = False, False
    nodes = data.hyperedge_index[0] != 7
    hidden = replace(
        data,
        x=torch.where(x_mask, data.x, 0.0),
        x_mask=x_mask,
        y=torch.where(y_mask, data.y, 0),
        y_mask=y_mask,
        hyperedge_index=data.hyperedge_index[:, nodes],
    )
    run = make(hidden)(observe(hidden), torch.zeros(2, 0, dtype=torch.long), torch.zeros(0))
    assert run.kappa[:, 7].max() <= 1.0 + 1e-4
    assert torch.equal(run.epistemic_scaled[:, 7].argmax(), torch.tensor(0))


def test_support_lowers_the_concentration_far_from_training() -> None:
    data = world()
    network = make(data)
    network.store_support(observe(data))
    near = network(observe(data), LINKS, GATES).kappa
    network.support = -network.support
    assert (network(observe(data), LINKS, GATES).kappa < near).float().mean() > 0.9


def test_same_generator_same_run() -> None:
    data = world()
    network = make(data).train()
    runs = [network(observe(data), LINKS, GATES, generator=torch.Generator().manual_seed(4)) for _ in range(2)]
    assert torch.equal(runs[0].total, runs[1].total)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_origin_rolls_the_forecast_of_the_last_time_step_by_step(horizon: int, geometry: str) -> None:
    data = world()
    network = make(data, horizon=horizon, geometry=geometry)
    seen = observe(data)
    origin = network.origin(seen, LINKS, GATES, horizon + 1)
    wanted, rolled = network(seen, LINKS, GATES), origin.run
    assert wanted.log_probabilities is not None
    assert rolled.log_probabilities is not None
    assert torch.allclose(rolled.log_probabilities[horizon - 1], wanted.log_probabilities[-1], atol=1e-6)
    assert torch.allclose(rolled.total[horizon - 1], wanted.total[-1], atol=1e-6)
    stepped = network.step.strength * network.step(origin.eta[-1], origin.lasting, seen.pull[-1], LINKS, GATES)
    assert torch.allclose(stepped / stepped.norm(dim=-1, keepdim=True), rolled.ahead[0], atol=1e-5)
