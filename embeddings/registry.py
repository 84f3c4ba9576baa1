"""The model registry: names, pinned revisions, prefixes, digests (models.toml)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ale_semantic.errors import EncoderError

from .digests import known_digest

WEIGHTS = "model.safetensors"
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_MODULES = "modules.json"  # what makes a folder a sentence-transformers model


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What is known of a model before it is loaded; zero or blank means: ask the model itself."""

    name: str
    hub: str = ""
    revision: str = "main"
    package: str = ""
    package_folder: str = ""
    sha256: str = ""
    dimension: int = 0
    max_tokens: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    licence: str = ""
    languages: str = ""
    note: str = ""
    folder: str = ""


@cache
def registry() -> dict[str, ModelSpec]:
    """Return the registered models by name."""
    import tomllib  # here, since a query needs no table of models
    from importlib.resources import files

    table = tomllib.loads((files("ale_semantic.embeddings") / "models.toml").read_text(encoding="utf-8"))
    return {name: ModelSpec(name=name, **entry) for name, entry in table.items()}


def find_model(name: str) -> ModelSpec:
    """Return the model of a registry name, a Hub name or a local folder.

    Raises:
        EncoderError: if the name is none of these.
    """
    known = registry()
    if name in known:
        return known[name]
    for spec in known.values():
        if spec.hub and name == spec.hub:
            return spec
    folder = _folder(name)
    if folder is not None:
        if not (folder / _MODULES).is_file():
            raise EncoderError(f"{folder} is no sentence-transformers model: it has no {_MODULES}")
        return ModelSpec(name=folder.name, folder=str(folder), revision="local")
    if _HUB_NAME.fullmatch(name):
        return ModelSpec(name=name, hub=name)
    raise EncoderError(
        f"unknown model {name!r}: give one of {', '.join(known)}, "
        "a Hub name (owner/name) or a sentence-transformers folder"
    )


def _folder(name: str) -> Path | None:
    """Return the folder of that name, if there is one."""
    try:
        folder = Path(name).expanduser()
        return folder.resolve() if name.strip() and folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # a name too long, or in the home of an unknown user
        return None


def locate(spec: ModelSpec) -> Path:
    """Return the model's folder on this disk, fetched from the Hub if need be.

    Raises:
        EncoderError: if it can't be found or fetched, or its weights aren't the registered ones.
    """
    folder = _local_folder(spec) or _from_hub(spec)
    if spec.sha256:
        found = known_digest(folder / WEIGHTS)
        if found != spec.sha256:
            cure = f"reinstall {spec.package}" if spec.package else "remove it from the Hub's cache and fetch it again"
            raise EncoderError(
                f"{folder / WEIGHTS}: its SHA-256 is {found}, the registered one is {spec.sha256}; {cure}"
            )
    return folder


def _local_folder(spec: ModelSpec) -> Path | None:
    if spec.folder:
        return Path(spec.folder)
    if not spec.package:
        return None
    from importlib.util import find_spec

    found = find_spec(spec.package)  # looked up, not imported: importing it would load torch
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / spec.package_folder
    return folder if folder.is_dir() else None


def _from_hub(spec: ModelSpec) -> Path:
    from huggingface_hub import errors as hub
    from huggingface_hub import snapshot_download

    what = f"{spec.hub}@{spec.revision}"
    patterns = ["*.json", "*.txt", "*.model", "*.safetensors", "*.py"]
    try:
        return Path(snapshot_download(spec.hub, revision=spec.revision, allow_patterns=patterns))
    except hub.RepositoryNotFoundError:
        raise EncoderError(f"the Hub has no model {spec.hub!r} (or it is private): check the name") from None
    except hub.RevisionNotFoundError:
        raise EncoderError(f"model {spec.hub!r} has no revision {spec.revision!r}") from None
    except hub.LocalEntryNotFoundError:
        raise EncoderError(
            f"the Hub can't be reached and model {what} isn't in its cache: go online, or name a local folder"
        ) from None
    except Exception as fault:  # the HTTP library beneath, and its errors, differ between versions of the client
        reason = (str(fault).strip() or type(fault).__name__).splitlines()[0]
        raise EncoderError(f"model {what} can't be fetched from the Hub: {reason}") from None
