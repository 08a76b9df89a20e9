"""A matrix multiplied out: every cell once, named by all that its number depends on."""

from dataclasses import replace
from pathlib import Path

from sphunc.evaluation.benchmark.cells import ORACLE, expand
from sphunc.evaluation.benchmark.reading import make_matrix
from sphunc.io import write_tables
from sphunc.worlds import simulate

CONTENT = {
    "name": "x",
    "models": ["majority", {"name": "hypergcn", "settings": {"epochs": 2}}],
    "data": [{"world": "snare"}, {"world": "amigos", "knobs": {"times": 5}}],
    "seeds": [0, 1],
    "variants": [{"name": "default"}, {"name": "narrow", "models": ["hypergcn"], "settings": {"width": 4}}],
}


def test_every_combination_is_there_once_with_the_oracle_of_every_world() -> None:
    cells = expand(make_matrix(CONTENT))
    assert len(cells) == 2 * 2 * (2 + 1) + 2 * 2 * (1 + 1)
    assert len({cell.key for cell in cells}) == len(cells)
    assert sum(cell.model == ORACLE for cell in cells) == 8
    narrow = next(cell for cell in cells if cell.variant == "narrow")
    assert narrow.settings == {"epochs": 2, "width": 4}
    assert str(narrow) == "hypergcn · snare · narrow · seed 0"


def test_key_changes_with_everything_but_the_code() -> None:
    cell = expand(make_matrix(CONTENT))[0]
    assert replace(cell, code="other").key == cell.key
    changes = ({"seed": 7}, {"trials": 2}, {"horizon": 2}, {"settings": {"a": 1}}, {"attribution": False})
    assert len({replace(cell, **change).key for change in changes} | {cell.key}) == len(changes) + 1
    assert cell.key.startswith("majority-snare-default-seed0-")


def test_code_differs_between_systems() -> None:
    cells = expand(make_matrix(CONTENT))
    assert len({cell.code for cell in cells}) == 3


def test_changed_table_is_noticed_and_has_no_oracle(tmp_path: Path) -> None:
    from sphunc.evaluation.benchmark import cells as module

    content = {**CONTENT, "data": [{"tables": str(tmp_path)}], "variants": [{"name": "default"}]}
    keys = []
    for seed in (0, 1):
        write_tables(simulate("snare", seed=seed, agents=20, times=4).data, tmp_path)
        module._files.cache_clear()
        found = expand(make_matrix(content))
        assert all(cell.model != ORACLE for cell in found)
        keys.append(found[0].key)
    assert keys[0] != keys[1]
