"""One intervention of every kind: what holds of one is tested of all. Models whose answers are known in closed form."""

import pytest
import torch

from sphunc.hypergraph.incidence import Incidence
from sphunc.interventions import CutGroup, CutLink, Do, Policy, ScaleLink, Shift, Stochastic
from sphunc.interventions.resolve import EntityIndex
from sphunc.interventions.what_if import System
from sphunc.model.axes import StateAxes
from sphunc.model.base import BaseRegression, Standardiser
from sphunc.model.covariates import make_covariates
from sphunc.model.dynamics import Dynamics, Links
from sphunc.model.fitting import FittedModel, Predictor
from sphunc.model.inputs import ModelInputs
from sphunc.model.readout import Readout
from sphunc.model.states import StateModel
from sphunc.model.structure import LinkPrior, StructurePosterior
from sphunc.model.uncertainty import Fusion, Temperature


def stand_still(step, states):
    return {}


EVERY_KIND = [
    Do("a", (0.0, 1.0)),
    Do("a", toward="calm"),
    Do("a", observed="b", times=0),
    Shift("a", "calm", 0.5, times=[2, 1]),
    Shift("a", (1.0, 0.0), 0.5),
    Stochastic(3, "b", 40.0),
    CutLink("a", "b"),
    ScaleLink("a", "b", 2.0, times=1),
    CutGroup("g"),
    Policy(stand_still),
    Do("a", outcome="calm"),
    Do("a", outcome=5.0, times=[1, 2]),
    Do("a", outcome=(5.0, -1.0)),
]


@pytest.fixture(name="stand_still")
def policy_that_sets_none():
    return stand_still


@pytest.fixture
def every_kind():
    return EVERY_KIND


@pytest.fixture(params=EVERY_KIND, ids=str)
def one(request):
    """Every kind in turn."""
    return request.param


TINY = 1e-10
FLOAT = torch.float64


def incidence(agents, groups):
    """Groups given as lists of members."""
    members = [(agent, number) for number, group in enumerate(groups) for agent in group]
    agent = torch.tensor([member for member, _ in members], dtype=torch.long)
    group = torch.tensor([number for _, number in members], dtype=torch.long)
    return Incidence(agent, group, torch.ones(len(members), dtype=FLOAT), agents, len(groups))


def panel(features, labels, groups, classes):
    """Inputs with features ``[T, N, F]``, labels ``[T, N]`` (-1 where not observed) or numbers, groups per time."""
    features = torch.as_tensor(features, dtype=FLOAT)
    times, agents = features.shape[:2]
    labels = torch.as_tensor(labels)
    if classes:
        mask = labels >= 0
        y = torch.nn.functional.one_hot(labels.clamp(min=0), classes).to(FLOAT) * mask.unsqueeze(-1)
    else:
        labels = labels.to(FLOAT)
        mask = ~labels.isnan().any(-1)
        y = labels.nan_to_num()
    per_time = groups if len(groups) == times else [groups[0]] * times
    return ModelInputs(
        x=features.nan_to_num(),
        x_mask=~features.isnan(),
        y=y,
        y_mask=mask,
        groups=tuple(incidence(agents, one) for one in per_time),
        num_classes=classes,
    )


def regression(inputs, slopes=None, variance=1.0, spread=TINY):
    """Base with chosen slopes ``{(block, column within it, output): value}``, of columns that are not rescaled."""
    names = make_covariates(inputs).block_names()
    columns = len(names)
    outputs = inputs.num_outputs
    coefficients = torch.zeros(columns + 1, outputs, dtype=FLOAT)
    for (block, column, output), value in (slopes or {}).items():
        coefficients[names.index(block) + column, output] = value
    identity = spread * torch.eye(columns + 1, dtype=FLOAT)
    log_variance = torch.zeros(columns + 1, 0 if inputs.num_classes else outputs, dtype=FLOAT)
    log_variance[-1:] = torch.tensor(variance, dtype=FLOAT).log()
    standardiser = Standardiser(
        torch.zeros(columns, dtype=FLOAT), torch.ones(columns, dtype=FLOAT), torch.zeros(columns, dtype=torch.bool)
    )
    blocks = outputs if inputs.num_classes else 1
    return BaseRegression(
        standardiser=standardiser,
        coefficients=coefficients,
        covariance=identity.expand(blocks, -1, -1).clone(),
        log_variance=log_variance,
        penalty=torch.ones(columns, dtype=FLOAT),
        half_life=float("inf"),
        held_out="agents",
        rows=100,
    )


