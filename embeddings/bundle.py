"""The index bundle on disk: versioned generations, a pointer to the current one, digests of every file.

    index/
      CURRENT            the name of the generation that readers open
      lock               held by the one writer
      checked-g-....json what the file system said of the files when they were hashed last (`verification`)
      g-.../             a generation: complete before CURRENT names it, never changed after
        manifest.json    written last
        cards.jsonl  facets/  ledger.json  lexical/  spaces/<encoder>/{passages.npy,vectors.npy,index.faiss,encoder/}

A generation is written beside the current one and CURRENT is replaced in one step, so that a writer killed at
any moment leaves the earlier index whole, and a reader keeps the generation it opened.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from ale_semantic.errors import BundleError, BundleMismatchError

from .passages import LAYOUT_VERSION
from .sealing import Sealing, sync
from .verification import RECORD, Inode, verify

FORMAT_VERSION = 2
CURRENT = "CURRENT"
LOCK = "lock"
MANIFEST = "manifest.json"
CARDS = "cards.jsonl"
LEDGER = "ledger.json"
LEXICAL = "lexical"
SPACES = "spaces"
PASSAGES = "passages.npy"
ENCODER = "encoder"
LATE = "late"
RELATED = "related.npy"
FACETS = "facets"
_GENERATION = re.compile(r"g-[0-9a-f]{12}")
_SEAL = "seal"  # the manifest's own digest
_KEPT_GENERATIONS = 2  # the current one and the one before it, which a reader may just be opening


@dataclass(frozen=True, slots=True)
class BundlePaths:
    """The typed paths of one generation."""

    root: Path

    @property
    def manifest(self) -> Path:
        """Return the manifest's path."""
        return self.root / MANIFEST

    @property
    def cards(self) -> Path:
        """Return the path of the cards, one JSON object a line."""
        return self.root / CARDS

    @property
    def ledger(self) -> Path:
        """Return the path of the token ledger."""
        return self.root / LEDGER

    @property
    def lexical(self) -> Path:
        """Return the folder of the lexical index."""
        return self.root / LEXICAL

    def space(self, key: str) -> Path:
        """Return the folder of one encoder's vectors."""
        return self.root / SPACES / key


def rebuild_hint(folder: Path) -> str:
    """Return the sentence that says how to make the bundle anew."""
    return f"rebuild it with: ale-semantic build --index {folder}"


def open_generation(folder: Path, *, thorough: bool = False) -> tuple[BundlePaths, dict[str, Any]]:
    """Return the current generation and its manifest, after checking versions and every file.

    Args:
        folder: the index folder.
        thorough: hash each file, also those that are as they were when they were hashed last.

    Raises:
        BundleError: if there is no index, or a file is missing or damaged.
        BundleMismatchError: if it was written in another format or passage layout.
    """
    paths, manifest, _ = checked_generation(folder, thorough=thorough)
    return paths, manifest


def checked_generation(
    folder: Path, *, thorough: bool = False, readers: int = 2, given_up: Event | None = None
) -> tuple[BundlePaths, dict[str, Any], dict[Inode, str]]:
    """Return what `open_generation` does and the digests of those files that were read for it (`verify`)."""
    while True:  # builds may remove the generation between reading CURRENT and opening it
        paths = BundlePaths(folder / _current_name(folder))
        try:
            manifest = _read_manifest(folder, paths)
            hashed = verify(
                paths.root, manifest, rebuild_hint(folder), thorough=thorough, readers=readers, given_up=given_up
            )
        except BundleError:
            if paths.root.name == _current_name(folder):
                raise
        else:
            return paths, manifest, hashed


def has_index(folder: Path) -> bool:
    """Tell whether a folder holds an index, of whatever make."""
    return (folder / CURRENT).is_file()


def current_root(folder: Path) -> Path | None:
    """Return the folder of the current generation, unchecked; None if there is none."""
    name = _current_or_none(folder)
    return folder / name if name is not None else None


