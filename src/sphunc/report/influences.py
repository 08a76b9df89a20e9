r"""The influence table: who acts on whom, how surely, how strongly, and what that means for outcomes.

If the source j moved from its present state to the typical state of class c, as ``Do(j, toward=c)`` has it, the target
i would move by :math:`\beta_{ij} (s^{(c)} - s_j)`. In simulated interventions its outcome then changes by all that the
readout says of that,

.. math:: \log p'(y) = \log p(y \mid s_i) + \log p_W(y \mid s_i + \beta_{ij} (s^{(c)} - s_j)) - \log p_W(y \mid s_i)
          + \text{const},

averaged over what is believed of :math:`s_i`. The odds ratio is that of class c between p' and p, in every structure
that was drawn from the posterior; where a structure has no such link it is 1. Other paths, such as shared groups, are
left out: :meth:`sphunc.SphUnc.intervene` has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import torch

from sphunc._checks import whole_number
from sphunc._typing import Float, Tensor, Whole
from sphunc.errors import ArgumentError
from sphunc.estimator import SphUnc
from sphunc.forecasting import Categorical, align, canonical_order, id_column
from sphunc.hypergraph import TemporalHypergraph
from sphunc.interventions import System, state_length, system_of
from sphunc.model import FittedModel, link_draws, normal_points
from sphunc.report.checks import check_fitted, default_model
from sphunc.report.table import Table

LEVEL = (0.05, 0.95)
"""Quantiles over structures: an interval that holds 90 %, as those of effects do."""
POINTS = 64
"""Points of an expectation over what is believed of the target's state."""
TITLE = "Links and what they mean"
NO_WEIGHT = (
    "States have weight 0 in the forecast, so that links between them say nothing about outcomes: probability and "
    "strength only."
)
CLASS_NOTE = (
    "Odds ratio: factor on the odds that the target has the outcome one step later, if the source moved from its "
    "present state to a typical one of this class; through this link alone. Near 1 where the source is there already. "
    "From and to are the probabilities. "
    "The interval holds 90 % over structures drawn from the posterior, those without the link included."
)
NUMBER_NOTE = (
    "Change: of the target's number one step later, if the source moved from its present state to a typical one of a "
    "high number; through this link alone. The interval holds 90 % over structures drawn from the posterior, those "
    "without the link included."
)


def influence_table(model: SphUnc, data: TemporalHypergraph, count: Whole = 20) -> Table:
    """The most probable links with what they mean for the outcomes of their targets.

    Args:
        model: as fitted.
        data: the past; meanings are stated at its last time.
        count: most links; each has a row for every class.

    Example:
        >>> import sphunc
        >>> data = sphunc.simulate("snare", agents=60, times=6, seed=0).data
        >>> table = influence_table(sphunc.SphUnc(seed=0).fit(data, verbose=False), data, count=5)
        >>> table.frame.columns[:4]
        ['source', 'target', 'probability', 'strength']
    """
    check_fitted("influence_table", model)
    most = whole_number("count", count, least=1)
    try:
        graph = model.influence()
    except ArgumentError as error:
        return Table(TITLE, pl.DataFrame(schema=dict.fromkeys(("source", "target"), pl.String)), f"{error}.")
    top = graph.top(most)
    learned = default_model(model)
    if learned is None:
        note = "The paper's model learns gates, of which probabilities are read off; they have no interval."
        return Table(TITLE, top, note)
    meaning = _Meaning(model, learned, data)
    if not meaning.has_weight or not len(top):
        note = NO_WEIGHT if len(top) else "No link stands out from what chance shows."
        return Table(TITLE, _with_strengths(top, model, learned), note)
    ids = id_column(graph.agents)
    position = {shown: k for k, shown in enumerate(ids)}
    rows: list[dict[str, Any]] = []
    for link in top.rows(named=True):
        source = position[link["source"]]
        target = position[link["target"]]
        rows += [{**link, **meant} for meant in meaning.rows(source, target)]
    note = NUMBER_NOTE if model.schema_.numeric else CLASS_NOTE
    return Table(TITLE, pl.DataFrame(rows, strict=False), note)


def _with_strengths(top: pl.DataFrame, model: SphUnc, learned: FittedModel) -> pl.DataFrame:
    """Links with the interval of their coefficients over structures."""
    structure = None
    if learned.predictor.states is not None:
        structure = learned.predictor.states.structure
    if structure is None or not len(structure.draws):
        return top
    place = _places(model)
    low = []
    high = []
    for link in top.rows(named=True):
        draws = link_draws(structure, place[link["target"]], place[link["source"]])
        ends = _interval(draws)
        low.append(ends[0])
        high.append(ends[1])
    return top.with_columns(pl.Series("low", low, dtype=pl.Float64), pl.Series("high", high, dtype=pl.Float64))


def _places(model: SphUnc) -> dict[Any, int]:
    """Position of every agent, by its id as frames show it, among those learned."""
    agents = model.schema_.agents
    shown = id_column(agents)
    return {shown[k]: place for place, k in enumerate(canonical_order(agents))}


def _interval(values: Float[Tensor, " sample"]) -> tuple[float, float]:
    low, high = torch.quantile(values, values.new_tensor(LEVEL)).tolist()
    return low, high


