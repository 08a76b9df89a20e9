"""Small fitted models that the tests of the report share."""

import pytest

import sphunc


@pytest.fixture(scope="session")
def world_data() -> sphunc.TemporalHypergraph:
    return sphunc.simulate("snare", agents=60, times=7, seed=1).data


@pytest.fixture(scope="session")
def fitted(world_data: sphunc.TemporalHypergraph) -> sphunc.SphUnc:
    return sphunc.SphUnc(seed=0).fit(world_data, verbose=False)


@pytest.fixture(scope="session")
def weighted(fitted: sphunc.SphUnc) -> sphunc.SphUnc:
    """The same fit with states that count in the forecast, whatever held-out outcomes say of them."""
    import copy
    from dataclasses import replace

    model = copy.copy(fitted)
    model.model_ = replace(fitted.model_, weight=0.5)
    return model


@pytest.fixture(scope="session")
def quick(world_data: sphunc.TemporalHypergraph) -> sphunc.SphUnc:
    return sphunc.SphUnc(quick=True).fit(world_data, verbose=False)


@pytest.fixture(scope="session")
def number_data() -> sphunc.TemporalHypergraph:
    """A panel of one number that follows its last value."""
    import polars as pl
    import torch

    generator = torch.Generator().manual_seed(0)
    value = torch.randn(40, generator=generator)
    features: list[dict] = []
    outcomes: list[dict] = []
    groups: list[dict] = []
    for time in range(6):
        value = 0.8 * value + 0.5 * torch.randn(40, generator=generator)
        for agent, one in enumerate(value.tolist()):
            features.append({"time": time, "agent": f"n{agent:02d}", "f": one + 0.1 * agent % 3})
            outcomes.append({"time": time, "agent": f"n{agent:02d}", "outcome": 10 + one})
            groups.append({"time": time, "group": f"g{agent % 8}", "agent": f"n{agent:02d}"})
    return sphunc.from_frames(
        features=pl.DataFrame(features), groups=pl.DataFrame(groups), outcomes=pl.DataFrame(outcomes)
    )


@pytest.fixture(scope="session")
def number_model(number_data: sphunc.TemporalHypergraph) -> sphunc.SphUnc:
    return sphunc.SphUnc(seed=0).fit(number_data, verbose=False)
