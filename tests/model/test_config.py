"""Settings are frozen, checked before any work, and the same after a round trip through JSON."""

import numpy as np
import pytest
from pydantic import ValidationError

from sphunc.errors import ArgumentError
from sphunc.model.config import REMOVED, SphUncConfig, check_setting
from sphunc.model.paper.config import PaperConfig


def test_settings_survive_json_and_cannot_be_changed():
    config = SphUncConfig(dim=16, horizon=2, quick=True)
    assert SphUncConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ValidationError, match="frozen"):
        config.dim = 3


def test_numbers_of_numpy_are_numbers():
    assert SphUncConfig(dim=np.int64(7)).dim == 7
    assert type(SphUncConfig(dim=np.int64(7)).dim) is int


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 0}, "dim is 0: input should be greater than or equal to 1"),
        ({"horizon": -1}, "horizon is -1: input should be greater than or equal to 1"),
        ({"dim": "16"}, "dim is '16': input should be a valid integer"),
        ({"quick": 1}, "quick is 1: input should be a valid boolean"),
        ({"dim": 0, "horizon": 0}, "dim is 0: .*; horizon is 0: "),
    ],
)
def test_bad_values_are_named_all_at_once(settings, message):
    with pytest.raises(ArgumentError, match=message):
        SphUncConfig(**settings)


def test_a_misspelt_setting_is_answered_with_the_one_that_was_meant():
    with pytest.raises(ArgumentError, match=r"'horizn' is not a setting of SphUnc.*horizon.*allowed: dim, horizon"):
        SphUncConfig(horizn=2)
    check_setting("dim")


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_settings_of_earlier_versions_say_what_stands_in_their_place(name):
    with pytest.raises(ArgumentError, match=f"{name!r} is (gone|a setting of the paper)"):
        SphUncConfig(**{name: 1})
    assert name not in SphUncConfig.model_fields


def test_the_papers_settings_are_of_another_class():
    assert isinstance(SphUncConfig.paper(), PaperConfig)
    assert isinstance(SphUncConfig.ablation("no_scm"), PaperConfig)
    with pytest.raises(ArgumentError):
        SphUncConfig.ablation("no_such_row")
