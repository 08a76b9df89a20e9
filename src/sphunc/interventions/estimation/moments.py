r"""Effects from simulated outcome distributions, with two errors told apart.

A simulation draws Q structures (links and coefficients) from their posterior, and R samples of the
noise for each of them; both arms share all random numbers. The difference of the arms in sample r
of structure q is

.. math:: d_{qr} = \Delta + a_q + e_{qr}, \qquad a_q \sim (0, \sigma_a^2), \quad e_{qr} \sim (0, \sigma_e^2)

The effect reported is the mean. Its Monte Carlo error falls with samples,

.. math:: \mathrm{Var}(\bar d) = \sigma_a^2 / Q + \sigma_e^2 / (Q R) = \mathrm{E}\, s^2 / Q,

with :math:`s^2` the variance of the structure means :math:`\bar d_q`. What the posterior leaves open,
:math:`\sigma_a^2`, does not, and is estimated by :math:`(s^2 - \hat\sigma_e^2 / R)_+`: variance
components of a one-way layout (Searle, Casella and McCulloch, Variance Components, 1992, ch. 3).

Samples are not kept: :class:`StructureMoments` holds means and squares per structure.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy.stats import t as student_t

from sphunc._typing import Float, Int, Tensor

USUAL_STRUCTURES = 20
"""Structures drawn for up to a hundred samples: the fewest that give a 90 % interval by ranks."""
USUAL_DRAWS = 5
"""Samples of the noise for each structure, where there are more than a hundred in all."""
FEWEST_DRAWS = 4
"""The same, where there are fewer than 80 in all."""
FEWEST_FOR_ERROR = 4
"""Structures below which an error would be far too small too often."""
INTERVAL_LEVEL = 0.9


@dataclass(eq=False)
class StructureMoments:
    """Moments of both arms at one step, per structure; structures are put in one block after the other.

    Outputs are class probabilities (C of them), or means of numbers (M of them).

    Attributes:
        count: samples of each structure ``[Q]``.
        outcome: mean of the interventional arm ``[Q, N, C]``.
        factual: mean of the factual arm ``[Q, N, C]``.
        outcome_squares: sum of squared deviations of the interventional arm ``[Q, N, C]``.
        difference_squares: the same of the difference between the arms ``[Q, N, C]``.
        noise: mean conditional variance of numbers in the interventional arm ``[Q, N, M]``; None
            for classes.
    """

    count: Float[Tensor, " structure"]
    outcome: Float[Tensor, "structure agent output"]
    factual: Float[Tensor, "structure agent output"]
    outcome_squares: Float[Tensor, "structure agent output"]
    difference_squares: Float[Tensor, "structure agent output"]
    noise: Float[Tensor, "structure agent output"] | None = None

    @classmethod
    def empty(
        cls,
        structures: int,
        agents: int,
        outputs: int,
        *,
        numeric: bool = False,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> StructureMoments:
        """Moments of no samples.

        Args:
            structures: Q.
            agents: N.
            outputs: classes C, or numbers M.
            numeric: True for numbers, whose conditional variance is kept too.
            dtype: of the moments; float64 for numbers that are not standardised.
            device: where they live.
        """
        shape = (structures, agents, outputs)
        zeros = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(4 + numeric)]
        return cls(torch.zeros(structures, dtype=dtype, device=device), *zeros)

    def put(
        self,
        structures: Int[Tensor, " put"],
        factual: Float[Tensor, "put output agent draw"],
        agents: Int[Tensor, " followed"],
        outcome: Float[Tensor, "put output followed draw"],
        factual_noise: Float[Tensor, "put output agent draw"] | None = None,
        noise: Float[Tensor, "put output followed draw"] | None = None,
    ) -> None:
        """Put in all samples of some structures.

        Args:
            structures: indices.
            factual: probabilities or means of the factual arm.
            agents: whom the interventional arm follows; all others are as in the factual arm.
            outcome: probabilities or means of these agents, under the same random numbers.
            factual_noise: conditional variances of numbers, factual arm.
            noise: those of the agents followed, interventional arm.
        """
        mean, squares = _mean_and_squares(factual)
        own_mean, own_squares = _mean_and_squares(outcome)
        _, gap_squares = _mean_and_squares(outcome - factual[:, :, agents])
        row = structures.unsqueeze(1)
        self.count[structures] = float(factual.shape[-1])
        self.factual[structures] = mean
        self.outcome[structures] = mean
        self.outcome[row, agents] = own_mean
        self.outcome_squares[structures] = squares
        self.outcome_squares[row, agents] = own_squares
        self.difference_squares[row, agents] = gap_squares
        if self.noise is not None and factual_noise is not None:
            self.noise[structures] = factual_noise.mean(-1).mT
        if self.noise is not None and noise is not None:
            self.noise[row, agents] = noise.mean(-1).mT

    @property
    def structures(self) -> int:
        """Q, structures drawn."""
        return len(self.count)


def _mean_and_squares(
    samples: Float[Tensor, "put output agent draw"],
) -> tuple[Float[Tensor, "put agent output"], Float[Tensor, "put agent output"]]:
    """Mean over draws, and sum of squared deviations from it; nothing cancels."""
    mean = samples.mean(-1, keepdim=True)
    squares = (samples - mean).square_().sum(-1)
    return mean.squeeze(-1).mT, squares.mT


def simulation_size(samples: int, structures: int | None = None) -> tuple[int, int]:
    """Structures that are drawn, and samples of the noise for each.

    Twenty structures for up to a hundred samples, a fifth of the samples beyond: Monte Carlo
    errors then fall with the root of the samples. Fewer than 80 samples are spread over a fourth
    as many structures, two at least.

    Args:
        samples: wanted in all; rounded up to a multiple of the structures.
        structures: wanted; None takes the above.
    """
    if structures is None:
        few = min(USUAL_STRUCTURES, samples // FEWEST_DRAWS)
        structures = max(few, samples // USUAL_DRAWS, min(2, samples))
    structures = min(samples, structures)
    draws = -(-samples // structures)
    return structures, draws


@dataclass(frozen=True, eq=False)
class EffectEstimate:
    """Effect of an intervention at one step.

    Attributes:
        outcome: distribution after the intervention: probabilities or means ``[N, C]``.
        factual: the same without it.
        monte_carlo_error: standard error of the effect, outcome less factual; NaN where fewer than
            four structures, or fewer than twenty that all agree, cannot tell it ``[N, C]``.
        posterior_deviation: standard deviation of the effect over the posterior of structures and
            coefficients ``[N, C]``.
    """

    outcome: Float[Tensor, "agent output"]
    factual: Float[Tensor, "agent output"]
    monte_carlo_error: Float[Tensor, "agent output"]
    posterior_deviation: Float[Tensor, "agent output"]


def estimate_effect(moments: StructureMoments) -> EffectEstimate:
    """Mean of both arms, and the two errors of their difference.

    Args:
        moments: of both arms.
    """
    differences = moments.outcome - moments.factual
    total, noise = variance_components(differences, moments.difference_squares, moments.count)
    between = (total - noise).clamp(min=0.0)
    error = (total / moments.structures).sqrt()
    if moments.structures < FEWEST_FOR_ERROR:
        error = torch.full_like(error, torch.nan)
    elif moments.structures < USUAL_STRUCTURES:
        # A link with a probability below one in twenty may be missing in all of them.
        error = error.masked_fill(total == 0.0, torch.nan)
    return EffectEstimate(
        outcome=moments.outcome.mean(0),
        factual=moments.factual.mean(0),
        monte_carlo_error=error,
        posterior_deviation=between.sqrt(),
    )


def variance_components(
    means: Float[Tensor, "structure ..."],
    squares: Float[Tensor, "structure ..."],
    count: Float[Tensor, " structure"],
) -> tuple[Tensor, Tensor]:
    r"""Variance of structure means, and the part of it that noise explains.

    .. math:: s^2 = \frac{1}{Q - 1} \sum_q (\bar d_q - \bar d)^2, \qquad
              v = \frac{\hat\sigma_e^2}{R} = \frac1R \frac{\sum_{qr} (d_{qr} - \bar d_q)^2}{Q (R - 1)}

    Args:
        means: of every structure.
        squares: sums of squared deviations within every structure.
        count: samples of every structure, R. With one each the noise cannot be told apart, and
            v is 0.

    Returns:
        s^2, 0 for a single structure, and v.
    """
    total = torch.zeros_like(means[0])
    noise = torch.zeros_like(means[0])
    if len(means) > 1:
        total = means.var(0)
    freedom = float((count - 1.0).sum())
    if freedom > 0.0:
        noise = squares.sum(0) / freedom * float((1.0 / count).mean())
    return total, noise


def effect_interval(
    differences: Float[Tensor, "sample agent output"],
) -> Float[Tensor, "agent output 2"]:
    r"""Interval that holds a difference drawn like these with a probability of :data:`INTERVAL_LEVEL`.

    Of draws that are exchangeable with the truth a share of :math:`k / (S + 1)` lies below the k-th smallest: ranks at
    :math:`p (S + 1)` (Hyndman and Fan's type 6) cover exactly. Below 19 samples, which have no such ranks at 90 %, a
    Student t interval with S - 1 degrees of freedom takes their place; of a single sample it is NaN.

    Args:
        differences: of the arms, one for each sample.
    """
    samples = len(differences)
    if samples == 1:
        return torch.full((*differences.shape[1:], 2), torch.nan).to(differences)
    tail = (1.0 - INTERVAL_LEVEL) / 2.0
    rank = tail * (samples + 1)
    if rank < 1.0:
        centre = differences.mean(0)
        deviation = ((1.0 + 1.0 / samples) * differences.var(0)).sqrt()
        reach = float(student_t.ppf(1.0 - tail, samples - 1)) * deviation
        return torch.stack([centre - reach, centre + reach], dim=-1)
    ordered = differences.sort(dim=0).values
    index = int(rank) - 1
    share = rank - int(rank)
    low = torch.lerp(ordered[index], ordered[index + 1], share)
    high = torch.lerp(ordered[-1 - index], ordered[-2 - index], share)
    return torch.stack([low, high], dim=-1)
