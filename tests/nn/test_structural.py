import pytest
import torch

import sphunc.nn.structural as structural
from sphunc.nn.projection import normalise
from sphunc.nn.structural import StructuralStep, influence_sum, perturb, prior_of, structural_step

N, D, S = 5, 4, 3
LINKS = torch.tensor([[0, 1, 2, 2, 4, 0], [1, 0, 0, 1, 4, 3]])
K = LINKS.shape[1]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def scalar(value):
    return torch.tensor(value, dtype=torch.float64)


def transcribed(h, gates, phi, a, g, c, b, u):
    rows = []
    for i in range(N):
        raw = a * h[i] + g * c[i] + b * u[i]
        for k in range(K):
            if int(LINKS[1, k]) == i:
                raw = raw + gates[k] * (phi @ h[int(LINKS[0, k])])
        rows.append(raw / raw.norm())
    return torch.stack(rows)


@pytest.fixture(params=[2**22, 1], ids=["at once", "link by link"])
def chunk(request, monkeypatch):
    monkeypatch.setattr(structural, "GATHER_CHUNK", request.param)


@pytest.mark.parametrize("states", [False, True], ids=["one state", "states"])
@pytest.mark.parametrize("structures", [False, True], ids=["one structure", "structures"])
@pytest.mark.usefixtures("chunk")
def test_step_is_its_equation_for_every_sample_and_structure(states, structures):
    h = normalise(normal(S, N, D) if states else normal(N, D))
    gates = normal(S, K, seed=1) if structures else normal(K, seed=1)
    phi, c, u = normal(D, D, seed=2), normal(N, D, seed=3), normal(N, D, seed=4)
    got = structural_step(
        h, LINKS, gates, mapping=phi, keep=scalar(0.7), context=c, context_gain=scalar(0.3), prior=u,
        prior_gain=scalar(1.2),
    )  # fmt: skip
    if not states and not structures:
        torch.testing.assert_close(got, transcribed(h, gates, phi, 0.7, 0.3, c, 1.2, u))
        return
    for s in range(S):
        one = transcribed(h[s] if states else h, gates[s] if structures else gates, phi, 0.7, 0.3, c, 1.2, u)
        torch.testing.assert_close(got[s], one)


@pytest.mark.usefixtures("chunk")
def test_gradients():
    inputs = (normal(2, N, D).requires_grad_(), normal(2, K, seed=1).requires_grad_())
    assert torch.autograd.gradcheck(lambda v, g: influence_sum(v, LINKS, g), inputs)


def test_an_agent_without_parents_and_a_world_without_links_keep_their_state():
    h = normalise(normal(N, D))
    step = StructuralStep(D, N).double()
    torch.testing.assert_close(step(h, LINKS, normal(K))[2], h[2])
    torch.testing.assert_close(step(h, LINKS[:, :0], normal(0)), h)


def test_rotation_turns_the_step_with_the_identity_map():
    h, u, gates = normalise(normal(N, D)), normal(N, D, seed=4), normal(K, seed=1)
    rotation, _ = torch.linalg.qr(normal(D, D, seed=5))

    def run(states, prior):
        eye = torch.eye(D, dtype=torch.float64)
        return structural_step(states, LINKS, gates, mapping=eye, keep=scalar(1.0), prior=prior, prior_gain=scalar(0.5))

    torch.testing.assert_close(run(h @ rotation, u @ rotation), run(h, u) @ rotation)


def test_renaming_agents_renames_the_result():
    h, gates, name_of = normal(N, D), normal(K, seed=1), torch.tensor([3, 0, 4, 1, 2])
    renamed = influence_sum(torch.empty_like(h).index_copy(0, name_of, h), name_of[LINKS], gates)
    torch.testing.assert_close(renamed[name_of], influence_sum(h, LINKS, gates))


def test_unseen_agents_have_no_prior():
    table = normal(3, D)
    got = prior_of(table, torch.tensor([2, -1, 0]))
    assert torch.equal(got, torch.stack([table[2], 0 * table[0], table[0]]))
    step = StructuralStep(D, 3).double()
    step.prior.data.copy_(table)
    h = normalise(normal(2, D, seed=1))
    moved = step(h, LINKS[:, :0], normal(0), known=torch.tensor([1, -1]))
    torch.testing.assert_close(moved, normalise(torch.stack([h[0] + table[1], h[1]])))


def test_module_adds_context_with_a_learned_gain_that_starts_at_zero():
    step, h, c = StructuralStep(D, N).double(), normalise(normal(N, D)), normal(N, D, seed=1)
    torch.testing.assert_close(step(h, LINKS[:, :0], normal(0), context=c), h)
    step.context_gain.data.fill_(0.5)
    torch.testing.assert_close(step(h, LINKS[:, :0], normal(0), context=c), normalise(h + 0.5 * c))


def test_noise_is_a_von_mises_fisher_law_around_the_step():
    mean = normalise(normal(D)).expand(20_000, D)
    drawn = perturb(mean, scalar(5.0), generator())
    from sphunc.sphere import mean_resultant_length

    expected = mean[0] * mean_resultant_length(scalar(5.0), D)
    # each coordinate has a standard deviation below 1, so the mean is within 0.007; 4 sigma
    torch.testing.assert_close(drawn.mean(0), expected, atol=0.03, rtol=0)
    torch.testing.assert_close(drawn.norm(dim=-1), torch.ones(20_000, dtype=torch.float64))


def test_noise_keeps_shape_repeats_with_the_seed_and_passes_gradients():
    mean, kappa = normalise(normal(S, N, D)).requires_grad_(), torch.full((N,), 8.0).double().requires_grad_()
    a, b = (perturb(mean, kappa, generator(1)) for _ in range(2))
    assert a.shape == (S, N, D)
    assert torch.equal(a, b)
    a[..., 0].sum().backward()
    assert mean.grad is not None
    assert kappa.grad is not None
    assert bool(mean.grad.isfinite().all())
    assert bool(kappa.grad.any())


def test_noise_around_nothing_is_uniform():
    drawn = perturb(torch.zeros(20_000, D, dtype=torch.float64), scalar(150.0), generator())
    assert float(drawn.mean(0).norm()) < 0.03
    torch.testing.assert_close(drawn.norm(dim=-1), torch.ones(20_000, dtype=torch.float64))
