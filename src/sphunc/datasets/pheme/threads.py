"""PHEME threads as values: tweets, reply links, stances, veracity and follow links, with every known trap handled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sphunc.datasets.pheme.tree import ThreadFile, is_stance_file, place

VERACITIES = ("non-rumour", "true", "false", "unverified")
STANCES = ("agreed", "disagreed", "appeal-for-more-information", "comment")
# The source's support is put on the scale of its replies, so that every annotated tweet has one of four stances.
SUPPORT_AS_STANCE = {"supporting": "agreed", "denying": "disagreed", "underspecified": "comment"}
USER_COUNTS = ("followers_count", "friends_count", "statuses_count", "favourites_count", "listed_count")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SECONDS_PER_DAY = 86_400

Key = tuple[str, str, str]
"""Event, part of the release, and id of a thread."""
Record = Mapping[str, Any]
"""An object of JSON."""


@dataclass(frozen=True, slots=True)
class Tweet:
    """One tweet, as far as it is needed; the text is hashed later and then dropped."""

    id: str
    user: str
    seconds: int
    answers: str | None
    text: str
    is_source: bool
    counts: tuple[float | None, ...]
    verified: float | None
    account_days: float | None


@dataclass(frozen=True)
class Thread:
    """A source tweet with its reactions.

    ``links`` are the replies that the release records (parent, child); ``attached`` holds the parent that was given to
    a tweet which the record leaves out: the tweet it says it answers, else the source.
    """

    id: str
    event: str
    veracity: str
    tweets: Mapping[str, Tweet]
    links: tuple[tuple[str, str], ...]
    attached: Mapping[str, str]
    roots: int
    follows: tuple[tuple[str, str], ...]


@dataclass
class Collected:
    """Everything read from a tree so far, and what was wrong with it."""

    tweets: dict[Key, dict[str, Tweet]] = field(default_factory=dict)
    annotations: dict[Key, Record] = field(default_factory=dict)
    structures: dict[Key, object] = field(default_factory=dict)
    follows: dict[Key, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    stances: dict[str, str] = field(default_factory=dict)
    tops: set[str] = field(default_factory=set)
    layouts: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


def collect(files: Iterable[tuple[str, bytes]]) -> Collected:
    """Read the needed files one by one; a broken file becomes a fault with its path, and reading goes on."""
    found = Collected()
    for path, content in files:
        file = place(path)
        try:
            if is_stance_file(path):
                found.stances.update(stances(content))
            elif file is not None:
                _add_file(found, file, content)
        except KeyError as error:
            found.faults.append(f"{path}: no {error} in it; fetch this file anew or remove its thread")
        except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            found.faults.append(f"{path}: {error}; fetch this file anew or remove its thread")
    return found


def _add_file(found: Collected, file: ThreadFile, content: bytes) -> None:
    key = (file.event, file.part, file.thread)
    found.tops.add(file.top)
    found.layouts.add(file.layout)
    if file.rest == "annotation.json":
        found.annotations[key] = dict(json.loads(content))
    elif file.rest == "structure.json":
        found.structures[key] = json.loads(content)
    elif file.rest == "who-follows-whom.dat":
        found.follows[key] = follows(content)
    else:
        one = tweet(json.loads(content), is_source=file.rest.startswith("source-tweet"))
        found.tweets.setdefault(key, {})[one.id] = one


def moment(text: str) -> datetime:
    """Read Twitter's ``Wed Jan 07 11:14:38 +0000 2015`` whatever the locale of the machine."""
    words = text.split()
    if len(words) != 6 or words[1] not in MONTHS:
        raise ValueError(f"created_at {text!r} is not like 'Wed Jan 07 11:14:38 +0000 2015'")
    # strptime's %a and %b follow the locale; numbers do not.
    _, name, day, clock, zone, year = words
    month = MONTHS.index(name) + 1
    return datetime.strptime(f"{year}-{month}-{day} {clock} {zone}", "%Y-%m-%d %H:%M:%S %z")


