"""Settings of the literal model: the paper's values, frozen, with errors that help."""

import numpy as np
import pytest
from pydantic import ValidationError

from sphunc.errors import ArgumentError
from sphunc.model.paper import ABLATIONS, PaperConfig


def test_defaults_are_those_of_the_papers_table() -> None:
    config = PaperConfig()
    assert (config.dim, config.aleatoric_width, config.layers) == (128, 64, 3)
    assert (config.learning_rate, config.batch_size, config.dropout) == (5e-4, 256, 0.3)
    assert (config.structure_epochs, config.samples, config.max_lag) == (20, 100, 2)


def test_settings_survive_json_and_cannot_be_changed() -> None:
    config = PaperConfig(dim=np.int64(16), lambda_entropy=0)
    assert PaperConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ValidationError):
        config.dim = 3


def test_there_are_ten_ablations_each_of_which_differs_from_the_full_model() -> None:
    full = PaperConfig.ablation("full", dim=16)
    others = [PaperConfig.ablation(name, dim=16) for name in ABLATIONS if name != "full"]
    assert full == PaperConfig(dim=16)
    assert len(ABLATIONS) == 10
    for config in others:
        changed = [key for key in type(config).model_fields if getattr(config, key) != getattr(full, key)]
        assert len(changed) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dims": 3}, r"'dims' is not a setting .*did you mean dim\?.*allowed: dim, horizon"),
        ({"dim": 1}, r"dim is 1: input should be greater than or equal to 2"),
        ({"dim": 8.0}, r"dim is 8\.0: input should be a valid integer"),
        ({"geometry": "spher"}, r"geometry is 'spher': .*'sphere' or 'euclidean' \(did you mean sphere\?\)"),
        ({"dropout": 1.0}, r"dropout is 1\.0: input should be less than 1"),
        ({"learning_rate": float("nan")}, r"learning_rate is nan"),
    ],
)
def test_an_error_names_setting_value_and_what_is_allowed(settings: dict, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        PaperConfig(**settings)


def test_an_ablation_that_the_paper_does_not_have_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'no_scn'.*did you mean no_scm\?.*allowed: full, euclidean"):
        PaperConfig.ablation("no_scn")
