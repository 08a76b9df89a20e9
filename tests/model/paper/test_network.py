"""The network: blocks, gradients, ablations, what an agent without data gets."""

import pytest
import torch
from tests.model.paper.conftest import SMALL

from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper import ABLATIONS, PaperConfig
from sphunc.model.paper.equations import pass_messages, structural_mean
from sphunc.model.paper.holdout import hold_out
from sphunc.model.paper.inputs import PaperInputs
from sphunc.model.paper.network import PaperNetwork, dropout_factors
from sphunc.model.paper.structure import prior_log_odds
from sphunc.model.paper.training import (
    initial_network,
    inputs_for,
    latent_scores,
    measure_residuals,
    minibatch_losses,
    set_link_posterior,
)

RANDOM = 3


def ready(data: TemporalHypergraph, config: PaperConfig) -> tuple[PaperNetwork, PaperInputs]:
    """A network whose every parameter acts."""
    targets, _ = hold_out(data, config.horizon, torch.Generator().manual_seed(0))
    network = initial_network(data, targets, config, seed=0)
    inputs = inputs_for(network, data, data.node_ids)
    prior = prior_log_odds(network.links, data.num_nodes)
    set_link_posterior(network, latent_scores(network, inputs), prior, with_coefficients=True)
    generator = torch.Generator().manual_seed(RANDOM)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator))
    return network.eval(), inputs


def test_blocks_hold_every_learned_parameter_once(data: TemporalHypergraph, small: PaperConfig) -> None:
    network, _ = ready(data, small)
    blocks = network.blocks()
    assert list(blocks) == ["encoder", "concentration", "structure", "fusion"]
    listed = [id(parameter) for block in blocks.values() for parameter in block]
    learned = [id(parameter) for parameter in network.parameters() if parameter.requires_grad]
    assert sorted(listed) == sorted(learned)


def test_gradients_of_the_objective_reach_every_parameter(data: TemporalHypergraph, small: PaperConfig) -> None:
    network, inputs = ready(data, small)
    targets, _ = hold_out(data, 1, torch.Generator().manual_seed(0))
    empirical = measure_residuals(network, inputs, targets)
    agents = torch.ones(data.num_nodes, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    parts = minibatch_losses(network, inputs, inputs, targets, empirical, agents, generator)
    parts["loss"].backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.any()), name


def test_a_forecast_is_the_equations_one_after_another(data: TemporalHypergraph, small: PaperConfig) -> None:
    network, inputs = ready(data, small)
    output = network(inputs)
    N = data.num_nodes
    t = 2
    h = torch.nn.functional.normalize(inputs.x @ network.weight.mT + network.bias, dim=-1)
    torch.testing.assert_close(output.directions, h)
    alone = inputs_for(network, data.window(0, t + 1), data.node_ids)
    context = h[t]
    for layer in range(2):
        sharpness = network.log_sharpness[layer].exp()
        context = pass_messages(context, network.message_weights[layer], sharpness, alone.last_groups, "sphere")
    bias = torch.zeros(N, small.dim)
    for i in range(N):
        past = [h[s, i] for s in range(t + 1) if inputs.present[s, i]]
        if past:
            bias[i] = network.persistence * torch.stack(past).mean(0)
    factors = network.log_odds.sigmoid().unsqueeze(1) * network.coefficient
    mean = structural_mean(context, [h[t], h[t - 1]], bias, network.causal_projection, network.links, factors, "sphere")
    torch.testing.assert_close(output.next_mean[t], mean)
    logits = small.dim**0.5 * mean @ network.readout_weight.mT + network.readout_bias
    torch.testing.assert_close(output.read_out[t], logits)


def test_forecasts_do_not_depend_on_later_times(data: TemporalHypergraph, small: PaperConfig) -> None:
    network, inputs = ready(data, small)
    early = network(inputs_for(network, data.window(0, 3), data.node_ids))
    torch.testing.assert_close(network(inputs).log_probabilities[:3], early.log_probabilities)


