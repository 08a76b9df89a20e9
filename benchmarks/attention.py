"""One layer of angular attention against PyG's HypergraphConv: forward and backward, the same groups, one run.

Times are processor time of this process, so that a busy machine does not decide; every round runs all layers once.
Our layers find the pairs of their groups once per hypergraph, in the first round, which is not counted;
``AngularHypergraphConv``, which cannot know that the groups are those of its last call, sorts and pairs on every call.
PyG's layer streams every membership through fresh memory, and most of its time under the default allocator goes into
page faults; the second table has an allocator that keeps its memory (glibc mallopt), the kindest setting for it.

    python benchmarks/attention.py [--agents 10000] [--groups 30000] [--dim 128] [--threads 1] [--rounds 9]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch_geometric.nn import HypergraphConv

import sphunc
from sphunc.hypergraph.buckets import group_by_size
from sphunc.nn.attention import angular_attention, angular_attention_with_self

M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -3, -1
REFERENCE = "PyG HypergraphConv"


@dataclass(frozen=True)
class Case:
    """Random groups of 2 to 8 agents, as many as asked for."""

    agents: int
    groups: int
    dim: int
    index: torch.Tensor


def make_case(agents: int, groups: int, dim: int) -> Case:
    """Draw group sizes uniformly from 2 to 8 and members without repetition."""
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(2, 9, (groups,), generator=generator)
    edge = torch.repeat_interleave(torch.arange(groups), sizes)
    node = torch.randint(agents, edge.shape, generator=generator)
    key = torch.unique(edge * agents + node)
    return Case(agents, groups, dim, torch.stack([key % agents, key // agents]))


def make_layers(case: Case) -> dict[str, Callable[[], torch.Tensor]]:
    """Every layer as a call that runs forward, on inputs that ask for gradients."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(case.agents, case.dim, generator=generator, requires_grad=True)
    h = torch.nn.functional.normalize(x.detach(), dim=1).requires_grad_()
    attributes = torch.randn(case.groups, case.dim, generator=generator)
    sharpness = torch.tensor(4.0, requires_grad=True)
    buckets = group_by_size(case.index, num_nodes=case.agents, num_hyperedges=case.groups)
    plain, attentive = HypergraphConv(case.dim, case.dim), HypergraphConv(case.dim, case.dim, use_attention=True)
    conv = sphunc.AngularHypergraphConv(case.dim, case.dim, generator=generator)
    return {
        REFERENCE: lambda: plain(x, case.index),
        "PyG HypergraphConv with attention": lambda: attentive(x, case.index, hyperedge_attr=attributes),
        "AngularHypergraphConv (sorts, pairs)": lambda: conv(x, case.index),
        "angular_attention alone": lambda: angular_attention(h, sharpness, buckets),
        "angular_attention_with_self alone": lambda: angular_attention_with_self(h, sharpness, buckets),
    }


def measure(layers: dict[str, Callable[[], torch.Tensor]], upstream: torch.Tensor, rounds: int, clock: Callable):
    """Milliseconds of forward and backward, one list per layer, one entry per round; a first round is thrown away."""
    times: dict[str, list[float]] = {name: [] for name in layers}
    for _ in range(rounds + 1):
        for name, layer in layers.items():
            start = clock()
            layer().backward(upstream)
            times[name].append(1e3 * (clock() - start))
    return {name: values[1:] for name, values in times.items()}


def print_table(title: str, times: dict[str, list[float]]) -> None:
    """Print median time, ratios of medians and of minima, and the quartiles of the ratio within rounds."""
    print(f"\n{title}\n{'layer':40s} {'ms':>7s} {'medians':>8s} {'minima':>8s}   within rounds")
    reference = times[REFERENCE]
    for name, values in times.items():
        medians = statistics.median(values) / statistics.median(reference)
        within = [value / other for value, other in zip(values, reference, strict=True)]
        low, _, high = statistics.quantiles(within, n=4, method="inclusive")
        print(
            f"{name:40s} {statistics.median(values):7.0f} {medians:8.2f} {min(values) / min(reference):8.2f}   "
            f"{low:.2f} ... {high:.2f}"
        )


def keep_memory() -> bool:
    """Tell glibc to give no memory back and to map none; False where there is no glibc."""
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return False
    return bool(libc.mallopt(M_MMAP_THRESHOLD, 2**30)) and bool(libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1))


def main() -> None:
    """Measure under both allocators and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("agents", 10_000), ("groups", 30_000), ("dim", 128), ("threads", 1), ("rounds", 9)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    clock = time.process_time if args.threads == 1 else time.perf_counter
    case = make_case(args.agents, args.groups, args.dim)
    layers, upstream = make_layers(case), torch.randn(args.agents, args.dim, generator=torch.Generator().manual_seed(2))
    print(
        f"{case.agents} agents, {case.groups} groups of 2 to 8, {case.index.shape[1]} memberships, D={case.dim}, "
        f"threads {args.threads} of {os.cpu_count()}, torch {torch.__version__}"
    )
    print_table("Default allocator", measure(layers, upstream, args.rounds, clock))
    if keep_memory():
        print_table("Allocator that keeps its memory", measure(layers, upstream, args.rounds, clock))
    else:
        print("\nNo glibc here: the second table is left out.")


if __name__ == "__main__":
    main()
