import pytest
import torch

from sphunc.discovery import discover
from sphunc.discovery.discover import probability_above
from sphunc.errors import SphuncError


def is_true(graph):
    return graph.links[0] == (graph.links[1] - 1) % 30


def test_planted_links_are_found_with_sign_and_size(ring, neighbours):
    graph = discover(ring, neighbours)
    truth = is_true(graph)
    assert float(graph.probability[truth].mean()) > 0.9
    assert float(graph.probability[~truth].mean()) < 0.12  # the prior is 0.11
    assert float(graph.strength[truth].mean()) == pytest.approx(0.5, abs=0.1)
    assert graph.calibrated
    assert "checks passed" in graph.verdict
    assert graph.top(5).height == 5


def test_no_influence_gives_no_links_and_says_what_it_would_take():
    noise = torch.randn(5, 40, 1, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    graph = discover(noise)
    assert int((graph.probability > 0.5).sum()) == 0
    assert "no link stands out" in graph.verdict


def test_result_depends_on_the_seed_only_through_decoys_and_draws(ring, neighbours):
    one = discover(ring, neighbours, diagnose=False, seed=3)
    again = discover(ring, neighbours, diagnose=False, seed=3)
    assert torch.equal(one.probability, again.probability)
    raw = [discover(ring, neighbours, diagnose=False, calibrate=False, seed=seed).probability for seed in (0, 1)]
    assert torch.equal(*raw)


def test_unit_and_offset_of_the_states_change_nothing(ring, neighbours):
    plain = discover(ring, neighbours, diagnose=False, calibrate=False)
    moved = discover(5 * ring + 100, neighbours, diagnose=False, calibrate=False)
    torch.testing.assert_close(moved.probability, plain.probability, atol=1e-6, rtol=0)


def test_required_and_forbidden_links_are_kept_and_left_out(ring, neighbours):
    required = torch.tensor([[3], [1]])
    forbidden = torch.tensor([[0], [1]])
    graph = discover(ring, neighbours, required=required, forbidden=forbidden, diagnose=False)
    pairs = graph.links.T.tolist()
    assert [0, 1] not in pairs
    assert float(graph.probability[pairs.index([3, 1])]) == 1.0
    assert bool(graph.sample(20).exists[:, pairs.index([3, 1])].all())


def test_second_lag_is_found_where_it_is_real():
    generator = torch.Generator().manual_seed(0)
    path = [torch.randn(30, 4, generator=generator, dtype=torch.double) for _ in range(2)]
    for _ in range(28):
        noise = torch.randn(30, 4, generator=generator, dtype=torch.double)
        path.append(0.3 * path[-1] + 0.5 * path[-2].roll(1, 0) + noise)
    agent = torch.arange(30)
    candidates = torch.cat([torch.stack([(agent + step) % 30, agent]) for step in (-2, -1, 1)], 1)
    graph = discover(torch.stack(path), candidates, diagnose=False)
    assert graph.fit["lags"] == 2
    truth = is_true(graph)
    assert float(graph.probability[truth].mean()) > 0.9
    assert bool((graph.lag[truth] == 2).double().mean() > 0.9)


@pytest.mark.parametrize("kind", ["constant", "duplicated", "all constant", "integers", "short", "absent", "huge"])
def test_awkward_data_give_a_result(kind):
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(6, 25, 1, generator=generator, dtype=torch.double)
    mask = torch.ones(6, 25, dtype=torch.bool)
    if kind == "constant":
        x[:, :10] = 1.0
    elif kind == "duplicated":
        x[:, 5] = x[:, 4]
    elif kind == "all constant":
        x = torch.ones_like(x)
    elif kind == "integers":
        x = (x > 1).double()
    elif kind == "short":
        x = x[:3]
        mask = mask[:3]
    elif kind == "absent":
        mask = torch.rand(6, 25, generator=generator) < 0.6
    else:
        x[2, 3] = 1e9
    graph = discover(x, mask=mask)
    assert bool(graph.probability.isfinite().all())
    assert bool(((graph.probability >= 0) & (graph.probability <= 1)).all())
    assert int((graph.probability > 0.9).sum()) == 0
    assert graph.sample(3).exists.shape == (3, graph.links.shape[1])


def test_notes_name_ids(ring, neighbours):
    still = ring.clone()
    still[:, 7] = 1.0
    still[:, 9] = still[:, 8]
    notes = " ".join(discover(still, neighbours, diagnose=False).notes)
    assert "1 agents never change" in notes
    assert "(7)" in notes
    assert "(8, 9)" in notes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"latents": torch.zeros(2, 5, 1)}, "latents has 2 times"),
        ({"latents": torch.zeros(4, 1, 1)}, "latents has 1 agents"),
        ({"latents": torch.full((4, 5, 1), torch.nan)}, r"latents\[0, 0\] \(agent 0\) has NaN"),
        ({"latents": torch.zeros(4, 300, 1)}, "all pairs are taken up to 200 agents"),
        ({"max_lag": 0}, "max_lag=0 must be at least 1"),
        ({"min_effect": -1.0}, "min_effect=-1 is outside"),
        ({"candidates": torch.tensor([[0], [9]])}, "names agent 9"),
    ],
)
def test_bad_arguments_are_named(change, words):
    arguments = {"latents": torch.randn(5, 6, 2, generator=torch.Generator().manual_seed(0)), **change}
    with pytest.raises(SphuncError, match=words):
        discover(**arguments)


def test_too_many_required_parents_are_refused():
    required = torch.stack([torch.arange(1, 9), torch.zeros(8, dtype=torch.long)])
    with pytest.raises(SphuncError, match="agent 0 has 8 required parents; at most 7"):
        discover(torch.randn(6, 10, 2), required=required)


def test_probability_above_is_the_two_sided_tail():
    value = probability_above(torch.tensor([0.3, 0.0]), torch.tensor([0.1, 0.1]), 0.2)
    normal = torch.distributions.Normal(0.0, 1.0)
    expected = [normal.cdf(torch.tensor(1.0)) + normal.cdf(torch.tensor(-5.0)), 2 * normal.cdf(torch.tensor(-2.0))]
    torch.testing.assert_close(value, torch.stack(expected), atol=1e-6, rtol=0)
    assert bool((probability_above(torch.zeros(2), torch.ones(2), 0.0) == 1).all())


def test_min_effect_lowers_small_coefficients(ring, neighbours):
    strict = discover(ring, neighbours, min_effect=1.0, diagnose=False)
    assert float(strict.probability.max()) < 0.05


@pytest.mark.parametrize("kind", ["two agents", "three times", "random walk", "explosive", "all the same"])
def test_awkward_panels_give_a_result_with_checks(kind):
    generator = torch.Generator().manual_seed(3)
    times, agents = {"two agents": (6, 2), "three times": (3, 25)}.get(kind, (12, 25))
    x = torch.randn(times, agents, 2, generator=generator, dtype=torch.double)
    if kind == "random walk":
        x = x.cumsum(0)
    elif kind == "explosive":
        x = x * (1.8 ** torch.arange(times))[:, None, None]
    elif kind == "all the same":
        x = x[:, :1].expand_as(x)
    graph = discover(x)
    assert bool(((graph.probability >= 0) & (graph.probability <= 1)).all())
    assert int((graph.probability > 0.9).sum()) == 0
    assert all(check.reading for check in graph.checks)
    assert graph.verdict


def test_an_array_is_taken_as_a_tensor_is() -> None:
    latents = torch.randn(8, 5, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    from_array = discover(latents.numpy(), diagnose=False)
    assert torch.equal(from_array.probability, discover(latents, diagnose=False).probability)