def state_model(inputs, edges, weight, *, inertia=0.5, noise=TINY, effect=TINY, force=0.0, draws=None, numeric=True):
    """States that features show exactly; links ``{(source, target): beta}`` that every structure has."""
    agents, axes = inputs.x.shape[1:]
    ones = torch.ones(axes, dtype=FLOAT)
    width = max(1, agents - 1)
    source = torch.zeros(agents, width, dtype=torch.long)
    there = torch.zeros(agents, width, dtype=torch.bool)
    beta = torch.zeros(agents, width, dtype=FLOAT)
    count = [0] * agents
    for (origin, target), value in edges.items():
        slot = count[target]
        source[target, slot] = origin
        there[target, slot] = True
        beta[target, slot] = value
        count[target] += 1
    links = Links(source, there, there.to(FLOAT), beta, beta.square())
    slots = torch.arange(width).expand(agents, width).contiguous()
    sampled = beta.float().expand(8, agents, width).clone() if draws is None else draws
    structure = StructurePosterior(links, torch.full((agents,), inertia, dtype=FLOAT), LinkPrior(), slots, sampled)
    dynamics = Dynamics(
        inertia=torch.full((agents,), inertia, dtype=FLOAT),
        transition_variance=noise * ones,
        effect_variance=effect * ones,
        observation_variance=1e-5 * noise * ones,
        initial_variance=ones,
        group_force=force,
        state_scale=1.0,
    )
    weight = torch.as_tensor(weight, dtype=FLOAT)
    outputs = len(weight)
    readout = Readout(
        weight=weight,
        bias=torch.zeros(outputs, dtype=FLOAT),
        noise=torch.full((outputs,), -9.0, dtype=FLOAT) if numeric else torch.tensor([-30.0, 0.0], dtype=FLOAT),
        frequency=torch.zeros(0, dtype=FLOAT) if numeric else torch.full((outputs,), 1.0 / outputs, dtype=FLOAT),
    )
    axes_map = StateAxes(
        mean=0.0 * ones,
        scale=ones,
        loadings=torch.zeros(axes, 0, dtype=FLOAT),
        uniqueness=ones,
        axes=torch.eye(axes, dtype=FLOAT),
        in_block=torch.ones(axes, dtype=torch.bool),
        signal=ones,
        noise=ones,
    )
    return StateModel(axes_map, dynamics, dynamics, links, structure, readout, 0.0, 1.0)


def system(inputs, base, states=None, weight=0.5, origin=None, groups=None, **more):
    """Question from a time, agents named "a0", "a1", ..., groups "g0", "g1", ..."""
    predictor = Predictor(base, states, None, None, 1)
    alpha = 0.0 if states is None else weight
    model = FittedModel(predictor, predictor, alpha, Fusion(), Temperature(), torch.zeros(0), "nothing", ())
    origin = inputs.num_times - 1 if origin is None else origin
    ids = [tuple(f"g{k}" for k in range(one.num_groups)) for one in inputs.groups]
    classes = tuple(f"c{k}" for k in range(inputs.num_classes))
    entities = EntityIndex(
        agents=tuple(f"a{i}" for i in range(inputs.num_agents)),
        classes=classes,
        groups=ids[origin] if groups is None else groups,
        times=tuple(range(origin + 1)),
        dim=0 if states is None else states.axes.num_axes,
        numbers=0 if classes else inputs.num_outputs,
    )
    return System(
        model=model,
        inputs=inputs,
        origin=origin,
        entities=entities,
        times=tuple(range(inputs.num_times)),
        order=torch.arange(inputs.num_agents),
        group_ids=tuple(ids),
        **more,
    )


class Builders:
    """What tests build systems from."""

    incidence = staticmethod(incidence)
    panel = staticmethod(panel)
    regression = staticmethod(regression)
    state_model = staticmethod(state_model)
    system = staticmethod(system)


@pytest.fixture(scope="session")
def build():
    return Builders


@pytest.fixture
def chain(build):
    """Numbers read off one state; a0 acts on a1 (0.4), a1 on a2 (-0.3), nobody on a3; nobody meets."""
    values = torch.tensor([0.9, -0.2, 0.5, 1.1], dtype=FLOAT)
    features = torch.stack([values * 2.0 ** (2 - t) for t in range(3)]).unsqueeze(-1)
    features = features / features[-1].abs().max()
    inputs = build.panel(features, torch.full((3, 4, 1), torch.nan), [[]], 0)
    states = build.state_model(inputs, {(0, 1): 0.4, (1, 2): -0.3}, [[1.0]], effect=1e-20)
    return build.system(inputs, build.regression(inputs), states)


@pytest.fixture
def neighbours(build):
    """Two classes; next outcome c1 by what co-members had last. a0 meets a1 and a2, a3 and a4 meet, a5 nobody."""
    labels = torch.tensor([[0, 1, 1, 0, 0, 1]] * 3)
    features = torch.zeros(3, 6, 1)
    inputs = build.panel(features, labels, [[[0, 1, 2], [3, 4]]], 2)
    base = build.regression(inputs, {("neighbour outcomes", 1, 1): 2.0})
    return build.system(inputs, base)
