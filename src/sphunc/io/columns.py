"""Which column of a user's table plays which part: canonical names, their aliases, and what is left over."""

from __future__ import annotations

from collections.abc import Sequence

from sphunc.io.faults import Fault, FaultLog

ALIASES: dict[str, tuple[str, ...]] = {
    "time": ("time", "timestamp", "t", "date", "datetime", "wave"),
    "agent": ("agent", "agent_id", "node", "node_id", "id"),
    "group": ("group", "group_id", "hyperedge", "hyperedge_id", "edge"),
    "source": ("source", "src", "from", "sender"),
    "target": ("target", "dst", "to", "receiver"),
    "weight": ("weight",),
}
REQUIRED: dict[str, tuple[str, ...]] = {
    "features": ("time", "agent"),
    "groups": ("time", "group", "agent"),
    "outcomes": ("time", "agent"),
    "influence": ("source", "target"),
}
OPTIONAL: dict[str, tuple[str, ...]] = {"groups": ("weight",)}


def find_roles(kind: str, file: str, columns: Sequence[str], log: FaultLog) -> dict[str, str]:
    """Return role -> column name for a table of ``kind``; missing, doubled and ambiguous columns are noted."""
    _note_doubles(file, columns, log)
    roles: dict[str, str] = {}
    for role in (*REQUIRED[kind], *OPTIONAL.get(kind, ())):
        matches = _matches(role, columns)
        if len(matches) == 1:
            roles[role] = matches[0]
        elif matches:
            log.add(Fault(file, f"columns {_listed(matches)} could all be the {role}", f"Rename one to '{role}'"))
        elif role in REQUIRED[kind]:
            log.add(_missing(role, file, columns))
    return roles


def _matches(role: str, columns: Sequence[str]) -> list[str]:
    if role in columns:
        return [role]
    plain = {column: column.strip().lower() for column in columns}
    exact = [column for column, name in plain.items() if name == role]
    return exact or [column for column, name in plain.items() if name in ALIASES[role]]


def _missing(role: str, file: str, columns: Sequence[str]) -> Fault:
    names = f" (or {', '.join(ALIASES[role][1:])})" if len(ALIASES[role]) > 1 else ""
    return Fault(
        file,
        f"there is no column '{role}'{names}; the columns are {_listed(columns)}",
        f"Add the column '{role}', or rename the one that holds it",
        column=role,
    )


def _note_doubles(file: str, columns: Sequence[str], log: FaultLog) -> None:
    for name in dict.fromkeys(columns):
        if (count := columns.count(name)) > 1:
            problem = f"the column name {name!r} stands {count} times in the header"
            log.add(Fault(file, problem, "Give every column a name of its own", column=name))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
