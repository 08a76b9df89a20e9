"""Mutated tables by the thousand: a DataError, or the object that a slow, obvious reading of the bytes gives."""

import csv
import io
import math
import re
import warnings

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sphunc import DataError, read_tables
from sphunc.io.tables.cells import MISSING

TABLES = {
    "features": [["time", "agent", "mood", "age"]]
    + [[str(t), a, f"{t}.5", str(i)] for t in (1, 2, 3) for i, a in enumerate(["a", "b", "c"])],
    "groups": [["time", "group", "agent"], *([str(t), g, a] for t in (1, 2) for g in "gh" for a in ("a", "b"))],
    "outcomes": [["time", "agent", "outcome"], *([str(t), a, c] for t in (1, 2) for a, c in ("ax", "by", "cx"))],
    "influence": [["source", "target"], ["a", "b"], ["b", "c"]],
}
CELLS = st.sampled_from(
    ["", " ", "a", "b", "d", "1", "2", "9", "007", "-1", "1.5", "nan", "inf", "-Infinity", "1e400", "1e39", "x", "NA",
     "null", "2026-01-31", "2026-01-31T10:00:00", "2026-13-45", "time", "agent", "é", "\u2028", "1_000", "0x1", "1,5",
     'qu"ote', "line\nbreak", "\r", "\t", "True", "9" * 30, "\x00", "+1", "١", "1 ", "2026-W01-1", "10:00"]
)  # fmt: skip


@st.composite
def cell_mutations(draw):
    tables = {name: [list(row) for row in rows] for name, rows in TABLES.items()}
    for _ in range(draw(st.integers(1, 4))):
        rows = tables[draw(st.sampled_from(sorted(tables)))]
        row = draw(st.integers(0, len(rows) - 1)) if rows else 0
        action = draw(st.sampled_from(["cell", "cell", "cell", "double", "drop", "short", "long", "swap", "clear"]))
        if not rows or not rows[row]:
            continue
        if action == "cell":
            rows[row][draw(st.integers(0, len(rows[row]) - 1))] = draw(CELLS)
        elif action == "double":
            rows.append(list(rows[row]))
        elif action == "drop":
            del rows[row]
        elif action == "short":
            rows[row].pop()
        elif action == "long":
            rows[row].append(draw(CELLS))
        elif action == "swap":
            rows[row].reverse()
        elif action == "clear":
            rows[:] = rows[: draw(st.integers(0, 1))]
    return {name: encode(rows).encode() for name, rows in tables.items()}


@st.composite
def byte_mutations(draw):
    tables = {name: encode(rows).encode() for name, rows in TABLES.items()}
    name = draw(st.sampled_from(sorted(tables)))
    text = bytearray(tables[name])
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(text)))
        piece = draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b'"', b",", b"\n", b"\r\n", b";", b"\xef\xbb\xbf"]))
        )
        text[place : place + draw(st.integers(0, 3))] = piece
    tables[name] = bytes(text)
    return tables


def encode(rows):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def read(folder, tables, **options):
    for name, text in tables.items():
        (folder / f"{name}.csv").write_bytes(text)
    return read_tables(folder, **options)


def rows_of(text):
    # As a person reads the file: blank lines mean nothing, the header names the columns.
    lines = [row for row in csv.reader(io.StringIO(text.decode("utf-8-sig"), newline="")) if any(row)]
    names = [name.strip().lower() for name in lines[0]]
    aliases = {"timestamp": "time", "t": "time", "date": "time", "id": "agent", "node": "agent"}
    aliases |= {"src": "source", "from": "source", "dst": "target", "to": "target"}
    return [dict(zip([aliases.get(name, name) for name in names], row, strict=True)) for row in lines[1:]]


def number(cell):
    return None if cell.strip() in MISSING else float(cell)


