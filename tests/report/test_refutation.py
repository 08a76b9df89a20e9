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
    assert found["reference"] == pytest.approx(1.7)
    assert refutation_table(graph).note.endswith("C is constant.")


def test_a_graph_without_checks_says_so(graph: InfluenceGraph) -> None:
    assert "No other check was run" in refutation_table(graph).note


def test_checks_are_those_of_the_graph_with_their_readings(graph: InfluenceGraph) -> None:
    checked = replace(graph, diagnostics={"placebo_links": 1, "reversed_links": float("nan")})
    found = rows(checked)
    for check in checked.checks:
        row = found[check.name.replace("_", " ")]
        assert row["reference"] == check.reference
        assert row["how_to_read_it"].lower().startswith(check.reading.lower())
    assert found["placebo links"]["value"] == 1
    assert "too few" in found["reversed links"]["how_to_read_it"]
