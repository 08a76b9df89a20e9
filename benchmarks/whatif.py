"""What-if answers against the truth, and the cost of asking.

    python benchmarks/whatif.py [--agents 400] [--times 12] [--dim 64] [--seeds 1] [--questions 12] [--skip-speed]

**Quality.** Worlds "snare" and "financial" with times=12. Each question sets one agent with many followers to the
direction of a class or to the state of another agent, held to the horizon (1 and 3). The truth is simulated by the
world. Rows: the model; the same model without its SCM, where groups alone carry an effect; the forecast that ignores
the intervention; and the model with the true links handed over, which parts errors of structure from errors of the
step. Printed: total variation from the true law, mean over agents whose law the truth moves by more than 0.05; size of
the true move there; error of H_causal over the same agents; share of truly moved agents among ``top_affected(10)``
(of as many as are truly moved); slope of estimated on true effects.

**Cost.** S=100, 10,000 agents, horizon 10, dim 128: `intervene` against the same two arms looped sample by sample with
the network's own structural step and sampler, timed on a few samples and scaled. Processor time, so that other work on
the machine counts little; and the peak of memory.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import torch

import sphunc
from sphunc.evaluation.interventional import entropy_error, total_variation
from sphunc.model.observed import observe
from sphunc.model.situation import Scenario, known_links, mechanism_of, no_links
from sphunc.sphere.sampling import draw

MOVED = 0.05
TRUTH_SAMPLES = 1024


def variation(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Total variation of each row."""
    return 0.5 * (p - q).abs().sum(-1)


