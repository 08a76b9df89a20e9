import pytest

from sphunc.baselines import FORECASTERS, forecaster
from sphunc.baselines.registry import forecaster_class
from sphunc.errors import ArgumentError


@pytest.mark.parametrize("name", FORECASTERS)
def test_every_row_names_a_class_that_knows_its_name(name) -> None:
    assert name in ("sphunc", "sphunc_paper") or forecaster_class(name).name == name


def test_settings_reach_the_forecaster() -> None:
    assert forecaster("hypergcn", seed=3, width=32).get_params() == {
        "horizon": 1,
        "seed": 3,
        "device": "cpu",
        "width": 32,
    }


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        ArgumentError, match="forecaster 'forest' is not known; choose one of sphunc, sphunc_paper, hypergcn"
    ):
        forecaster("forest")
