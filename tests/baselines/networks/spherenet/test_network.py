"""SphereNet: its bases and blocks against plain loops, one number by hand, and its place in the wrapper."""

import dataclasses
import math

import numpy as np
import torch
from scipy.special import spherical_jn

from sphunc import simulate
from sphunc.baselines.networks.spherenet.basis import real_harmonics
from sphunc.baselines.networks.spherenet.geometry import Neighbours, neighbours_in, neighbours_of, triplet_angles
from sphunc.baselines.networks.spherenet.network import (
    InteractionBlock,
    SphereNet,
    SphereNetEncoder,
    SphereNetSettings,
    expand_geometry,
    into_ball,
    principal_axes,
    swish,
)
from sphunc.baselines.panel import Panel, make_panel, statistics_of

FREQUENCY = math.pi * torch.arange(1, 7)
SETTINGS = SphereNetSettings(width=8, triplet=4, blocks=2)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def square() -> tuple[torch.Tensor, Neighbours]:
    """Four points that are all neighbours of each other."""
    p = into_ball(torch.randn(4, 3, generator=generator(1)))
    table = torch.stack([torch.tensor([j for j in range(4) if j != i]) for i in range(4)])
    return p, neighbours_of(table)


def panel_of(agents: int = 24, times: int = 4, seed: int = 0) -> Panel:
    data = simulate("snare", agents=agents, times=times, seed=seed).data
    return make_panel(data, statistics_of(data, times), data.num_classes)


def encoder(panel: Panel) -> SphereNetEncoder:
    made = SphereNetEncoder(panel.num_inputs, panel.features.shape[-1], SETTINGS, generator())
    with torch.no_grad():
        made.prepare(panel)
    return made


def test_bases_by_hand() -> None:
    # Points at the corners of a right angle, half the cut-off apart: R_1 = u(1/2) sin(pi/2) = 2 - 9.25/32, and the
    # angular part of degree 1 is Y_1^0(90 degrees) = 0.
    p = torch.tensor([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]], dtype=torch.double)
    near = neighbours_of(torch.tensor([[2, -1], [0, -1], [-1, -1]]))
    radial, angular, _ = expand_geometry(p, near, FREQUENCY.double(), 2)
    assert torch.allclose(radial[:, 0], torch.tensor(2 - 9.25 / 32).double())
    assert angular.shape == (1, 6)
    assert torch.allclose(angular[0, 3:], torch.zeros(3).double(), atol=1e-12)
    # j_0(pi/2) = 2/pi, over |j_1(pi)| = 1/pi: sqrt(2) * 2 * Y_0^0 = sqrt(2/pi).
    assert abs(angular[0, 0].item() - math.sqrt(2 / math.pi)) < 1e-12


def test_torsional_basis_pairs_harmonics_with_their_own_degree() -> None:
    p, near = square()
    _, _, torsional = expand_geometry(p.double(), near, FREQUENCY.double(), 3)
    theta, phi = triplet_angles(p.double(), near)
    harmonics = real_harmonics(theta, phi, 3)
    k, j = near.edges[:, near.triplets[0]]
    distance = (p[k] - p[j]).double().norm(dim=-1).numpy()
    zero = 5.763459196894550  # first zero of j_2
    shape = math.sqrt(2) * spherical_jn(2, zero * distance) / abs(spherical_jn(3, zero))
    column = 8 * 3  # harmonic (2, 2), first radial function
    assert np.allclose(torsional[:, column].numpy(), shape * harmonics[:, 8].numpy(), atol=1e-6)


def test_block_against_a_plain_loop() -> None:
    p, near = square()
    bases = expand_geometry(p, near, FREQUENCY, 3)
    radial, angular, torsional = bases
    block = InteractionBlock(SETTINGS, generator())
    e = torch.randn(near.edges.shape[1], 8, generator=generator(2))
    q = swish(block.down(swish(block.sent(e)) * block.radial.wide(block.radial.narrow(radial))))
    expected = []
    for edge in range(len(e)):
        total = torch.zeros(4)
        for place, (feeding, fed) in enumerate(near.triplets.T.tolist()):
            if fed == edge:
                by_angle = block.angular.wide(block.angular.narrow(angular[place]))
                total = total + q[feeding] * by_angle * block.torsional(torsional[place])
        new = swish(block.own(e[edge])) + swish(block.up(total))
        new = new + swish(block.before(new))
        new = swish(block.joined(new)) + e[edge]
        expected.append(new + swish(block.after(new)))
    assert torch.allclose(block(e, bases, near), torch.stack(expected), atol=1e-5)


def test_positions_stay_in_the_ball() -> None:
    p = into_ball(1e4 * torch.randn(50, 3, generator=generator()))
    assert float(p.norm(dim=-1).max()) < 0.5 + 1e-6
    by_hand = torch.tensor([[1.5, 0.0, 2.0]]) / 26**0.5
    assert torch.allclose(into_ball(torch.tensor([[3.0, 0.0, 4.0]])), by_hand)


def test_principal_axes_whiten_and_have_a_fixed_sign() -> None:
    x = torch.randn(500, 5, generator=generator()) * torch.tensor([5.0, 3.0, 2.0, 1.0, 0.1])
    axes = principal_axes(x)
    shadow = x @ axes.T
    assert torch.allclose(shadow.T @ shadow / 500, torch.eye(3), atol=1e-4)
    assert torch.equal(axes.gather(1, axes.abs().argmax(1, keepdim=True)) > 0, torch.ones(3, 1, dtype=torch.bool))
    assert principal_axes(x[:, :2])[2].tolist() == [0.0, 0.0]


def test_projection_learns_and_isolated_agents_have_a_state() -> None:
    panel = panel_of()
    model = encoder(panel)
    state = model(panel).state
    state.square().sum().backward()
    assert model.position.weight.grad is not None
    assert float(model.position.weight.grad.abs().sum()) > 0
    alone = torch.bincount(neighbours_in(panel, 8).edges[1], minlength=len(state)) == 0
    assert bool(alone.any())
    no_message = torch.stack([out.out(swish(out.hidden(torch.zeros(8)))) for out in model.outputs]).sum(0)
    assert torch.allclose(state[alone], model.keep(panel.flat[alone]) + no_message, atol=1e-5)


def test_influence_is_the_mean_length_of_messages_and_zero_without_any() -> None:
    panel = panel_of()
    model = encoder(panel)
    near = neighbours_in(panel, 8)
    with torch.no_grad():
        messages = model.messages(panel.flat, model.bases(panel), near)
        source, target = (near.edges[:, 0] % panel.num_agents).tolist()
        of_pair = (near.edges % panel.num_agents == torch.tensor([[source], [target]])).all(0)
        expected = sum(float(g[of_pair].norm(dim=-1).sum()) for g in messages) / len(messages) / panel.num_times
        score = model.influence(panel, torch.tensor([[source, 0], [target, 0]]))
    assert abs(float(score[0]) - expected) < 1e-5
    assert float(score[1]) == 0.0


def test_features_that_all_coincide_stay_finite() -> None:
    panel = panel_of()
    flat = dataclasses.replace(panel, inputs=torch.zeros_like(panel.inputs), features=torch.zeros_like(panel.features))
    model = encoder(flat)
    model(flat).state.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_settings_reach_the_network() -> None:
    model = SphereNet(width=8, blocks=1, neighbours=2).make_network(4, 2, generator()).spatial
    assert isinstance(model, SphereNetEncoder)
    assert len(model.blocks) == 1
    assert model.settings.neighbours == 2