def test_a_longer_horizon_applies_the_assignment_again(data: TemporalHypergraph) -> None:
    one, inputs = ready(data, PaperConfig(**SMALL, max_lag=1))
    two = PaperNetwork(
        PaperConfig(**SMALL, max_lag=1, horizon=2),
        data.num_features,
        3,
        one.links,
        numeric=False,
        generator=torch.Generator(),
    )
    two.load_state_dict(one.state_dict())
    first = one(inputs)
    bias = one.persistent_bias(first.directions, inputs.present)[-1]
    again = one.transition([first.next_mean[-1]], bias, inputs.last_groups, inputs.links, one.gating_factors())
    torch.testing.assert_close(two.eval()(inputs).read_out[-1], one.read(again))


def test_an_agent_nothing_is_known_of_has_no_direction_and_the_widest_belief(
    data: TemporalHypergraph, small: PaperConfig
) -> None:
    network, inputs = ready(data, small)
    has_features = inputs.has_features.clone()
    has_features[:, 0] = False
    h = network.encode(inputs) * has_features.unsqueeze(-1)
    kappa = network.believe(h, has_features)
    assert bool((kappa[:, 0] == 1.0).all())
    assert bool((kappa[:, 1:] > 1.0).all())


@pytest.mark.parametrize("fusion", ["monotone", "ad_hoc"])
def test_total_uncertainty_is_monotone_only_by_construction(fusion: str, data: TemporalHypergraph) -> None:
    network, _ = ready(data, PaperConfig(**SMALL, fusion=fusion))
    with torch.no_grad():
        for parameter in network.fusion.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    epistemic = torch.linspace(0.0, 1.0, 30)
    aleatoric = torch.linspace(0.0, 5.0, 30)
    by_epistemic = network.total_uncertainty(epistemic, torch.full_like(epistemic, 0.5)).diff()
    by_aleatoric = network.total_uncertainty(torch.full_like(epistemic, 0.5), aleatoric).diff()
    is_monotone = bool((by_epistemic >= 0).all()) and bool((by_aleatoric >= 0).all())
    assert is_monotone == (fusion == "monotone")


def test_ablations_differ_as_stated(data: TemporalHypergraph) -> None:
    outputs = {}
    networks = {}
    for name in ABLATIONS:
        network, inputs = ready(data, PaperConfig.ablation(name, **SMALL))
        networks[name] = network
        with torch.no_grad():
            outputs[name] = network(inputs)
    full = outputs["full"]
    lengths = outputs["euclidean"].directions.norm(dim=-1)
    assert float(lengths.std()) > 0.01
    torch.testing.assert_close(full.directions.norm(dim=-1), torch.ones_like(lengths))
    # Only one part enters the total: the other may change and nothing happens.
    ones = torch.ones(3)
    ramp = torch.tensor([0.0, 0.5, 1.0])
    by_epistemic = networks["only_aleatoric"].total_uncertainty(ramp, ones).detach()
    by_aleatoric = networks["only_epistemic"].total_uncertainty(ones, ramp).detach()
    assert len(by_epistemic.unique()) == 1
    assert len(by_aleatoric.unique()) == 1
    assert networks["no_scm"].links.shape == (2, 0)
    assert not networks["no_scm"].causal_projection.requires_grad
    assert not networks["dot_product_attention"].log_sharpness.requires_grad
    sharpness = networks["dot_product_attention"].log_sharpness.exp()
    torch.testing.assert_close(sharpness, torch.full((2,), 8.0**-0.5))
    for name in ("dot_product_attention", "pairwise_only", "no_scm"):
        assert not torch.allclose(outputs[name].next_mean, full.next_mean, atol=1e-3), name
    assert type(networks["ad_hoc_fusion"].fusion) is not type(networks["full"].fusion)


def test_dropout_keeps_messages_on_average(generator: torch.Generator) -> None:
    factors = dropout_factors(torch.empty(400, 100), 0.3, generator)
    assert factors.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert float(factors.mean()) == pytest.approx(1.0, abs=0.02)
