import json
from pathlib import Path

import pytest

from sphunc.datasets.pheme.threads import collect, follows, moment, replies, stances, threads, tweet, veracity
from sphunc.datasets.pheme.tree import files


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ({"is_rumour": "nonrumour"}, "non-rumour"),
        ({"is_rumour": "unclear"}, "non-rumour"),
        ({"is_rumour": "rumour", "misinformation": 0, "true": 0}, "unverified"),
        ({"is_rumour": "rumour", "misinformation": "0", "true": "1"}, "true"),
        ({"is_rumour": "rumour", "misinformation": 0, "true": "1"}, "true"),
        ({"is_rumour": "rumour", "misinformation": "1", "true": 0}, "false"),
        ({"is_rumour": "rumour", "misinformation": 1}, "false"),
        ({"is_rumour": "rumour", "misinformation": "0"}, "unverified"),
    ],
)
def test_veracity_of_every_mix_of_text_and_number(annotation: dict[str, object], expected: str) -> None:
    assert veracity(annotation, "rumours") == expected


def test_veracity_without_annotation_is_the_folder() -> None:
    assert veracity(None, "rumours") == "rumour"
    assert veracity(None, "non-rumours") == "non-rumour"


def test_veracity_refuses_both() -> None:
    with pytest.raises(ValueError, match="both misinformation and true"):
        veracity({"is_rumour": "rumour", "misinformation": 1, "true": "1"}, "rumours")


def test_replies_of_nested_structure_with_empty_lists_and_two_roots() -> None:
    structure = {"1": {"2": {"3": []}, "4": []}, "5": []}
    assert set(replies(structure)) == {(None, "1"), ("1", "2"), ("2", "3"), ("1", "4"), (None, "5")}
    assert list(replies([])) == []


def test_replies_of_a_very_deep_thread() -> None:
    structure: object = []
    for number in range(5_000, 0, -1):
        structure = {str(number): structure}
    assert len(list(replies(structure))) == 5_000


def test_moment_does_not_depend_on_the_locale() -> None:
    assert moment("Wed Jan 07 11:14:38 +0000 2015").timestamp() == 1_420_629_278
    with pytest.raises(ValueError, match="is not like"):
        moment("2015-01-07 11:14:38")


def test_stances_skip_headings_and_put_the_source_on_the_same_scale() -> None:
    lines = ["# Source Tweets", json.dumps({"tweetid": "1", "support": "denying"}), ""]
    lines += ["# Direct Replies", json.dumps({"tweetid": "2", "responsetype-vs-source": "agreed"})]
    assert stances("\n".join(lines).encode()) == {"1": "disagreed", "2": "agreed"}
    with pytest.raises(ValueError, match="stance 'shouting' of tweet 3"):
        stances(json.dumps({"tweetid": "3", "responsetype-vs-source": "shouting"}).encode())


def test_follow_rows() -> None:
    assert follows(b"1\t2\n\n3\t4\n") == (("1", "2"), ("3", "4"))
    with pytest.raises(ValueError, match="is not 'follower followee'"):
        follows(b"1 2 3\n")


def test_left_out_tweets_hang_on_whom_they_answer_or_on_the_source(scheme: Path) -> None:
    found = collect(files(scheme))
    first = next(thread for thread in threads(found) if thread.id == "100")
    assert not found.faults
    assert first.links == (("100", "101"), ("101", "102"))
    assert first.attached == {"103": "100", "104": "101", "105": "100"}
    assert first.roots == 2
    assert first.veracity == "false"


def test_thread_without_follow_file_has_no_follows(scheme: Path) -> None:
    by_id = {thread.id: thread for thread in threads(collect(files(scheme)))}
    assert by_id["300"].follows == ()
    assert by_id["100"].follows == (("2", "1"), ("3", "1"), ("3", "777"))
    assert by_id["300"].veracity == "unverified"


def test_without_structure_the_reply_fields_link(rnr: Path) -> None:
    found = threads(collect(files(rnr)))
    assert [(thread.veracity, thread.links) for thread in found] == [
        ("non-rumour", (("22", "220"),)),
        ("rumour", (("21", "210"),)),
    ]


def test_broken_files_are_all_named(scheme: Path) -> None:
    (scheme / "threads/en/zoo-escape/100/structure.json").write_text("{broken")
    (scheme / "threads/en/zoo-escape/200/reactions/201.json").write_text('{"id": 201, "created_at": "now"}')
    (scheme / "threads/de/brunnen/300/source-tweets/300.json").unlink()
    found = collect(files(scheme))
    threads(found)
    text = "\n".join(found.faults)
    assert "100/structure.json: Expecting property name" in text
    assert "200/reactions/201.json: no 'user' in it" in text
    assert "brunnen/de/300: the source tweet 300.json is not there" in text


def test_tweet_without_counts_is_still_a_tweet() -> None:
    record = {"id": 7, "created_at": "Wed Jan 07 11:14:38 +0000 2015", "user": {"id": 3}}
    one = tweet(record, is_source=True)
    assert (one.id, one.user, one.text) == ("7", "3", "")
    assert one.counts == (None,) * 5
    assert one.account_days is None
