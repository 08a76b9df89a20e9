import pytest

import sphunc
from sphunc.report import agents_to_look_at


def test_reasons_are_what_the_forecast_and_the_graph_say(
    fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    forecast = fitted.predict(world_data)
    rows = {
        row["agent"]: row for row in agents_to_look_at(fitted, world_data, forecast, count=3).frame.rows(named=True)
    }
    place = {agent: k for k, agent in enumerate(forecast.agents)}
    hard = {agent for agent, row in rows.items() if "hard to forecast" in row["why"]}
    assert hard == {forecast.agents[k] for k in forecast.total.argsort(descending=True)[:3].tolist()}
    known = {agent for agent, row in rows.items() if "little known" in row["why"]}
    assert known == {forecast.agents[k] for k in forecast.epistemic_scaled.argsort(descending=True)[:3].tolist()}
    for agent, row in rows.items():
        if "likely to change" in row["why"]:
            named = forecast.class_names[int(forecast.prediction[place[agent]])]
            assert row["last_outcome"] != named
            assert row["forecast"].startswith(named)
    graph = fitted.influence()
    busiest = [agent for agent, row in rows.items() if "acts on" in row["why"]]
    assert busiest
    for agent in busiest:
        targets = sum(
            float(graph.probability[k]) > 0.5 and graph.agents[int(graph.links[0, k])] == agent
            for k in range(graph.links.shape[1])
        )
        assert f"acts on {targets} others" in rows[agent]["why"]


def test_an_agent_with_two_reasons_stands_once(quick: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    agents = agents_to_look_at(quick, world_data, count=30).frame["agent"].to_list()
    assert len(agents) == len(set(agents))


def test_numbers_name_the_size_of_the_change(
    number_model: sphunc.SphUnc, number_data: sphunc.TemporalHypergraph
) -> None:
    frame = agents_to_look_at(number_model, number_data, count=2).frame
    forecast = number_model.predict(number_data)
    first = frame.row(0, named=True)
    place = forecast.agents.index(first["agent"])
    assert forecast.mean is not None
    assert float(first["forecast"].split(" ± ")[0]) == pytest.approx(float(forecast.mean[place, 0]), abs=0.06)