def check_against_slow_reading(data, tables):
    times = {str(time): t for t, time in enumerate(data.times)}
    agents = {str(one): n for n, one in enumerate(data.node_ids)}

    def place(row):
        text = row["time"].strip()
        key = str(int(text)) if text.lstrip("+-").isdigit() else text
        forms = (key, key.replace("T", " "), _iso(key))
        return next(times[form] for form in forms if form in times), agents[row["agent"]]

    features = rows_of(tables["features"])
    assert {place(row)[1] for row in features} == set(range(data.num_nodes))
    assert {place(row)[0] for row in features} == set(range(data.num_times))
    seen = 0
    for row in features:
        for f, name in enumerate(data.feature_names):
            value = number(row[name.strip().lower()])
            assert bool(data.x_mask[(*place(row), f)]) == (value is not None)
            if value is not None:
                seen += 1
                assert math.isclose(float(data.x[(*place(row), f)]), value, rel_tol=1e-6, abs_tol=1e-37)
    assert int(data.x_mask.sum()) == seen
    groups = {(place(row)[0], row["group"], row["agent"]) for row in rows_of(tables["groups"])}
    node, edge = data.hyperedge_index.tolist()
    found = {
        (int(data.hyperedge_time[e]), str(data.hyperedge_ids[e]), str(data.node_ids[n]))
        for n, e in zip(node, edge, strict=True)
    }
    assert found == groups
    assert data.num_hyperedges == len({(t, g) for t, g, _ in groups})
    links = {(agents[row["source"]], agents[row["target"]]) for row in rows_of(tables["influence"])}
    assert set(zip(*data.influence.tolist(), strict=True)) == links
    for row in rows_of(tables["outcomes"]):
        cell = next(row[name] for name in row if name not in ("time", "agent"))
        if data.class_names and cell.strip() not in MISSING:
            assert data.class_names[data.y[place(row)]] == cell


def _iso(text):
    import datetime

    for kind in (datetime.date, datetime.datetime):
        try:
            return str(kind.fromisoformat(text))
        except ValueError:
            continue
    return text


def has_lone_return(tables):
    # Python's reader takes a lone carriage return for the end of a line, where read_tables takes it for blank space.
    return any(re.search(rb"\r(?!\n)", text) for text in tables.values())


def outcome_of(folder, tables, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read(folder, tables, **options)
        except DataError:
            return None


def is_plain(tables, data):
    # Other encodings, delimiters and words for features have tests of their own.
    try:
        headers = [text.decode("utf-8").strip().splitlines()[0] for text in tables.values()]
    except UnicodeDecodeError:
        return False
    names = headers[0] if data.feature_names else ""
    words = re.search(rb"(?i)true|false", tables["features"])
    return all("," in header for header in headers) and all(f in names for f in data.feature_names) and not words


EXAMPLES = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@EXAMPLES
@given(cell_mutations())
def test_mutated_cells_give_a_data_error_or_the_right_object(tmp_path, tables):
    data = outcome_of(tmp_path, tables, allow_rare_classes=True)
    if data is not None:
        assume(not has_lone_return(tables) and is_plain(tables, data))
        check_against_slow_reading(data, tables)


@EXAMPLES
@given(byte_mutations())
def test_mutated_bytes_give_a_data_error_or_the_right_object(tmp_path, tables):
    data = outcome_of(tmp_path, tables, allow_rare_classes=True)
    if data is not None:
        assume(not has_lone_return(tables) and is_plain(tables, data))
        check_against_slow_reading(data, tables)


@settings(EXAMPLES, max_examples=100)
@given(cell_mutations())
def test_lenient_options_never_break(tmp_path, tables):
    outcome_of(
        tmp_path,
        tables,
        drop_unknown=True,
        nan_is_missing=True,
        allow_empty_groups=True,
        allow_rare_classes=True,
        outcome="number",
    )


def test_untouched_tables_are_read(tmp_path):
    tables = {name: encode(rows).encode() for name, rows in TABLES.items()}
    check_against_slow_reading(read(tmp_path, tables), tables)


@pytest.mark.parametrize("name", TABLES)
def test_order_of_rows_does_not_matter_but_for_the_order_of_groups(tmp_path, name):
    turned = {**TABLES, name: [TABLES[name][0], *reversed(TABLES[name][1:])]}
    data = read(tmp_path, {key: encode(rows).encode() for key, rows in turned.items()})
    assert sorted(data.hyperedge_ids) == ["g", "g", "h", "h"]
    if name != "groups":
        same = read(tmp_path, {key: encode(rows).encode() for key, rows in TABLES.items()})
        assert data.x.equal(same.x)
        assert data.hyperedge_index.equal(same.hyperedge_index)
