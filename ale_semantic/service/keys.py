"""API keys: made here, shown once, kept as hashes.

A key is 256 random bits, so nobody can try through the keys that fit a stolen hash: a plain SHA-256 is as safe as a
slow password hash, and costs a request nothing. The file is replaced in one step and looked at before each check, so
a revoked key is refused from the next request on, by every worker.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from ale_semantic.errors import AleSemanticError

PREFIX = "alesem"  # lets people, and scanners of leaked secrets, tell what it is
_ID_BYTES = 5  # eight letters
_SECRET_BYTES = 32
_LONGEST_KEY = 200  # more isn't even hashed
_LONGEST_NAME = 60
_FORMAT = 1
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LOCK_SECONDS = 10.0


class KeyFileError(AleSemanticError):
    """A file of keys that can't be trusted, read or changed."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """What is kept of one key; times are ISO 8601 in UTC."""

    id: str
    name: str
    key_hash: str
    created: str
    expires: str | None = None
    revoked: str | None = None

    def state(self, now: datetime | None = None) -> str:
        """Return `valid`, `revoked` or `expired`."""
        if self.revoked:
            return "revoked"
        if self.expires and datetime.fromisoformat(self.expires) <= (now or datetime.now(UTC)):
            return "expired"
        return "valid"


def key_hash(key: str) -> str:
    """Return the hash under which a key is kept."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class KeyFile:
    """The file of keys, for the commands that change it."""

    def __init__(self, path: Path) -> None:
        """Name the file; it needn't exist."""
        self.path = path

    def read(self) -> tuple[StoredKey, ...]:
        """Return all keys, also revoked ones; none if there is no file.

        Raises:
            KeyFileError: if the file is damaged, or others may write to it.
        """
        try:
            with self.path.open("rb") as file:
                if hasattr(os, "fchmod") and os.fstat(file.fileno()).st_mode & _OTHERS_MAY_WRITE:
                    raise KeyFileError(f"others may write to {self.path}: chmod 600 {self.path}, and check its keys")
                raw = file.read()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise KeyFileError(f"the keys in {self.path} can't be read: {error.strerror}") from None
        return _parsed(raw, self.path)

    def add(self, name: str, *, days: float | None = None) -> tuple[str, StoredKey]:
        """Make a key; return it, for the only time, and what is kept of it.

        Raises:
            KeyFileError: if the name is taken, or the file can't be changed.
        """
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise KeyFileError(f"a key's name has 1 to {_LONGEST_NAME} printable characters, {name!r} hasn't")
        if days is not None and not 0 < days <= 36_500:
            raise KeyFileError(f"a key is valid for more than 0 and at most 36500 days, not for {days:g}")
        identity = base64.b32encode(secrets.token_bytes(_ID_BYTES)).decode().lower()
        key = f"{PREFIX}_{identity}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        now = datetime.now(UTC)
        expires = (now + timedelta(days=days)).isoformat(timespec="seconds") if days is not None else None
        stored = StoredKey(identity, name, key_hash(key), now.isoformat(timespec="seconds"), expires)
        with self._locked():
            held = self.read()
            if any(other.name == name and other.state(now) == "valid" for other in held):
                raise KeyFileError(f"there is a valid key named {name!r} already: revoke it, or take another name")
            self._write((*held, stored))
        return key, stored

    def revoke(self, which: str) -> StoredKey:
        """Make a key invalid from now on.

        Args:
            which: its id, or the name of a valid key.

        Raises:
            KeyFileError: if there is no such key.
        """
        with self._locked():
            held = self.read()
            found = [key for key in held if key.id == which and not key.revoked] or [
                key for key in held if key.name == which and key.state() == "valid"
            ]
            if not found:
                raise KeyFileError(f"there is no valid key with the id or name {which!r}: ale-semantic keys list")
            now = datetime.now(UTC).isoformat(timespec="seconds")
            gone = replace(found[0], revoked=now)
            self._write(tuple(gone if key.id == gone.id else key for key in held))
        return gone

    def _locked(self) -> Any:
        import filelock

        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = filelock.FileLock(self.path.with_name(self.path.name + ".lock"), timeout=_LOCK_SECONDS, mode=0o600)
            return lock.acquire()
        except filelock.Timeout:
            raise KeyFileError(f"another command is changing {self.path}; try again") from None
        except OSError as error:
            raise KeyFileError(f"{self.path} can't be changed: {error.strerror}") from None

    def _write(self, keys: tuple[StoredKey, ...]) -> None:
        """Replace the file in one step; only its owner may read it."""
        text = json.dumps({"format": _FORMAT, "keys": [asdict(key) for key in keys]}, ensure_ascii=False, indent=1)
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                self._give_to_owner(handle)
                file.write(text + "\n")
                file.flush()
                os.fsync(handle)
            temporary.replace(self.path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise KeyFileError(f"{self.path} can't be written: {error.strerror}") from None

    def _give_to_owner(self, handle: int) -> None:
        """Give a file that root writes to the owner of its folder: the service reads it as that user."""
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            folder = self.path.parent.stat()
            os.fchown(handle, folder.st_uid, folder.st_gid)


class KeyRing:
    """The keys as the service checks them; follows the file."""

    def __init__(self, path: Path) -> None:
        """Read the file, if there is one.

        Raises:
            KeyFileError: if it can't be trusted or read.
        """
        self._file = KeyFile(path)
        self._lock = Lock()
        self._seen = _stamp(path)
        self._keys = self._file.read()
        self._any_yet = bool(self._keys)
        self.problem = ""  # why no key is accepted just now

    @property
    def holds_keys(self) -> bool:
        """Tell whether there is, or was since the start, any key: revoked ones count, so revoking never opens."""
        self._follow()
        return self._any_yet

    def find(self, key: str) -> StoredKey | None:
        """Return the valid key that was presented, compared with every stored one in constant time."""
        if not key or len(key) > _LONGEST_KEY:
            return None
        presented = key_hash(key)
        found = None
        for stored in self._follow():
            if hmac.compare_digest(presented, stored.key_hash):
                found = stored
        return found if found is not None and found.state() == "valid" else None

    def valid(self, identity: str) -> StoredKey | None:
        """Return the key of an id if it is valid still."""
        return next((key for key in self._follow() if key.id == identity and key.state() == "valid"), None)

    def _follow(self) -> tuple[StoredKey, ...]:
        """Return the keys of the file as it is now; a damaged or lost file leaves none."""
        stamp = _stamp(self._file.path)
        if stamp != self._seen:
            with self._lock:
                try:
                    self._keys, self.problem = self._file.read(), ""
                except KeyFileError as error:
                    self._keys, self.problem = (), str(error)
                self._seen = stamp
                self._any_yet = self._any_yet or bool(self._keys) or bool(self.problem)
        return self._keys


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    """Return what changes whenever the file is replaced, rewritten or opened up to others."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def _parsed(raw: bytes, path: Path) -> tuple[StoredKey, ...]:
    try:
        document = json.loads(raw)
        if document["format"] != _FORMAT:
            raise KeyFileError(f"{path} has format {document['format']!r}; this version reads {_FORMAT}")
        keys = tuple(StoredKey(**entry) for entry in document["keys"])
        for key in keys:
            if len(bytes.fromhex(key.key_hash)) != hashlib.sha256().digest_size or not key.id:
                raise ValueError("no SHA-256")
            for moment in filter(None, (key.created, key.expires, key.revoked)):
                if datetime.fromisoformat(moment).tzinfo is None:
                    raise ValueError("no time zone")
    except (ValueError, KeyError, TypeError) as error:
        detail = type(error).__name__
        raise KeyFileError(f"{path} is no file of keys ({detail}): restore it, or move it away and add keys") from None
    return keys
