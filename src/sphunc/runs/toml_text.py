"""Settings as TOML: tables of texts, numbers, truth values and lists of them."""

from __future__ import annotations

import json
from collections.abc import Mapping


def toml_text(document: Mapping[str, Mapping[str, object]], heading: str = "") -> str:
    """Write tables of plain values; None is left out.

    Args:
        document: values by name, by table.
        heading: a comment above it.
    """
    lines = [f"# {heading}", ""] if heading else []
    for table, values in document.items():
        lines.append(f"[{table}]")
        lines.extend(f"{name} = {_value(value)}" for name, value in values.items() if value is not None)
        lines.append("")
    return "\n".join(lines)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    # JSON text is TOML text but for the character DEL, which TOML wants escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
