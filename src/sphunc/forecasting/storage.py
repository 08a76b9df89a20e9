"""Bundles on disk: one JSON document and its tensors (safetensors), replaced as one, never half
written, no pickle.

The tensors go to a file named by their digest; the document, which names that file, is then swapped
in by one atomic rename. Whoever reads finds the old pair or the new one, whenever the writer is
killed. The document carries a digest of its own entries: one that was damaged or edited is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from sphunc.errors import CheckpointError

FORMAT = 9
"""Version of the layout; readers refuse any other."""
SEAL = "document_sha256"
"""Entry of a document that holds the digest of the others."""
# From the metadata: the package that carries the same number in its __init__ names what is built on this module.
VERSION = version("sphunc")


def write_bundle(folder: Path, name: str, document: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write ``<name>.json`` and its tensors into ``folder``, in place of what was there."""
    folder.mkdir(parents=True, exist_ok=True)
    # Copies, as safetensors refuses tensors that share memory, and values such as structures may share theirs.
    blob = save({key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()})
    digest = hashlib.sha256(blob).hexdigest()
    file = f"{name}-{digest[:16]}.safetensors"
    header = {"format": FORMAT, "sphunc": VERSION, "kind": name, "tensors": file, "sha256": digest}
    _replace(folder / file, blob)
    _replace(folder / f"{name}.json", json.dumps(sealed({**header, **document}), indent=1).encode())
    for old in folder.glob(f"{name}-*.safetensors"):
        if old.name != file:
            old.unlink(missing_ok=True)


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the digest of all its other entries, in place of what it had."""
    entries = {key: value for key, value in document.items() if key != SEAL}
    # By way of JSON, which makes lists of tuples and text of keys: what is read has the digest of what was written.
    text = json.dumps(json.loads(json.dumps(entries)), sort_keys=True)
    return {**entries, SEAL: hashlib.sha256(text.encode()).hexdigest()}


def read_bundle(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read what :func:`write_bundle` wrote; anything else raises
    :class:`~sphunc.errors.CheckpointError`."""
    document = _document(folder / f"{name}.json", name)
    path = folder / document["tensors"]
    if not path.is_file():
        raise CheckpointError(f"{path} is missing, but {name}.json names it; copy the whole folder")
    blob = path.read_bytes()
    if hashlib.sha256(blob).hexdigest() != document["sha256"]:
        raise CheckpointError(
            f"{path} has {len(blob)} bytes that are not those {name}.json was written with: it is truncated, changed, "
            "or of another model; copy the folder again"
        )
    try:
        return document, load(blob)
    except SafetensorError as error:
        raise CheckpointError(f"{path} is no safetensors file ({error}); copy the folder again") from None


def has_bundle(folder: Path, name: str) -> bool:
    """Say whether ``folder`` holds a bundle of this name."""
    return (folder / f"{name}.json").is_file()


def remove_bundle(folder: Path, name: str) -> None:
    """Remove a bundle, document first."""
    (folder / f"{name}.json").unlink(missing_ok=True)
    for file in folder.glob(f"{name}-*.safetensors"):
        file.unlink(missing_ok=True)


def _document(path: Path, name: str) -> dict[str, Any]:
    if not path.is_file():
        raise CheckpointError(f"{path} does not exist; give a folder that SphUnc.save or fit(checkpoint=) wrote")
    try:
        document = json.loads(path.read_bytes())
    except ValueError:
        raise CheckpointError(f"{path} is not JSON: it is truncated or foreign; copy the folder again") from None
    wanted = {"format": int, "sphunc": str, "kind": str, "tensors": str, "sha256": str}
    if not isinstance(document, dict) or any(not isinstance(document.get(key), kind) for key, kind in wanted.items()):
        raise CheckpointError(f"{path} was not written by sphunc; give a folder that SphUnc.save wrote")
    if document["format"] > FORMAT:
        raise CheckpointError(
            f"{path} has format {document['format']}, written by sphunc {document['sphunc']}; this is sphunc "
            f"{VERSION}, which reads up to format {FORMAT}: update sphunc"
        )
    if document["format"] < FORMAT:
        raise CheckpointError(
            f"{path} has format {document['format']}, written by sphunc {document['sphunc']}; this is sphunc "
            f"{VERSION}, whose models have format {FORMAT}: fit again"
        )
    if document.get(SEAL) != sealed(document)[SEAL]:
        raise CheckpointError(
            f"{path} does not hold what sphunc wrote: an entry is damaged or was edited; copy the folder again, or fit "
            "with other settings"
        )
    if document["kind"] != name or Path(document["tensors"]).name != document["tensors"]:
        raise CheckpointError(f"{path} holds a bundle of kind {document['kind']!r}, not {name!r}")
    return document


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
