"""Reading tables: time as a multiple of a plain polars read, peak memory as a multiple of the data.

Run: python benchmarks/tables.py [--memberships 2000000] [--format csv]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl


def write_panel(folder: Path, memberships: int, suffix: str) -> None:
    """Write 100,000 agents at 10 times with 5 features, and groups of about 10 of them."""
    rng = np.random.default_rng(0)
    agents = pl.Series([f"agent-{i:06}" for i in range(memberships // 20)])
    N, T = len(agents), 10
    cells = {f"f{k}": rng.normal(size=N * T).astype(np.float32) for k in range(5)}
    features = pl.DataFrame({"time": np.repeat(np.arange(T), N), "agent": pl.concat([agents] * T), **cells})
    group = np.arange(memberships) // 10
    agent = (rng.integers(0, N, memberships // 10).repeat(10) + np.tile(np.arange(10), memberships // 10)) % N
    groups = pl.DataFrame({"time": group % T, "group": group, "agent": agents.gather(agent)})
    groups = groups.with_columns(pl.format("group-{}", "group").alias("group"))
    for name, frame in {"features": features, "groups": groups}.items():
        path = folder / f"{name}.{suffix}"
        frame.write_parquet(path) if suffix == "parquet" else frame.write_csv(path)


def resident() -> int:
    """Return the memory held now, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def peak() -> int:
    """Return the largest memory held so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(folder: str, how: str, queue: multiprocessing.Queue) -> None:
    """Read in this process and report seconds, bytes above the start, bytes of the frames as polars holds them."""
    from sphunc import read_tables

    read = pl.read_parquet if any(Path(folder).glob("*.parquet")) else pl.read_csv
    before, start = resident(), time.perf_counter()
    if how == "polars":
        frames = [read(path) for path in sorted(Path(folder).glob("[fg]*"))]
        size = sum(frame.estimated_size() for frame in frames)
    else:
        size = read_tables(folder).num_memberships
    queue.put((time.perf_counter() - start, peak() - before, size))


def in_new_process(folder: str, how: str) -> tuple[float, int, int]:
    """Measure in a process of its own, so that peaks do not mix."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure, args=(folder, how, queue))
    process.start()
    result = queue.get(timeout=600)
    process.join()
    return result


def main() -> None:
    """Print one line per format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memberships", type=int, default=2_000_000)
    parser.add_argument("--format", choices=["csv", "parquet", "both"], default="both")
    arguments = parser.parse_args()
    for suffix in ["csv", "parquet"] if arguments.format == "both" else [arguments.format]:
        with tempfile.TemporaryDirectory() as folder:
            write_panel(Path(folder), arguments.memberships, suffix)
            plain_seconds, plain_peak, data = in_new_process(folder, "polars")
            seconds, memory, read = in_new_process(folder, "sphunc")
        assert read == arguments.memberships, read
        print(
            f"{suffix:<8} {read:,} memberships: {seconds:.1f} s ({seconds / plain_seconds:.1f} x polars), "
            f"peak {memory / 1e6:.0f} MB ({memory / data:.2f} x the {data / 1e6:.0f} MB of the frames; "
            f"polars alone {plain_peak / data:.2f} x)"
        )


if __name__ == "__main__":
    main()
