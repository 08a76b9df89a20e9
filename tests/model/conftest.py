"""One small world and one fit of it, shared by the tests of what a fit gives."""

import pytest

import sphunc
from sphunc.model.fitting import FittedModel, fit_model
from sphunc.model.inputs import ModelInputs, read_inputs


@pytest.fixture(scope="session")
def snare_inputs() -> ModelInputs:
    data = sphunc.simulate("snare", agents=40, times=6, seed=0).data
    return read_inputs(data, data.num_classes, data.num_classes)


@pytest.fixture(scope="session")
def snare_model(snare_inputs: ModelInputs) -> FittedModel:
    return fit_model(snare_inputs, horizon=1, most_axes=16, quick=False, seed=0)
