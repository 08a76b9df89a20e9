"""What an experiment would fail on is told before anything runs, and all of it at once."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import torch

from sphunc.cli.benchmark_tables import TITLES
from sphunc.errors import DataError
from sphunc.evaluation.benchmark.checking import _system_read, allowed, check_matrix, settings_fault
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
        ("sphunc", {"device": "bogus"}, "device is 'bogus'; give a device of torch, such as 'cpu'"),
        ("hypergcn", {"pairs": "bogus"}, "pairs is 'bogus'; choose 'exact' or 'random'."),
        ("cignn", {"width": "a"}, "width is 'a', of type str; give a whole number, 1 or more."),
        ("sshgnn", {"heads": 3}, "heads is 3, which does not divide width 64"),
        ("majority", {"seed": 3}, "'seed' is given by the experiment. Remove it, and use the field seeds."),
        ("hypergcn", {"horizon": 3}, "'horizon' is given by the experiment. Remove it, and use the field horizon."),
        ("persistence", {"dropout": 0.1}, "'dropout' is not a setting of Persistence; allowed: horizon, seed, device."),
    ],
)
def test_settings_are_tried_on_the_model(name, settings, message) -> None:
    assert settings_fault(name, settings).startswith(message)


def test_settings_that_fit_are_no_fault() -> None:
    assert not settings_fault("sphunc", {"dim": 8, "device": "cpu"})
    assert not settings_fault("hypergcn", {"width": 8, "device": "cpu"})


def test_variant_that_does_not_fit_all_models_names_those_that_it_fits() -> None:
    models = ["majority", {"name": "hypergcn", "label": "wide"}, "recurrent"]
    (fault,) = faults(models=models, variants=[{"name": "less", "settings": {"dropout": 0.1}}])
    assert fault == (
        "models[0].settings with variant 'less': 'dropout' is not a setting of Majority; "
        "allowed: horizon, seed, device. "
        'Mend the settings of variant \'less\', or let it apply to others alone: models = ["wide", "recurrent"].'
    )
    (alone,) = faults(variants=[{"name": "less", "settings": {"dropout": 0.1}}])
    assert alone.endswith("Mend the settings of variant 'less'.")


def test_fault_of_a_model_is_told_once_however_many_variants_there_are() -> None:
    variants = [{"name": "a"}, {"name": "b", "settings": {"dropout": 0.1}}]
    models = [{"name": "hypergcn", "settings": {"width": 0}}]
    assert faults(models=models, variants=variants, reference="hypergcn") == [
        "models[0].settings: width is 0; give a whole number, 1 or more."
    ]


def test_horizon_is_checked_against_the_times_of_a_world() -> None:
    world = {"world": "snare", "knobs": {"times": 6}}
    assert faults(data=[world]) == []
    (fault,) = faults(data=[world], variants=[{"name": "a"}, {"name": "b", "horizon": 7}])
    assert fault == (
        "data[0]: 6 times are too few for horizon 7. Give it at least knobs = { times = 22 }, or lower the horizon."
    )


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
    assert fault.startswith("data[0].tables: 6 times are too few to train, validate and test at horizon 2")
    (fault,) = faults(data=[{**entry, "options": {"nonsense": 1}}])
    assert "data[0].options" in fault
    assert "Give what sphunc.read_tables takes." in fault
    (tmp_path / "outcomes.csv").unlink()
    (fault,) = faults(data=[entry])
    assert fault.startswith("data[0].tables: the data has no outcomes; benchmarks measure forecasts of classes")


def test_tables_that_are_absent_or_faulty_are_named(tmp_path: Path) -> None:
    (fault,) = faults(data=[{"tables": str(tmp_path)}])
    assert fault.startswith(f"data[0].tables: {tmp_path.name}: the folder has no tables; it holds nothing.")
    (tmp_path / "features.csv").write_text("time,agent\n1,a\n")
    (tmp_path / "groups.csv").write_text("time,group\n1,a\n")
    (fault,) = faults(data=[{"tables": str(tmp_path)}])
    assert "data[0].tables: groups.csv column agent: there is no column 'agent'" in fault


def test_outcomes_that_are_numbers_or_all_the_same_are_named(tables, tmp_path: Path) -> None:
    entry = tables()
    file = tmp_path / "outcomes.csv"
    outcomes = pl.read_csv(file)
    last = outcomes.columns[-1]
    outcomes.with_columns(pl.lit("only").alias(last)).write_csv(file)
    assert faults(data=[entry]) == [
        "data[0].tables: all outcomes are 'only', and there is nothing to forecast. Give two classes or more."
    ]
    (tmp_path / "sphunc.json").unlink()  # it says that outcomes are classes
    draws = torch.rand(outcomes.height, generator=torch.Generator().manual_seed(0)).tolist()
    outcomes.with_columns(pl.Series(last, draws)).write_csv(file)
    (fault,) = faults(data=[entry])
    assert fault.startswith("data[0].tables: the data has outcomes that are numbers; benchmarks measure")


@pytest.mark.parametrize(
    ("first", "last", "horizon", "named"),
    [
        (0, 6, 1, "times 7 to 8, on which models are tested"),
        (0, 5, 2, "time 8, on which models are tested"),
        (7, 8, 1, "times 1 to 6, on which models are trained"),
    ],
)
def test_tables_without_outcomes_where_models_need_them_are_named(tmp_path: Path, first, last, horizon, named) -> None:
    data = simulate("snare", seed=0, agents=20, times=9).data
    time = torch.arange(9)
    seen = data.y_mask & ((first <= time) & (time <= last)).unsqueeze(-1)
    assert data.y is not None
    write_tables(replace(data, y=data.y * seen, y_mask=seen), tmp_path)
    (fault,) = faults(data=[{"tables": str(tmp_path)}], horizon=horizon)
    assert fault == (
        f"data[0].tables: no outcome is observed at the {named} at horizon {horizon}. "
        "Add outcomes there, or leave those times out of every table."
    )


def test_outcomes_that_nobody_has_are_told_once(tables) -> None:
    nothing = torch.zeros(6, 20, dtype=torch.long)
    assert faults(data=[tables(y=nothing, y_mask=nothing.bool())]) == [
        "data[0].tables: no outcome is observed, and there is nothing to forecast. Give two classes or more."
    ]


def test_tables_without_features_are_named_with_the_models_that_need_them(tables) -> None:
    empty = {"x": torch.zeros(6, 20, 0), "x_mask": torch.zeros(6, 20, 0, dtype=torch.bool), "feature_names": ()}
    entry = tables(**empty)
    assert faults(data=[entry], models=["majority", "hypergcn", "nonsense"])[1:] == []
    models = ["majority", "sphunc", {"name": "spherenet", "label": "round"}, "hypergcn", "causal_sphhn"]
    (fault,) = faults(data=[entry], models=models)
    assert fault.startswith("data[0].tables: data has no features; give the features table at least one column")
    assert fault.endswith(", or leave out the models that need them: round, causal_sphhn.")


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
    assert text.startswith("mine.toml: 8 faults\n")
    for words in (
        "widht",
        "dim is 0",
        "'snar'",
        "nowhere",
        "no tables",
        "'nobody'",
        "'zzz'",
        "seeds: 0 stands there 2",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("label", "system"),
    [
        ("sphunc", "sphunc"),
        ("SphUnc", "sphunc"),
        ("CI-GNN", "cignn"),
        ("SS-HGNN", "sshgnn"),
        ("causal-sphhn", "causal_sphhn"),
        ("Causal-SphHN", "causal_sphhn"),
        ("persistence", "persistence"),
    ],
)
def test_label_that_names_another_system_is_refused(label: str, system: str) -> None:
    (fault,) = faults(models=["majority", {"name": "majority", "label": label}])
    assert fault == (
        f"models[1].label: got {label!r}, which names the system {system!r}, but this one is 'majority'. "
        "Give it a label of its own, such as 'majority, mine'."
    )


def test_label_that_is_the_systems_own_name_is_no_fault_but_two_that_read_alike_are() -> None:
    assert faults(models=["majority", {"name": "sphunc", "label": "SphUnc"}]) == []
    assert faults(models=["majority", {"name": "majority", "label": "majority, mine"}]) == []
    assert faults(models=["majority", {"name": "majority", "label": "Majority"}]) == [
        "models: 'majority' stands there 2 times. Give one of them another label."
    ]
    assert faults(models=["majority", {"name": "logistic", "label": "Oracle"}]) == [
        "models: 'Oracle' is what the ceiling of a world is called. Give that model another label."
    ]


def test_every_printed_name_is_read_as_its_system() -> None:
    for name, title in TITLES.items():
        assert _system_read(title).replace("_", "-") == name


def test_allowed_names_the_one_that_was_meant() -> None:
    assert allowed("seds", ["seeds", "models"]) == "Did you mean 'seeds'? Allowed: seeds, models."
    assert allowed("xyz", ["seeds"]) == "Allowed: seeds."
