"""Algorithm 1: it learns, updates blocks in turn, refines links for a while, stops, calibrates."""

from dataclasses import replace

import pytest
import torch
from tests.model.paper.conftest import SMALL

import sphunc
from sphunc.errors import ArgumentError, DataError
from sphunc.forecasting.training import update_block
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper import EpochRecord, FittedPaper, PaperConfig, fit_paper
from sphunc.model.paper.holdout import hold_out
from sphunc.model.paper.structure import prior_log_odds, score_links
from sphunc.model.paper.training import (
    calibrate_temperature,
    held_out_score,
    initial_network,
    inputs_for,
    latent_scores,
    measure_residuals,
    minibatch_losses,
    minibatches,
    overall_confidence,
    set_link_posterior,
)


@pytest.mark.parametrize("name", ["encoder", "concentration", "structure", "fusion"])
def test_an_update_moves_its_block_and_no_other(name: str, data: TemporalHypergraph, small: PaperConfig) -> None:
    targets, _ = hold_out(data, 1, torch.Generator().manual_seed(0))
    network = initial_network(data, targets, small, seed=0)
    with torch.no_grad():  # a readout of zero would keep gradients from the other blocks
        network.readout_weight.normal_(generator=torch.Generator().manual_seed(0))
    inputs = inputs_for(network, data, data.node_ids)
    empirical = measure_residuals(network, inputs, targets)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    block = network.blocks()[name]
    agents = torch.ones(data.num_nodes, dtype=torch.bool)
    loss = minibatch_losses(network, inputs, inputs, targets, empirical, agents, torch.Generator())["loss"]
    update_block(loss, block, torch.optim.AdamW(block, lr=1e-2))
    inside = {id(parameter) for parameter in block}
    moved = {key for key, value in network.named_parameters() if not torch.equal(value, before[key])}
    expected = {key for key, value in network.named_parameters() if id(value) in inside}
    assert moved
    assert moved <= expected
    for key, value in network.named_buffers():
        assert torch.equal(value, before[key])


def test_training_lowers_the_held_out_score_and_reports_every_epoch(data: TemporalHypergraph) -> None:
    records: list[EpochRecord] = []
    config = PaperConfig(**{**SMALL, "epochs": 15})
    model = fit_paper(data, config, seed=0, callbacks=[records.append])
    assert tuple(records) == model.history
    assert [record.epoch for record in records] == list(range(len(records)))
    assert min(r.validation for r in records) < records[0].validation - 0.02
    assert records[-1].prediction < records[0].prediction
    for r in records:
        expected = r.prediction + 0.1 * r.entropy + 0.1 * r.causal
        assert r.loss == pytest.approx(expected, abs=1e-5)
        assert r.learning_rate == 5e-3
        assert r.seconds > 0


def test_weights_of_losses_switch_their_terms_off(data: TemporalHypergraph) -> None:
    for name, part in (("no_entropy_loss", "entropy"), ("no_causal_regularisation", "causal"), ("no_scm", "causal")):
        config = PaperConfig.ablation(name, **{**SMALL, "epochs": 1})
        record = fit_paper(data, config, seed=0).history[0]
        assert getattr(record, part) == 0.0
    assert record.confidence is None


def test_links_are_refined_in_the_structure_epochs_only(data: TemporalHypergraph) -> None:
    config = PaperConfig(**{**SMALL, "epochs": 5, "structure_epochs": 2, "patience": 9})
    confidence = [record.confidence for record in fit_paper(data, config, seed=0).history]
    assert confidence[0] != confidence[1]
    assert confidence[1] == confidence[2] == confidence[4]


def test_the_posterior_of_links_is_evidence_and_prior(data: TemporalHypergraph, small: PaperConfig) -> None:
    targets, _ = hold_out(data, 1, torch.Generator().manual_seed(0))
    network = initial_network(data, targets, small, seed=0)
    inputs = inputs_for(network, data, data.node_ids)
    scores = latent_scores(network, inputs)
    prior = prior_log_odds(network.links, data.num_nodes)
    set_link_posterior(network, scores, prior)
    torch.testing.assert_close(network.log_odds, (scores.log_bayes_factor + prior).float())
    assert not network.coefficient.any()
    assert 0.0 < overall_confidence(network, data.num_nodes) < 1.0


def test_scores_in_the_span_of_few_features_are_those_in_all_dimensions(data: TemporalHypergraph) -> None:
    # 24 features span 50 axes: with 64 dimensions scores are computed there.
    wide = PaperConfig(**{**SMALL, "dim": 64})
    targets, _ = hold_out(data, 1, torch.Generator().manual_seed(0))
    network = initial_network(data, targets, wide, seed=0)
    with torch.no_grad():
        network.causal_projection.add_(0.1 * torch.randn(64, 64, generator=torch.Generator().manual_seed(0)))
    inputs = inputs_for(network, data, data.node_ids)
    h = network.encode(inputs).detach()
    messages = h @ network.causal_projection.detach().mT
    dense = score_links(h, messages, inputs.present, network.links, 2)
    # Latents are float32.
    torch.testing.assert_close(latent_scores(network, inputs).coefficient, dense.coefficient, atol=1e-4, rtol=1e-4)


def test_minibatches_deal_every_agent_once(generator: torch.Generator) -> None:
    parts = list(minibatches(10, 4, generator))
    assert [int(part.sum()) for part in parts] == [4, 4, 2]
    assert torch.equal(sum(part.long() for part in parts), torch.ones(10, dtype=torch.long))


def test_calibration_lowers_the_held_out_score(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    targets, _ = hold_out(data, 1, torch.Generator().manual_seed(0))
    document, tensors = fitted.to_tensors()
    network = FittedPaper.from_tensors(document, {**tensors, "network.calibration": torch.tensor(0.25)}).network
    inputs = inputs_for(network, data, fitted.agents)
    before = held_out_score(network, inputs, targets)
    calibrate_temperature(network, inputs, targets)
    assert held_out_score(network, inputs, targets) < before
    assert float(network.calibration) == pytest.approx(float(fitted.network.calibration), rel=0.02)


def test_times_later_than_training_do_not_teach(small: PaperConfig) -> None:
    data = sphunc.simulate("snare", agents=20, times=8, seed=2).data
    _, stop = hold_out(data, 1, torch.Generator().manual_seed(0))
    assert stop < data.num_times
    config = PaperConfig(**{**SMALL, "lambda_entropy": 0.0, "epochs": 1})
    one = fit_paper(data, config, seed=0).network
    changed = replace(data, x=data.x.clone())
    changed.x[stop:] = 5.0
    other = fit_paper(changed, config, seed=0).network
    for block in ("encoder", "structure"):
        for a, b in zip(one.blocks()[block], other.blocks()[block], strict=True):
            torch.testing.assert_close(a, b)


def test_what_cannot_be_learned_from_is_refused(data: TemporalHypergraph, small: PaperConfig) -> None:
    with pytest.raises(DataError, match="data has no outcomes"):
        fit_paper(replace(data, y=None, class_names=(), y_mask=torch.zeros_like(data.y_mask)), small, seed=0)
    with pytest.raises(ArgumentError, match="horizon is 1, but data has 1 times"):
        fit_paper(data.window(0, 1), small, seed=0)
    mask = torch.zeros_like(data.y_mask)
    mask[0] = data.y_mask[0]
    with pytest.raises(DataError, match="no outcome is observed from time"):
        fit_paper(replace(data, y_mask=mask, y=data.y * mask), small, seed=0)
