"""Neighbours, triplets and torsions of SphereNet against plain loops and small figures."""

import math

import torch

from sphunc import simulate
from sphunc.baselines.networks.spherenet.geometry import (
    Neighbours,
    distances,
    neighbours_in,
    neighbours_of,
    triplet_angles,
)
from sphunc.baselines.panel import make_panel, statistics_of


def star(angles: list[float]) -> tuple[torch.Tensor, Neighbours]:
    """Node 1 on the axis above node 0, further neighbours of 0 around it at the given angles."""
    around = [[math.cos(a), math.sin(a), 0.3 * n] for n, a in enumerate(angles)]
    p = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], *around], dtype=torch.double)
    table = torch.full((len(p), len(p) - 1), -1)
    table[0] = torch.arange(1, len(p))
    table[1, 0] = 0
    return p, neighbours_of(table)


def test_no_groups_give_no_edges() -> None:
    near = neighbours_of(torch.full((3, 2), -1))
    assert near.edges.shape == (2, 0)
    assert near.triplets.shape == (2, 0)
    theta, phi = triplet_angles(torch.zeros(3, 3), near)
    assert len(theta) == len(phi) == 0


def test_neighbours_of_a_panel_are_few_and_of_one_time() -> None:
    data = simulate("snare", agents=20, times=3, seed=0).data
    panel = make_panel(data, statistics_of(data, 3), data.num_classes)
    near = neighbours_in(panel, 3)
    source, target = near.edges
    agents = panel.num_agents
    assert bool((source // agents == target // agents).all())
    assert int(torch.bincount(target).max()) <= 3
    assert neighbours_in(panel, 3) is near


def test_triplets_are_those_of_a_plain_loop() -> None:
    table = torch.tensor([[1, 2], [0, 3], [3, -1], [0, 1]])
    near = neighbours_of(table)
    edges = near.edges.T.tolist()
    expected = {(k, j, i) for j, i in edges for k in table[j].tolist() if k >= 0 and k != i}
    found = set()
    for feeding, fed in near.triplets.T.tolist():
        (k, j), (also_j, i) = edges[feeding], edges[fed]
        assert j == also_j
        found.add((k, j, i))
    assert found == expected


def test_torsions_around_an_axis_sum_to_a_full_turn() -> None:
    p, near = star([0.1, 1.3, 2.0, 4.4])
    theta, phi = triplet_angles(p, near)
    onto_axis = near.edges[1, near.triplets[1]] == 1
    assert torch.allclose(phi[onto_axis].sum(), torch.tensor(2 * math.pi).double())
    by_hand = torch.tensor([0.7, 1.2, 0.1 + 2 * math.pi - 4.4, 2.4], dtype=torch.double)
    assert torch.allclose(phi[onto_axis].sort().values, by_hand)
    assert abs(theta[onto_axis][0].item() - math.pi / 2) < 1e-12


def test_a_lone_neighbour_turns_fully() -> None:
    p, near = star([0.4])
    _, phi = triplet_angles(p, near)
    assert phi.tolist() == [2 * math.pi]


def test_coordinates_do_not_change_under_rotation_and_shift() -> None:
    generator = torch.Generator().manual_seed(3)
    p = torch.randn(6, 3, dtype=torch.double, generator=generator)
    table = torch.stack([torch.tensor([n for n in range(6) if n != i]) for i in range(6)])[:, :4]
    near = neighbours_of(table)
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.double, generator=generator)).Q
    turn = turn * torch.linalg.det(turn).sign()
    moved = p @ turn.T + 2.0
    for mine, theirs in zip(triplet_angles(p, near), triplet_angles(moved, near), strict=True):
        assert torch.allclose(mine, theirs)


def test_coinciding_points_keep_a_distance_with_finite_gradient() -> None:
    p = torch.zeros(2, 3, requires_grad=True)
    d = distances(p, torch.tensor([[0], [1]]), 0.1)
    d.sum().backward()
    assert abs(d.item() - 0.1) < 1e-7
    assert p.grad is not None
    assert torch.isfinite(p.grad).all()
