"""Whether a bundle's files are whole, without reading what was read before.

A file is hashed, and what the file system says of it is kept in a record beside the generation. When the index
is opened again, a file of which the file system says just the same isn't read again (`digests`), unless a thorough
check is asked for.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

from ale_semantic.errors import BundleError, EncoderError

from .digests import TRUSTED, file_digest, file_state, is_settled

RECORD = "checked-{}.json"  # beside the generation, which is never changed once it is sealed


Inode = tuple[int, ...]  # of a file, whatever its name: which it is, its size, and when it was written


def inode_of(state: Sequence[int]) -> Inode:
    """Return which file a `file_state` is of; a link to it changes nothing of that."""
    size, written, _, number, device = state
    return number, device, size, written


def verify(
    root: Path,
    manifest: Mapping[str, Any],
    hint: str,
    *,
    thorough: bool,
    readers: int = 2,
    given_up: Event | None = None,
) -> dict[Inode, str]:
    """Compare each file of a generation with its manifest, and return the digests of those that were read for it.

    Args:
        root: the generation's folder.
        manifest: its manifest, which is known to be whole.
        hint: what to do about a damaged file, for the message.
        thorough: hash each file, whatever the record says.
        readers: how many files are read side by side.
        given_up: set by who needs the answer no more.

    Raises:
        BundleError: if it was given up, else naming the first file that is missing, can't be read, or isn't what the
            manifest says.
    """
    now = time.time_ns()
    record = {} if thorough else _read(root, manifest["seal"], now)
    states = {name: _state(root / name, entry, hint) for name, entry in manifest["files"].items()}
    doubted = [name for name, state in states.items() if record.get(name) != state]
    if not doubted:
        return {}

    def check(name: str) -> str:
        path = root / name
        if given_up is not None and given_up.is_set():
            raise BundleError(f"{path}: not read, for nobody asks any more")
        try:
            digest = file_digest(path)
        except (OSError, EncoderError) as fault:
            raise BundleError(f"{path}: can't be read ({fault}); {hint}") from None
        if digest != manifest["files"][name]["sha256"]:
            raise BundleError(f"{path}: the file is damaged (its digest differs); {hint}")
        return digest

    with ThreadPoolExecutor(readers) as pool:
        digests = dict(zip(doubted, pool.map(check, doubted), strict=True))
    settled = {name: state for name, state in states.items() if is_settled(state, now)}
    if settled:
        _write(root, manifest["seal"], now, settled)
    return {inode_of(states[name]): digest for name, digest in digests.items()}


def _state(path: Path, entry: Mapping[str, Any], hint: str) -> list[int]:
    """Return what the file system says of a file: size, times of writing and of change, inode, device."""
    try:
        state = file_state(path)
    except FileNotFoundError:
        raise BundleError(f"{path}: the file is missing; {hint}") from None
    except OSError as fault:
        raise BundleError(f"{path}: can't be read ({fault}); {hint}") from None
    if state[0] != entry["bytes"]:
        raise BundleError(f"{path}: {state[0]} bytes, the manifest says {entry['bytes']}; {hint}")
    return state


def _read(root: Path, seal: str, now: int) -> dict[str, list[int]]:
    """Return the record of the last verification; empty if it is absent, damaged, old or of other files."""
    try:
        stored = json.loads(_place(root).read_text(encoding="utf-8"))
        if stored["seal"] == seal and 0 <= now - stored["hashed"] <= TRUSTED:
            return dict(stored["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return {}


def _write(root: Path, seal: str, now: int, states: Mapping[str, list[int]]) -> None:
    """Keep a record, where the folder can be written to."""
    place = _place(root)
    temporary = place.with_name(f"{place.name}.{os.getpid()}")
    with suppress(OSError):
        temporary.write_text(json.dumps({"seal": seal, "hashed": now, "files": states}), encoding="utf-8")
        temporary.replace(place)


def _place(root: Path) -> Path:
    return root.with_name(RECORD.format(root.name))
