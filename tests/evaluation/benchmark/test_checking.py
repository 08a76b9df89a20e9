"""What an experiment would fail on is named before anything runs, and all of it at once."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sphunc.errors import DataError
from sphunc.evaluation.benchmark.checking import check_matrix, not_one_of, settings_fault
from sphunc.evaluation.benchmark.matrix import Matrix
from sphunc.evaluation.benchmark.reading import make_matrix
from sphunc.io import write_tables
from sphunc.worlds import simulate

SMALL = {"name": "mine", "models": ["majority"], "data": [{"world": "snare"}], "seeds": [0]}


def faults(**changes) -> list[str]:
    return check_matrix(Matrix.model_validate({**SMALL, "reference": "majority", **changes}), Path())[1]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("sphunc", {"dim": 0}, "dim is 0: "),
        ("sphunc", {"layers": 2}, "'layers' is a setting of the paper's model: SphUncConfig.paper(layers=...)"),
        ("sphunc", {"dmi": 1}, "'dmi' is not a setting of SphUnc; did you mean 'dim'?"),
        ("hypergcn", {"pairs": "bogus"}, "pairs is 'bogus'; choose 'exact' or 'random'"),
        ("cignn", {"width": "a"}, "width is 'a'"),
        ("sshgnn", {"heads": 3}, "heads is 3, which does not divide width 64"),
        ("persistence", {"dropout": 0.1}, "'dropout' is not a setting of Persistence; allowed: horizon, seed, device"),
    ],
)
def test_settings_are_tried_on_the_model(name, settings, message) -> None:
    assert settings_fault(name, settings).startswith(message)


@pytest.mark.parametrize("setting", ["seed", "horizon"])
def test_settings_that_the_experiment_gives_are_refused(setting) -> None:
    assert f"multiple values for keyword argument '{setting}'" in settings_fault("majority", {setting: 3})


def test_settings_that_fit_are_no_fault() -> None:
    assert not settings_fault("sphunc", {"dim": 8, "device": "cpu"})
    assert not settings_fault("hypergcn", {"width": 8, "device": "cpu"})


def test_variant_that_does_not_fit_a_model_is_named() -> None:
    models = ["majority", {"name": "hypergcn", "label": "wide"}]
    less = {"name": "less", "settings": {"dropout": 0.1}}
    (fault,) = faults(models=models, variants=[less])
    assert fault.startswith("models.0.settings with variant 'less': 'dropout' is not a setting of Majority")
    assert fault.endswith("mend the settings of the variant, or name the models that it applies to")
    assert faults(models=models, variants=[{**less, "models": ["wide"]}]) == []


def test_fault_of_a_model_is_named_once_however_many_variants_there_are() -> None:
    variants = [{"name": "a"}, {"name": "b", "settings": {"dropout": 0.1}}]
    models = [{"name": "hypergcn", "settings": {"width": 0}}]
    (fault,) = faults(models=models, variants=variants, reference="hypergcn")
    assert fault.startswith("models.0.settings: width is 0")


def test_horizon_is_checked_against_the_times_of_a_world() -> None:
    world = {"world": "snare", "knobs": {"times": 6}}
    assert faults(data=[world]) == []
    (fault,) = faults(data=[world], variants=[{"name": "a"}, {"name": "b", "horizon": 7}])
    assert fault == "data.0.knobs: 6 times are too few for horizon 7; give times = 22"


@pytest.fixture
def tables(tmp_path: Path):
    data = simulate("snare", seed=0, agents=20, times=6).data

    def write(**changes) -> dict[str, str]:
        write_tables(replace(data, **changes), tmp_path)
        return {"tables": str(tmp_path)}

    return write


def test_tables_are_read_before_anything_runs(tables, tmp_path: Path) -> None:
    entry = tables()
    assert faults(data=[entry]) == []
    (fault,) = faults(data=[entry], horizon=2)
    assert fault.startswith("data.0.tables: 6 times are too few to train, validate and test at horizon 2")
    (fault,) = faults(data=[{**entry, "options": {"nonsense": 1}}])
    assert fault.startswith("data.0.tables: ")
    assert "'nonsense'" in fault
    (tmp_path / "outcomes.csv").unlink()
    (fault,) = faults(data=[entry])
    assert fault.startswith("data.0.tables: the data has no outcomes that are classes")


def test_tables_that_are_absent_or_faulty_are_named(tmp_path: Path) -> None:
    (fault,) = faults(data=[{"tables": str(tmp_path)}])
    assert fault.startswith(f"data.0.tables: {tmp_path.name}: the folder has no tables; it holds nothing.")
    (tmp_path / "features.csv").write_text("time,agent\n1,a\n")
    (tmp_path / "groups.csv").write_text("time,group\n1,a\n")
    (fault,) = faults(data=[{"tables": str(tmp_path)}])
    assert "data.0.tables: groups.csv column agent: there is no column 'agent'" in fault


def test_outcomes_that_are_numbers_are_named(tables) -> None:
    draws = torch.rand(6, 20, 1, generator=torch.Generator().manual_seed(0))
    (fault,) = faults(data=[tables(y=draws, class_names=())])
    assert fault.startswith("data.0.tables: the data has no outcomes that are classes")


def test_faults_of_every_kind_come_at_once(tmp_path: Path) -> None:
    content = {
        **SMALL,
        "models": [{"name": "hypergcn", "settings": {"widht": 3}}, {"name": "sphunc", "settings": {"dim": 0}}],
        "data": [{"world": "snar"}, {"tables": "nowhere"}, {"tables": str(tmp_path)}],
        "reference": "nobody",
        "variants": [{"name": "a"}, {"name": "b", "models": ["zzz"]}],
        "seeds": [0, 0],
    }
    with pytest.raises(DataError) as refused:
        make_matrix(content, "mine.toml")
    text = str(refused.value)
    assert text.startswith("mine.toml: faults: 8\n")
    for words in (
        "widht",
        "dim is 0",
        "'snar'",
        "nowhere",
        "no tables",
        "'nobody'",
        "'zzz'",
        "seeds: 0 is there 2",
    ):
        assert words in text


def test_labels_are_different_from_each_other_and_from_the_oracle() -> None:
    assert faults(models=["majority", {"name": "majority", "label": "majority, mine"}]) == []
    assert faults(models=["majority", {"name": "logistic", "label": "majority"}]) == [
        "models: 'majority' is there 2 times; give one of them another label"
    ]
    assert faults(models=["majority", {"name": "logistic", "label": "oracle"}]) == [
        "models: 'oracle' is there 2 times; give one of them another label"
    ]


def test_a_name_that_is_not_allowed_is_named_with_the_one_that_was_meant() -> None:
    assert not_one_of("seds", ["seeds", "models"]) == "'seds' is not one of seeds, models; did you mean 'seeds'?"
    assert not_one_of("xyz", ["seeds"]) == "'xyz' is not one of seeds"
