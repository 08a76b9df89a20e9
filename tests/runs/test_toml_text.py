"""What is written is read back the same by the standard library."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from sphunc.runs.toml_text import toml_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.one_of(TEXTS, st.integers(-(2**60), 2**60), st.booleans(), st.lists(TEXTS), st.floats(-1e9, 1e9))


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES))
def test_round_trip(values):
    assert tomllib.loads(toml_text({"fit": values}, "Settings.")) == {"fit": values}


def test_none_is_left_out():
    assert toml_text({"fit": {"until": None, "seed": 1}}) == "[fit]\nseed = 1\n"
