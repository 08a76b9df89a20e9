import numpy as np
import pytest

from sphunc.datasets.financial.windows import (
    FEATURES,
    daily_returns,
    enough,
    quantile_classes,
    split_windows,
    window_features,
)


@pytest.fixture
def windows() -> np.ndarray:
    return split_windows(0.02 * np.random.default_rng(0).normal(size=(40, 100)), 10)


def test_returns_are_logarithms_and_broken_prices_are_unknown() -> None:
    returns = daily_returns(np.array([[1.0, 2.0, np.nan, 4.0, 0.0, 1.0]]))
    assert returns[0, 0] == pytest.approx(np.log(2))
    assert np.isnan(returns[0, 1:]).all()


def test_features_against_an_obvious_transcription(windows: np.ndarray) -> None:
    found = window_features(windows)
    r = windows[3, 5]
    path = np.concatenate([[0], np.cumsum(r)])
    centred = r - r.mean()
    drawdown = min(path[j] - path[: j + 1].max() for j in range(len(path)))
    past = windows[3, 3:6]
    expected = [
        r.sum(),
        np.sqrt((r**2).mean()),
        np.sqrt((np.minimum(r, 0) ** 2).mean()),
        r.max(),
        r.min(),
        (r > 0).mean(),
        (centred[1:] * centred[:-1]).sum() / (centred**2).sum(),
        drawdown,
        past.sum(),
        np.sqrt((past**2).mean()),
    ]
    assert len(FEATURES) == len(expected)
    assert np.allclose(found[3, 5], expected)


def test_no_feature_and_no_class_sees_the_future(windows: np.ndarray) -> None:
    changed = windows.copy()
    changed[:, 6:] *= 17
    before, after = window_features(windows), window_features(changed)
    assert np.array_equal(before[:, :6], after[:, :6])
    assert not np.allclose(before[:, 6:], after[:, 6:])
    for thresholds in ("cross-section", "reference"):
        cut = [quantile_classes(f[..., FEATURES.index("volatility")], 5, thresholds, 3) for f in (before, after)]
        assert np.array_equal(cut[0][:, :6], cut[1][:, :6])


def test_cross_section_classes_are_even_at_every_time(windows: np.ndarray) -> None:
    cut = quantile_classes(window_features(windows)[..., FEATURES.index("return")], 5, "cross-section", 1)
    for column in cut.T:
        assert np.bincount(column).tolist() == [8] * 5


def test_reference_classes_keep_their_thresholds() -> None:
    values = np.array([[0.0, 10.0], [1.0, 0.2], [2.0, np.nan], [3.0, 1.9]])
    assert quantile_classes(values, 2, "reference", 1).tolist() == [[0, 1], [0, 0], [1, -1], [1, 1]]


def test_windows_with_too_few_days_are_unknown(windows: np.ndarray) -> None:
    windows[0, 0, :6] = np.nan
    windows[1, 0, :5] = np.nan
    assert enough(windows)[:2, 0].tolist() == [False, True]
    found = window_features(windows)
    assert np.isnan(found[0, 0]).all()
    assert not np.isnan(found[1, 0]).any()
    assert found[0, 1, FEATURES.index("volatility_3_windows")] == pytest.approx(found[0, 1, 1])


def test_rest_of_the_days_is_left_out() -> None:
    assert split_windows(np.zeros((2, 25)), 10).shape == (2, 2, 10)