@contextmanager
def new_generation(folder: Path, *, wait: float = 0.0) -> Iterator[BundlePaths]:
    """Give a fresh generation to write into; on leaving without an error it becomes the current one.

    The body must end by calling `seal`. Only one writer at a time gets in.

    Args:
        folder: the index folder, created if need be.
        wait: seconds to wait for another writer.

    Raises:
        BundleError: if another build holds the folder, or it can't be written.
    """
    import filelock

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / LOCK, timeout=wait)
        lock.acquire()
    except filelock.Timeout:
        raise BundleError(f"another build is writing {folder}; wait for it to end, or name another --index") from None
    except (OSError, NotImplementedError) as fault:  # the latter where a file system knows no locks
        raise BundleError(f"{folder}: can't be written: {getattr(fault, 'strerror', None) or fault}") from None
    paths = BundlePaths(folder / f"g-{uuid.uuid4().hex[:12]}")
    try:
        _remove_leftovers(folder)
        paths.root.mkdir()
        yield paths
        if not paths.manifest.is_file():
            raise BundleError(f"{paths.root}: the generation was not sealed")
        _point_to(folder, paths.root.name)
    except OSError as fault:
        raise BundleError(
            f"{folder}: the index could not be written ({fault.strerror or fault}); "
            "the earlier one, if any, is unchanged"
        ) from fault
    else:
        with suppress(OSError):  # the new index stands; the next build tidies up
            _remove_leftovers(folder)
    finally:
        if _current_or_none(folder) != paths.root.name:
            shutil.rmtree(paths.root, ignore_errors=True)
        lock.release()


def seal(paths: BundlePaths, manifest: dict[str, Any], *, begun: Sealing | None = None) -> None:
    """Write the manifest, with the digest and size of every file, after all files are on disk.

    Args:
        paths: the generation.
        manifest: what it is to say beside that.
        begun: what has some of the files already.
    """
    with closing(begun or Sealing(paths.root)) as sealing:
        files = sealing.finish()
    whole = {"format": FORMAT_VERSION, "layout": LAYOUT_VERSION, **manifest, "files": files}
    whole[_SEAL] = _seal_of(whole)
    paths.manifest.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    sync(paths.manifest)
    sync(paths.root)


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that shape the index."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": sys.version.split()[0]}
    for name in ("ale-semantic", "numpy", "faiss-cpu", "sentence-transformers", "onnxruntime", "tokenizers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def _current_name(folder: Path) -> str:
    name = _current_or_none(folder)
    if name is None and has_index(folder):
        raise BundleError(f"{folder / CURRENT}: names no generation of the index; {rebuild_hint(folder)}")
    if name is None:
        raise BundleError(f"no index in {folder}; build one with: ale-semantic build --index {folder}")
    return name


def _current_or_none(folder: Path) -> str | None:
    try:
        name = (folder / CURRENT).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    # Anything else, such as "..", could lead out of the folder.
    return name if _GENERATION.fullmatch(name) else None


def _read_manifest(folder: Path, paths: BundlePaths) -> dict[str, Any]:
    try:
        manifest = json.loads(paths.manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise BundleError(f"{paths.manifest}: missing or unreadable; {rebuild_hint(folder)}") from None
    if not isinstance(manifest, dict):
        raise BundleError(f"{paths.manifest}: must hold an object; {rebuild_hint(folder)}")
    for field, expected in (("format", FORMAT_VERSION), ("layout", LAYOUT_VERSION)):
        if manifest.get(field) != expected:
            raise BundleMismatchError(
                f"{folder}: its {field} version is {manifest.get(field)!r}, this program's is {expected!r}; "
                f"{rebuild_hint(folder)}"
            )
    for field in ("catalogue", "spaces", "files", _SEAL):
        if field not in manifest:
            raise BundleError(f"{paths.manifest}: field {field!r} is missing; {rebuild_hint(folder)}")
    if manifest[_SEAL] != _seal_of(manifest):
        raise BundleError(f"{paths.manifest}: the file is damaged (its digest differs); {rebuild_hint(folder)}")
    return manifest


def _seal_of(manifest: dict[str, Any]) -> str:
    """Return the digest of a manifest's content, its own seal left out."""
    content = {name: value for name, value in manifest.items() if name != _SEAL}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _point_to(folder: Path, name: str) -> None:
    temporary = folder / f"{CURRENT}.{name}"
    temporary.write_text(name + "\n", encoding="utf-8")
    sync(temporary)
    temporary.replace(folder / CURRENT)
    with suppress(OSError):  # from here on the new generation stands
        sync(folder)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed builds left and all but the newest generations; the lock must be held."""
    current = _current_or_none(folder)
    for path in folder.glob(f"{CURRENT}.*"):
        path.unlink(missing_ok=True)
    sealed = [path for path in folder.glob("g-*") if (path / MANIFEST).is_file()]
    newest = sorted(sealed, key=lambda path: (path / MANIFEST).stat().st_mtime, reverse=True)[:_KEPT_GENERATIONS]
    for path in folder.glob("g-*"):
        if path not in newest and path.name != current:
            shutil.rmtree(path, ignore_errors=True)  # which follows no link, not even where `path` itself is one
    for path in folder.glob(f"{RECORD.format('*')}*"):
        if not any(path.name == RECORD.format(kept.name) for kept in newest):
            path.unlink(missing_ok=True)
