"""Every table names its experiment, in both sizes, and both are valid."""

import pytest

from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark import expand, read_matrix
from sphunc.tables import EXPERIMENTS, SOURCES, experiment_file
from sphunc.tables.quoted import ABLATION


@pytest.mark.parametrize(
    "file", sorted(EXPERIMENTS.rglob("*.toml")), ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_experiments_are_valid(file) -> None:
    matrix = read_matrix(file)
    assert expand(matrix)
    if matrix.name.startswith("ablation"):
        assert [variant.name for variant in matrix.variants] == list(ABLATION)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("quick", [False, True])
def test_every_table_has_what_it_needs(name: str, quick: bool) -> None:
    file = experiment_file(name, quick=quick)
    assert file is None or file.is_file()


def test_unknown_table_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"table is 'mian'.*main.*; choose datasets, hyperparameters"):
        experiment_file("mian", quick=True)
