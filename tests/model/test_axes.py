"""State axes: what persists is found, noise is not, and what was not observed raises the variance."""

from dataclasses import replace

import pytest
import torch

from sphunc.model.axes import learn_axes
from sphunc.model.inputs import ModelInputs


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def inputs_of(x, x_mask=None):
    times, agents, _ = x.shape
    mask = torch.ones_like(x, dtype=torch.bool) if x_mask is None else x_mask
    nothing = torch.zeros(times, agents, 2, dtype=torch.float64)
    return ModelInputs(torch.where(mask, x, 0.0), mask, nothing, nothing[..., 0] > 0, (), 2)


def persistent(features=5, times=8, agents=120, rank=2, noise=0.5, seed=0):
    """States that keep 0.9 of themselves, seen through random loadings with noise drawn anew."""
    loadings = torch.linalg.qr(draw(features, rank, seed=seed + 50))[0]
    state = draw(agents, rank, seed=seed)
    path = []
    for t in range(times):
        state = 0.9 * state + (1 - 0.81) ** 0.5 * draw(agents, rank, seed=seed + 100 + t)
        path.append(state)
    states = torch.stack(path)
    return states, loadings, states @ loadings.T + noise * draw(times, agents, features, seed=seed + 1)


def correlation(a, b):
    """Share of the variance of b that a linear map of a explains, per column of b."""
    flat_a = a.flatten(0, -2)
    flat_b = b.flatten(0, -2)
    fitted = flat_a @ torch.linalg.lstsq(flat_a, flat_b).solution
    return 1 - (flat_b - fitted).var(0) / flat_b.var(0)


def test_axes_span_the_persistent_plane():
    states, loadings, x = persistent(noise=0.4)
    axes = learn_axes(inputs_of(x), most=64)
    z, added, observed = axes.observe(inputs_of(x))
    assert added.abs().max() == 0
    assert observed.all()
    expected = correlation(x @ loadings, states)  # what a reader who knows the loadings sees
    assert (correlation(z, states) > expected - 0.05).all()


def test_mean_signal_is_one_and_noise_is_what_is_left():
    _, _, x = persistent()
    axes = learn_axes(inputs_of(x), most=64)
    z, _, _ = axes.observe(inputs_of(x))
    lagged = (z[1:] * z[:-1]).mean((0, 1))
    torch.testing.assert_close(lagged, axes.signal, rtol=1e-8, atol=1e-10)
    assert (axes.noise >= 0.05).all()


def test_fresh_noise_has_no_axes():
    assert learn_axes(inputs_of(draw(8, 200, 4)), most=64) is None


def test_one_feature_is_one_axis():
    _, _, x = persistent(features=1, rank=1)
    axes = learn_axes(inputs_of(x), most=64)
    assert axes.num_axes == 1
    z, _, _ = axes.observe(inputs_of(x))
    assert abs(float(torch.corrcoef(torch.stack([z.flatten(), x.flatten()]))[0, 1])) > 0.9999


def test_a_constant_feature_changes_nothing():
    _, _, x = persistent(features=4)
    constant = torch.full_like(x[..., :1], 12345.678)
    plain = learn_axes(inputs_of(x), most=64)
    more = learn_axes(inputs_of(torch.cat([x, constant], -1)), most=64)
    assert plain.num_axes == more.num_axes
    assert more.axes[-1].abs().max() == 0
    z, _, _ = plain.observe(inputs_of(x))
    z_more, _, _ = more.observe(inputs_of(torch.cat([x, constant], -1)))
    # The factor model has one more column, so that only what was observed everywhere agrees.
    torch.testing.assert_close(z.abs(), z_more.abs(), rtol=1e-6, atol=1e-8)
    assert learn_axes(inputs_of(constant.expand(-1, -1, 3).clone()), most=64) is None


@pytest.mark.parametrize(("shift", "unit"), [(1000.0, 1.0), (0.0, 1e-6), (-5.0, 1e4)])
def test_shift_and_unit_of_features_change_nothing(shift, unit):
    _, _, x = persistent()
    plain = learn_axes(inputs_of(x), most=64)
    other = inputs_of(x * unit + shift * unit)
    moved = learn_axes(other, most=64)
    z, _, _ = plain.observe(inputs_of(x))
    z_moved, _, _ = moved.observe(other)
    torch.testing.assert_close(z.abs(), z_moved.abs(), rtol=1e-5, atol=1e-6)


def test_order_of_agents_changes_nothing():
    _, _, x = persistent()
    order = torch.randperm(x.shape[1], generator=torch.Generator().manual_seed(1))
    z, _, _ = learn_axes(inputs_of(x), most=64).observe(inputs_of(x))
    mixed, _, _ = learn_axes(inputs_of(x[:, order]), most=64).observe(inputs_of(x[:, order]))
    torch.testing.assert_close(mixed.abs(), z[:, order].abs(), rtol=1e-6, atol=1e-8)


