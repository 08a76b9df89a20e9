"""Simulated agents on a sphere with known influence, written apart from the package: what structure.py measures on.

`short_panel` is the plain world: unit vectors in 128 dimensions, few times, links that add to a drive, von
Mises-Fisher noise. `group_world` is the harder one: few dimensions, strong signed links, a pull by groups, and
features from which states have to be guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class World:
    """A simulated panel: states [T, N, D], candidate and true links [2, K], strengths, groups per time, features."""

    states: np.ndarray
    candidates: np.ndarray
    links: np.ndarray
    strengths: np.ndarray
    meetings: list[list[np.ndarray]]
    features: np.ndarray | None = None

    @property
    def truth(self) -> np.ndarray:
        """1 where a candidate is a true link."""
        n = self.states.shape[1]
        return np.isin(self.candidates[1] * n + self.candidates[0], self.links[1] * n + self.links[0])


def normalise(x: np.ndarray) -> np.ndarray:
    """Scale to unit length along the last axis."""
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def vmf(mean: np.ndarray, kappa: float, rng: np.random.Generator) -> np.ndarray:
    """One von Mises-Fisher draw per row of ``mean`` (Wood 1994)."""
    n, dim = mean.shape
    b = (-2 * kappa + np.sqrt(4 * kappa**2 + (dim - 1) ** 2)) / (dim - 1)
    x0 = (1 - b) / (1 + b)
    c = kappa * x0 + (dim - 1) * np.log(1 - x0**2)
    w, todo = np.empty(n), np.arange(n)
    while todo.size:
        z = rng.beta((dim - 1) / 2, (dim - 1) / 2, todo.size)
        trial = (1 - (1 + b) * z) / (1 - (1 - b) * z)
        good = kappa * trial + (dim - 1) * np.log(1 - x0 * trial) - c >= np.log(rng.random(todo.size))
        w[todo[good]] = trial[good]
        todo = todo[~good]
    tangent = rng.standard_normal((n, dim))
    tangent = normalise(tangent - (tangent * mean).sum(1, keepdims=True) * mean)
    return w[:, None] * mean + np.sqrt(1 - w**2)[:, None] * tangent


def draw_groups(n: int, per_agent: float, sizes: tuple[int, int], rng: np.random.Generator) -> list[np.ndarray]:
    """Random groups of ``sizes[0] ... sizes[1]`` members, about ``per_agent`` memberships each, everyone in one."""
    low, high = sizes
    order, groups = rng.permutation(n), []
    while order.size:
        size = int(rng.integers(low, high + 1))
        group = order[:size]
        if group.size < low:
            group = np.union1d(group, rng.choice(n, low, replace=False))
        groups.append(np.sort(group))
        order = order[size:]
    extra = int(n * (per_agent - 1) / ((low + high) / 2))
    groups += [np.sort(rng.choice(n, int(rng.integers(low, high + 1)), replace=False)) for _ in range(extra)]
    return groups


def pairs_of(groups: list[np.ndarray], n: int) -> np.ndarray:
    """Ordered pairs of different members, once each, sorted by target then source."""
    keys = [(g[:, None] * n + g[None, :]).ravel() for g in groups]
    key = np.unique(np.concatenate(keys))
    target, source = key // n, key % n
    keep = target != source
    return np.stack([source[keep], target[keep]])


def draw_links(
    candidates: np.ndarray, n: int, strength: tuple[float, float], negative: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Poisson(2) parents per agent among its candidates, with uniform strengths of which some are negative."""
    chosen = []
    bounds = np.searchsorted(candidates[1], np.arange(n + 1))
    for low, high in pairwise(bounds):
        count = min(int(rng.poisson(2)), high - low)
        chosen.append(rng.choice(np.arange(low, high), count, replace=False))
    links = candidates[:, np.sort(np.concatenate(chosen))]
    sign = np.where(rng.random(links.shape[1]) < negative, -1.0, 1.0)
    return links, sign * rng.uniform(*strength, links.shape[1])


def biases(groups: list[np.ndarray], n: int, dim: int, homophily: float, rng: np.random.Generator) -> np.ndarray:
    """Persistent directions: a mix of the centres of an agent's groups and of its own."""
    centre = np.zeros((n, dim))
    for group in groups:
        centre[group] += normalise(rng.standard_normal(dim))
    own = normalise(rng.standard_normal((n, dim)))
    return normalise(homophily * normalise(centre) + np.sqrt(1 - homophily**2) * own)


