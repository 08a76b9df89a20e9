"""Damaged files give a DataError or a sound object, never another exception."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import sphunc

PIECES = [b"null", b'""', b"[]", b"-1", b"1e400", b"nan", b"9" * 21, b"\xff\xfe", b",", b"\n", b";", b"\x00", b"12 34"]
SESSION = (
    "Group,Name,Filename,Format,Period,ActorSet,Type,Selected,MissingValues,NonZeroCode,NbrOfActors\n"
    "G,f,e.dat,Siena net,1 2,A,network,Yes,9,1,3\n"
)
RECORD = "id = {P99-1}\nauthor = {Hill, Ada; Moor, Ben}\ntitle = {On moss}\nvenue = {V}\nyear = {1999}\n\n"
STATISTICS = "congress,chamber,ids,seniority,ideol1,ideol2,party,sponsored,pl,pb,pa,inu,inb,inw,outu,outb,outw\n"
FILES: dict[str, dict[str, str]] = {
    "snare": {"net1.dat": "0 1 0\n0 0 1\n0 0 0\n", "net2.dat": "0 1 1\n1 0 0\n0 9 0\n", "smoke.dat": "1 2\n1 1\n3 3\n"},
    "snare session": {"e.dat": "1 2 1 1\n2 3 1 1\n1 3 9 2\n3 2 1 2\n", "s.csv": SESSION},
    "snare pajek": {f"f{w}.net": '*Vertices 2\n1 "a"\n2 "b"\n*Arcs\n1 2 1\n' for w in (1, 2)},
    "financial": {
        "prices.csv": "date,A,B\n" + "".join(f"2020-02-{d:02d},{d}.5,{40 - d}\n" for d in range(1, 29)),
        "sectors.csv": "ticker,sector\nA,x\nB,x\n",
    },
    "collaboration": {"acl-metadata.txt": RECORD + RECORD.replace("P99", "W00").replace("1999", "2000")},
    "collaboration congress": {
        "house_committees.csv": "party,id,committee,session\n1,1,102,103\n1,2,102,103\n",
        "SH.csv": STATISTICS + "".join(f"103,H,{m},5,0.{m},0.2,100,3,0,0,0,1,1,1,1,1,1.5\n" for m in (1, 2)),
    },
    "pheme": {
        "ev/rumours/1/source-tweet/1.json": '{"id": 1, "text": "a", "created_at": "Wed Jan 07 11:14:38 +0000 2015", '
        '"user": {"id": 5, "followers_count": 3}}',
        "ev/rumours/1/structure.json": '{"1": {"2": []}}',
        "ev/rumours/1/annotation.json": '{"is_rumour": "rumour", "misinformation": "1", "true": 0}',
        "ev/rumours/1/reactions/2.json": '{"id": 2, "text": "b", "created_at": "Wed Jan 07 11:15:38 +0000 2015", '
        '"in_reply_to_status_id": 1, "user": {"id": 6, "followers_count": 3}}',
    },
}


def damaged(content: bytes, rng: random.Random) -> bytes:
    at, length = rng.randrange(len(content) + 1), rng.randint(1, 20)
    ways: list[Callable[[], bytes]] = [
        lambda: content[:at] + content[at + length :],
        lambda: content[:at] + rng.choice(PIECES) + content[at + rng.randint(0, 8) :],
        lambda: content[:at] + bytes([rng.randrange(256)]) + content[at:],
        lambda: content[:at] + content[max(at - length, 0) :],
    ]
    return rng.choice(ways)()


@pytest.mark.parametrize("case", FILES)
def test_damage_is_told_or_harmless(case: str, tmp_path: Path) -> None:
    rng = random.Random(case)
    options = {"window": 5} if case == "financial" else {}
    outcomes = set()
    for _ in range(60):
        chosen = rng.choice(list(FILES[case]))
        for name, text in FILES[case].items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(damaged(text.encode(), rng) if name == chosen else text.encode())
        try:
            sphunc.load_dataset(case.partition(" ")[0], tmp_path, **options)
            outcomes.add("loaded")
        except sphunc.DataError:
            outcomes.add("told")
    assert outcomes == {"loaded", "told"}
