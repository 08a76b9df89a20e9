"""Real series with known links, as stored: DREAM4 gene networks and NetSim brain signals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from scipy.io import loadmat

from sphunc.discovery.candidates import all_pairs

System = tuple[torch.Tensor, torch.Tensor, np.ndarray]


def dream4(folder: Path, size_100: int = 2) -> Iterator[tuple[str, list[System]]]:
    """Networks of 10 and 100 genes: series [21, N, replicates], all pairs, truth."""
    for size, most in ((10, 5), (100, size_100)):
        paths = sorted((folder / "dream4").glob(f"insilico_size{size}_*_timeseries.tsv"))[:most]
        yield f"DREAM4 size {size}", [_dream4(path, size) for path in paths]


def _dream4(path: Path, size: int) -> System:
    values = np.loadtxt(path, skiprows=1)
    series = torch.from_numpy(values.reshape(-1, 21, size)).permute(1, 2, 0).contiguous()
    truth = np.zeros((size, size), dtype=bool)
    for line in path.with_name(path.name.replace("timeseries", "goldstandard")).read_text().splitlines():
        source, target, link = line.split()
        truth[int(source[1:]) - 1, int(target[1:]) - 1] = link == "1"
    pairs = all_pairs(size)
    return series, pairs, truth[pairs[0].numpy(), pairs[1].numpy()]


def netsim(folder: Path, subjects: int = 50) -> Iterator[tuple[str, list[System]]]:
    """Simulated brain signals of 5 and 10 regions: series [200, N, subjects], all pairs, truth."""
    for name in ("sim1", "sim2"):
        stored = loadmat(folder / "netsim" / f"{name}.mat")
        net = stored["net"]
        regions = net.shape[1]
        series = stored["ts"].reshape(-1, 200, regions)[:subjects]
        pairs = all_pairs(regions)
        truth = (net[0] != 0) & ~np.eye(regions, dtype=bool)
        values = torch.from_numpy(np.ascontiguousarray(series.transpose(1, 2, 0))).double()
        yield f"NetSim {name}", [(values, pairs, truth[pairs[0].numpy(), pairs[1].numpy()])]
