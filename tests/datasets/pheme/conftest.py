"""Format-true miniature PHEME trees with invented names and texts, one per release, every known trap inside."""

import json
from pathlib import Path
from typing import Any

import pytest

START = 1_420_629_278  # Wed Jan 07 11:14:38 +0000 2015
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def created_at(seconds: int) -> str:
    from datetime import UTC, datetime

    t = datetime.fromtimestamp(seconds, UTC)
    return f"Wed {MONTHS[t.month - 1]} {t.day:02d} {t:%H:%M:%S} +0000 {t.year}"


def tweet(
    number: int, user: int, after: int, answers: int | None = None, text: str = "a zebra walks"
) -> dict[str, Any]:
    return {
        "id": number,
        "id_str": str(number),
        "text": text,
        "created_at": created_at(START + after),
        "in_reply_to_status_id": answers,
        "in_reply_to_status_id_str": None if answers is None else str(answers),
        "retweet_count": 99,
        "user": {
            "id": user,
            "id_str": str(user),
            "screen_name": f"invented{user}",
            "followers_count": 10 * user,
            "friends_count": 3,
            "statuses_count": 0,
            "favourites_count": 1,
            "listed_count": None,
            "verified": user == 1,
            "created_at": created_at(START - 86_400 * user),
        },
    }


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def write_thread(folder: Path, tweets: list[dict[str, Any]], source_folder: str = "source-tweets") -> None:
    first, *others = tweets
    write(folder / source_folder / f"{first['id']}.json", first)
    for one in others:
        write(folder / "reactions" / f"{one['id']}.json", one)


@pytest.fixture
def scheme(tmp_path: Path) -> Path:
    """Two English threads and a German one: 100 has a second root and a left-out reply, 300 has no follow file."""
    root = tmp_path / "pheme-rumour-scheme-dataset"
    hundred = [
        tweet(100, 1, 0, text="Zebra loose @invented2 https://t.co/x"),
        tweet(101, 2, 30, 100),
        tweet(102, 3, 500, 101),
        tweet(103, 4, 700),  # a second root
        tweet(104, 5, 4000, 101),  # not in structure.json, but says whom it answers
        tweet(105, 6, 4100, 999),  # not in structure.json, answers a tweet that was never collected
    ]
    folder = root / "threads/en/zoo-escape/100"
    write_thread(folder, hundred)
    write(folder / "structure.json", {"100": {"101": {"102": []}}, "103": []})
    write(folder / "annotation.json", {"is_rumour": "rumour", "category": "zebra", "misinformation": "1", "true": 0})
    write(folder / "who-follows-whom.dat", "2\t1\n3\t1\n3\t777\n")
    write(folder / "retweets.json", "not needed, not read")
    folder = root / "threads/en/zoo-escape/200"
    write_thread(folder, [tweet(200, 2, 100), tweet(201, 1, 100 + 86_400 * 5, 200)])
    write(folder / "structure.json", {"200": {"201": []}})
    write(folder / "annotation.json", {"is_rumour": "rumour", "misinformation": 0, "true": "1"})
    write(folder / "who-follows-whom.dat", "")
    folder = root / "threads/de/brunnen/300"
    write_thread(folder, [tweet(300, 7, 0), tweet(301, 7, 10, 300)])
    write(folder / "structure.json", {"300": {"301": []}})
    write(folder / "annotation.json", {"is_rumour": "rumour", "misinformation": 0})
    stance = "responsetype-vs-source"
    english = [
        "# Source Tweets",
        json.dumps({"event": "zoo-escape", "threadid": "100", "tweetid": "100", "support": "supporting"}),
        json.dumps({"event": "zoo-escape", "threadid": "200", "tweetid": "200", "support": "underspecified"}),
        "# Direct Replies",
        json.dumps({"event": "zoo-escape", "threadid": "100", "tweetid": "101", stance: "disagreed"}),
        json.dumps({"event": "zoo-escape", "threadid": "200", "tweetid": "201", stance: "comment"}),
        "",
        "# Deep Replies",
        json.dumps({"threadid": "100", "tweetid": "102", "responsetype-vs-previous": "agreed", stance: "comment"}),
    ]
    german = ["# Source Tweets", json.dumps({"threadid": "300", "tweetid": "300", "support": "denying"})]
    write(root / "annotations/en-scheme-annotations.json", "\n".join(english))
    write(root / "annotations/de-scheme-annotations.json", "\n".join(german))
    write(root / "annotation-scheme.json", "# a comment\n{}")
    return root


@pytest.fixture
def veracity(tmp_path: Path) -> Path:
    """One event of four threads, with AppleDouble junk beside every file; types of the annotation are mixed."""
    root = tmp_path / "all-rnr-annotated-threads"
    event = root / "zoo-escape-all-rnr-threads"
    annotations: dict[str, tuple[str, Any]] = {
        "11": ("rumours", {"is_rumour": "rumour", "misinformation": 0, "true": "1"}),
        "12": ("rumours", {"is_rumour": "rumour", "misinformation": "1", "true": 0}),
        "13": ("rumours", {"is_rumour": "rumour", "misinformation": "0", "true": 0}),
        "14": ("non-rumours", {"is_rumour": "nonrumour"}),
        "15": ("non-rumours", {"is_rumour": "unclear"}),
    }
    for number, (part, annotation) in annotations.items():
        folder = event / part / number
        source = int(number)
        write_thread(folder, [tweet(source, source, 0), tweet(source * 10, source + 50, 60, source)])
        write(folder / "structure.json", {number: {str(source * 10): []}})
        write(folder / "annotation.json", annotation)
    for path in list(root.rglob("*.json")):
        (path.parent / f"._{path.name}").write_bytes(b"\x00\x05\x16\x07 Mac OS X \xff")
    (event / ".DS_Store").write_bytes(b"\x00")
    return root


@pytest.fixture
def rnr(tmp_path: Path) -> Path:
    """The rnr release: singular source-tweet, neither annotation.json nor structure.json."""
    root = tmp_path / "pheme-rnr-dataset"
    for part, source in (("rumours", 21), ("non-rumours", 22)):
        folder = root / "zoo-escape" / part / str(source)
        write_thread(folder, [tweet(source, source, 0), tweet(source * 10, 5, 60, source)], "source-tweet")
    return root
