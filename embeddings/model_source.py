"""Where an original model is found again, and whether it is still the one that an identity names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .digests import file_digest, known_digest
from .identity import EncoderIdentity
from .registry import ModelSpec, find_model, locate
from .tokens import TOKENIZER_FILE

_WEIGHTS = ("*.safetensors", "*/*.safetensors", "config.json", "*/config.json", "modules.json", TOKENIZER_FILE)
_SETTINGS = ("*config*.json", "*/*config*.json")
_PROMPTS_FILE = "config_sentence_transformers.json"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """What finds a model again, beside its identity.

    `place` is a registry name, a Hub name or the absolute path of a folder; `settings` a digest of the files that say
    how it is used: its prompts, its longest input.
    """

    place: str
    settings: str = ""

    @classmethod
    def of(cls, model: str) -> ModelSource:
        """Return the source of a registry name, a Hub name or a local folder.

        Raises:
            EncoderError: if the model can't be found or fetched.
        """
        spec = find_model(model)
        return cls(place_of(spec), settings_digest(locate(spec)))


def place_of(spec: ModelSpec) -> str:
    """Return the name or absolute path by which `find_model` finds a model from any working folder."""
    return spec.folder or spec.name


def prefixes(spec: ModelSpec, folder: Path) -> tuple[str, str]:
    """Return what stands before a query and before a document: as registered, else as the model's own settings say."""
    try:
        found = json.loads((folder / _PROMPTS_FILE).read_text(encoding="utf-8")).get("prompts")
    except (OSError, ValueError, AttributeError):
        found = None
    prompts = {name: text for name, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}
    document = spec.document_prefix or prompts.get("document") or prompts.get("passage") or ""
    return spec.query_prefix or prompts.get("query") or "", document


def weights_digest(folder: Path) -> str:
    """Return one digest over all weight files and module settings of a model."""
    return _digest_of(folder, ((path, known_digest(path)) for path in _matching(folder, _WEIGHTS)))


def settings_digest(folder: Path) -> str:
    """Return one digest over the small files that say how a model is used."""
    return _digest_of(folder, ((path, file_digest(path)) for path in _matching(folder, _SETTINGS)))


def matches(model: str, identity: EncoderIdentity, settings: str | None) -> bool:
    """Tell, without loading it, whether the model of a name is the one of an identity, and is used as it was then.

    Args:
        model: registry name, Hub name or local folder.
        identity: what the model was when it was loaded.
        settings: the digest of its settings then; None if that wasn't kept, which does for models of which the
            registry says all that settings could.

    Raises:
        EncoderError: if the model can't be found.
    """
    spec = find_model(model)
    same = (spec.name, spec.revision, spec.dimension or identity.dimension, spec.max_tokens or identity.max_tokens) == (
        identity.name,
        identity.revision,
        identity.dimension,
        identity.max_tokens,
    )
    if not same or (settings is None and not spec.max_tokens):
        return False
    folder = locate(spec)
    return (
        prefixes(spec, folder) == (identity.query_prefix, identity.document_prefix)
        and settings in (None, settings_digest(folder))
        and weights_digest(folder) == identity.digest
    )


def _matching(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def _digest_of(folder: Path, files: Iterable[tuple[Path, str]]) -> str:
    digest = hashlib.sha256()
    for path, own in files:
        digest.update(f"{path.relative_to(folder)} {own}\n".encode())
    return digest.hexdigest()
