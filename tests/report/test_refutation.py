from dataclasses import replace

import pytest
import torch

from sphunc import InfluenceGraph
from sphunc.report import refutation_table


@pytest.fixture
def graph() -> InfluenceGraph:
    links = torch.tensor([[0, 1, 2], [1, 2, 0]])
    probability = torch.tensor([0.9, 0.8, 0.1])
    return InfluenceGraph(links, ("a", "b", "c"), probability, torch.ones(3), torch.zeros(3), notes=("c is constant",))


def rows(graph: InfluenceGraph) -> dict[str, dict]:
    return {row["check"]: row for row in refutation_table(graph).frame.rows(named=True)}


def test_found_links_and_their_expected_number(graph: InfluenceGraph) -> None:
    found = rows(graph)["links found"]
    assert found["value"] == 2
    assert "2 of them are true" in found["how_to_read_it"]
    assert refutation_table(graph).note.endswith("C is constant.")


def test_checks_that_were_not_run_are_named(graph: InfluenceGraph) -> None:
    found = rows(graph)["placebo"]
    assert found["value"] is None
    assert found["how_to_read_it"].startswith("Not run.")


def test_checks_that_were_run_are_read_and_unknown_ones_shown(graph: InfluenceGraph) -> None:
    checked = replace(
        graph, diagnostics={"placebo_links": 1, "reversed_links": 0.5, "new_check": 3, "nan": float("nan")}
    )
    found = rows(checked)
    assert found["placebo"]["value"] == 1
    assert not found["reversed time"]["how_to_read_it"].startswith("Not run.")
    assert found["new check"]["value"] == 3
    assert found["nan"]["value"] is None
