"""What-if answers against the truth, and the cost of asking.

    python benchmarks/whatif.py [--agents 400] [--times 12] [--dim 64] [--seeds 1] [--questions 12] [--skip-speed]

**Quality.** Worlds "snare" and "financial" with times=12. Each question sets one agent with many followers to the
direction of a class or to the state of another agent, held to the horizon (1 and 3). The truth is simulated by the
world. Rows: the model; the same model without its SCM, where groups alone carry an effect; the forecast that ignores
the intervention; and the model with the true links handed over, which parts errors of structure from errors of the
step. Printed, as means over agents whose law the truth moves by more than 0.05: total variation from the true law
("TV"); that of the forecast from the true law without an intervention ("factual"), which bounds what an answer can
reach; that of the true forecast plus the estimated effect ("effect"), which is what is due to effects alone; the size
of the true move; error of H_causal. Then the share of truly moved agents among ``top_affected(10)`` (of as many as are
truly moved), the slope of estimated on true effects, and what an estimated effect is worth: the slope of true on
estimated effects over all agents but the one acted on, 1 if effects are neither too small nor too large.

**Cost.** S=100, 10,000 agents, horizon 10, dim 128: `intervene` against the same two arms looped sample by sample with
the network's own structural step and sampler, timed on a few samples and scaled; both filter the past and compare the
arms once. Beside it, `intervene` asked for one sample at a time, which filters and compares for every one of them.
Processor time, so that other work on the machine counts little; and the peak of memory.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass
from typing import Any

import torch

import sphunc
from sphunc.causal.arms import compare
from sphunc.causal.design import Moment
from sphunc.legacy.observed import observe
from sphunc.legacy.query import Amounts
from sphunc.legacy.scenario import Scenario, known_links, no_links
from sphunc.legacy.situation import mechanism_of
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


@dataclass(frozen=True)
class Question:
    """One intervention with its truth: laws after it and without it ``[N, C]``, whom it moves, who is free ``[N]``."""

    do: sphunc.Do
    truth: torch.Tensor
    base: torch.Tensor
    moved: torch.Tensor
    free: torch.Tensor

    def changes(self, p: torch.Tensor, factual: torch.Tensor, whom: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Estimated and true effect on some agents."""
        return (p - factual)[whom], (self.truth - self.base)[whom]

    def errors(self, p: torch.Tensor, factual: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
        """Errors of an answer ``[5, M]`` in the order of ``ERRORS``, of the M agents whom the truth moves."""
        parts = (
            variation(p, self.truth),
            variation(factual, self.base),
            variation(p - factual, self.truth - self.base),
            variation(self.truth, self.base),
            (entropy - torch.special.entr(self.truth).sum(-1)).abs(),
        )
        return torch.stack(parts)[:, self.moved]


ERRORS = ("TV", "factual", "effect", "move", "H error")
Answer = tuple[Question, torch.Tensor, torch.Tensor, torch.Tensor]
"""A question with the law after the intervention, the law without it, and the entropy that was claimed."""


def summary(answers: list[Answer]) -> dict[str, float]:
    """Means of all errors over truly moved agents, both slopes of effects, how many agents are truly moved."""
    every = torch.cat([one.errors(p, factual, entropy) for one, p, factual, entropy in answers], 1)
    among_moved = [one.changes(p, factual, one.moved) for one, p, factual, _ in answers]
    among_free = [one.changes(p, factual, one.free) for one, p, factual, _ in answers]
    means = dict(zip(ERRORS, every.mean(1).tolist(), strict=True))
    slopes = {"slope": slope(among_moved), "worth": slope([(true, found) for found, true in among_free])}
    return means | slopes | {"agents": float(every.shape[1])}


def slope(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """Least-squares slope of the first of each pair on the second, through the origin; 0 where nothing moves."""
    one, other = (torch.cat(part) for part in zip(*pairs, strict=True))
    return float((one * other).sum() / other.square().sum().clamp(min=1e-12))


COLUMNS = {
    "TV": 8,
    "factual": 9,
    "effect": 8,
    "move": 8,
    "H error": 9,
    "top 10": 8,
    "slope": 8,
    "worth": 8,
    "agents": 8,
}


def quality(preset: str, arguments: argparse.Namespace, seed: int) -> None:
    """Print the rows of one world."""
    world = sphunc.simulate(preset, agents=arguments.agents, times=arguments.times, seed=seed)
    settings = {"dim": arguments.dim, "seed": 0} | ({"epochs": arguments.epochs} if arguments.epochs else {})
    full = sphunc.SphUnc(**settings).fit(world.data, verbose=False)
    blind = sphunc.SphUnc(**settings, scm=False).fit(world.data, verbose=False)
    for horizon in (1, 3):
        rows = table(world, full, blind, horizon, arguments.questions)
        print(f"\n{preset}, seed {seed}, {world.data.num_nodes} agents, horizon {horizon}")
        print(f"{'':16}" + "".join(f"{name:>{width}}" for name, width in COLUMNS.items()))
        for name, row in rows.items():
            print(f"{name:16}" + "".join(f"{row[one]:{width}.3f}" for one, width in COLUMNS.items()))
        ratios = {name: rows["model"]["TV"] / max(rows[name]["TV"], 1e-9) for name in ("without SCM", "forecast only")}
        print("TV of the model over that of: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))


def table(
    world: sphunc.World, full: sphunc.SphUnc, blind: sphunc.SphUnc, horizon: int, count: int
) -> dict[str, dict[str, float]]:
    """Scores of every way to answer."""
    asked = truths(world, horizon, count)
    ways = {
        "model": (full, None, True),
        "without SCM": (blind, no_links(), True),
        "forecast only": (full, None, False),
        "true links": (full, true_scenario(world, full), True),
    }
    return {name: judge(world, asked, way, horizon) for name, way in ways.items()}


def truths(world: sphunc.World, horizon: int, count: int) -> list[Question]:
    """Questions that move somebody, with their truth."""
    options: dict[str, Any] = {"origin": world.data.num_times - 1, "horizon": horizon, "seed": 1}
    options["samples"] = TRUTH_SAMPLES
    base = world.interventional({}, **options)
    asked = []
    for agent, donor, do in questions(world, count):
        truth = world.interventional({str(world.data.node_ids[agent]): donor}, **options)
        free = torch.arange(len(base)) != agent
        moved = (variation(truth, base) > MOVED) & free
        if bool(moved.any()):
            asked.append(Question(do, truth, base, moved, free))
    return asked


def judge(world: sphunc.World, asked: list[Question], way: tuple, horizon: int) -> dict[str, float]:
    """Means over truly moved agents of all questions, and over questions for the top 10."""
    model, scenario, acts = way
    answers, found = [], []
    for one in asked:
        effect = answer(model, [one.do] if acts else [], world, horizon, scenario)
        p, factual, entropy = (part.double() for part in (effect.probabilities, effect.factual, effect.entropy))
        answers.append((one, p, factual, entropy))
        ids = effect.top_affected(10)["agent"].to_list() if acts else []
        hits = sum(bool(one.moved[world.data.node_ids.index(agent)]) for agent in ids)
        found.append(hits / min(10, int(one.moved.sum())))
    return summary(answers) | {"top 10": sum(found) / len(found)}


def looped(model: Any, data: sphunc.TemporalHypergraph, do: sphunc.Do, horizon: int, samples: int, few: int) -> float:
    """Processor seconds of the same question sample by sample, with the network's own step and sampler.

    What is paid once, the filter over the past and the comparison of both arms, is timed as it is; the samples are
    timed on a few.
    """
    network: Any = model.network_
    begun = time.process_time()
    amounts = Amounts(horizon=horizon, samples=samples)
    query = model._query("intervene", [do], data, amounts, None)
    situation = model._situation(query)
    change = query.action(situation.direct).states[0]
    once = time.process_time() - begun
    start, links, pull = situation.start, query.scenario.links, observe(query.past).pull[-1]
    generator = torch.Generator().manual_seed(0)
    # Class by class, as the comparison reads it.
    logits = torch.empty(2, horizon, len(situation.mechanism.bias), few, len(start.eta))
    begun = time.process_time()
    with torch.no_grad():
        for s in range(few):
            gates = query.scenario.strengths[s % len(query.scenario.strengths)]
            mine, gates = links[:, gates != 0], gates[gates != 0]
            for arm in range(2):
                eta = start.eta
                for step in range(horizon):
                    kappa = eta.norm(dim=-1)
                    h = draw(eta / kappa.clamp(min=1e-9).unsqueeze(-1), kappa, 1, generator)[0][0]
                    if arm:
                        h[change.agent] = change.direction
                    eta = network.step.strength * network.step.drive(h, start.prior, pull, mine, gates)
                    logits[arm, step, :, s] = network.readout(network.step.settled(eta)).mT
    each = (time.process_time() - begun) / few
    begun = time.process_time()
    one = None
    for step, reading in enumerate(situation.readings):
        arms = [logits[arm, step].repeat(1, -(-samples // few), 1)[:, :samples].permute(2, 1, 0) for arm in range(2)]
        one = compare(Moment(arms[0], arms[1], torch.zeros(len(start.eta))), reading, query.draws, start=one)
    return once + samples * each + time.process_time() - begun


def cost(agents: int, horizon: int, samples: int, few: int) -> None:
    """Print time and memory of a large question, about the agent that acts most on others."""
    world = sphunc.simulate("collaboration", agents=agents, times=5, seed=0)
    model = sphunc.SphUnc(dim=128, epochs=1, folds=2, layers=1, seed=0, structure_epochs=0).fit(
        world.data, verbose=False
    )
    model.predict(world.data)
    structure = model.structure_
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    acts = torch.zeros(agents).index_add_(0, structure.links[0], structure.gates.abs())
    do = sphunc.Do(world.data.node_ids[int(acts.argmax())], toward=world.data.class_names[0])

    def ask(samples: int, seed: int) -> float:
        begun = time.process_time()
        model.intervene(do, data=world.data, horizon=horizon, samples=samples, seed=seed)
        return time.process_time() - begun

    ours = ask(samples, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    peer = looped(model, world.data, do, horizon, samples, few)
    single = samples / few * sum(ask(1, seed) for seed in range(few))
    print(f"\nS={samples}, {agents} agents, horizon {horizon}, dim 128, {structure.links.shape[1]} candidate links")
    print(f"intervene {ours:.1f} s; {few} samples timed and scaled to {samples}:")
    print(f"  a loop over samples that filters and compares once {peer:.1f} s: {peer / ours:.1f} times faster")
    print(f"  one call of intervene per sample {single:.1f} s: {single / ours:.1f} times faster")
    print(f"peak memory {peak:.2f} GB (before the question, training included: {before:.2f} GB)")


def main() -> None:
    """Parse, measure, print."""
    torch.set_num_threads(1)  # processor time of many small products grows with every thread that waits
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
        cost(arguments.large, 10, 100, 2)


if __name__ == "__main__":
    main()
