"""The demonstration: bring tables, forecast with uncertainty, find links, ask what if; on an embedded default."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from sphunc._typing import Float, Tensor
from sphunc.baselines import forecaster
from sphunc.causal import Do, Effect, InfluenceGraph
from sphunc.cli.demo_tables import (
    affected_table,
    forecast_table,
    heading,
    links_table,
    paragraph,
    parts_table,
    score_table,
    sphere_table,
)
from sphunc.evaluation import accuracy, base_rate, check_calibration, nll
from sphunc.hypergraph import TemporalHypergraph, summarise
from sphunc.io.tables import read_tables, write_tables
from sphunc.legacy.estimator import SphUnc
from sphunc.legacy.forecast import Forecast
from sphunc.sphere import VonMisesFisher, vmf_entropy
from sphunc.worlds import World, simulate

DEMO_FOLDER = Path("demo-output")
DEMO_WORLD = "snare"
DEMO_DIM = 128
DEMO_KAPPAS = (1.0, 50.0, 200.0)
DEMO_SAMPLES = 20_000
DEMO_HORIZON = 2
DEMO_DRAWS = 100
TRIVIAL = ("majority", "persistence", "logistic")


def run(folder: Path = DEMO_FOLDER, seed: int = 0) -> None:
    """Print the demonstration; the tables of its world stay in ``folder``, and the fitted model beside them."""
    console, started = Console(), time.perf_counter()
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
    """Write the tables that a user would bring, check them and read them back."""
    heading(console, "Your tables")
    write_tables(world.data, folder)
    paragraph(console, f"A simulated world, written to {folder}/ as the tables that you would bring:")
    data = read_tables(folder)
    paragraph(console, str(summarise(data)))
    same = "the same, value for value" if data.same_as(world.data) else "NOT the same: please report this"
    paragraph(console, f"Read back: {same}.")
    return data


def show_fit(console: Console, past: TemporalHypergraph, model: SphUnc) -> SphUnc:
    """Fit on the past, with the progress bar."""
    heading(console, "Learning from the past")
    paragraph(
        console,
        f"Times {past.times[0]} to {past.times[-1]} are the past; what comes after is held back for the test. A "
        "network per fold of the agents says how long to train and how sure to be, then one learns from all agents. "
        "This takes up to a minute.",
    )
    started = time.perf_counter()
    model.fit(past)
    paragraph(
        console,
        f"Fitted in {time.perf_counter() - started:.0f} s and {len(model.history_)} passes; what was held out chose "
        f"{model.epochs_} for the model itself.",
    )
    return model


def show_forecast(console: Console, model: SphUnc, data: TemporalHypergraph) -> Forecast:
    """Print the forecasts of the three surest and the three least sure agents, with what makes them unsure."""
    heading(console, "What happens next, how sure, and why not surer")
    origin = data.num_times - 2
    forecast = model.predict(data, origin=origin, coverage=0.9)
    order = torch.argsort(forecast.total).tolist()
    happened = [data.class_names[c] for c in _happened(data).tolist()]
    console.print(forecast_table(forecast, [*order[:3], *order[-3:]], happened))
    paragraph(
        console,
        "Epistemic: entropy of the belief about the agent's state, in nats (negative for firm ones), and scaled to "
        "[0, 1]; more data lowers it. Aleatoric: learned noise of the outcome; nothing lowers it. Total: both, fused. "
        f"Set: classes to reckon with for 90 % coverage; {forecast.caveat}.",
    )
    return forecast


def show_quality(console: Console, model: SphUnc, world: World) -> None:
    """Print how good and how honest the forecasts of the time held back are, beside trivial models and the oracle."""
    heading(console, "Can it be believed? The time that was held back")
    data, origin = world.data, world.data.num_times - 2
    y, known = _happened(data), data.y_mask[origin + 1]
    laws = {"SphUnc": model.predict_proba(data, origin=origin)}
    for name in TRIVIAL:
        trivial = forecaster(name).fit(data.until_index(origin), verbose=False)
        laws[name] = trivial.predict(data, origin=origin).probabilities
    laws["oracle, who knows the true states"] = world.oracle(origin=origin)
    rows = [(name, accuracy(p, y, mask=known), nll(p, y, mask=known)) for name, p in laws.items()]
    console.print(score_table(rows, int(known.sum())))
    check = check_calibration(laws["SphUnc"], y, mask=known)
    found = "inside" if check.null.contains(check.ece) else "above" if check.ece > check.null.high else "below"
    paragraph(console, f"Calibration: {check}.")
    paragraph(
        console, f"The floor is what perfect calibration shows on so few outcomes; the error is {found} its band."
    )


def _happened(data: TemporalHypergraph) -> Tensor:
    assert data.y is not None  # worlds have outcomes
    return data.y[-1]


def show_influence(console: Console, graph: InfluenceGraph, world: World) -> None:
    """Print the ten most probable links between the agents, beside the truth that only a simulation knows."""
    heading(console, "Who influences whom")
    ids = world.data.node_ids
    truth = {(ids[source], ids[target]) for source, target in world.links.T.tolist()}
    console.print(links_table(graph, truth))
    true = [(ids[source], ids[target]) in truth for source, target in graph.links.T.tolist()]
    paragraph(
        console,
        f"Of all candidates a share of {base_rate(true):.3f} is true. influence(data, diagnose=True) adds checks.",
    )
    paragraph(console, f"Assumed: {graph.assumptions}")


def show_what_if(console: Console, model: SphUnc, past: TemporalHypergraph, world: World) -> Effect:
    """Print what setting the state of one agent does to others, and the entropy of the outcomes with its two parts."""
    heading(console, "What if?")
    source, name = model.influence().top(1)["source"][0], past.class_names[0]
    effect = model.intervene(
        Do(source, toward=name), data=past, horizon=DEMO_HORIZON, samples=DEMO_DRAWS, seed=world.seed
    )
    paragraph(
        console,
        f"{source}, the source of the most probable link, is held at the direction of {name}. Whom does that move "
        f"within {DEMO_HORIZON} steps, against the forecast without it?",
    )
    console.print(affected_table(effect, true_effect(world, {source: name}, past.num_times - 1)))
    console.print(parts_table(effect))
    paragraph(
        console,
        "H_causal, the entropy of an outcome after the intervention = within (left if the links were known) + "
        f"identification (what not knowing them adds), exactly. {DEMO_DRAWS} samples of noise and structures; both "
        "arms share them, and the error is what other draws of both would change.",
    )
    return effect


def true_effect(world: World, assignments: dict[str, str], origin: int) -> Float[Tensor, " agent"]:
    """Total variation between the true laws with and without an intervention ``[N]``."""
    options: dict[str, Any] = {"origin": origin, "horizon": DEMO_HORIZON, "samples": 200, "seed": world.seed}
    with_it, without = (world.interventional(given, **options) for given in (assignments, {}))
    return (with_it - without).abs().sum(1) / 2


def show_sphere(console: Console, seed: int) -> None:
    """Print exact entropies beside the mean resultant length of samples, for a few concentrations."""
    heading(console, "Underneath: beliefs are von Mises-Fisher laws")
    generator = torch.Generator().manual_seed(seed)
    mu = torch.nn.functional.normalize(torch.randn(DEMO_DIM, generator=generator, dtype=torch.float64), dim=0)
    rows: list[Sequence[float]] = []
    for kappa in torch.tensor(DEMO_KAPPAS, dtype=torch.float64):
        law = VonMisesFisher(mu, kappa)
        samples = law.rsample((DEMO_SAMPLES,), generator=generator)
        exact, empirical = law.mean.norm().item(), (samples @ mu).mean().item()
        rows.append((kappa.item(), vmf_entropy(kappa, DEMO_DIM).item(), exact, empirical))
    console.print(sphere_table(rows, DEMO_DIM, DEMO_SAMPLES))


def show_next(console: Console, folder: Path, seconds: float) -> None:
    """Say what to try now."""
    heading(console, "Now yours")
    paragraph(
        console,
        f"All of this in {seconds:.0f} s. The tables are in {folder}/, the fitted model in {folder / 'model'}/.\n"
        "  sphunc check FOLDER          your own tables, or everything that is wrong with them\n"
        "  python examples/forecast.py  from tables to forecasts, in Python\n"
        "  sphunc benchmark --quick     six systems side by side",
    )
