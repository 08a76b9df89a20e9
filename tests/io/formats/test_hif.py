"""HIF files: nothing is lost on the way, xgi reads what we write and we read what xgi writes."""

import datetime as dt
import json
from dataclasses import replace

import pytest
import xgi
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sphunc import DataError, read_hif, write_hif
from sphunc.errors import ArgumentTypeError
from sphunc.hypergraph import assemble
from sphunc.io.formats.hif import to_hif
from sphunc.io.formats.hif_schema import check_hif


def world(times=(1, 2, 3), outcomes=True):
    values = {"outcomes": ([0, 2], [0, 1], [0, 1]), "class_names": ["calm", "upset"]} if outcomes else {}
    return assemble(
        times=times,
        node_ids=["a", 7, "7", "isolated"],
        features=([0, 2], [1, 0], [[0.1, float("nan")], [1e-30, 3e38]]),
        feature_names=["mood", "age"],
        hyperedge_ids=["g", "twin", "empty", 3],
        hyperedge_time=[0, 0, 1, 2],
        memberships=([0, 0, 1, 1, 3], [0, 1, 0, 1, 2], [0.5, 1.5, 0.1, 1.0, 1.0]),
        influence=[[0, 1], [1, 0]],
        influence_kind="reply",
        attributes={"note": {"licence": "CC0"}},
        **values,
    )


TIMES = {
    "integers": (1, 2, 30),
    "dates": (dt.date(2026, 1, 31), dt.date(2026, 2, 1), dt.date(2027, 1, 1)),
    "datetimes": tuple(dt.datetime(2026, 1, 31, hour) for hour in (1, 2, 3)),
    "zoned": tuple(dt.datetime(2026, 1, 31, hour, tzinfo=dt.UTC) for hour in (1, 2, 3)),
}


@pytest.mark.parametrize("name", ["world.json", "world.hif.json", "world.json.gz"])
@pytest.mark.parametrize("kind", TIMES)
def test_nothing_is_lost(tmp_path, kind, name):
    data = world(TIMES[kind])
    write_hif(data, tmp_path / name)
    assert read_hif(tmp_path / name).same_as(data)


def test_bare_numeric_and_returning_groups_come_back(tmp_path):
    numeric = replace(world(outcomes=False), y=world().y_mask.unsqueeze(-1).float(), y_mask=world().y_mask)
    returning = replace(world(), hyperedge_ids=("g", "twin", "g", "g"))
    bare = assemble(times=[5], node_ids=["a"])
    two = replace(numeric, y=numeric.y.repeat(1, 1, 2), outcome_names=("joy", "fear"))
    for i, data in enumerate([numeric, two, returning, bare, world(outcomes=False)]):
        write_hif(data, tmp_path / f"{i}.json")
        assert read_hif(tmp_path / f"{i}.json").same_as(data), i


def test_what_we_write_is_valid_and_holds_time_where_others_look():
    content = to_hif(world())
    check_hif(content, "ours")
    assert [record["attrs"]["timestamp"] for record in content["edges"]] == [1, 1, 2, 3]


def test_xgi_reads_what_we_write(tmp_path):
    data = world()
    write_hif(data, tmp_path / "ours.json")
    theirs = xgi.read_hif(tmp_path / "ours.json")
    assert set(theirs.nodes) == set(data.node_ids)
    assert theirs.edges.members(dtype=dict) == {"g": {"a", 7}, "twin": {"a", 7}, "empty": set(), 3: {"7"}}
    assert theirs.edges["empty"]["timestamp"] == 2
    assert list(theirs.nodes.isolates()) == ["isolated"]


def test_we_read_what_xgi_writes(tmp_path):
    theirs = xgi.Hypergraph()
    theirs.add_nodes_from(["lone", 5])
    theirs.add_edge([1, 2], idx="e", timestamp="2026-01-31")
    theirs.add_edge([1, 2], idx="parallel", timestamp="2026-02-01", place="hall")
    theirs.add_edge([], idx="empty", timestamp="2026-01-31")
    xgi.write_hif(theirs, tmp_path / "theirs.json")
    data = read_hif(tmp_path / "theirs.json")
    assert set(data.node_ids) == {"lone", 5, 1, 2}
    assert set(data.hyperedge_ids) == {"e", "parallel", "empty"}
    assert data.times == (dt.date(2026, 1, 31), dt.date(2026, 2, 1))
    sizes = dict(zip(data.hyperedge_ids, data.hyperedge_size.tolist(), strict=True))
    assert sizes == {"e": 2, "parallel": 2, "empty": 0}
    assert data.attributes["edges"] == [{"edge": "parallel", "attrs": {"place": "hall"}}]


