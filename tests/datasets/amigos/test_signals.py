import numpy as np
import pytest

from sphunc.datasets.amigos.signals import (
    BANDS,
    CHANNELS,
    RATE,
    band_powers,
    feature_names,
    heart,
    r_peaks,
    segment_features,
    skin,
    video_features,
)


def seconds(count: float) -> np.ndarray:
    return np.arange(int(count * RATE)) / RATE


@pytest.mark.parametrize(("frequency", "band"), [(6, 0), (10, 1), (20, 2), (38, 3)])
def test_a_tone_shows_in_its_band(frequency: float, band: int) -> None:
    eeg = np.tile(np.sin(2 * np.pi * frequency * seconds(20)), (2, 1)).T
    powers = band_powers(eeg + 1e-3 * np.random.default_rng(0).normal(size=eeg.shape))
    assert powers.argmax(1).tolist() == [band, band]


def test_power_density_of_white_noise_is_flat_and_right() -> None:
    noise = np.random.default_rng(0).normal(size=(RATE * 400, 1))
    expected = np.log(2 / RATE)  # one-sided density of unit variance
    assert np.allclose(band_powers(noise), expected, atol=0.05)


def test_doubling_the_signal_adds_log_four() -> None:
    eeg = np.random.default_rng(1).normal(size=(RATE * 4, 3))
    assert np.allclose(band_powers(2 * eeg) - band_powers(eeg), np.log(4))


def test_broken_flat_and_short_channels_are_not_known() -> None:
    eeg = np.random.default_rng(1).normal(size=(RATE * 4, 3))
    eeg[5, 0], eeg[:, 1] = np.nan, 3.0
    powers = band_powers(eeg)
    assert np.isnan(powers).all(1).tolist() == [True, True, False]
    assert np.isnan(band_powers(eeg[: RATE // 2])).all()


@pytest.mark.parametrize("rate", [50, 75, 120, 160])
@pytest.mark.parametrize("sign", [1, -1])
def test_heart_rate_of_known_beats(rate: int, sign: int) -> None:
    t = seconds(20)
    beat = 60 / rate
    phase = t % beat - beat / 2
    wave = np.exp(-(phase**2) / (2 * 0.012**2)) + 0.25 * np.exp(-((phase - 0.12) ** 2) / (2 * 0.04**2))
    drift = 2 * np.sin(2 * np.pi * 0.2 * t)
    noise = 0.03 * np.random.default_rng(rate).normal(size=len(t))
    found = heart(np.stack([sign * wave + drift + noise] * 2, axis=1))
    assert found[0] == pytest.approx(rate, rel=0.02)
    assert found[1] < 20  # a steady heart: what is left is the sampling step of 8 ms


def test_heart_variability_of_known_beats() -> None:
    rng = np.random.default_rng(3)
    intervals = 0.8 + 0.05 * rng.normal(size=60)
    beats = np.cumsum(intervals)
    t = seconds(beats[-1] + 1)
    ecg = sum(np.exp(-((t - b) ** 2) / (2 * 0.012**2)) for b in beats) + 0.02 * rng.normal(size=len(t))
    rate, sdnn, rmssd = heart(ecg[:, None])
    assert len(r_peaks(np.asarray(ecg))) == 60
    assert rate == pytest.approx(60 / intervals[1:].mean(), rel=0.01)
    assert sdnn == pytest.approx(1000 * intervals[1:].std(), rel=0.15)
    assert rmssd == pytest.approx(1000 * np.sqrt(np.mean(np.diff(intervals[1:]) ** 2)), rel=0.15)


def test_second_lead_helps_out_and_no_lead_is_not_known() -> None:
    t = seconds(10)
    good = np.exp(-(((t % 1) - 0.5) ** 2) / (2 * 0.012**2))
    assert heart(np.stack([np.full(len(t), np.nan), good], axis=1))[0] == pytest.approx(60, rel=0.02)
    assert np.isnan(heart(np.full((len(t), 2), np.nan))).all()
    assert np.isnan(heart(np.stack([good, good], axis=1)[:RATE])).all()


def test_skin_slope_and_rises() -> None:
    t = seconds(60)
    bumps = sum(0.5 * np.exp(-((t - at) ** 2) / 2) for at in (10, 25, 40))
    mean, sd, slope, rises = skin(3 + 0.01 * t + bumps)
    assert mean == pytest.approx(3.36, abs=0.05)
    assert sd > 0
    assert slope == pytest.approx(0.01, abs=0.003)
    assert rises == pytest.approx(3, abs=0.1)
    assert np.isnan(skin(np.array([np.nan, 1.0]))).all()
    assert skin(np.full(RATE * 2, 4.0))[3] == 0


def test_features_are_named_in_order() -> None:
    names = feature_names()
    values = segment_features(np.random.default_rng(0).normal(size=(RATE * 5, 17)))
    assert len(names) == len(values) == len(CHANNELS) * len(BANDS) + 7
    assert names[0] == "AF3_theta"


def test_baseline_is_subtracted_and_never_part_of_the_film() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(RATE * 45, 17))
    x[: 5 * RATE, :14] *= 3
    plain, change = (video_features(x, 20, baseline=b) for b in (False, True))
    assert plain.shape == (2, 63)
    assert np.allclose(plain[:, :56] - change[:, :56], np.log(9 * 2 / RATE), atol=1.2)
    x[: 5 * RATE] = np.nan
    assert np.allclose(video_features(x, 20, baseline=True), plain)


def test_short_rest_is_left_out_unless_it_is_all() -> None:
    x = np.random.default_rng(0).normal(size=(RATE * 60, 17))
    lengths = {s: len(video_features(x[: RATE * (5 + s)], 20, baseline=False)) for s in (6, 20, 29, 30, 40)}
    assert lengths == {6: 1, 20: 1, 29: 1, 30: 2, 40: 2}
