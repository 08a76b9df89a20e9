"""Which column of a user's table plays which role: canonical names, their aliases, and what is left over."""

from __future__ import annotations

from collections.abc import Sequence

from sphunc.io.faults import Fault, FaultLog

ALIASES: dict[str, tuple[str, ...]] = {
    "time": ("timestamp", "t", "date", "datetime", "wave"),
    "agent": ("agent_id", "node", "node_id", "id"),
    "group": ("group_id", "hyperedge", "hyperedge_id", "edge"),
    "source": ("src", "from", "sender"),
    "target": ("dst", "to", "receiver"),
    "weight": (),
}
REQUIRED: dict[str, tuple[str, ...]] = {
    "features": ("time", "agent"),
    "groups": ("time", "group", "agent"),
    "outcomes": ("time", "agent"),
    "influence": ("source", "target"),
}
OPTIONAL: dict[str, tuple[str, ...]] = {"groups": ("weight",)}
MOST_NAMES = 8


def find_roles(kind: str, file: str, columns: Sequence[str], log: FaultLog) -> dict[str, str] | None:
    """Find the column of every role.

    Args:
        kind: which table it is: features, groups, outcomes or influence.
        file: its name in messages.
        columns: names of its columns.
        log: takes missing, doubled and ambiguous columns.

    Returns:
        Role -> column name, or None if there were faults.
    """
    before = log.total
    for name in dict.fromkeys(columns):
        count = columns.count(name)
        if count > 1:
            problem = f"the column name {name!r} stands {count} times in the header"
            log.add(Fault(file, problem, "Give every column a name of its own", column=name))
    roles: dict[str, str] = {}
    for role in (*REQUIRED[kind], *OPTIONAL.get(kind, ())):
        matches = _matches(role, columns)
        if len(matches) == 1:
            roles[role] = matches[0]
        elif matches:
            problem = f"columns {_listed(matches)} could all be the {role}"
            log.add(Fault(file, problem, f"Rename one to '{role}'"))
        elif role in REQUIRED[kind]:
            aliases = ", ".join(ALIASES[role])
            problem = f"there is no column '{role}' (or {aliases}); the columns are {_listed(columns)}"
            remedy = f"Add the column '{role}', or rename the one that holds it"
            log.add(Fault(file, problem, remedy, column=role))
    if log.total > before:
        return None
    return roles


def _matches(role: str, columns: Sequence[str]) -> list[str]:
    """Return the columns of a role: its own name first, then in any case, then its aliases."""
    if role in columns:
        return [role]
    for names in ((role,), ALIASES[role]):
        matches = [column for column in columns if column.strip().lower() in names]
        if matches:
            return matches
    return []


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMES]))
    if len(names) > MOST_NAMES:
        shown += f" and {len(names) - MOST_NAMES} more"
    return shown
