"""Algorithm 1 of the paper: alternating updates, H_causal and link posterior after every epoch.

It is alg. (sphunc) of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from sphunc._typing import Bool, Float
from sphunc.discovery import identification_confidence
from sphunc.errors import ArgumentError, DataError
from sphunc.forecasting import TrainingEpoch, train
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper.config import PaperConfig
from sphunc.model.paper.holdout import hold_out
from sphunc.model.paper.inputs import PaperInputs, candidate_links, make_inputs
from sphunc.model.paper.network import PaperNetwork
from sphunc.model.paper.objective import (
    PaperTargets,
    causal_loss,
    composite_loss,
    entropy_loss,
    negative_log_likelihood,
    prediction_loss,
    squared_residuals,
)
from sphunc.model.paper.structure import (
    LinkScores,
    parent_set_entropies,
    prior_log_odds,
    score_links,
    starting_coefficients,
)
from sphunc.model.paper.tracking import (
    TrackedIntervention,
    check_track,
    class_directions,
    held_out_ece,
    precision_at_10,
    tracked_entropy,
)
from sphunc.nn import feature_statistics

LARGEST_TEMPERATURE = 5.0
"""Calibration multiplies the temperature by at most this, and divides by at most this."""


@dataclass(frozen=True)
class EpochRecord:
    """What one epoch of Algorithm 1 gave.

    Attributes:
        epoch: number of the epoch, from 0.
        loss: composite objective, mean over minibatches.
        prediction: L_pred.
        entropy: L_entropy.
        causal: L_causal.
        validation: held-out negative log-likelihood in nats, or None.
        learning_rate: step size of AdamW.
        seconds: wall-clock time.
        h_causal: entropy after the tracked intervention in nats, mean over its targets, or None.
        confidence: identification confidence of the whole, 1 - sum H / sum H_prior; None without candidates.
        ece: expected calibration error of held-out classes, before the temperature; None without any.
        precision_at_10: share of true links among the ten most probable; None where the data have none.
    """

    epoch: int
    loss: float
    prediction: float
    entropy: float
    causal: float
    validation: float | None
    learning_rate: float
    seconds: float
    h_causal: float | None
    confidence: float | None
    ece: float | None = None
    precision_at_10: float | None = None


@dataclass(frozen=True, eq=False)
class TrainedPaper:
    """What training gives.

    Attributes:
        network: with the weights of the best epoch, in evaluation mode.
        class_directions: mean direction of the states of each class ``[C, D]``; empty for numbers.
        history: one record per epoch.
    """

    network: PaperNetwork
    class_directions: Float[Tensor, "class dim"]
    history: tuple[EpochRecord, ...]


def train_paper(
    data: TemporalHypergraph,
    config: PaperConfig,
    *,
    seed: int,
    callbacks: Sequence[Callable[[EpochRecord], None]] = (),
    track: TrackedIntervention | None = None,
) -> TrainedPaper:
    """Train the paper's network by Algorithm 1.

    Args:
        data: T times with outcomes, on the device to train on.
        config: settings.
        seed: of weights, minibatches, dropout and the hold-out of agents.
        callbacks: called with the record of every epoch.
        track: intervention to record H_causal of.
    """
    _check_data(data, config)
    if track is not None:
        check_track(track, data, config)
    generator = torch.Generator(device=data.device).manual_seed(seed)

    # Initialise the blocks, the statistics and the structure (lines 1 and 2 of Algorithm 1).
    targets, stop = hold_out(data, config.horizon, generator)
    known = data.window(0, stop)
    network = initial_network(known, targets, config, seed)
    training_inputs = inputs_for(network, known, known.node_ids)
    all_inputs = inputs_for(network, data, data.node_ids)
    prior = prior_log_odds(network.links, data.num_nodes)
    set_link_posterior(network, latent_scores(network, training_inputs), prior, with_coefficients=True)

    empirical = measure_residuals(network, all_inputs, targets)
    history: list[EpochRecord] = []

    def losses(agents: Bool[Tensor, " agent"]) -> Mapping[str, Tensor]:
        return minibatch_losses(network, all_inputs, training_inputs, targets, empirical, agents, generator)

    def validate() -> float | None:
        return held_out_score(network, all_inputs, targets)

    def after_epoch(epoch: TrainingEpoch) -> None:
        nonlocal empirical
        empirical = measure_residuals(network, all_inputs, targets)
        # Lines 11 and 12 of Algorithm 1: interventional entropy, structural posterior weights.
        if epoch.epoch < config.structure_epochs:
            set_link_posterior(network, latent_scores(network, training_inputs), prior)
        entropy = None
        if track is not None:
            entropy = tracked_entropy(network, data, all_inputs, targets, track, seed)
        record = EpochRecord(
            epoch=epoch.epoch,
            loss=epoch.parts["loss"],
            prediction=epoch.parts["prediction"],
            entropy=epoch.parts["entropy"],
            causal=epoch.parts["causal"],
            validation=epoch.validation,
            learning_rate=epoch.learning_rate,
            seconds=epoch.seconds,
            h_causal=entropy,
            confidence=overall_confidence(network, data.num_nodes),
            ece=held_out_ece(network, all_inputs, targets),
            precision_at_10=precision_at_10(network, data),
        )
        history.append(record)
        for callback in callbacks:
            callback(record)

    train(
        network,
        list(network.blocks().values()),
        lambda: minibatches(data.num_nodes, config.batch_size, generator),
        losses,
        validate,
        epochs=config.epochs,
        patience=config.patience,
        learning_rate=config.learning_rate,
        after_epoch=after_epoch,
    )
    calibrate_temperature(network, all_inputs, targets)
    directions = class_directions(network, all_inputs, targets)
    return TrainedPaper(network, directions, tuple(history))


def initial_network(data: TemporalHypergraph, targets: PaperTargets, config: PaperConfig, seed: int) -> PaperNetwork:
    """Draw the weights, and take the statistics of features and outcomes from training.

    Args:
        data: the times that training may read.
        targets: gives the outcomes to learn from.
        config: settings.
        seed: of the weights, the same on every device.
    """
    numeric = data.num_classes == 0
    num_outputs = data.num_classes
    if numeric:
        num_outputs = targets.outcome.shape[-1]
    network = PaperNetwork(
        config,
        data.num_features,
        num_outputs,
        candidate_links(data).cpu(),
        numeric=numeric,
        generator=torch.Generator().manual_seed(seed),
    ).to(data.device)
    if data.num_features > 0:
        mean, deviation = feature_statistics(data.x, data.x_mask)
        network.feature_mean.copy_(mean)
        network.feature_deviation.copy_(deviation)
    if numeric:
        values = targets.outcome[targets.train]
        mean, deviation = feature_statistics(values, torch.ones_like(values, dtype=torch.bool))
        network.outcome_mean.copy_(mean)
        network.outcome_deviation.copy_(deviation)
    return network


def inputs_for(
    network: PaperNetwork,
    data: TemporalHypergraph,
    known_agents: Sequence[Hashable],
) -> PaperInputs:
    """Prepare data with the statistics and links of a network.

    Args:
        network: trained, or about to be.
        data: T times.
        known_agents: ids in training.
    """
    return make_inputs(
        data,
        mean=network.feature_mean,
        deviation=network.feature_deviation,
        grouping=network.config.grouping,
        links=network.links,
        known_agents=known_agents,
    )


def minibatches(num_agents: int, batch_size: int, generator: torch.Generator) -> Iterator[Bool[Tensor, " agent"]]:
    """Deal the agents at random into minibatches; each is a mask over the agents.

    Args:
        num_agents: N.
        batch_size: agents in a minibatch.
        generator: source of randomness.
    """
    order = torch.randperm(num_agents, generator=generator, device=generator.device)
    for part in order.split(batch_size):
        chosen = torch.zeros(num_agents, dtype=torch.bool, device=order.device)
        chosen[part] = True
        yield chosen


def minibatch_losses(
    network: PaperNetwork,
    inputs: PaperInputs,
    training_inputs: PaperInputs,
    targets: PaperTargets,
    empirical: Float[Tensor, "time agent"],
    agents: Bool[Tensor, " agent"],
    generator: torch.Generator,
) -> dict[str, Tensor]:
    """Parts of the objective on a minibatch of agents (lines 5 to 10 of Algorithm 1).

    Messages pass between all agents; the losses count the agents of the minibatch.

    Args:
        network: in training mode.
        inputs: all times, of which held-out windows are read for L_entropy.
        training_inputs: the times that L_pred and L_causal may read.
        targets: outcomes and which of them count.
        empirical: squared residuals of held-out windows.
        agents: the minibatch.
        generator: source of dropout.
    """
    config = network.config
    output = network(inputs, generator=generator)
    T = training_inputs.num_times
    shorter = replace(
        output,
        directions=output.directions[:T],
        next_mean=output.next_mean[:T],
        kappa=output.kappa[:T],
    )
    prediction = prediction_loss(output, targets.outcome, targets.train & agents, network.outcome_deviation)
    entropy = output.total.new_zeros(())
    if config.lambda_entropy > 0:
        entropy = entropy_loss(output.total, empirical, targets.calibration)
    causal = output.total.new_zeros(())
    if config.lambda_causal > 0 and config.scm:
        causal = causal_loss(
            shorter,
            training_inputs.present,
            network.gating_factors(),
            network.links,
            agents,
            config.geometry,
        )
    loss = composite_loss(prediction, entropy, causal, config)
    return {"loss": loss, "prediction": prediction, "entropy": entropy, "causal": causal}


@torch.no_grad()
def measure_residuals(network: PaperNetwork, inputs: PaperInputs, targets: PaperTargets) -> Float[Tensor, "time agent"]:
    r"""Empirical uncertainty :math:`\hat U_{emp}` of all cells, without dropout.

    Args:
        network: left in evaluation mode.
        inputs: all times.
        targets: outcomes.
    """
    network.eval()
    return squared_residuals(network(inputs), targets.outcome, network.outcome_deviation)


@torch.no_grad()
def held_out_score(network: PaperNetwork, inputs: PaperInputs, targets: PaperTargets) -> float | None:
    """Mean negative log-likelihood of the validation cells; None if there are none.

    Args:
        network: in evaluation mode.
        inputs: all times.
        targets: outcomes and which of them count.
    """
    if not bool(targets.validation.any()):
        return None
    output = network(inputs)
    values = negative_log_likelihood(output, targets.outcome, targets.validation, network.outcome_deviation)
    return float(values.mean())


def latent_scores(network: PaperNetwork, inputs: PaperInputs) -> LinkScores:
    """Granger-like scores of the candidate links on the latents of the network.

    Args:
        network: gives latents, causal projection and candidates.
        inputs: the times that training may read.
    """
    with torch.no_grad():
        h = network.encode(inputs)
        messages = h @ network.causal_projection.mT
        # Latents and messages span at most twice F + 1 axes: scores need only inner products.
        span = torch.cat([network.weight, network.bias.unsqueeze(1)], 1).double()
        span = torch.cat([span, network.causal_projection.double() @ span], 1)
        if span.shape[1] < span.shape[0]:
            axes = torch.linalg.qr(span).Q
            h = h.double() @ axes
            messages = messages.double() @ axes
    return score_links(h, messages, inputs.present, network.links, network.config.max_lag)


def set_link_posterior(
    network: PaperNetwork,
    scores: LinkScores,
    prior: Float[Tensor, " link"],
    *,
    with_coefficients: bool = False,
) -> None:
    """Refine the structural posterior weights (line 12 of Algorithm 1).

    Args:
        network: its log odds are replaced.
        scores: of the candidate links on the present latents.
        prior: log odds under the sparsity prior.
        with_coefficients: also start the coefficients at the thresholded regression.
    """
    network.log_odds.copy_(scores.log_bayes_factor + prior)
    if with_coefficients:
        with torch.no_grad():
            network.coefficient.copy_(starting_coefficients(scores))


def overall_confidence(network: PaperNetwork, num_agents: int) -> float | None:
    """Identification confidence of the whole, as of the influence graph; None without candidates.

    Args:
        network: gives links and their posterior.
        num_agents: N of training.
    """
    links = network.links
    if links.shape[1] == 0:
        return None
    prior = prior_log_odds(links, num_agents)
    entropy, prior_entropy = parent_set_entropies(network.probability, prior, links, num_agents)
    return float(identification_confidence(entropy.sum(), prior_entropy.sum()))


@torch.no_grad()
def calibrate_temperature(network: PaperNetwork, inputs: PaperInputs, targets: PaperTargets) -> None:
    """Set the factor of the temperature that minimises the held-out negative log-likelihood.

    One number, as in Guo et al. (2017), "On calibration of modern neural networks".

    Args:
        network: its ``calibration`` is replaced.
        inputs: all times.
        targets: outcomes; without validation cells nothing changes.
    """
    if not bool(targets.validation.any()):
        return

    def score(log_factor: float) -> float:
        network.calibration.fill_(math.exp(log_factor))
        value = held_out_score(network, inputs, targets)
        assert value is not None
        return value

    reach = math.log(LARGEST_TEMPERATURE)
    found = minimize_scalar(score, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-3})
    network.calibration.fill_(math.exp(float(found.x)))


def _check_data(data: TemporalHypergraph, config: PaperConfig) -> None:
    if data.y is None:
        raise DataError("data has no outcomes; give an outcomes table to learn from")
    if data.num_times < config.horizon + 1:
        raise ArgumentError(
            f"horizon is {config.horizon}, but data has {data.num_times} times; give at least "
            f"{config.horizon + 1} times, or a shorter horizon"
        )
    if not bool(data.y_mask[config.horizon :].any()):
        raise DataError(
            f"no outcome is observed from time {data.times[config.horizon]} on, so that no forecast "
            f"{config.horizon} ahead can be learned; give outcomes there"
        )
