"""A fault in an experiment file is named with its field, what was got, what is allowed and what to do."""

import json
from pathlib import Path

import pytest

from sphunc.errors import DataError
from sphunc.evaluation.benchmark.cells import expand
from sphunc.evaluation.benchmark.reading import SIX_SYSTEMS, make_matrix, quick_matrix, read_matrix
from sphunc.io import write_tables
from sphunc.worlds import simulate

TOML = """
name = "mine"
models = ["majority", { name = "hypergcn", settings = { epochs = 3 } }]
seeds = [0, 1]
[[data]]
world = "snare"
knobs = { agents = 60 }
"""
SMALL = {"name": "mine", "models": ["majority"], "data": [{"world": "snare"}], "seeds": [0]}


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    matrix = read_matrix(tmp_path / "a.toml")
    (tmp_path / "a.json").write_text(matrix.model_dump_json())
    assert read_matrix(tmp_path / "a.json") == matrix
    assert matrix.models[1].settings == {"epochs": 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": []}, r"seeds: got \[\]; give at least one\."),
        ({"seeds": [0, -1]}, r"seeds.1: got -1; .*greater than or equal to 0"),
        ({"trials": 0}, r"trials: got 0; .*greater than or equal to 1"),
        ({"name": None}, r"name: got None; .*string"),
        ({"name": ".."}, r"name: got '\.\.'; a name begins with a letter or digit; letters, digits, spaces and"),
        ({"name": ""}, r"name: got ''; a name has one letter or more\."),
        ({"seeds": [0, True]}, r"seeds.1: got True; give a number, such as 1\."),
        ({"horizon": True}, r"horizon: got True; give a number, such as 1\."),
        ({"seeds": 3}, r"seeds: got 3; give a list, such as \[0, 1\]; in TOML"),
        ({"models": "majority"}, r"models: got 'majority'; give a list, such as"),
        ({"data": {"world": "snare"}}, r"data: got .*; in TOML each entry of a list of tables begins with \[\["),
        ({"variants": {"name": "a"}}, r"variants: got .*in TOML each entry of a list of tables begins with"),
        ({"models": [3]}, r"models.0: got 3; give a table, such as \{ name = \"...\" \}\."),
        ({"variants": [{"name": "a", "models": []}]}, r"variants.0.models: got \[\]; give at least one\."),
        ({"sedes": [0]}, r"sedes: 'sedes' is not one of name, models, data.*; did you mean 'seeds'\?"),
        ({"models": ["majorty"]}, r"models.0.name: 'majorty' is not one of sphunc.*; did you mean 'majority'\?"),
        ({"models": [{"name": "majority", "lable": "x"}]}, r"models.0.lable: .*did you mean 'label'\?"),
        ({"models": ["majority", "majority"]}, r"models: 'majority' is there 2 times; give one of them another label"),
        (
            {"models": [{"name": "hypergcn", "settings": {"epoch": 1}}]},
            r"models.0.settings: 'epoch' is not a setting",
        ),
        ({"data": [{"wrld": "snare"}]}, r"data.0: got .*one of the fields world, tables, dataset"),
        ({"data": [{"world": "snar"}]}, r"data.0.world: preset='snar' is not known; choose one of snare"),
        (
            {"data": [{"world": "snare", "knobs": {"mising": 0.1}}]},
            r"data.0.world: 'mising' is not a knob.*did you mean",
        ),
        ({"data": [{"world": "snare", "root": "x"}]}, r"data.0.root: 'root' is not one of world, knobs, label"),
        ({"data": [{"dataset": "phem", "root": "x"}]}, r"data.0.dataset: got 'phem'; Input should be 'pheme'"),
        ({"data": [{"dataset": "pheme"}]}, r"data.0.root: is missing; add it\."),
        ({"data": [{"tables": "nowhere"}]}, r"data.0.tables: .*nowhere does not exist. Give the folder"),
        ({"data": [{"tables": "$NOT_SET_HERE/x"}]}, r"data.0.tables: .*\$NOT_SET_HERE/x does not exist"),
        (
            {"models": [{"name": "majority", "label": "oracle"}]},
            r"models: 'oracle' is there 2 times; give one of them another label",
        ),
        ({"reference": "majorty"}, r"reference: 'majorty' is not one of majority; did you mean 'majority'\?"),
        ({"variants": [{"name": "a", "models": ["b"]}]}, r"variants.0.models: 'b' is not one of majority"),
        ({"variants": [{"name": "a", "settings": {"x": 1}}]}, r"models.0.settings with variant 'a': .*x"),
    ],
)
def test_fault_is_named_with_its_remedy(change: dict, message: str) -> None:
    with pytest.raises(DataError, match=message) as fault:
        make_matrix({**SMALL, **change}, "mine.toml")
    assert str(fault.value).startswith("mine.toml: faults: 1\n")
    assert "Mend the file and run again" in str(fault.value)


