"""A small world, a small network and small settings for the tests of the literal model."""

import pytest
import torch

import sphunc
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper import FittedPaper, PaperConfig, fit_paper

SMALL = {"dim": 8, "layers": 2, "aleatoric_width": 6, "samples": 8, "epochs": 3, "learning_rate": 5e-3}


@pytest.fixture(scope="session")
def data() -> TemporalHypergraph:
    return sphunc.simulate("snare", agents=40, times=5, seed=0).data


@pytest.fixture(scope="session")
def small() -> PaperConfig:
    return PaperConfig(**SMALL)


@pytest.fixture(scope="session")
def fitted(data: TemporalHypergraph, small: PaperConfig) -> FittedPaper:
    return fit_paper(data, small, seed=0)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)
