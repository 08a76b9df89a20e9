"""Settings are one frozen value: documented, checked, the same after JSON, with presets that differ where they say."""

import numpy as np
import pytest
from pydantic import ValidationError

from sphunc.errors import ArgumentError
from sphunc.legacy.config import ABLATIONS, SphUncConfig, plain_numbers


def test_every_setting_is_described():
    assert [name for name, field in SphUncConfig.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("config", [SphUncConfig(), SphUncConfig.paper(), *map(SphUncConfig.ablation, ABLATIONS)])
def test_json_round_trip_keeps_everything(config):
    assert SphUncConfig.model_validate_json(config.model_dump_json()) == config


def test_a_configuration_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        SphUncConfig().dim = 3


def test_paper_follows_its_table_of_hyperparameters():
    paper = SphUncConfig.paper()
    table = (paper.dim, paper.aleatoric_width, paper.learning_rate, paper.batch_size, paper.dropout, paper.layers)
    assert table == (128, 64, 5e-4, 256, 0.3, 3)
    assert (paper.structure_epochs, paper.samples, paper.max_lag) == (20, 100, 2)
    assert (paper.attention, paper.kappa_from, paper.outcome_evidence) == ("with_self", "direction", False)


def test_ablations_are_the_ten_rows_and_all_differ():
    rows = [SphUncConfig.ablation(name) for name in ABLATIONS]
    assert len(rows) == 10
    assert len({row.model_dump_json() for row in rows}) == 10
    assert rows[0] == SphUncConfig()


def test_an_ablation_changes_one_setting_and_keeps_the_others():
    row = SphUncConfig.ablation("no_scm", dim=8)
    assert (row.scm, row.dim) == (False, 8)
    assert row.model_copy(update={"scm": True}) == SphUncConfig(dim=8)


def test_unknown_ablation_lists_the_known_ones():
    with pytest.raises(ArgumentError, match="ablation 'nothing' is not known; choose one of full, euclidean"):
        SphUncConfig.ablation("nothing")


def test_unknown_setting_names_the_one_that_was_meant():
    with pytest.raises(ArgumentError, match=r"'learningrate' is not a setting of SphUnc \(did you mean learning_rate"):
        SphUncConfig(learningrate=0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 1}, "dim is 1: input should be greater than or equal to 2"),
        ({"dropout": 1.0}, "dropout is 1.0: input should be less than 1"),
        ({"geometry": "flat"}, "geometry is 'flat': input should be 'sphere' or 'euclidean'"),
        ({"epochs": 0, "folds": 1}, "epochs is 0: .*; folds is 1: "),
    ],
)
def test_values_out_of_range_are_named(settings, message):
    with pytest.raises(ArgumentError, match=message):
        SphUncConfig(**settings)


def test_what_is_read_from_elsewhere_is_checked_alike():
    with pytest.raises(ValidationError, match="dim is 1: input should be greater than or equal to 2"):
        SphUncConfig.model_validate({"dim": 1})


def test_plain_numbers_are_those_of_python() -> None:
    plain = plain_numbers({"dim": np.int64(8), "dropout": np.float32(0.5), "scm": np.bool_(True), "device": "cpu"})
    assert plain == {"dim": 8, "dropout": 0.5, "scm": True, "device": "cpu"}
    assert [type(value) for value in plain.values()] == [int, float, bool, str]


@pytest.mark.parametrize(
    ("name", "value"), [("dim", "8"), ("dim", 8.0), ("dropout", "0.1"), ("scm", 1), ("epochs", True)]
)
def test_nothing_is_taken_for_a_number_that_is_none(name, value):
    with pytest.raises(ArgumentError, match=rf"{name} is {value!r}: input should be a valid"):
        SphUncConfig(**{name: value})


def test_numbers_of_numpy_are_numbers():
    config = SphUncConfig(dim=np.int64(8), dropout=np.float64(0.5), learning_rate=1, scm=np.bool_(False))
    assert config == SphUncConfig(dim=8, dropout=0.5, learning_rate=1.0, scm=False)
