"""What is shown: features, driver, outcomes, masks."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from sphunc.worlds import simulate
from sphunc.worlds.observation import draw_outcomes, driver_columns, entropy, feature_names, outcome_law
from sphunc.worlds.presets import settings_for


def linear_share(world) -> float:
    """Share of the variance of the true states that the features explain linearly, mean over axes."""
    x = world.data.x[-1].double().numpy()
    h = world.states[-1].numpy()
    x, h = x - x.mean(0), h - h.mean(0)
    fitted = x @ np.linalg.lstsq(x, h, rcond=None)[0]
    return float(np.square(fitted).sum() / np.square(h).sum())


def test_outcome_law_is_its_equation() -> None:
    settings = settings_for("snare", {"sharpness": 3.0, "label_noise": 0.1})
    h, v = np.array([0.6, 0.8, 0, 0, 0, 0, 0, 0, 0, 0]), 0.4
    directions = np.eye(3, 10)
    random = 0.1 * np.exp(v - 0.5)
    soft = np.exp(3 * h[:3]) / np.exp(3 * h[:3]).sum()
    np.testing.assert_allclose(outcome_law(settings, directions, h, np.array(v)), (1 - random) * soft + random / 3)


def test_label_noise_blurs_where_the_driver_says() -> None:
    entropies = [simulate("snare", label_noise=noise).label_entropy.mean() for noise in (0.0, 0.1, 0.3)]
    assert entropies[0] < entropies[1] < entropies[2]
    world = simulate("snare")
    assert spearmanr(world.driver[-1], world.label_entropy[-1])[0] > 0.7


def test_driver_is_observable_in_its_columns() -> None:
    world = simulate("snare", missing=0)
    columns = driver_columns(world.settings)
    seen = world.data.x[-1][:, columns].mean(1)
    assert np.corrcoef(seen, world.driver[-1])[0, 1] > 0.9


def test_entropy_has_its_ends() -> None:
    np.testing.assert_allclose(entropy(np.array([[1.0, 0.0], [0.5, 0.5]])), [0.0, np.log(2)])


def test_outcomes_are_drawn_with_their_probabilities() -> None:
    p = np.array([0.2, 0.0, 0.5, 0.3])
    drawn = draw_outcomes(np.broadcast_to(p, (100_000, 4)), np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 100_000, p, atol=5 * 0.5 / np.sqrt(100_000))


@pytest.mark.parametrize(
    "knob, values",
    [("view_noise", (0.0, 0.5, 2.0)), ("entry_noise", (0.0, 0.5, 2.0)), ("outcome_blur", (0.0, 1.0, 3.0))],
)
def test_noise_hides_the_states(knob: str, values) -> None:
    shares = [linear_share(simulate("snare", missing=0, **{knob: value})) for value in values]
    assert shares[0] > shares[1] > shares[2]


def test_outcome_blur_hides_only_what_decides_the_outcome() -> None:
    clean, blurred = (simulate("snare", missing=0, radial=0, nonlinearity=0, outcome_blur=b) for b in (0.0, 5.0))
    shift = (blurred.data.x - clean.data.x).double().numpy().reshape(-1, 24)
    assert np.linalg.matrix_rank(shift, tol=1e-2 * np.linalg.norm(shift)) == blurred.settings.classes


def test_length_varies_without_signal() -> None:
    def log_length(radial: float):
        x = simulate("snare", missing=0, radial=radial, entry_noise=0, nonlinearity=0, view_noise=0).data.x[..., :-1]
        return np.log(np.linalg.norm(x.numpy(), axis=-1)).ravel()

    still, moving = log_length(0.0), log_length(0.5)
    assert (moving - still).std() == pytest.approx(0.5, abs=0.03)
    assert abs(np.corrcoef(moving - still, still)[0, 1]) < 0.06


def test_modalities_have_noise_of_their_own() -> None:
    names = feature_names(settings_for("snare", {}))
    assert names[0] == "m0_f000"
    assert {name.split("_")[0] for name in names} == {"m0", "m1", "m2"}


def test_noise_differs_between_agents_and_modalities() -> None:
    world, clean = (simulate("snare", times=40, agents=60, view_noise=v, missing=0, radial=0) for v in (0.5, 0.0))
    power = (world.data.x - clean.data.x).square().mean(0)[:, :-1]
    per_block = np.stack([power[:, b * 8 : b * 8 + 7].mean(1).numpy() for b in range(3)], axis=1)
    assert np.log(per_block).std() > 0.4
    assert abs(np.corrcoef(per_block[:, 0], per_block[:, 1])[0, 1]) < 0.4


def test_masks_follow_missing_and_test_loss() -> None:
    mask = simulate("snare", missing=0.1, lost_at_test=0.6).data.x_mask.float()
    assert mask[:3].mean() == pytest.approx(0.9, abs=0.01)
    assert mask[3:].mean() == pytest.approx(0.9 * 0.4, abs=0.01)
