"""The demonstration: bring tables, forecast with uncertainty, find links, ask what if; on a simulated world."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from sphunc._typing import Float, Tensor
from sphunc.baselines import forecaster
from sphunc.cli.demo_tables import (
    affected_table,
    comparison_table,
    forecast_table,
    heading,
    links_table,
    paragraph,
    parts_table,
    score_table,
    sphere_table,
)
from sphunc.discovery import InfluenceGraph
from sphunc.estimator import SphUnc
from sphunc.evaluation import accuracy, base_rate, check_calibration, nll
from sphunc.forecasting import Forecast
from sphunc.hypergraph import TemporalHypergraph, summarise
from sphunc.interventions import Do, Effect
from sphunc.io import read_tables, write_tables
from sphunc.sphere import VonMisesFisher, vmf_entropy
from sphunc.worlds import World, simulate

DEMO_FOLDER = Path("demo-output")
DEMO_WORLD = "snare"
DEMO_DIM = 128
DEMO_KAPPAS = (1.0, 50.0, 200.0)
DEMO_SAMPLES = 20_000
DEMO_HORIZON = 2
DEMO_DRAWS = 100
BASELINES = ("majority", "persistence", "logistic")


def run(folder: Path = DEMO_FOLDER, seed: int = 0) -> None:
    """Print the demonstration; the tables of its world stay in ``folder``, and the fitted model beside them.

    Args:
        folder: where the tables go.
        seed: of the random numbers.
    """
    console = Console()
    started = time.perf_counter()
    world = simulate(DEMO_WORLD, seed=seed)
    data = show_data(console, world, folder)
    past = data.until_index(data.num_times - 2)
    model = show_fit(console, past, SphUnc(seed=seed))
    show_forecast(console, model, data)
    show_quality(console, model, world)
    show_influence(console, model.influence(), world)
    show_what_if(console, model, past, world)
    show_sphere(console, seed)
    model.save(folder / "model")
    show_next(console, folder, time.perf_counter() - started)


def show_data(console: Console, world: World, folder: Path) -> TemporalHypergraph:
    """Write the tables that a user would bring, check them and read them back.

    Args:
        console: where to print.
        world: simulated, so that its truth is known.
        folder: where the tables go.
    """
    heading(console, "Your tables")
    write_tables(world.data, folder)
    paragraph(console, f"A simulated world, written to {folder}/ as the tables that you would bring:")
    data = read_tables(folder)
    paragraph(console, str(summarise(data)))
    same = "the same, value for value" if data.same_as(world.data) else "NOT the same: please report this"
    paragraph(console, f"Read back: {same}.")
    return data


def show_fit(console: Console, past: TemporalHypergraph, model: SphUnc) -> SphUnc:
    """Fit on the past, and print what each part of the model is worth.

    Args:
        console: where to print.
        past: data up to the time that is held back.
        model: fitted on the past.
    """
    heading(console, "Learning from the past")
    paragraph(
        console,
        f"Times {past.times[0]} to {past.times[-1]} are the past; what comes after is held back for the test. A "
        "regression on covariates, hidden states of the agents and links between them are learned; outcomes of the "
        "past that are held out decide which of them the forecast uses.",
    )
    started = time.perf_counter()
    with console.status("Fitting"):
        model.fit(past, verbose=False)
    paragraph(console, f"Fitted in {time.perf_counter() - started:.1f} s, {model.dim_} state axes.")
    console.print(comparison_table(model.comparison_))
    paragraph(console, f"Verdict: {model.verdict_}.")
    return model


def show_forecast(console: Console, model: SphUnc, data: TemporalHypergraph) -> Forecast:
    """Print the forecasts of the three most and the three least certain agents, with both parts of uncertainty.

    Args:
        console: where to print.
        model: fitted on the past.
        data: of the world, as read back from its tables.
    """
    heading(console, "What happens next, how sure, and why unsure")
    forecast = model.predict(data, origin=data.times[-2], coverage=0.9)
    order = torch.argsort(forecast.total).tolist()
    happened = [data.class_names[c] for c in _happened(data).tolist()]
    console.print(forecast_table(forecast, [*order[:3], *order[-3:]], happened))
    paragraph(
        console,
        "Epistemic: entropy of the belief about the agent's state, in nats (negative where it is concentrated), and "
        "scaled to [0, 1]; more observations lower it. Aleatoric: variance of the outcome that would be left if state "
        "and parameters were known. Total: both, fused: the expected squared error. Set: classes that hold the "
        f"outcome with 90 % coverage; {forecast.caveat}.",
    )
    return forecast


def show_quality(console: Console, model: SphUnc, world: World) -> None:
    """Print how good and how honest the forecasts of the time held back are, beside baselines and the oracle.

    Args:
        console: where to print.
        model: fitted on the past.
        world: simulated, so that its truth is known.
    """
    heading(console, "Can it be believed? The time that was held back")
    data = world.data
    origin = data.num_times - 2
    y = _happened(data)
    observed = data.y_mask[origin + 1]
    forecasts = {"SphUnc": model.predict_proba(data, origin_index=origin)}
    for name in BASELINES:
        baseline = forecaster(name).fit(data.until_index(origin), verbose=False)
        forecasts[name] = baseline.predict(data, origin_index=origin).probabilities
    forecasts["oracle, who knows the true states"] = world.oracle(origin=origin)
    rows = [(name, accuracy(p, y, mask=observed), nll(p, y, mask=observed)) for name, p in forecasts.items()]
    console.print(score_table(rows, int(observed.sum())))
    check = check_calibration(forecasts["SphUnc"], y, mask=observed)
    found = "below"
    if check.null.contains(check.ece):
        found = "inside"
    elif check.ece > check.null.high:
        found = "above"
    paragraph(console, f"Calibration: {check}.")
    paragraph(
        console, f"The floor is what perfect calibration shows on so few outcomes; the error is {found} its band."
    )


def _happened(data: TemporalHypergraph) -> Tensor:
    assert data.y is not None  # worlds have outcomes
    return data.y[-1]


def show_influence(console: Console, graph: InfluenceGraph, world: World) -> None:
    """Print the ten most probable links between the agents, beside the truth that only a simulation knows.

    Args:
        console: where to print.
        graph: links that the model found.
        world: simulated, so that its truth is known.
    """
    heading(console, "Who influences whom")
    ids = world.data.node_ids
    truth = {(ids[source], ids[target]) for source, target in world.links.T.tolist()}
    console.print(links_table(graph, truth))
    true = [(ids[source], ids[target]) in truth for source, target in graph.links.T.tolist()]
    paragraph(
        console,
        f"Of all candidates a share of {base_rate(true):.3f} is true; links about which the data say nothing are not "
        f"shown. Verdict: {graph.verdict}",
    )
    paragraph(console, f"Assumed: {graph.assumptions}")


def show_what_if(console: Console, model: SphUnc, past: TemporalHypergraph, world: World) -> Effect:
    """Print what setting the state of one agent does to others, and the entropy of the outcomes with its two parts.

    Args:
        console: where to print.
        model: fitted on the past.
        past: data up to the time that is held back.
        world: simulated, so that its truth is known.
    """
    heading(console, "What if?")
    source = model.influence().to_frame()["source"][0]
    name = past.class_names[0]
    effect = model.intervene(
        Do(source, toward=name), data=past, horizon=DEMO_HORIZON, samples=DEMO_DRAWS, seed=world.seed
    )
    paragraph(
        console,
        f"The state of {source}, the source of the most probable link, is set to the direction of {name}. Whom does "
        f"that move within {DEMO_HORIZON} steps, against the forecast without it?",
    )
    if effect.message:
        paragraph(console, f"{effect.message}.")
    console.print(affected_table(effect, true_effect(world, {source: name}, past.num_times - 1)))
    console.print(parts_table(effect))
    paragraph(
        console,
        "Class: the one that changes most; low and high: 90 % interval of its change, from not knowing links and "
        "coefficients. H_causal, the entropy of an outcome after the intervention = within (left if the links were "
        f"known) + identification (what not knowing them adds), exactly. {DEMO_DRAWS} samples of noise and structures, "
        "shared by both arms.",
    )
    return effect


def true_effect(world: World, assignments: dict[str, str], origin: int) -> Float[Tensor, " agent"]:
    """Total variation between the true distributions with and without an intervention ``[N]``.

    Args:
        world: knows the truth.
        assignments: class whose direction each agent takes.
        origin: position of the last time before the intervention.
    """
    options: dict[str, Any] = {"origin": origin, "horizon": DEMO_HORIZON, "samples": 200, "seed": world.seed}
    with_it, without = (world.interventional(given, **options) for given in (assignments, {}))
    return (with_it - without).abs().sum(1) / 2


def show_sphere(console: Console, seed: int) -> None:
    """Print exact entropies beside the mean resultant length of samples, for a few concentrations.

    Args:
        console: where to print.
        seed: of the random numbers.
    """
    heading(console, "Underneath: beliefs are von Mises-Fisher distributions")
    generator = torch.Generator().manual_seed(seed)
    mu = torch.nn.functional.normalize(torch.randn(DEMO_DIM, generator=generator, dtype=torch.float64), dim=0)
    rows: list[Sequence[float]] = []
    for kappa in torch.tensor(DEMO_KAPPAS, dtype=torch.float64):
        belief = VonMisesFisher(mu, kappa)
        samples = belief.rsample((DEMO_SAMPLES,), generator=generator)
        exact = belief.mean.norm().item()
        empirical = (samples @ mu).mean().item()
        rows.append((kappa.item(), vmf_entropy(kappa, DEMO_DIM).item(), exact, empirical))
    console.print(sphere_table(rows, DEMO_DIM, DEMO_SAMPLES))


def show_next(console: Console, folder: Path, seconds: float) -> None:
    """Say what to try now.

    Args:
        console: where to print.
        folder: where the tables go.
        seconds: that the demonstration took.
    """
    heading(console, "Now yours")
    paragraph(
        console,
        f"All of this in {seconds:.0f} s. The tables are in {folder}/, the fitted model in {folder / 'model'}/.\n"
        "  sphunc check FOLDER          your own tables, or everything that is wrong with them\n"
        "  python examples/forecast.py  from tables to forecasts, in Python\n"
        "  sphunc benchmark --quick     six systems side by side",
    )