def questions(world: sphunc.World, count: int) -> list[tuple[int, str, sphunc.Do]]:
    """Agents with many followers, each set to a class or to the state of an agent."""
    followers = torch.bincount(world.links[0], minlength=world.data.num_nodes)
    ids, classes = world.data.node_ids, world.data.class_names
    asked = []
    for k, agent in enumerate(torch.argsort(followers, descending=True, stable=True)[:count].tolist()):
        if k % 2 == 0:
            donor = classes[(k // 2) % len(classes)]
            asked.append((agent, donor, sphunc.Do(ids[agent], toward=donor)))
        else:
            donor = ids[(agent + 37) % len(ids)]
            asked.append((agent, donor, sphunc.Do(ids[agent], observed=donor)))
    return asked


def true_scenario(world: sphunc.World, model: sphunc.SphUnc) -> Scenario:
    """True links in the model's units: a force of length one is what the world's mean drive is."""
    from sphunc.worlds.dynamics import Snapshot, drive

    last = world.data.num_times - 1
    now = [part[last].numpy()[:, None] for part in (world.states, world.driver, world.hidden)]
    length = float((drive(world.law, Snapshot(*now), last) ** 2).sum(-1).mean() ** 0.5)
    network: Any = model.network_
    return known_links(world.links, world.strengths / (length * mechanism_of(network).link))


def answer(
    model: sphunc.SphUnc, do: list, world: sphunc.World, horizon: int, scenario: Scenario | None
) -> sphunc.Effect:
    """One effect, or the forecast if nothing is asked."""
    return model.intervene(*do, data=world.data, horizon=horizon, samples=100, seed=0, scenario=scenario)


def quality(preset: str, arguments: argparse.Namespace, seed: int) -> None:
    """Print the rows of one world."""
    world = sphunc.simulate(preset, agents=arguments.agents, times=arguments.times, seed=seed)
    settings = {"dim": arguments.dim, "seed": 0} | ({"epochs": arguments.epochs} if arguments.epochs else {})
    full = sphunc.SphUnc(**settings).fit(world.data, verbose=False)
    blind = sphunc.SphUnc(**settings, scm=False).fit(world.data, verbose=False)
    ways = {
        "model": (full, None, True),
        "without SCM": (blind, no_links(), True),
        "forecast only": (full, None, False),
        "true links": (full, true_scenario(world, full), True),
    }
    for horizon in (1, 3):
        print(f"\n{preset}, seed {seed}, {world.data.num_nodes} agents, horizon {horizon}")
        print(f"{'':16}{'TV':>8}{'move':>8}{'H error':>9}{'top 10':>8}{'slope':>8}{'agents':>8}")
        rows = {name: judge(world, way, horizon, arguments.questions) for name, way in ways.items()}
        for name, row in rows.items():
            print(
                f"{name:16}"
                + "".join(f"{value:{width}.3f}" for value, width in zip(row, (8, 8, 9, 8, 8), strict=False))
                + f"{int(row[-1]):8}"
            )
        print(f"TV of the model over that without SCM: {rows['model'][0] / max(rows['without SCM'][0], 1e-9):.2f}")


def judge(world: sphunc.World, way: tuple, horizon: int, count: int) -> tuple[float, ...]:
    """Mean scores over the questions: TV, true move, error of H, top 10, slope; agents that count."""
    model, scenario, acts = way
    origin = world.data.num_times - 1
    base = world.interventional({}, origin=origin, horizon=horizon, samples=TRUTH_SAMPLES, seed=1)
    rows, found, cross, square = [], [], 0.0, 0.0
    for agent, donor, do in questions(world, count):
        options: dict[str, Any] = {"origin": origin, "horizon": horizon, "samples": TRUTH_SAMPLES, "seed": 1}
        truth = world.interventional({str(world.data.node_ids[agent]): donor}, **options)
        moved = variation(truth, base) > MOVED
        moved[agent] = False
        if not bool(moved.any()):
            continue
        effect = answer(model, [do] if acts else [], world, horizon, scenario)
        p, entropy = effect.probabilities.double(), effect.entropy.double()
        n = int(moved.sum())
        wrong = entropy_error(entropy, truth, mask=moved).mean_absolute
        rows.append((total_variation(p, truth, mask=moved), float(variation(truth, base)[moved].mean()), wrong, n))
        change, wanted = (p - effect.factual.double())[moved], (truth - base)[moved]
        cross, square = cross + float((change * wanted).sum()), square + float(wanted.square().sum())
        if acts:
            ids = effect.top_affected(10)["agent"].to_list()
            hit = sum(bool(moved[world.data.node_ids.index(one)]) for one in ids)
            found.append(hit / min(10, n))
    weights = torch.tensor([row[3] for row in rows], dtype=torch.double)
    means = [float((torch.tensor([row[k] for row in rows]) * weights).sum() / weights.sum()) for k in range(3)]
    top = sum(found) / len(found) if found else float("nan")
    return (*means, top, cross / max(square, 1e-12), float(weights.sum()))


def looped(model: sphunc.SphUnc, data: sphunc.TemporalHypergraph, agent: int, horizon: int, samples: int) -> float:
    """Processor seconds of both arms, sample by sample, with the network's own step and sampler."""
    network: Any = model.network_
    structure: Any = model.structure_
    drawn = structure.graph.sample(max(1, samples), 0).strengths.float()
    seen = observe(data)
    start = network.origin(seen, structure.links, structure.gates, 1)
    direction = torch.nn.functional.normalize(network.readout.weight[0].detach(), dim=0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        begun = time.process_time()
        for s in range(samples):
            gates, on = drawn[s], drawn[s] != 0
            links, gates = structure.links[:, on], gates[on]
            for arm in (False, True):
                eta = start.eta[-1]
                for _ in range(horizon):
                    kappa = eta.norm(dim=-1)
                    h = draw(eta / kappa.clamp(min=1e-9).unsqueeze(-1), kappa, 1, generator)[0][0]
                    if arm:
                        h[agent] = direction
                    eta = network.step.strength * network.step.drive(h, start.lasting, seen.pull[-1], links, gates)
                    torch.softmax(network.readout(network.step.settled(eta)), -1)
        return time.process_time() - begun


def cost(agents: int, horizon: int, samples: int, peer_samples: int) -> None:
    """Print time and memory of a large question."""
    world = sphunc.simulate("collaboration", agents=agents, times=5, seed=0)
    model = sphunc.SphUnc(dim=128, epochs=1, folds=2, layers=1, seed=0, structure_epochs=0).fit(
        world.data, verbose=False
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    do = sphunc.Do(world.data.node_ids[0], toward=world.data.class_names[0])
    begun = time.process_time()
    model.intervene(do, data=world.data, horizon=horizon, samples=samples, seed=0)
    ours = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    peer = looped(model, world.data, 0, horizon, peer_samples) * samples / peer_samples
    print(
        f"\nS={samples}, {agents} agents, horizon {horizon}, dim 128, {model.structure_.links.shape[1]} candidate links"
    )
    print(f"intervene {ours:.1f} s, one by one {peer:.1f} s (from {peer_samples}): {peer / ours:.1f} times faster")
    print(f"peak memory {peak:.2f} GB (before the question, training included: {before:.2f} GB)")


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description="What-if answers against the truth, and the cost of asking.")
    parser.add_argument("--presets", nargs="+", default=["snare", "financial"])
    parser.add_argument("--agents", type=int, default=400)
    parser.add_argument("--times", type=int, default=12)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=0, help="of training; the model's own default if 0")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--skip-speed", action="store_true")
    parser.add_argument("--only-speed", action="store_true")
    parser.add_argument("--large", type=int, default=10_000, help="agents of the question that is timed")
    arguments = parser.parse_args()
    if not arguments.only_speed:
        for preset in arguments.presets:
            for seed in range(arguments.seeds):
                quality(preset, arguments, seed)
    if not arguments.skip_speed:
        cost(arguments.large, 10, 100, 3)


if __name__ == "__main__":
    main()