def test_most_axes_are_not_exceeded():
    _, _, x = persistent(features=6, rank=4)
    assert learn_axes(inputs_of(x), most=1).num_axes == 1
    assert learn_axes(inputs_of(x), most=64).num_axes >= 3


def test_added_variance_is_that_of_the_factor_model():
    _, _, x = persistent()
    axes = learn_axes(inputs_of(x), most=64)
    mask = torch.rand(x.shape, generator=torch.Generator().manual_seed(3)) < 0.6
    _, added, observed = axes.observe(inputs_of(x, mask))
    covariance = axes.loadings @ axes.loadings.T + torch.diag(axes.uniqueness)
    for t in range(2):
        for i in range(10):
            seen = mask[t, i]
            if not seen.any():
                assert not observed[t, i]
                continue
            lost = ~seen
            cross = covariance[lost][:, seen]
            left = covariance[lost][:, lost] - cross @ torch.linalg.solve(covariance[seen][:, seen], cross.T)
            expected = (axes.axes[lost].T @ left @ axes.axes[lost]).diagonal()
            torch.testing.assert_close(added[t, i], expected, rtol=1e-8, atol=1e-12)


def test_every_further_missing_feature_raises_the_variance():
    _, _, x = persistent()
    axes = learn_axes(inputs_of(x), most=64)
    levels = []
    for lost in range(x.shape[2]):
        mask = torch.ones_like(x, dtype=torch.bool)
        mask[..., :lost] = False
        levels.append(axes.observe(inputs_of(x, mask))[1].sum(-1)[0, 0])
    assert levels[0] == 0
    assert (torch.stack(levels).diff() > 0).all()


def test_missing_values_hardly_move_the_axes():
    states, loadings, x = persistent(noise=0.4)
    mask = torch.rand(x.shape, generator=torch.Generator().manual_seed(3)) < 0.9
    axes = learn_axes(inputs_of(x, mask), most=64)
    z, _, _ = axes.observe(inputs_of(x))
    assert (correlation(z, states) > correlation(x @ loadings, states) - 0.04).all()


@pytest.mark.parametrize("times", [1, 2])
def test_few_times_have_axes_or_none_and_no_fault(times):
    _, _, x = persistent(times=times)
    axes = learn_axes(inputs_of(x), most=64)
    assert (axes is None) == (times == 1)


def test_nothing_observed_twice_has_no_axes():
    _, _, x = persistent(times=4, agents=20)
    mask = torch.zeros_like(x, dtype=torch.bool)
    mask[0] = True
    mask[2] = True
    assert learn_axes(inputs_of(x, mask), most=64) is None
    assert learn_axes(inputs_of(x, torch.zeros_like(mask)), most=64) is None
    assert learn_axes(inputs_of(x[..., :0]), most=64) is None


def test_duplicated_features_and_agents_are_no_fault():
    _, _, x = persistent(features=3)
    twice = torch.cat([x, x], -1)
    axes = learn_axes(inputs_of(twice), most=64)
    assert axes.axes.isfinite().all()
    same = learn_axes(inputs_of(x[:, :1].expand_as(x).clone()), most=64)
    assert same is None or same.axes.isfinite().all()


def test_more_features_than_rows():
    _, _, x = persistent(features=60, times=3, agents=8)
    axes = learn_axes(inputs_of(x), most=64)
    assert axes is None or axes.axes.isfinite().all()


def unrelated():
    """Six features that load alike on one state, and two that share another one."""
    states, _, _ = persistent(rank=2)
    first = states[..., :1].expand(-1, -1, 6)
    second = states[..., 1:].expand(-1, -1, 2)
    return torch.cat([first, second], -1) + 0.5 * draw(*states.shape[:2], 8, seed=77)


def test_only_the_largest_correlated_block_makes_states():
    x = unrelated()
    axes = learn_axes(inputs_of(x), most=64)
    assert axes.in_block.tolist() == [True] * 6 + [False] * 2
    assert axes.axes[6:].abs().max() == 0


def test_remainder_is_the_smoothed_leading_component_of_the_rest():
    x = unrelated()
    inputs = inputs_of(x)
    axes = learn_axes(inputs, most=64)
    rest = (axes.standardise(inputs))[..., 6:]
    component = rest.sum(-1)  # two features that load alike
    smoothed = component[0]
    for t in range(1, len(component)):
        smoothed = 0.5 * smoothed + 0.5 * component[t]
    last = axes.remainder(inputs)[-1]
    assert abs(float(torch.corrcoef(torch.stack([last, smoothed]))[0, 1])) > 0.98
    whole = replace(axes, in_block=torch.ones_like(axes.in_block))
    assert whole.remainder(inputs).abs().max() == 0


def test_remainder_does_not_look_ahead():
    x = unrelated()
    axes = learn_axes(inputs_of(x), most=64)
    changed = x.clone()
    changed[5:] += 3.0
    assert torch.equal(axes.remainder(inputs_of(x))[:5], axes.remainder(inputs_of(changed))[:5])
