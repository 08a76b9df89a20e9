"""The error of a mean is that of repeated experiments, whatever varies: structures, draws, both or blocks."""

import pytest
import torch

from sphunc.causal.design import Layout
from sphunc.causal.monte_carlo import estimated_variance, variance_of_mean


def experiments(layout, structures, draws, rest, count=4000, seed=0):
    """Samples ``[S, count]`` of a two-way layout with these standard deviations."""
    g = torch.Generator().manual_seed(seed)
    B, Q, R = layout.shape
    a, b, e = (torch.randn(*shape, count, generator=g) for shape in ((B, Q, 1), (B, 1, R), (B, Q, R)))
    return (structures * a + draws * b + rest * e).flatten(0, 2)


@pytest.mark.parametrize("layout", [Layout(1, 20, 5), Layout(4, 20, 5), Layout(1, 1, 8), Layout(3, 20, 2)])
@pytest.mark.parametrize(
    "spread", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.5, 0.5), (0.3, 1.0, 2.0)]
)
def test_it_is_the_variance_of_repeated_experiments(layout, spread) -> None:
    structures, draws, rest = spread if layout.structures > 1 else (0.0, *spread[1:])
    x = experiments(layout, structures, draws, rest)
    wanted = float(x.mean(0).var())
    # Parts below zero are lifted to it, which makes small ones too large, never too small.
    assert 0.9 * wanted <= float(variance_of_mean(x, layout).mean()) <= 1.7 * wanted


def test_draws_alone_do_not_tell_the_error_of_structures() -> None:
    layout = Layout(1, 20, 100)
    x = experiments(layout, 1.0, 0.1, 0.1)
    by_draw = x.view(20, 100, -1).mean(0).var(0).mean() / 100
    assert float(variance_of_mean(x, layout).mean()) == pytest.approx(1 / 20, rel=0.1)
    assert float(by_draw) < 0.01 / 20


@pytest.mark.parametrize("layout", [Layout(1, 20, 5), Layout(4, 20, 5)])
@pytest.mark.parametrize("spread", [(0.0, 0.0), (0.5, 0.5)])
def test_structures_by_stratum_tell_how_little_their_mean_varies(layout, spread) -> None:
    g, (B, Q, R), count = torch.Generator().manual_seed(1), layout.shape, 2000
    rank = torch.argsort(torch.rand(B * Q, count, generator=g), 0)
    # The first 0.665 of the strata have the link; where they end lies at random within a stratum.
    there = ((rank + torch.rand(count, generator=g)) / (B * Q) < 0.665).float()
    x = experiments(layout, 0.0, *spread, count) + there.repeat_interleave(R, 0)
    wanted = float(x.mean(0).var())
    found = float(variance_of_mean(x, layout, rank.argsort(0)).mean())
    assert 0.8 * wanted <= found <= 4.0 * wanted
    if spread == (0.0, 0.0):
        assert found < 0.3 * float(variance_of_mean(x, layout).mean())


def test_strata_in_an_arbitrary_order_change_nothing() -> None:
    layout = Layout(3, 20, 5)
    x = experiments(layout, 1.0, 0.5, 0.5)
    order = torch.argsort(torch.rand(60, x.shape[1], generator=torch.Generator().manual_seed(2)), 0)
    found = float(variance_of_mean(x, layout, order).mean())
    assert found == pytest.approx(float(variance_of_mean(x, layout).mean()), rel=0.05)


def test_constants_have_none_and_a_single_draw_does_not_tell() -> None:
    assert torch.equal(variance_of_mean(torch.zeros(3, 200, 2), Layout(2, 20, 5)), torch.zeros(3, 2))
    assert torch.equal(variance_of_mean(torch.zeros(5, 2), Layout(1, 1, 5)), torch.zeros(2))
    assert variance_of_mean(torch.zeros(20, 2), Layout(1, 20, 1)).isnan().all()


@pytest.mark.parametrize("shape", [(1, 2, 50), (1, 3, 50), (1, 20, 2), (1, 20, 3), (2, 20, 2), (1, 1, 3)])
def test_too_few_structures_or_draws_tell_no_error(shape) -> None:
    x = experiments(Layout(*shape), 1.0, 1.0, 1.0, count=5)
    assert variance_of_mean(x, Layout(*shape)).isnan().all()
    assert estimated_variance(x, Layout(*shape)).isfinite().all()


def test_a_single_structure_that_was_drawn_tells_no_error() -> None:
    layout = Layout(1, 1, 50)
    x = experiments(layout, 0.0, 1.0, 0.0, count=5)
    assert variance_of_mean(x, layout).isfinite().all()
    assert variance_of_mean(x, layout, torch.zeros(1, 5, dtype=torch.long)).isnan().all()


@pytest.mark.parametrize("structures", [4, 19])
def test_agreement_of_few_structures_is_no_certainty(structures) -> None:
    layout = Layout(1, structures, 5)
    x = experiments(layout, 0.0, 1.0, 0.0, count=3)
    x[:, 1] = 0.0
    x[:5, 2] += 1.0
    assert variance_of_mean(x, layout).isnan().tolist() == [True, True, False]
    many = Layout(1, 20, 5)
    assert variance_of_mean(experiments(many, 0.0, 1.0, 0.0, count=3), many).isfinite().all()


@pytest.mark.parametrize("layout", [Layout(1, 4, 4), Layout(1, 5, 4), Layout(1, 10, 4)])
@pytest.mark.parametrize("there", [0.1, 0.4, 0.9])
def test_errors_that_are_told_are_seldom_far_too_small_where_a_link_is_in_doubt(layout, there) -> None:
    g, (_, Q, R), count = torch.Generator().manual_seed(3), layout.shape, 4000
    rank = torch.argsort(torch.rand(Q, count, generator=g), 0)
    link = ((rank + torch.rand(count, generator=g)) / Q < there).float().repeat_interleave(R, 0)
    x = link * (1.0 + experiments(layout, 0.0, 0.1, 0.1, count))
    error = variance_of_mean(x, layout, rank.argsort(0)).sqrt()
    assert not (error == 0).any()
    # A link that all of them have may still be missing in others, which nothing shows where the noise differs as well.
    wrong = ((x.mean(0) - there).abs() > 5 * error)[error.isfinite()]
    assert float(wrong.float().mean()) < 0.05
