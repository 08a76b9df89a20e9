import torch

from sphunc.nn.belief import Belief, add_evidence, believe, diffuse
from sphunc.nn.projection import normalise
from sphunc.sphere import log_density, mean_resultant_length, vmf_entropy

D = 6


def directions(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return normalise(torch.randn(*shape, D, generator=g, dtype=torch.float64))


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_evidence_is_the_sum_of_natural_parameters():
    d, kappa = directions(2, 3), numbers((3.0, 10.0, 2.0), (0.0, 1.0, 4.0))
    direction, strength, resultant = add_evidence(d, kappa)
    for i in range(2):
        eta = sum(kappa[i, k] * d[i, k] for k in range(3))
        torch.testing.assert_close(direction[i], eta / eta.norm())
        torch.testing.assert_close(strength[i], eta.norm())
        torch.testing.assert_close(resultant[i], eta.norm() / kappa[i].sum())


def test_adding_evidence_multiplies_densities():
    d, kappa, x = directions(2), numbers(3.0, 7.0), directions(2, seed=3)
    direction, strength, _ = add_evidence(d, kappa)
    product = sum(log_density(x, d[k].expand(2, D), kappa[k].expand(2)) for k in range(2))
    fused = log_density(x, direction.expand(2, D), strength.expand(2))
    torch.testing.assert_close(product[0] - product[1], fused[0] - fused[1])


def test_conflicting_evidence_raises_the_entropy():
    a, b = directions(2, seed=1)
    kappa = numbers(30.0, 30.0)
    angles = torch.linspace(0, torch.pi, 9, dtype=torch.float64)
    across = normalise(b - (a @ b) * a)
    others = angles.cos()[:, None] * a + angles.sin()[:, None] * across
    belief = believe(torch.stack([a.expand(9, D), others], 1), kappa.expand(9, 2))
    entropy = vmf_entropy(belief.concentration, D)
    assert bool((entropy.diff() > 0).all())
    resultant = add_evidence(torch.stack([a.expand(9, D), others], 1), kappa.expand(9, 2))[2]
    torch.testing.assert_close(resultant, (angles / 2).cos(), atol=1e-7, rtol=0)


def test_agreeing_evidence_lowers_the_entropy_and_stays_in_range():
    d = directions(1).expand(4, D)
    beliefs = [believe(d[:k], numbers(*[70.0] * k)) for k in (1, 2, 3, 4)]
    kappa = torch.stack([b.concentration for b in beliefs])
    assert bool((kappa.diff() > 0).all())
    assert float(kappa[0]) == 71.0
    assert float(kappa[-1]) <= 200.0


def test_no_evidence_is_the_widest_belief_without_direction_or_nan():
    kappa = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    belief = believe(directions(2, 3), kappa)
    (belief.mean.sum() + belief.concentration.sum()).backward()
    assert not belief.direction.any()
    assert belief.concentration.tolist() == [1, 1]
    assert kappa.grad is not None
    assert bool(kappa.grad.isfinite().all())


def test_a_source_of_weight_zero_is_left_out():
    d = directions(3)
    with_it, without = believe(d, numbers(5.0, 0.0, 9.0)), believe(d[[0, 2]], numbers(5.0, 9.0))
    torch.testing.assert_close(with_it.direction, without.direction)
    torch.testing.assert_close(with_it.concentration, without.concentration)


def test_mean_is_shortened_by_what_is_not_known():
    belief = Belief(directions(2), numbers(1.0, 150.0))
    torch.testing.assert_close(belief.mean.norm(dim=-1), mean_resultant_length(belief.concentration, D))


def test_rotation_turns_the_belief():
    d, kappa = directions(3), numbers(3.0, 10.0, 2.0)
    rotation, _ = torch.linalg.qr(directions(D, seed=5))
    turned, belief = believe(d @ rotation, kappa), believe(d, kappa)
    torch.testing.assert_close(turned.direction, belief.direction @ rotation)
    torch.testing.assert_close(turned.concentration, belief.concentration)


def test_gradients():
    inputs = (directions(2, 3).requires_grad_(), numbers((3.0, 10.0, 2.0), (1.0, 1.0, 4.0)).requires_grad_())
    assert torch.autograd.gradcheck(add_evidence, inputs)


def test_noise_widens_a_belief_as_the_mean_vectors_say():
    kappa, noise = numbers(5.0, 50.0, 200.0), numbers(30.0)[0]
    after = diffuse(kappa, noise, D)
    product = mean_resultant_length(kappa, D) * mean_resultant_length(noise, D)
    torch.testing.assert_close(mean_resultant_length(after, D), product)
    assert bool((after < torch.minimum(kappa, noise)).all())
