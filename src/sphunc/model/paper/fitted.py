"""A fitted model of the paper: forecasts, links, interventional simulation, storage."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass

import torch

from sphunc._typing import Float, Links, Tensor
from sphunc.discovery import identification_confidence
from sphunc.errors import ArgumentError, CheckpointError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper.config import PaperConfig, make_config
from sphunc.model.paper.network import PaperNetwork
from sphunc.model.paper.simulation import simulate
from sphunc.model.paper.structure import parent_set_entropies, prior_log_odds
from sphunc.model.paper.tracking import TrackedIntervention
from sphunc.model.paper.training import (
    EpochRecord,
    inputs_for,
    train_paper,
)

NETWORK = "network."
"""Prefix of the network's tensors in storage."""


@dataclass(frozen=True, eq=False)
class PaperForecast:
    """Forecasts for N agents, ``horizon`` steps after the last time of the data.

    Attributes:
        log_probabilities: of C classes ``[N, C]``, or None.
        mean: of K numbers ``[N, K]``, or None.
        variance: of K numbers ``[N, K]``, or None.
        epistemic: entropy of the von Mises-Fisher belief in nats ``[N]``.
        epistemic_scaled: the same in [0, 1], 1 at kappa 1 and 0 at kappa 200 ``[N]``.
        aleatoric: variance of the logits, or of standardised numbers ``[N]``.
        total: both parts, fused, in (0, 1) ``[N]``.
        kappa: concentration of the belief ``[N]``.
        directions: mean direction of the belief ``[N, D]``; zero for an agent nothing is known of.
    """

    log_probabilities: Tensor | None
    mean: Tensor | None
    variance: Tensor | None
    epistemic: Tensor
    epistemic_scaled: Tensor
    aleatoric: Tensor
    total: Tensor
    kappa: Tensor
    directions: Tensor


@dataclass(frozen=True, eq=False)
class FittedPaper:
    """The paper's model after training; made by :func:`fit_paper`.

    Attributes:
        network: in evaluation mode.
        agents: ids of the training agents, in order.
        class_names: names of the classes; empty for numbers.
        class_directions: mean direction of the states of each class ``[C, D]``.
        history: one record per epoch.
    """

    network: PaperNetwork
    agents: tuple[Hashable, ...]
    class_names: tuple[str, ...]
    class_directions: Float[Tensor, "class dim"]
    history: tuple[EpochRecord, ...]

    @property
    def config(self) -> PaperConfig:
        """Settings of the fit."""
        return self.network.config

    @torch.no_grad()
    def forecast(self, data: TemporalHypergraph) -> PaperForecast:
        """Forecast from the last time of ``data``, for its agents in its order.

        Args:
            data: any agents with the features of the fit; unseen ones have no links.
        """
        data = data.to(self.network.weight.device)
        output = self.network(inputs_for(self.network, data, self.agents))
        log_probabilities = None
        mean = None
        variance = None
        if output.log_probabilities is not None:
            log_probabilities = output.log_probabilities[-1]
        if output.mean is not None and output.variance is not None:
            mean = output.mean[-1]
            variance = output.variance[-1]
        return PaperForecast(
            log_probabilities=log_probabilities,
            mean=mean,
            variance=variance,
            epistemic=output.epistemic[-1],
            epistemic_scaled=output.epistemic_scaled[-1],
            aleatoric=output.aleatoric[-1],
            total=output.total[-1],
            kappa=output.kappa[-1],
            directions=output.directions[-1],
        )

    def influence(self) -> tuple[Links, Float[Tensor, " link"], Float[Tensor, " link"]]:
        """Candidate links among the training agents, with probability and strength.

        Returns:
            Links ``[2, K]`` (row 0 source, row 1 target), posterior probability of each, and its
            signed coefficient, summed over lags.
        """
        strength = self.network.coefficient.detach().sum(-1)
        return self.network.links, self.network.probability, strength

    def confidence(self) -> Float[Tensor, " agent"]:
        """Identification confidence of the parents of each training agent, in [0, 1]; 0 without candidates."""
        links = self.network.links
        prior = prior_log_odds(links, len(self.agents))
        entropies = parent_set_entropies(self.network.probability, prior, links, len(self.agents))
        return identification_confidence(*entropies).float()

    def rollout(
        self,
        data: TemporalHypergraph,
        horizon: int,
        samples: int,
        seed: int,
        hold: Mapping[int, Tensor] | None = None,
    ) -> Float[Tensor, "sample horizon agent outcome"]:
        """Simulate the structural equations from the last time of ``data``.

        Two calls with one seed share structures and noise, so that the difference between an arm
        with and an arm without intervention is due to the intervention.

        Args:
            data: any agents with the features of the fit.
            horizon: steps.
            samples: Monte Carlo samples.
            seed: of structures and noise.
            hold: direction ``[D]`` of each held agent, by its index in ``data``.

        Returns:
            Class probabilities, or means of numbers, ``[S, H, N, C]``.
        """
        if horizon < 1 or samples < 1:
            raise ArgumentError(f"horizon is {horizon} and samples is {samples}; give 1 or more of each")
        data = data.to(self.network.weight.device)
        inputs = inputs_for(self.network, data, self.agents)
        values, _ = simulate(
            self.network,
            inputs,
            horizon=horizon,
            samples=samples,
            seed=seed,
            hold=hold,
        )
        return values

    def to_tensors(self) -> tuple[dict[str, object], dict[str, Tensor]]:
        """Return the model as a document and tensors, for storage without pickle.

        Ids of agents stand in the document as they are; all else is plain JSON.
        """
        document: dict[str, object] = {
            "config": self.config.model_dump(),
            "numeric": self.network.numeric,
            "agents": list(self.agents),
            "class_names": list(self.class_names),
            "history": [asdict(record) for record in self.history],
        }
        tensors = {NETWORK + name: value for name, value in self.network.state_dict().items()}
        tensors["class_directions"] = self.class_directions
        return document, {name: value.detach().contiguous() for name, value in tensors.items()}

    @classmethod
    def from_tensors(cls, document: Mapping[str, object], tensors: Mapping[str, Tensor]) -> FittedPaper:
        """Return the model of :meth:`to_tensors`, on the device of the tensors.

        Args:
            document: settings, ids and history.
            tensors: weights and buffers.
        """
        try:
            return _restore(document, tensors)
        except (KeyError, TypeError, RuntimeError, AssertionError) as error:
            raise CheckpointError(
                f"the stored model of the paper cannot be read: {error}; store it again with to_tensors"
            ) from error


