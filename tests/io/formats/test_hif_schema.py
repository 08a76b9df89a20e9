"""The format is held to the letter: unknown keys, wrong types and missing ids are noted."""

import pytest

from sphunc.errors import DataError
from sphunc.io.formats.hif_schema import check_hif

GOOD = {
    "network-type": "directed",
    "metadata": {"anything": [1]},
    "incidences": [{"edge": 1, "node": "a", "weight": 0.5, "direction": "head", "attrs": {"role": "x"}}],
    "nodes": [{"node": "a", "weight": 2, "attrs": {}}, {"node": 7}],
    "edges": [{"edge": 1, "weight": 1.0, "attrs": {"timestamp": 3}}, {"edge": "e"}],
}


def test_all_that_the_format_allows_passes():
    check_hif(GOOD, "f.json")
    check_hif({"incidences": []}, "f.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "the top level is a list, not an object"),
        ({}, "there is no key 'incidences'; the keys are none"),
        ({**GOOD, "time": 1}, "the key 'time' is unknown. Move it into metadata; allowed are network-type, metadata,"),
        ({**GOOD, "network-type": "mixed"}, "network-type is 'mixed'. Choose one of undirected, directed, asc"),
        ({**GOOD, "metadata": []}, "metadata is a list. Make it an object"),
        ({"incidences": {}}, "incidences is an object. Make it a list"),
        ({"incidences": [{"edge": 1}]}, r"incidences\[0\].node is missing. Write a text or an integer"),
        ({"incidences": [{"edge": 1, "node": None}]}, r"incidences\[0\].node is null"),
        ({"incidences": [{"edge": 1.5, "node": 1}]}, r"incidences\[0\].edge is a number"),
        ({"incidences": [{"edge": True, "node": 1}]}, r"incidences\[0\].edge is true or false"),
        ({"incidences": ["x"]}, r"incidences\[0\] is a text. Make it an object"),
        ({**GOOD, "edges": [{"edge": 1, "time": 3}]}, r"edges\[0\] has the key 'time'. Move it into attrs"),
        ({**GOOD, "nodes": [{"node": 1, "weight": "2"}]}, r"nodes\[0\].weight is '2'. Write a finite number"),
        (
            {"incidences": [{"edge": "e", "node": 1, "weight": 3.5e38}]},
            r"incidences\[0\].weight is 3.5e\+38. Write a finite number that fits float32",
        ),
        ({**GOOD, "nodes": [{"node": 1, "weight": float("nan")}]}, r"nodes\[0\].weight is nan"),
        ({**GOOD, "nodes": [{"node": 1, "attrs": []}]}, r"nodes\[0\].attrs is a list"),
        ({"incidences": [{"edge": 1, "node": 1, "direction": "up"}]}, r"direction is 'up'. Write head or tail"),
    ],
)
def test_all_else_is_noted(content, message):
    with pytest.raises(DataError, match=message):
        check_hif(content, "f.json")


def test_all_faults_are_listed_at_once():
    content = {"incidences": [{"edge": 1.5, "node": 1}, {"edge": 1, "node": None, "weight": "x"}], "time": 3}
    with pytest.raises(DataError, match=r"^4 faults in f\.json:"):
        check_hif(content, "f.json")