def tweet(record: Record, *, is_source: bool) -> Tweet:
    """Take from a tweet's JSON what is needed.

    Args:
        record: the JSON.
        is_source: whether the tweet began the thread.
    """
    user = record["user"]
    written = moment(record["created_at"])
    account_days = None
    if user.get("created_at") is not None:
        age = written - moment(user["created_at"])
        account_days = max(age.total_seconds() / SECONDS_PER_DAY, 0.0)
    answers = record.get("in_reply_to_status_id_str") or record.get("in_reply_to_status_id")
    if answers is not None:
        answers = str(answers)
    return Tweet(
        id=str(record.get("id_str") or record["id"]),
        user=str(user.get("id_str") or user["id"]),
        seconds=int(written.timestamp()),
        answers=answers,
        text=str(record.get("text") or record.get("full_text") or ""),
        is_source=is_source,
        counts=tuple(_number(user, name) for name in USER_COUNTS),
        verified=_number(user, "verified"),
        account_days=account_days,
    )


def _number(record: Record, name: str) -> float | None:
    value = record.get(name)
    if value is None:
        return None
    return float(value)


def stances(content: bytes) -> dict[str, str]:
    """Read JSON lines of annotated tweets; lines that start with ``#`` are headings."""
    found = {}
    for line in content.decode("utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        record = json.loads(line)
        stance = record.get("responsetype-vs-source") or SUPPORT_AS_STANCE[record["support"]]
        if stance not in STANCES:
            raise ValueError(f"stance {stance!r} of tweet {record['tweetid']} is none of {', '.join(STANCES)}")
        found[str(record["tweetid"])] = stance
    return found


def follows(content: bytes) -> tuple[tuple[str, str], ...]:
    """Read ``follower<TAB>followee`` lines."""
    pairs = []
    for line in content.decode("utf-8").splitlines():
        words = line.split()
        if len(words) not in (0, 2):
            raise ValueError(f"{' '.join(words)!r} is not 'follower followee'")
        if words:
            pairs.append((words[0], words[1]))
    return tuple(pairs)


def replies(structure: object) -> Iterator[tuple[str | None, str]]:
    """Yield (parent, child) of nested ``{id: {child: {...} | []}}``; roots have parent None. Leaves are ``[]``."""
    waiting: list[tuple[str | None, object]] = [(None, structure)]
    while waiting:
        parent, below = waiting.pop()
        if isinstance(below, Mapping):
            for child, deeper in below.items():
                yield parent, str(child)
                waiting.append((str(child), deeper))


def veracity(annotation: Record | None, part: str) -> str:
    """Return the class of a thread: is_rumour first, then (misinformation, true), each of them text or number.

    Args:
        annotation: the JSON; None in the rnr release, where the folder decides between rumour and non-rumour.
        part: name of that folder.
    """
    if annotation is None:
        return {"non-rumours": "non-rumour"}.get(part, "rumour")
    if str(annotation.get("is_rumour", "rumour")) in {"nonrumour", "non-rumour", "unclear"}:
        return "non-rumour"
    misinformation = int(annotation.get("misinformation", 0))
    true = int(annotation.get("true", 0))
    if misinformation and true:
        raise ValueError("annotation.json says both misinformation and true")
    if misinformation:
        return "false"
    if true:
        return "true"
    return "unverified"


def threads(found: Collected) -> list[Thread]:
    """Put the collected pieces together, in the order of event and thread id; faults are added to ``found``."""
    made = []
    for key in sorted(found.tweets):
        try:
            made.append(_thread(found, key))
        except (ValueError, TypeError) as error:
            found.faults.append(f"{'/'.join(key)}: {error}; correct the file or remove the thread")
    return made


def _thread(found: Collected, key: Key) -> Thread:
    event, part, name = key
    tweets = found.tweets[key]
    if name not in tweets:
        raise ValueError(f"the source tweet {name}.json is not there")
    recorded = [(parent, child) for parent, child in replies(found.structures.get(key)) if child in tweets]
    answered = recorded
    if key not in found.structures:
        answered = [(one.answers, one.id) for one in tweets.values()]
    links = tuple((parent, child) for parent, child in answered if parent is not None and parent in tweets)
    placed = {name, *(child for _, child in links)}
    attached = {}
    for one in tweets.values():
        if one.id not in placed:
            attached[one.id] = name
            if one.answers is not None and one.answers in tweets:
                attached[one.id] = one.answers
    return Thread(
        id=name,
        event=event,
        veracity=veracity(found.annotations.get(key), part),
        tweets=tweets,
        links=links,
        attached=attached,
        roots=sum(parent is None for parent, _ in recorded) or 1,
        follows=found.follows.get(key, ()),
    )
