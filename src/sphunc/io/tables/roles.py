"""Which column of a user's table plays which role: canonical names, their aliases, and what is left over."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from sphunc.io.faults import Fault, FaultLog
from sphunc.io.tables.layout import Layout

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
LONG = "table"
"""Kind of one long table that holds features, groups and outcomes."""
OPTIONAL: dict[str, tuple[str, ...]] = {"groups": ("weight",), LONG: ("group", "weight", "outcome")}
HINTS: dict[str, tuple[str, ...]] = {
    "agent": (
        "pupil",
        "student",
        "person",
        "user",
        "participant",
        "subject",
        "author",
        "firm",
        "company",
        "ticker",
        "respondent",
        "name",
        "pid",
        "member",
        "individual",
        "child",
        "player",
        "patient",
        "household",
        "worker",
        "employee",
        "teacher",
        "voter",
        "legislator",
        "account",
        "animal",
        "bird",
        "country",
    ),
    "time": (
        "week",
        "day",
        "month",
        "year",
        "period",
        "round",
        "quarter",
        "session",
        "visit",
        "step",
        "hour",
        "semester",
        "term",
        "season",
        "trial",
        "occasion",
        "measurement",
        "zeit",
        "datum",
        "welle",
        "fecha",
    ),
    "group": (
        "class",
        "classroom",
        "team",
        "thread",
        "room",
        "school",
        "meeting",
        "club",
        "cluster",
        "household",
        "session",
        "event",
        "committee",
        "paper",
        "project",
        "community",
        "department",
        "sector",
        "crew",
    ),
    "source": ("sender", "influencer", "nominator", "ego"),
    "target": ("receiver", "nominee", "nominated", "alter", "friend"),
}
"""Words in the names of columns that probably play a role, the clearest first."""
NAMED_BY_USER = ("agent", "time", "group", "outcome")
MOST_NAMES = 8


def required_roles(kind: str) -> tuple[str, ...]:
    """Return the roles that a table must have."""
    return REQUIRED.get(kind, ("time", "agent"))


def find_roles(
    kind: str, file: str, columns: Sequence[str], log: FaultLog, layout: Layout | None = None
) -> dict[str, str] | None:
    """Find the column of every role.

    Args:
        kind: which table it is: features, groups, outcomes or influence.
        file: its name in messages.
        columns: names of its columns.
        log: takes missing, doubled and ambiguous columns.
        layout: columns that the user names.

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
    layout = layout or Layout()
    required = required_roles(kind)
    for role in (*required, *OPTIONAL.get(kind, ())):
        matches = _matches(role, columns, layout)
        if len(matches) == 1:
            roles[role] = matches[0]
        elif matches:
            problem = f"columns {_listed(matches)} could all be the {role}"
            remedy = f"Rename one to '{role}'"
            if role in NAMED_BY_USER:
                remedy += f", or name it: {role}={matches[0]!r} (--{role} {matches[0]})"
            log.add(Fault(file, problem, remedy))
        elif role in required:
            aliases = ", ".join(ALIASES[role])
            problem = f"there is no column '{role}' (or {aliases}); the columns are {_listed(columns)}"
            remedy = _remedy(role, [name for name in columns if name not in roles.values()])
            log.add(Fault(file, problem, remedy, column=role))
    if log.total > before:
        return None
    return roles


def check_named_columns(layout: Layout, columns: Sequence[str]) -> None:
    """Refuse names of columns that no table has.

    Args:
        layout: columns that the user names.
        columns: names of all columns of all tables.
    """
    log = FaultLog()
    for role in NAMED_BY_USER:
        name = layout.role(role)
        if name is not None and name not in columns:
            log.add(_absent_column(role, name, columns))
    for name in layout.drop:
        if name not in columns:
            log.add(_absent_column("drop", name, columns))
    log.raise_if_any()


def _absent_column(argument: str, name: str, columns: Sequence[str]) -> Fault:
    near = get_close_matches(name, columns, n=1)
    remedy = f"Name one of {_listed(list(dict.fromkeys(columns)))}"
    if near:
        remedy = f"Did you mean --{argument} {near[0]}"
    elif argument == "outcome" and name in ("auto", "class", "number"):
        remedy = f"To say what kind of outcome it is, write outcome_kind={name!r} (--outcome-kind {name})"
    return Fault("tables", f"{argument} is {name!r}, but no table has a column of that name", remedy)


def _matches(role: str, columns: Sequence[str], layout: Layout) -> list[str]:
    """Return the columns of a role: the one the user names, its own name, then in any case, then its aliases."""
    named = layout.role(role)
    if named in columns:
        return [named]  # pyright: ignore[reportReturnType]
    taken = {layout.role(other) for other in NAMED_BY_USER}
    if role in columns and role not in taken:
        return [role]
    for names in ((role,), ALIASES.get(role, ())):
        matches = [column for column in columns if column.strip().lower() in names and column not in taken]
        if matches:
            return matches
    return []


def _remedy(role: str, columns: Sequence[str]) -> str:
    remedy = f"Add the column '{role}', or rename the one that holds it"
    likely = _likely(role, columns)
    if likely is None:
        return remedy
    if role in NAMED_BY_USER:
        return f"{remedy}; did you mean {role}={likely!r} (--{role} {likely})"
    return f"{remedy}; did you mean {likely!r}"


def _likely(role: str, columns: Sequence[str]) -> str | None:
    """Return the column that probably plays a role, by the words in its name."""
    plain = {column: column.strip().lower() for column in columns}
    for word in (role, *ALIASES[role], *HINTS.get(role, ())):
        if len(word) < 3:
            continue
        for column, name in plain.items():
            if word in name:
                return column
    near = get_close_matches(role, list(plain.values()), n=1, cutoff=0.7)
    return next((column for column, name in plain.items() if near and name == near[0]), None)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMES]))
    if len(names) > MOST_NAMES:
        shown += f" and {len(names) - MOST_NAMES} more"
    return shown
