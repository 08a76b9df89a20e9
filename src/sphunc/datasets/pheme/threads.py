"""PHEME threads as values: tweets, reply links, stances, veracity and follow links, with every known trap handled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sphunc.datasets.pheme.tree import ThreadFile, is_stance_file, place

VERACITIES = ("non-rumour", "true", "false", "unverified")
RUMOURS = ("non-rumour", "rumour")
STANCES = ("agreed", "disagreed", "appeal-for-more-information", "comment")
# The source's support is put on the scale of its replies, so that every annotated tweet has one of four stances.
SUPPORT_AS_STANCE = {"supporting": "agreed", "denying": "disagreed", "underspecified": "comment"}
USER_COUNTS = ("followers_count", "friends_count", "statuses_count", "favourites_count", "listed_count")

# strptime's %a and %b follow the locale of the machine; Twitter's do not.
_MONTHS = {"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * i : 3 * i + 3]: i + 1 for i in range(12)}


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

    tweets: dict[tuple[str, str, str], dict[str, Tweet]] = field(default_factory=dict)
    annotations: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    structures: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    follows: dict[tuple[str, str, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
    stances: dict[str, str] = field(default_factory=dict)
    tops: set[str] = field(default_factory=set)
    layouts: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


def collect(files: Iterable[tuple[str, bytes]]) -> Collected:
    """Read the needed files one by one; a broken file becomes a fault with its path, and reading goes on."""
    found = Collected()
    for path, content in files:
        try:
            if is_stance_file(path):
                found.stances.update(stances(content))
            elif (file := place(path)) is not None:
                _take(found, file, content)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            found.faults.append(f"{path}: {_cause(error)}; fetch this file anew or remove its thread")
    return found


def _cause(error: Exception) -> str:
    return f"no {error} in it" if isinstance(error, KeyError) else str(error)


def _take(found: Collected, file: ThreadFile, content: bytes) -> None:
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
    parts = text.split()
    if len(parts) != 6 or parts[1] not in _MONTHS:
        raise ValueError(f"created_at {text!r} is not like 'Wed Jan 07 11:14:38 +0000 2015'")
    return datetime.strptime(
        f"{parts[5]}-{_MONTHS[parts[1]]:02d}-{parts[2]} {parts[3]} {parts[4]}", "%Y-%m-%d %H:%M:%S %z"
    )


def tweet(record: Mapping[str, Any], *, is_source: bool) -> Tweet:
    """Take from a tweet's JSON what is needed."""
    user, written = record["user"], moment(record["created_at"])
    born = user.get("created_at")
    answers = record.get("in_reply_to_status_id_str") or record.get("in_reply_to_status_id")
    return Tweet(
        id=str(record.get("id_str") or record["id"]),
        user=str(user.get("id_str") or user["id"]),
        seconds=int(written.astimezone(UTC).timestamp()),
        answers=None if answers is None else str(answers),
        text=str(record.get("text") or record.get("full_text") or ""),
        is_source=is_source,
        counts=tuple(_number(user.get(name)) for name in USER_COUNTS),
        verified=_number(user.get("verified")),
        account_days=None if born is None else max((written - moment(born)).total_seconds() / 86_400, 0.0),
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def stances(content: bytes) -> dict[str, str]:
    """Read JSON lines of annotated tweets; lines that start with ``#`` are headings."""
    found = {}
    for line in content.decode("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            record = json.loads(line)
            stance = record.get("responsetype-vs-source") or SUPPORT_AS_STANCE[record["support"]]
            if stance not in STANCES:
                raise ValueError(f"stance {stance!r} of tweet {record['tweetid']} is none of {', '.join(STANCES)}")
            found[str(record["tweetid"])] = stance
    return found


def follows(content: bytes) -> tuple[tuple[str, str], ...]:
    """Read ``follower<TAB>followee`` lines."""
    rows = [line.split() for line in content.decode("utf-8").splitlines() if line.strip()]
    if bad := next((row for row in rows if len(row) != 2), None):
        raise ValueError(f"{' '.join(bad)!r} is not 'follower followee'")
    return tuple((row[0], row[1]) for row in rows)


def replies(structure: Any) -> Iterator[tuple[str | None, str]]:
    """Yield (parent, child) of nested ``{id: {child: {...} | []}}``; roots have parent None. Leaves are ``[]``."""
    waiting: list[tuple[str | None, Any]] = [(None, structure)]
    while waiting:
        parent, below = waiting.pop()
        if isinstance(below, Mapping):
            for child, deeper in below.items():
                yield parent, str(child)
                waiting.append((str(child), deeper))


def veracity(annotation: Mapping[str, Any] | None, part: str) -> str:
    """Return the class of a thread: is_rumour first, then (misinformation, true), each of them text or number.

    Without an annotation (the rnr release) the folder decides between rumour and non-rumour.
    """
    if annotation is None:
        return "non-rumour" if part == "non-rumours" else "rumour"
    if str(annotation.get("is_rumour", "rumour")) in {"nonrumour", "non-rumour", "unclear"}:
        return "non-rumour"
    misinformation = int(annotation.get("misinformation", 0))
    true = int(annotation.get("true", 0))
    if misinformation and true:
        raise ValueError("annotation.json says both misinformation and true")
    return "false" if misinformation else "true" if true else "unverified"


def threads(found: Collected) -> list[Thread]:
    """Put the collected pieces together, in the order of event and thread id; faults are added to ``found``."""
    made = []
    for key in sorted(found.tweets):
        try:
            made.append(_thread(found, key))
        except (ValueError, TypeError) as error:
            found.faults.append(f"{'/'.join(key)}: {error}; correct the file or remove the thread")
    return made


def _thread(found: Collected, key: tuple[str, str, str]) -> Thread:
    event, part, name = key
    tweets = found.tweets[key]
    if name not in tweets:
        raise ValueError(f"the source tweet {name}.json is not there")
    recorded = [(parent, child) for parent, child in replies(found.structures.get(key)) if child in tweets]
    links = tuple((p, c) for p, c in recorded if p is not None and p in tweets)
    if key not in found.structures:
        links = tuple((t.answers, t.id) for t in tweets.values() if t.answers in tweets and t.answers is not None)
    placed = {child for _, child in links} | {name}
    left_out = {t.id: t.answers if t.answers in tweets else name for t in tweets.values() if t.id not in placed}
    return Thread(
        id=name,
        event=event,
        veracity=veracity(found.annotations.get(key), part),
        tweets=tweets,
        links=links,
        attached={child: parent for child, parent in left_out.items() if parent is not None},
        roots=sum(parent is None for parent, _ in recorded) or 1,
        follows=found.follows.get(key, ()),
    )