@pytest.mark.parametrize("value", ["thirty", True, [30], None])
def test_a_knob_that_is_no_number_is_one_fault(value) -> None:
    content = {"name": "a", "models": ["majority"], "seeds": [0]}
    with pytest.raises(DataError) as refused:
        make_matrix({**content, "data": [{"world": "snare", "knobs": {"agents": value}}]}, "mine.toml")
    assert str(refused.value).splitlines()[:2] == [
        "mine.toml: faults: 1",
        f"  data.0.knobs.agents: got {value!r}; give a number, such as 1.",
    ]


def test_all_faults_are_listed_at_once() -> None:
    with pytest.raises(DataError, match=r"(?s)faults: 2\n.*seeds.*trials"):
        make_matrix({**SMALL, "seeds": [], "trials": 0})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "name = =", r"a.toml: not TOML: .*line 1.*Mend that place"),
        ("a.json", "{,}", r"a.json: not JSON: .*line 1"),
        ("a.json", "[]", r"expected fields such as name.*got a list"),
        ("a.yaml", "", r"experiment files end in .toml or .json; got '.yaml'"),
        (
            "a.toml",
            None,
            r"cannot be read \(No such file.*\). Give an experiment file, or run sphunc benchmark --quick",
        ),
    ],
)
def test_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_matrix(tmp_path / name)


def test_paths_start_at_the_file_and_variables_are_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(simulate("snare", seed=0, agents=20, times=5).data, tmp_path / "mine")
    monkeypatch.setenv("WHERE_TABLES_ARE", str(tmp_path))
    for written in ("mine", "$WHERE_TABLES_ARE/mine"):
        (tmp_path / "a.json").write_text(json.dumps({**SMALL, "data": [{"tables": written}]}))
        assert read_matrix(tmp_path / "a.json").data[0].tables == tmp_path / "mine"


def test_reference_is_sphunc_if_it_is_there_else_the_first() -> None:
    assert make_matrix({**SMALL, "models": ["majority", "sphunc"]}).reference == "sphunc"
    assert make_matrix({**SMALL, "models": ["majority", "persistence"]}).reference == "majority"


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b'name = "caf\xe9"')
    with pytest.raises(DataError, match=r"a.toml: not TOML: 'utf-8' codec can't decode byte 0xe9 in position 11"):
        read_matrix(tmp_path / "a.toml")
    (tmp_path / "d.toml").mkdir()
    with pytest.raises(DataError, match=r"d.toml: cannot be read \(Is a directory\). Give an experiment file"):
        read_matrix(tmp_path / "d.toml")


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_what_is_nested_too_deeply_is_named(tmp_path: Path, ending: str) -> None:
    deep = "[" * 100_000
    (tmp_path / f"a.{ending}").write_text(deep if ending == "json" else f"name = {deep}")
    with pytest.raises(DataError, match=r"recursion|nest"):
        read_matrix(tmp_path / f"a.{ending}")


def test_quick_has_the_six_systems_two_strong_ones_and_the_trivial_ones() -> None:
    cells = expand(quick_matrix())
    labels = {cell.label.replace("-", "_") for cell in cells}
    assert set(SIX_SYSTEMS) <= labels
    assert labels - set(SIX_SYSTEMS) == {"edhnn", "boosting", "majority", "persistence", "logistic", "oracle"}
    assert len({cell.trials for cell in cells}) == 1