def test_our_data_survives_a_journey_through_xgi(tmp_path):
    data = replace(world(), incidence_weight=None)  # xgi drops the weights of incidences
    write_hif(data, tmp_path / "ours.json")
    xgi.write_hif(xgi.read_hif(tmp_path / "ours.json"), tmp_path / "theirs.json")
    again = read_hif(tmp_path / "theirs.json")
    assert set(again.node_ids) == set(data.node_ids)
    assert again.times == data.times
    n = again.node_ids.index(7)
    assert again.x[0, n, 0] == data.x[0, 1, 0]
    assert (again.feature_names, again.class_names, again.influence_kind) == (
        ("mood", "age"),
        ("calm", "upset"),
        "reply",
    )


@pytest.mark.parametrize(
    ("attrs", "time"),
    [
        ({"timestamp": 4, "time": 5}, 4),
        ({"time": "7"}, 7),
        ({"t": 4}, 4),
        ({"date": "2026-01-31"}, dt.date(2026, 1, 31)),
        ({"presence": [[3, 5], [8, 9]]}, 3),
        ({"_presence": [6]}, 6),
        ({}, 0),
    ],
)
def test_times_under_their_aliases(tmp_path, attrs, time):
    content = {"incidences": [{"edge": 1, "node": 1}], "edges": [{"edge": 1, "attrs": attrs}]}
    (tmp_path / "f.json").write_text(json.dumps(content))
    assert read_hif(tmp_path / "f.json").times == (time,)


def test_foreign_attributes_and_directions_are_carried(tmp_path):
    content = {
        "network-type": "directed",
        "metadata": {"name": "toy"},
        "incidences": [{"edge": "e", "node": 1, "weight": 2.0, "direction": "head", "attrs": {"role": "chair"}}],
        "nodes": [{"node": 1, "weight": 3, "attrs": {"age": 5}}],
        "edges": [{"edge": "e", "weight": 4, "attrs": {"timestamp": 1, "group": "x"}}],
    }
    (tmp_path / "f.json").write_text(json.dumps(content))
    data = read_hif(tmp_path / "f.json")
    assert data.hyperedge_ids == ("e",)
    again = to_hif(data)
    assert again["metadata"].pop("sphunc")
    assert again == content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON"),
        ('{"incidences": [{"edge": 1, "node": 1, "weight": NaN}]}', "NaN is not a JSON number"),
        ('{"incidences": [{"edge": 1, "node": 1}, {"edge": 1, "node": 1}]}', "without an agent twice in a group"),
        ('{"incidences": [], "edges": [{"edge": 1, "attrs": {"time": "spring"}}]}', "'spring' is not a time"),
        (
            '{"incidences": [], "edges": [{"edge": 1, "attrs": {"t": 1}}, {"edge": 2, "attrs": {"t": "2026-01-31"}}]}',
            "timestamps are of several kinds: date, integer",
        ),
        (
            '{"incidences": [{"edge": 2, "node": 1}], "edges": [{"edge": 1, "attrs": {"t": 1}}]}',
            "group number 1 has no timestamp, but others have. Add attrs.timestamp",
        ),
        ('{"incidences": [], "metadata": {"sphunc": 5}}', "metadata.sphunc is not what sphunc writes"),
        ('{"incidences": [], "metadata": {"sphunc": {"features": 5}}}', "the records do not fit together"),
        (
            '{"incidences": [], "edges": [{"edge": "e", "attrs": {"timestamp": 1, "group": 1.5}}],'
            ' "metadata": {"sphunc": {"features": [], "classes": []}}}',
            "attrs.group of 'e' is 1.5, not a text or an integer",
        ),
    ],
)
def test_faulty_files(tmp_path, text, message):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read_hif(tmp_path / "f.json")


def test_unreadable_files(tmp_path):
    with pytest.raises(DataError, match="the file cannot be read"):
        read_hif(tmp_path / "nowhere.json")
    (tmp_path / "f.json.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="the file cannot be read"):
        read_hif(tmp_path / "f.json.gz")


def test_ids_that_hif_cannot_hold():
    with pytest.raises(ArgumentTypeError, match=r"node_ids has \(1, 2\) of type tuple; HIF takes text and integers"):
        to_hif(assemble(times=[0], node_ids=[(1, 2)]))


WRITTEN = json.dumps(to_hif(world()))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_mutated_files_give_a_data_error_or_an_object(tmp_path, data):
    content = json.loads(WRITTEN)
    place = content
    for _ in range(data.draw(st.integers(0, 5))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []
        inner = [key for key in keys if isinstance(place[key], (dict, list)) and place[key]]
        if not inner:
            break
        place = place[data.draw(st.sampled_from(inner))]
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    place[data.draw(st.sampled_from(keys))] = data.draw(JSON)
    path = tmp_path / "f.json"
    path.write_text(json.dumps(content))
    try:
        read_hif(path)
    except DataError:
        return