def _incoming(n: int, links: np.ndarray, strengths: np.ndarray):
    from scipy.sparse import csr_matrix

    return csr_matrix((strengths, (links[1], links[0])), shape=(n, n))


def short_panel(
    n: int = 540,
    times: int = 5,
    dim: int = 128,
    *,
    seed: int = 0,
    homophily: float = 0.8,
    kappa: float = 200.0,
    persistence: float = 0.5,
    bias: float = 0.6,
    strength: tuple[float, float] = (0.15, 0.4),
    negative: float = 0.0,
    rotate: bool = False,
    anisotropy: float = 0.0,
    burn_in: int = 10,
) -> World:
    """h_t ~ vMF(normalise(a h + sum g R h_j + b U), kappa), about 14 candidates per agent."""
    rng = np.random.default_rng(seed)
    groups = draw_groups(n, 2.6, (4, 8), rng)
    candidates = pairs_of(groups, n)
    links, strengths = draw_links(candidates, n, strength, negative, rng)
    persistent = biases(groups, n, dim, homophily, rng)
    rotation = np.linalg.qr(rng.standard_normal((dim, dim)))[0] if rotate else np.eye(dim)
    incoming = _incoming(n, links, strengths)
    h, path = normalise(rng.standard_normal((n, dim))), []
    for step in range(burn_in + times):
        drive = persistence * h + incoming @ (h @ rotation.T) + bias * persistent
        h = vmf(normalise(drive), kappa, rng)
        if step >= burn_in:
            path.append(h)
    return World(stretch(np.stack(path), anisotropy, rng), candidates, links, strengths, [groups] * times)


def stretch(states: np.ndarray, power: float, rng: np.random.Generator) -> np.ndarray:
    """Squeeze the coordinates by a spectrum k^-power in a random basis, as a trained encoder may."""
    if power == 0:
        return states
    dim = states.shape[-1]
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return normalise(states @ (basis * np.arange(1, dim + 1) ** -power) @ basis.T)


def group_world(
    n: int = 400,
    times: int = 11,
    dim: int = 8,
    *,
    seed: int = 0,
    homophily: float = 0.8,
    kappa: float = 50.0,
    features: int = 24,
    noise: float = 0.9,
    negative: float = 0.15,
    strength: tuple[float, float] = (0.8, 1.6),
    persistence: float = 0.5,
    bias: float = 0.6,
    pull: float = 0.5,
    attendance: float = 0.6,
) -> World:
    """Signed links of 0.8-1.6, a pull by the cohesion of each group that meets, noisy features of the states."""
    rng = np.random.default_rng(seed)
    groups = draw_groups(n, 2.6, (4, 8), rng)
    candidates = pairs_of(groups, n)
    links, strengths = draw_links(candidates, n, strength, negative, rng)
    persistent = biases(groups, n, dim, homophily, rng)
    incoming = _incoming(n, links, strengths)
    h, path, meetings = normalise(rng.standard_normal((n, dim))), [], []
    for step in range(10 + times):
        met = [group for group in groups if rng.random() < attendance]
        if step >= 10:
            path.append(h)
            meetings.append(met)
        drive = persistence * h + incoming @ h + bias * persistent + pull * cohesion_pull(h, met)
        h = vmf(normalise(drive), kappa, rng)
    states = np.stack(path)
    loading = rng.standard_normal((dim, features))
    seen = states @ loading + noise * rng.standard_normal((times, n, features))
    return World(states, candidates, links, strengths, meetings, seen)


def cohesion_pull(h: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """Mean over an agent's groups of the group's mean direction, weighted by the length of that mean."""
    pull, count = np.zeros_like(h), np.zeros(len(h))
    for group in groups:
        mean = h[group].mean(0)
        pull[group] += np.linalg.norm(mean) * mean
        count[group] += 1
    return pull / np.maximum(count, 1)[:, None]


def principal_latents(features: np.ndarray, dim: int) -> np.ndarray:
    """First principal components of standardised features, scaled to unit length."""
    flat = features.reshape(-1, features.shape[-1])
    flat = (flat - flat.mean(0)) / flat.std(0)
    _, _, basis = np.linalg.svd(flat, full_matrices=False)
    return normalise((flat @ basis[:dim].T).reshape(*features.shape[:2], dim))