class _Meaning:
    """What a link means for the outcome of its target, at the last time of some data.

    Args:
        model: as fitted.
        learned: its parts.
        data: the past.
    """

    def __init__(self, model: SphUnc, learned: FittedModel, data: TemporalHypergraph) -> None:
        self.model = model
        self.place = _places(model)
        self.shown = id_column(model.schema_.agents)
        past = align(data, model.schema_)
        system = system_of(learned, past, model.schema_, model.preparation_, past.num_times - 1)
        self.origin = system.past
        self.has_weight = self.origin.states is not None and self.origin.states.structure is not None
        self.row = _rows_of_data(system)
        if self.has_weight:
            self._learn()

    def _learn(self) -> None:
        origin = self.origin
        assert origin.states is not None
        assert origin.belief is not None
        self.now = origin.belief.mean[origin.belief_time]
        self.mean = origin.belief.mean[-1]
        self.variance = origin.states.variance_scale * origin.states.forecast_variance(origin.belief)
        self.class_states = typical_states(self.model, origin)
        self.base = origin.model.one_step.base.at(origin.covariates, origin.time)
        self.forecast = origin.forecasts[1]
        self.points = normal_points(self.mean.shape[1], POINTS).to(self.mean)

    def rows(self, source: int, target: int) -> list[dict[str, Any]]:
        """One row per class, or one per number.

        Args:
            source: position among the agents of the training data.
            target: of the agent that is acted on.
        """
        states = self.origin.states
        assert states is not None
        assert states.structure is not None
        agents = self.model.schema_.agents
        source_row = self.row.get(agents[source])
        target_row = self.row.get(agents[target])
        draws = link_draws(states.structure, self.place[self.shown[target]], self.place[self.shown[source]])
        if source_row is None or target_row is None or not len(draws):
            return [{"outcome": None}]
        found = []
        for index, state in enumerate(self.class_states):
            moved = self.mean[target_row] + draws.unsqueeze(1) * (state - self.now[source_row])
            moved = self._limited(moved, self.mean[target_row])
            if self.model.schema_.numeric:
                change = (moved - self.mean[target_row]) @ states.readout.weight[index]
                unit = float(self.model.preparation_.scale[index])
                found.append(_meant(self._name(index), change * unit, "change"))
            else:
                before, after = self._probabilities(target_row, moved)
                ratios = torch.logit(after[:, index]) - torch.logit(before[index])
                ends = {"from": float(before[index]), "to": float(after[:, index].mean())}
                found.append(_meant(self._name(index), ratios, "odds_ratio") | ends)
        return found

    def _limited(self, moved: Float[Tensor, "sample axis"], mean: Float[Tensor, " axis"]) -> Tensor:
        """States drawn back where they are longer than both a typical one and the believed state of the target.

        Simulations bound the mean of every transition by the length of a typical state, before its noise is added.
        """
        longest = state_length(mean, self.origin.state_metric).clamp(min=1.0)
        return moved / (state_length(moved, self.origin.state_metric) / longest).clamp(min=1.0)

    def _name(self, index: int) -> str:
        schema = self.model.schema_
        names = schema.classes or schema.outcomes or tuple(str(k) for k in range(schema.outputs))
        return names[index]

    def _probabilities(
        self, row: int, moved: Float[Tensor, "sample axis"]
    ) -> tuple[Float[Tensor, " class"], Float[Tensor, "sample class"]]:
        """Forecast of an agent, and its outcome with a moved state in every structure."""
        origin = self.origin
        assert isinstance(self.base, Categorical)
        assert isinstance(self.forecast, Categorical)
        noise = self.variance[row].sqrt() * self.points
        weight = origin.model.weight
        temperature = origin.temperature[row]
        read = self._log_read(row, self.mean[row] + noise)
        pooled = (1.0 - weight) * self.base.probabilities[row].log() + weight * read
        factual = torch.log_softmax(pooled / temperature, -1).exp().mean(0)
        shift = self.forecast.probabilities[row].log() - factual.log()
        read_moved = self._log_read(row, moved.unsqueeze(1) + noise)
        changed = (pooled + read_moved - read) / temperature + shift
        before = torch.softmax(pooled / temperature + shift, -1).mean(0)
        after = torch.softmax(changed, -1).mean(1)
        return before, after

    def _log_read(self, row: int, states: Float[Tensor, "*batch axis"]) -> Float[Tensor, "*batch class"]:
        assert self.origin.states is not None
        readout = self.origin.states.readout
        share = readout.noise_share(self.origin.remainder(1)[row]).expand(states.shape[:-1])
        return readout.class_probabilities(states @ readout.weight.mT + readout.bias, share).log()


def typical_states(model: SphUnc, origin: Any) -> list[Float[Tensor, " axis"]]:
    """Typical state of every class, or of a high value of every number, as :class:`~sphunc.Do` sets them.

    Args:
        model: as fitted.
        origin: of a simulation, with states.
    """
    found = []
    for index in range(model.schema_.outputs):
        if model.schema_.numeric:
            vector = origin.state_covariance @ origin.states.readout.weight[index]
        else:
            vector = origin.direction("class", index, 0).double()
        length = float((vector @ origin.state_metric @ vector).clamp(min=0.0).sqrt())
        found.append(vector / length if length > 0 else vector)
    return found


def _rows_of_data(system: System) -> dict[Any, int]:
    agents = system.entities.agents
    return {agents[k]: row for row, k in enumerate(system.order.tolist())}


def _meant(outcome: str, values: Float[Tensor, " sample"], name: str) -> dict[str, Any]:
    low, high = _interval(values)
    centre = float(values.mean())
    if name == "odds_ratio":
        centre, low, high = _exponentials([centre, low, high])
    return {"outcome": outcome, name: centre, "low": low, "high": high}


def _exponentials(values: Sequence[float]) -> list[float]:
    return torch.tensor(values, dtype=torch.float64).exp().tolist()
