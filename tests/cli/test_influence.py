"""``sphunc influence`` prints links with their verdict, or that there are none."""

import json

from sphunc.runs import Run


def test_links_and_agents(command, small_run):
    graph = Run.open(small_run).model.influence()
    code, out, _ = command("influence", small_run)
    assert code == 0
    assert out.startswith(f"Verdict: {graph.verdict}")
    assert "Assumed: Granger identification" in out
    found = json.loads(command("influence", small_run, "--json")[1])
    assert len(found["links"]) == graph.links.shape[1]
    assert command("influence", small_run, "--agents", "--csv")[1].startswith("agent,candidates,expected_parents")


def test_no_states_is_an_answer(command, small_tables, tmp_path):
    command("fit", small_tables, "--out", tmp_path / "run", "--quick")
    code, out, _ = command("influence", tmp_path / "run")
    assert code == 0
    assert out.startswith("Verdict: ")
    assert json.loads(command("influence", tmp_path / "run", "--json")[1])["links"] == []
    assert command("influence", tmp_path / "run", "--csv")[1] == "source,target,probability,strength,lag\n"
