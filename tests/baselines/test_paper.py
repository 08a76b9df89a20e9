"""The paper's model as a system of a comparison."""

import pytest

from sphunc import SphUnc
from sphunc.baselines import forecaster
from sphunc.errors import ArgumentError


def test_settings_are_those_of_the_paper() -> None:
    model = forecaster("sphunc_paper", seed=3, horizon=2, dim=8)
    assert isinstance(model, SphUnc)
    assert (model.config.dim, model.config.horizon, model.config.layers, model.seed) == (8, 2, 3, 3)
    with pytest.raises(ArgumentError, match="'quick' is not a setting of the paper's model"):
        forecaster("sphunc_paper", quick=True)