def _restore(document: Mapping[str, object], tensors: Mapping[str, Tensor]) -> FittedPaper:
    settings = document["config"]
    agents = document["agents"]
    class_names = document["class_names"]
    history = document["history"]
    assert isinstance(settings, Mapping)
    assert isinstance(agents, Sequence)
    assert isinstance(class_names, Sequence)
    assert isinstance(history, Sequence)
    weights = {name.removeprefix(NETWORK): value for name, value in tensors.items() if name.startswith(NETWORK)}
    network = PaperNetwork(
        make_config(settings),
        weights["weight"].shape[1],
        weights["readout_bias"].shape[0],
        weights["links"].cpu(),
        numeric=bool(document["numeric"]),
        generator=torch.Generator().manual_seed(0),
    )
    network.load_state_dict(weights)
    network = network.to(weights["weight"].device).eval()
    return FittedPaper(
        network=network,
        agents=tuple(agents),
        class_names=tuple(class_names),
        class_directions=tensors["class_directions"],
        history=tuple(EpochRecord(**record) for record in history),
    )


def fit_paper(
    data: TemporalHypergraph,
    config: PaperConfig,
    *,
    seed: int,
    device: torch.device | str = "cpu",
    callbacks: Sequence[Callable[[EpochRecord], None]] = (),
    track: TrackedIntervention | None = None,
) -> FittedPaper:
    """Fit the paper's model by its Algorithm 1.

    Args:
        data: T times with outcomes.
        config: settings; ``PaperConfig()`` is the paper's table of hyperparameters.
        seed: of everything random.
        device: where to train.
        callbacks: called with an :class:`EpochRecord` after every epoch.
        track: intervention of which H_causal is recorded after every epoch.
    """
    trained = train_paper(data.to(device), config, seed=seed, callbacks=callbacks, track=track)
    return FittedPaper(
        network=trained.network,
        agents=data.node_ids,
        class_names=data.class_names,
        class_directions=trained.class_directions,
        history=trained.history,
    )
