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
from sphunc.model.config import SphUncConfig
from sphunc.model.evidence import Evidence, inverse_softplus
from sphunc.model.filtering import Tell, filter_beliefs, roll
from sphunc.model.following import Following
from sphunc.model.numbers import Numbers, Past, past_of, units
from sphunc.model.observed import Observed
from sphunc.model.opening import Rows, class_frequencies, likeliest_sureness, open_readout
from sphunc.model.run import Filtered, Origin, Run, joined
from sphunc.model.signal import outcome_directions, signal_projection
from sphunc.model.step import Step
from sphunc.model.targets import Targets, of_seen
from sphunc.nn.aleatoric import AleatoricHead, averaged, contaminated_log_probabilities, flattening, squashed_variance
from sphunc.nn.concentration import ConcentrationHead, kernel_support, scaled_entropy, supported_concentration
from sphunc.nn.encoder import Encoded, Encoder
from sphunc.nn.filling import some_rows
from sphunc.nn.fusion import AdHocFusion, MonotoneFusion
from sphunc.nn.listening import drop
from sphunc.nn.outcome import MIDDLE, Readout, Temperature, temper
from sphunc.sphere import vmf_entropy

MOST_SUPPORT = 4096
SUPPORT_SHARPNESS = 4.0
# Sightings of somebody alike, each weighed by how alike, at which half of a concentration is granted.
HALF_SUPPORT = 50.0
# The softplus of this is a variance of 0.13: training begins with outcomes that mostly mean what they say.
INITIAL_NOISE = -2.0
INITIAL_READOUT = 4.0
LEAST_MOVE = 1e-6
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

    support: Tensor
    counts_for: Tensor
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
        self.readout = Readout(dim, num_outputs, leans=self._leans(config, numeric))
        self.temperature = Temperature()
        self.numbers = Numbers(num_outputs) if numeric else None
        self.following = None if numeric else Following(num_outputs, config.horizon)
        self.freshness = nn.Parameter(torch.zeros(()))
        self.register_buffer("support", torch.zeros(0, dim))
        self.register_buffer("counts_for", torch.ones(()))
        self.register_buffer("centre", torch.zeros(num_outputs))
        self.register_buffer("scale", torch.ones(num_outputs))
        self.register_buffer("frequency", torch.full((num_outputs,), 1.0 / num_outputs))
        self.register_buffer("reach", torch.ones(()))

    @torch.no_grad()
    def learn_scale(self, observed: Observed) -> None:
        """Take statistics, and the initial projection, from the training times."""
        by_signal = self.config.initial_projection == "signal" and observed.num_times > 1
        self.encoder.learn_statistics(observed.x, observed.x_mask, factors=by_signal)
        if self.numbers is not None and bool(observed.y_mask.any()):
            self._count_numbers(self.numbers, observed)
        if self.numbers is None:
            self._count_classes(observed)
        if by_signal:
            observed = self.prepare(observed)
            x = self._standard(observed)
            moves = x[observed.present].square().mean(0) > LEAST_MOVE  # a feature that never changes says nothing
            origin = torch.where(moves, self.encoder.mean / self.encoder.deviation, 0.0)
            weight, bias = signal_projection(x, observed.present, origin, self.config.dim, self.generator)
            self.encoder.weight.copy_(weight)
            self.encoder.bias.copy_(bias)
            self._aim_at_outcomes(observed)
        if self.config.geometry != "sphere":
            length = self.encoder.encode(self._standard(observed), observed.x_mask).length
            self.reach.copy_(torch.where(length.any(), length.mean(), 1.0))

    def _count_numbers(self, numbers: Numbers, observed: Observed) -> None:
        centre, scale = units(observed.y[observed.y_mask])
        self.centre.copy_(centre)
        self.scale.copy_(scale)
        z, past = self._standard_outcome(observed), self._past(observed)
        assert past is not None
        left = numbers.learn(z, past, observed.y_mask, self.config.horizon)
        if left is not None:
            self.aleatoric.out_bias.fill_(inverse_softplus(left))

    @staticmethod
    def _leans(config: SphUncConfig, numeric: bool) -> bool:
        return not numeric and config.geometry == "sphere" and config.initial_projection == "signal"

    def _count_classes(self, observed: Observed) -> None:
        """Begin with classes as frequent as they are: hundreds of passes would be needed to learn what is rare."""
        later = of_seen(observed.y_mask, observed.present, self.config.horizon)
        frequency, among_first = class_frequencies(observed.y, later, observed.y_mask & ~later, len(self.frequency))
        self.frequency.copy_(frequency)
        self.readout.bias.copy_((among_first if self.readout.leans else frequency).log())
        if self.readout.leans:
            self.readout.lean.copy_(frequency.log() - among_first.log())

    def _aim_at_outcomes(self, observed: Observed) -> None:
        # Outcomes begin as evidence for the directions that agents with this outcome share, and are read there too.
        y, centre = self._standard_outcome(observed), torch.zeros_like(self.centre)
        direction = outcome_directions(self.latents(observed), y, observed.y_mask, centre)
        self.evidence.outcome_directions.copy_(direction)
        if not self.numeric:  # numbers begin at what persists of them
            self.readout.weight.copy_(INITIAL_READOUT * direction / self.readout.scale)

    @torch.no_grad()
    def open_reading(self, observed: Observed, links: Links, gates: Float[Tensor, " link"], targets: Targets) -> None:
        """Begin with the sureness of states, scale, lean, noise and table under which what came next is likeliest."""
        self.eval()
        self._open_sureness(observed, links, gates)
        if self.following is None or not self.readout.leans or not bool(self.readout.weight.any()):
            return
        x = self._standard(observed)

        def settled() -> Tensor:
            variance = self._noise(x, observed.present)
            _, filtered = self._believe(observed, x, variance, links, gates, None)
            return self.step.settled(filtered.states[targets.mask])

        def law(logits: Tensor, noise: Tensor) -> Tensor:
            variance = self._counted(nn.functional.softplus(noise).expand(len(logits)))
            return self._log_probabilities(logits, variance, torch.full_like(variance, MIDDLE))  # begins at 1 there

        told = self.following.told(observed)[targets.mask] if self.config.outcome_evidence else None
        rows = Rows(told, targets.outcome[targets.mask], targets.mask.nonzero()[:, 1])
        open_readout(self.readout, self.aleatoric.out_bias, self.following, settled, rows, law)

    def _open_sureness(self, observed: Observed, links: Links, gates: Float[Tensor, " link"]) -> None:
        again = observed.seen_again
        if self.head is None and bool(again.any()):
            x = self._standard(observed)
            encoded, filtered = self._believe(observed, x, self._noise(x, observed.present), links, gates, None)
            states, sights = filtered.ahead[:-1][again], encoded.direction[1:][again]
            self.step.sureness.fill_(likeliest_sureness(states, sights, float(self.step.sureness)))

    def _past(self, observed: Observed) -> Past | None:
        """What is known at each time, as far as numbers depend on it; None for classes."""
        if self.numbers is None:
            return None
        return past_of(observed, self._standard_outcome(observed), outcomes=self.config.outcome_evidence)

    @torch.no_grad()
    def prepare(self, observed: Observed) -> Observed:
        """Standardise and fill features once, for the many passes in which neither data nor statistics change."""
        return replace(observed, standard=self.encoder.standardise(observed.x, observed.x_mask))

    def _standard(self, observed: Observed) -> Float[Tensor, "time agent feature"]:
        ready = observed.standard
        return self.encoder.standardise(observed.x, observed.x_mask) if ready is None else ready

    def latents(self, observed: Observed) -> Float[Tensor, "time agent dim"]:
        """Node-wise directions, before any mixing of agents; zero for an agent of whom nothing was observed."""
        return self.encoder.encode(self._standard(observed), observed.x_mask).direction

    def projected(self, observed: Observed) -> Float[Tensor, "time agent dim"]:
        """Features on the axes of the latents, before they become directions; 0 where nothing was observed."""
        return self._standard(observed) @ self.encoder.weight.mT

    @torch.no_grad()
    def store_support(self, observed: Observed) -> None:
        """Keep training latents (at most 4096 of them, evenly) to recognise what training never showed."""
        if not self.config.support:
            return
        seen = self.latents(observed)[observed.present]
        seen = seen[seen.any(-1)]  # who showed no feature points nowhere
        self.support = seen[some_rows(len(seen), MOST_SUPPORT).to(seen.device)]
        self.counts_for = torch.tensor(len(seen) / max(1, len(self.support)), device=seen.device)

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
        return {**paces, self.evidence.outcome_directions: 1.0, self.step.change: 1.0, self.readout.weight: 1.0}

    def forward(
        self,
        observed: Observed,
        links: Links,
        gates: Float[Tensor, " link"],
        *,
        generator: torch.Generator | None = None,
    ) -> Run:
        """Forecast from every time of ``observed`` (dropout from ``generator`` while training)."""
        x = self._standard(observed)
        if self.training and generator is not None and self.config.dropout > 0:
            x = drop(x, self.config.dropout, generator)
        variance = self._noise(x, observed.present)
        encoded, filtered = self._believe(observed, x, variance, links, gates, generator)
        past = self._past(observed)
        past = past if self.numbers is None or past is None else self.numbers.remembered(past)
        ahead, states, beside = filtered.ahead, filtered.states, self._beside(observed)
        return self._forecast(variance, encoded, ahead, states, past, self._support(encoded), beside)

    def origin(self, observed: Observed, links: Links, gates: Float[Tensor, " link"], horizon: int) -> Origin:
        """Return the beliefs, and forecasts for any number of steps from the last time of ``observed``."""
        return self.origins(observed, links, gates, {observed.num_times - 1: horizon})[0]

    @torch.no_grad()
    def origins(
        self, observed: Observed, links: Links, gates: Float[Tensor, " link"], steps: Mapping[int, int]
    ) -> list[Origin]:
        """Return the same from several times in one pass, ``steps`` from each of them; none sees what is later."""
        x = self._standard(observed)
        variance, past, beside = self._noise(x, observed.present), self._past(observed), self._beside(observed)
        encoded, filtered = self._believe(observed, x, variance, links, gates, None)
        evidence, eta = torch.stack(filtered.evidence), torch.stack(filtered.beliefs)
        found = []
        for time, horizon in steps.items():
            now, lasting = slice(time, time + 1), filtered.lasting[time]
            states = roll(self.step, filtered.ahead[time], lasting, observed.pull[time], links, gates, horizon)
            last = Encoded(encoded.direction[now], encoded.length[now], encoded.observed[now])
            support, rest = self._support(last), zip(states, self._later(past, time, horizon), strict=True)
            told, runs = None if beside is None else beside[now], []
            # One by one: products round by their shape, and a forecast is not to depend on how many steps there are.
            for step, (one, known) in enumerate(rest, 1):
                more = None if self.following is None else self.following.at(step, told, runs)
                runs.append(self._forecast(variance[now], last, one[None], one[None], known, support, more))
            found.append(Origin(evidence[: time + 1], eta[: time + 1], lasting, joined(runs)))
        return found

    def _believe(
        self,
        observed: Observed,
        x: Tensor,
        variance: Tensor,
        links: Tensor,
        gates: Tensor,
        generator: torch.Generator | None,
    ) -> tuple[Encoded, Filtered]:
        """Encode standardised features, weigh all evidence, and filter it through the structural step."""
        encoded = self.encoder.encode(x, observed.x_mask)
        looks, tell = self.evidence(observed, self._geometry(encoded), generator), self._teller(observed, variance)
        seen = (looks != 0).any(-1) | (observed.y_mask & (tell is not None))
        horizon = self.config.horizon
        return encoded, filter_beliefs(self.step, looks, tell, seen, observed.pull, links, gates, horizon)

    def _later(self, past: Past | None, time: int, steps: int) -> list[Past] | list[None]:
        if self.numbers is None or past is None:
            return [None] * steps
        return self.numbers.later(past.at(time), steps, self.config.horizon)

    def _geometry(self, encoded: Encoded) -> Encoded:
        if self.config.geometry == "sphere":
            return encoded
        length = encoded.length / self.reach
        return Encoded(encoded.direction * length.unsqueeze(-1), encoded.length, encoded.observed)

    def _beside(self, observed: Observed) -> Float[Tensor, "time agent output"] | None:
        """What outcomes add to the logits of what follows them, from every time; None if that does not count."""
        return None if self.following is None or not self.config.outcome_evidence else self.following(observed)

    def _standard_outcome(self, observed: Observed) -> Tensor:
        return (observed.y - self.centre) / self.scale if self.numeric else observed.y

    def _teller(self, observed: Observed, variance: Float[Tensor, "time agent"]) -> Tell | None:
        """What outcomes say about states, given what was believed before them; None if they do not count."""
        if not self.config.outcome_evidence:
            return None
        known = observed.y_mask.unsqueeze(-1)
        if self.numeric:
            told = (self.evidence.of_numbers(self._standard_outcome(observed)) * known).unbind()
            return lambda time, _: told[time]
        some_are_chance = self.config.noise == "contamination" and self.config.uncertainty != "epistemic"
        noise = variance.unbind() if some_are_chance else [None] * observed.num_times

        beside, horizon = self._beside(observed), self.config.horizon

        def tell(time: int, belief: Tensor) -> Tensor:
            read = self.readout(self.step.settled(belief))
            read = read if beside is None or time < horizon else read + beside[time - horizon]
            expected = torch.log_softmax(read, -1)
            return self.evidence.of_classes(observed.y[time], expected, noise[time], self.frequency) * known[time]

        return tell

    def _noise(self, x: Float[Tensor, "time agent feature"], present: Bool[Tensor, "time agent"]) -> Tensor:
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
        variance = self._counted(variance)
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
        return Run(self._log_probabilities(out, variance, total), None, variance, *shared)

    def _counted(self, variance: Tensor) -> Tensor:
        return torch.zeros_like(variance) if self.config.uncertainty == "epistemic" else variance

    def _log_probabilities(self, logits: Tensor, variance: Tensor, total: Tensor) -> Tensor:
        tau = self.temperature(total)
        if self.config.noise == "contamination":
            return contaminated_log_probabilities(temper(logits, tau), squashed_variance(variance), self.frequency)
        return torch.log_softmax(temper(logits / flattening(variance, logits.shape[-1]).unsqueeze(-1), tau), -1)

    @torch.no_grad()
    def _support(self, encoded: Encoded) -> Float[Tensor, "time agent"] | None:
        """How many training latents are near; None if that does not count."""
        if not self.config.support or len(self.support) == 0:
            return None
        n = kernel_support(encoded.direction.flatten(0, -2), self.support, SUPPORT_SHARPNESS)
        return self.counts_for * n.view(encoded.direction.shape[:-1])
