r"""The network: encode, believe, step, forecast.

At every time t the belief about agent i adds the evidence of features, context, outcome and of yesterday,

.. math:: \eta_t = \kappa_x \bar h_t + \kappa_c c_t + \kappa_y \delta_t + \kappa_s s_{t-1}, \qquad
          m_t = A_D(\|\eta_t\|)\, \eta_t / \|\eta_t\|

and the structural step carries it on, :math:`s_t = a m_t + \sum_j \gamma_{ij} \Phi m_j + g\,\mathrm{pull}_t + b u_t`,
with the persistent prior :math:`u_t` from all evidence so far. The forecast reads the state after ``horizon`` such
steps: it is a simulation without intervention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from sphunc._typing import Bool, Float, Links
from sphunc.legacy.beginning import can_lean, learn_scale, open_reading
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.direct import Direct, Plain, plain_of, told_classes, told_numbers
from sphunc.legacy.evidence import Evidence
from sphunc.legacy.filtering import Tell, filter_beliefs, roll
from sphunc.legacy.numbers import Numbers, Past, past_of
from sphunc.legacy.observed import Observed
from sphunc.legacy.run import Filtered, Origin, Run, joined
from sphunc.legacy.step import Step
from sphunc.legacy.support import Support
from sphunc.legacy.targets import Targets
from sphunc.nn.aleatoric import AleatoricHead, averaged, contaminated_log_probabilities, flattening, squashed_variance
from sphunc.nn.concentration import ConcentrationHead, scaled_entropy, supported_concentration
from sphunc.nn.encoder import Encoded, Encoder
from sphunc.nn.fusion import AdHocFusion, MonotoneFusion
from sphunc.nn.listening import drop
from sphunc.nn.outcome import Readout, Temperature, temper
from sphunc.sphere import vmf_entropy

# Sightings of somebody alike, each weighed by how alike, at which half of a concentration is granted.
HALF_SUPPORT = 50.0
# The softplus of this is a variance of 0.13: training begins with outcomes that mostly mean what they say.
INITIAL_NOISE = -2.0
# The head of the noise starts with no opinion, and has further to go than what starts at the signal.
NOISE_PACE = 6.0


class Network(nn.Module):
    """Owns the layers; the evidence and the structural step own the gains that join them.

    Args:
        config: which parts are there, and their sizes.
        num_features: F.
        num_outputs: C classes, or K numbers.
        numeric: whether outcomes are numbers.
        generator: source of the initial weights.
    """

    centre: Tensor
    scale: Tensor
    frequency: Tensor
    reach: Tensor

    def __init__(
        self,
        config: SphUncConfig,
        num_features: int,
        num_outputs: int,
        *,
        numeric: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        dim = config.dim
        self.config, self.numeric = config, numeric
        self.generator = generator
        self.encoder = Encoder(num_features, dim, generator=generator)
        self.evidence = Evidence(config, num_outputs, numeric=numeric, generator=generator)
        self.step = Step(config)
        self.head = ConcentrationHead(dim, generator=generator) if config.kappa_from == "direction" else None
        self.aleatoric = AleatoricHead(num_features, width=config.aleatoric_width, generator=generator)
        with torch.no_grad():
            self.aleatoric.out_bias.fill_(INITIAL_NOISE)
        self.fusion = (MonotoneFusion if config.fusion == "monotone" else AdHocFusion)(generator=generator)
        self.readout = Readout(dim, num_outputs, leans=can_lean(config, numeric))
        self.temperature = Temperature()
        self.numbers = Numbers(num_outputs) if numeric else None
        self.direct = Direct(num_features, num_outputs)
        self.support = Support(dim) if config.support else None
        self.freshness = nn.Parameter(torch.zeros(()))
        self.register_buffer("centre", torch.zeros(num_outputs))
        self.register_buffer("scale", torch.ones(num_outputs))
        self.register_buffer("frequency", torch.full((num_outputs,), 1.0 / num_outputs))
        self.register_buffer("reach", torch.ones(()))

    @torch.no_grad()
    def learn_scale(self, observed: Observed) -> None:
        """Take statistics, and the initial projection, from the training times."""
        learn_scale(self, observed)

    @torch.no_grad()
    def open_reading(self, observed: Observed, links: Links, gates: Float[Tensor, " link"], targets: Targets) -> None:
        """Begin with sureness, scale, lean, noise and what is read beside states as outcomes are likeliest."""
        self.eval()
        open_reading(self, observed, links, gates, targets)

    def past(self, observed: Observed) -> Past | None:
        """What is known at each time, as far as numbers depend on it; None for classes."""
        if self.numbers is None:
            return None
        return past_of(observed, self.standard_outcome(observed), outcomes=self.config.outcome_evidence)

    @torch.no_grad()
    def prepare(self, observed: Observed) -> Observed:
        """Standardise and fill features once, for the many passes in which neither data nor statistics change."""
        return replace(observed, standard=self.encoder.standardise(observed.x, observed.x_mask))

    def standard(self, observed: Observed) -> Float[Tensor, "time agent feature"]:
        """Standardised and filled features, as :meth:`prepare` found them or anew."""
        ready = observed.standard
        return self.encoder.standardise(observed.x, observed.x_mask) if ready is None else ready

    def latents(self, observed: Observed) -> Float[Tensor, "time agent dim"]:
        """Node-wise directions, before any mixing of agents; zero for an agent of whom nothing was observed."""
        return self.encoder.encode(self.standard(observed), observed.x_mask).direction

    def projected(self, observed: Observed) -> Float[Tensor, "time agent dim"]:
        """Features on the axes of the latents, before they become directions; 0 where nothing was observed."""
        return self.standard(observed) @ self.encoder.weight.mT

    @torch.no_grad()
    def store_support(self, observed: Observed) -> None:
        """Keep training latents, to recognise what training never showed."""
        if self.support is not None:
            self.support.store(self.latents(observed)[observed.present])

    def blocks(self) -> dict[str, list[nn.Parameter]]:
        """Parameters by the blocks of Algorithm 1, each exactly once."""
        kappa = [*self.evidence.weights(), *([] if self.head is None else self.head.parameters())]
        structure = [*self.step.parameters(), *self.evidence.context.parameters()]
        encoder = [*self.encoder.parameters(), self.evidence.outcome_directions]
        known = {id(parameter) for parameter in (*kappa, *structure, *encoder)}
        rest = [p for p in self.parameters() if id(p) not in known and p.requires_grad]
        return {"encoder": encoder, "kappa": kappa, "structure": structure, "fusion": rest}

    def matrices(self) -> dict[nn.Parameter, float]:
        """Parameters that come by the hundred, where the others are single gains, with their relative paces."""
        faster = min(NOISE_PACE, 1.0 / self.config.matrix_pace)  # never faster than the gains
        many = {self.encoder: 1.0, self.evidence.context: 1.0, self.aleatoric: faster}
        paces = {parameter: pace for part, pace in many.items() for parameter in part.parameters()}
        return {
            **paces,
            self.evidence.outcome_directions: 1.0,
            self.step.change: 1.0,
            self.readout.weight: 1.0,
            self.direct.weight: 1.0,
        }

    def forward(
        self,
        observed: Observed,
        links: Links,
        gates: Float[Tensor, " link"],
        *,
        generator: torch.Generator | None = None,
    ) -> Run:
        """Forecast from every time of ``observed`` (dropout from ``generator`` while training)."""
        x = self.standard(observed)
        if self.training and generator is not None and self.config.dropout > 0:
            x = drop(x, self.config.dropout, generator)
        variance = self.noise(x, observed.present)
        encoded, filtered, beside = self.believe(observed, x, variance, links, gates, generator)
        past = self.past(observed)
        past = past if self.numbers is None or past is None else self.numbers.remembered(past)
        states = filtered.ahead, filtered.states
        return self._forecast(variance, encoded, *states, past, self._supported(encoded), beside)

    def origin(self, observed: Observed, links: Links, gates: Float[Tensor, " link"], horizon: int) -> Origin:
        """Return the beliefs, and forecasts for any number of steps from the last time of ``observed``."""
        return self.origins(observed, links, gates, {observed.num_times - 1: horizon})[0]

    @torch.no_grad()
    def origins(
        self, observed: Observed, links: Links, gates: Float[Tensor, " link"], steps: Mapping[int, int]
    ) -> list[Origin]:
        """Return the same from several times in one pass, ``steps`` from each of them; none sees what is later."""
        x = self.standard(observed)
        variance, past = self.noise(x, observed.present), self.past(observed)
        encoded, filtered, _ = self.believe(observed, x, variance, links, gates, None)
        plain = self.plain(observed) if self.direct.is_used else None
        evidence, eta = torch.stack(filtered.evidence), torch.stack(filtered.beliefs)
        found = []
        for time, horizon in steps.items():
            now, lasting = slice(time, time + 1), filtered.lasting[time]
            states = roll(self.step, filtered.ahead[time], lasting, observed.pull[time], links, gates, horizon)
            last = Encoded(encoded.direction[now], encoded.length[now], encoded.observed[now])
            support, rest = self._supported(last), zip(states, self._later(past, time, horizon), strict=True)
            known_now, runs = None if plain is None else plain.at(time), []
            # One by one: products round by their shape, and a forecast is not to depend on how many steps there are.
            for step, (one, known) in enumerate(rest, 1):
                more = self._beside_later(known_now, step, runs)
                runs.append(self._forecast(variance[now], last, one[None], one[None], known, support, more))
            found.append(Origin(evidence[: time + 1], eta[: time + 1], lasting, joined(runs)))
        return found

    def believe(
        self,
        observed: Observed,
        x: Tensor,
        variance: Tensor,
        links: Tensor,
        gates: Tensor,
        generator: torch.Generator | None,
    ) -> tuple[Encoded, Filtered, Tensor | None]:
        """Encode standardised features, weigh all evidence, and filter it through the structural step.

        Returns latents, beliefs, and what is read beside them ``[T, N, C]``; None if that does not count.
        """
        encoded = self.encoder.encode(x, observed.x_mask)
        beside = self.direct(self.plain(observed)) if self.direct.is_used else None
        looks = self.evidence(observed, self._geometry(encoded), generator)
        tell = self._teller(observed, variance, beside)
        seen = (looks != 0).any(-1) | (observed.y_mask & (tell is not None))
        horizon = self.config.horizon
        return encoded, filter_beliefs(self.step, looks, tell, seen, observed.pull, links, gates, horizon), beside

    def _later(self, past: Past | None, time: int, steps: int) -> list[Past] | list[None]:
        if self.numbers is None or past is None:
            return [None] * steps
        return self.numbers.later(past.at(time), steps, self.config.horizon)

    def _geometry(self, encoded: Encoded) -> Encoded:
        if self.config.geometry == "sphere":
            return encoded
        length = encoded.length / self.reach
        return Encoded(encoded.direction * length.unsqueeze(-1), encoded.length, encoded.observed)

    def _beside_later(self, plain: Plain | None, step: int, before: list[Run]) -> Tensor | None:
        """What is read beside the state ``step`` steps on: nothing below the horizon, beyond it what is probable."""
        beyond = step - self.config.horizon
        if plain is None or beyond < 0:
            return None
        if beyond == 0:
            return self.direct(plain)
        run = before[beyond - 1]
        if run.log_probabilities is not None:
            return self.direct.later(plain, run.log_probabilities.exp(), beyond)
        assert run.mean is not None
        return self.direct.later(plain, (run.mean - self.centre) / self.scale, beyond)

    def plain(self, observed: Observed) -> Plain:
        """What is plainly seen at each time: outcomes (where they are evidence), features, company, drift."""
        known = observed.y_mask & self.config.outcome_evidence
        outcome = self.standard_outcome(observed)
        told = told_numbers(outcome, known) if self.numeric else told_classes(outcome, known, self.frequency)
        return plain_of(observed, self.standard(observed), *told)

    def standard_outcome(self, observed: Observed) -> Tensor:
        """Classes as they are, numbers in units of their own spread in training."""
        return (observed.y - self.centre) / self.scale if self.numeric else observed.y

    def _teller(self, observed: Observed, variance: Tensor, beside: Tensor | None) -> Tell | None:
        """What outcomes say about states, given what was believed before them; None if they do not count."""
        if not self.config.outcome_evidence:
            return None
        known = observed.y_mask.unsqueeze(-1)
        if self.numeric:
            told = (self.evidence.of_numbers(self.standard_outcome(observed)) * known).unbind()
            return lambda time, _: told[time]
        some_are_chance = self.config.noise == "contamination" and self.config.uncertainty != "epistemic"
        noise = variance.unbind() if some_are_chance else [None] * observed.num_times
        horizon = self.config.horizon

        def tell(time: int, belief: Tensor) -> Tensor:
            read = self.readout(self.step.settled(belief))
            read = read if beside is None or time < horizon else read + beside[time - horizon]
            expected = torch.log_softmax(read, -1)
            return self.evidence.of_classes(observed.y[time], expected, noise[time], self.frequency) * known[time]

        return tell

    def noise(self, x: Float[Tensor, "time agent feature"], present: Bool[Tensor, "time agent"]) -> Tensor:
        """Variance at each time ``[T, N]``: what the head says now, averaged with what it said before.

        How noisy an agent's outcomes are changes slowly, what the head makes of one sight of it does not.
        """
        return averaged(self.aleatoric(x), torch.sigmoid(self.freshness), present)

    def _forecast(
        self,
        variance: Tensor,
        encoded: Encoded,
        ahead: Tensor,
        state: Tensor,
        past: Past | None,
        support: Tensor | None,
        beside: Tensor | None,
    ) -> Run:
        dim = self.config.dim
        # A head learns from the causal loss, by which it weighs a step: no other term says how far states really move.
        if self.head is None:
            kappa, strength = self.step.concentration(state), self.step.weight(ahead)
        else:
            kappa = strength = self.head(encoded.direction)
        if support is not None:
            kappa = supported_concentration(kappa, support, HALF_SUPPORT)
        epistemic = vmf_entropy(kappa, dim)
        scaled = scaled_entropy(kappa, dim)
        counted = torch.zeros_like(scaled) if self.config.uncertainty == "aleatoric" else scaled
        variance = self.counted(variance)
        total = self.fusion(counted, squashed_variance(variance))
        out = self.readout(self.step.settled(state))
        out = out if beside is None else out + beside
        ahead_length = ahead.norm(dim=-1)
        direction = ahead / torch.where(ahead_length > 0, ahead_length, 1.0).unsqueeze(-1)
        shared = kappa, epistemic, scaled, total, encoded.direction, direction, strength
        if self.numbers is not None and past is not None:
            past = replace(past, seen=past.seen | state.any(-1))
            law = self.numbers(out, variance, past, total, self.temperature, is_open=self.config.uncertainty == "both")
            unit = self.scale.expand_as(out).contiguous()
            return Run(None, self.centre + self.scale * law.mean, law.variance, *shared, unit, law.noise, law.left_open)
        return Run(self.class_law(out, variance, total), None, variance, *shared)

    def counted(self, variance: Tensor) -> Tensor:
        """Noise as far as it counts: not at all where only the epistemic part does."""
        return torch.zeros_like(variance) if self.config.uncertainty == "epistemic" else variance

    def class_law(self, logits: Tensor, variance: Tensor, total: Tensor) -> Tensor:
        """Log probabilities of classes, from logits, noise and total uncertainty."""
        tau = self.temperature(total)
        if self.config.noise == "contamination":
            return contaminated_log_probabilities(temper(logits, tau), squashed_variance(variance), self.frequency)
        return torch.log_softmax(temper(logits / flattening(variance, logits.shape[-1]).unsqueeze(-1), tau), -1)

    def _supported(self, encoded: Encoded) -> Float[Tensor, "time agent"] | None:
        """How many training latents are near; None if that does not count."""
        return None if self.support is None else self.support(encoded.direction)
