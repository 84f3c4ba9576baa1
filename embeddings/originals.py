"""Loading the original model of an index that holds no exported encoder, from where it stands."""

from __future__ import annotations

from pathlib import Path

from ale_semantic.errors import BundleMismatchError, EncoderError

from .bundle import rebuild_hint
from .encoder import Encoder, EncoderIdentity
from .nano_e5 import load_encoder


def load_original(identity: EncoderIdentity, place: str, index: Path | None) -> Encoder:
    """Load the model that embedded an index.

    Args:
        identity: what the model was then.
        place: registry name, Hub name or absolute folder (`model_source`); blank in an index that doesn't say.
        index: the index folder, for the message.

    Raises:
        EncoderError: if the model is gone or can't be loaded.
        MissingExtraError: if it needs a package that isn't installed.
        BundleMismatchError: if it has other weights or settings now.
    """
    hint = rebuild_hint(index) if index is not None else "rebuild it with: ale-semantic build"
    if not place and identity.revision == "local":
        raise EncoderError(
            f"the index doesn't say in which folder its model {identity.name!r} stands; {hint} --model FOLDER"
        )
    if Path(place).is_absolute() and not Path(place).is_dir():
        raise EncoderError(
            f"queries need the model {identity.name!r}, which the index holds no export of, and its folder {place} is "
            f"gone: put it back, or name where it is now: {hint} --model FOLDER"
        )
    encoder = load_encoder(place or identity.name)
    if encoder.identity != identity:
        raise BundleMismatchError(
            f"the model in {place or identity.name} isn't the one that the index was built with any more: "
            f"{_difference(encoder.identity, identity)}; put the earlier one back, or {hint} "
            f"--model {place or identity.name}"
        )
    return encoder


def _difference(now: EncoderIdentity, then: EncoderIdentity) -> str:
    if now.digest != then.digest:
        return f"its weights have the digest {now.digest[:12]}, then {then.digest[:12]}"
    names = ("name", "revision", "dimension", "max_tokens", "query_prefix", "document_prefix")
    told = [(name, getattr(now, name), getattr(then, name)) for name in names]
    return ", ".join(f"its {name} is {new!r}, then {old!r}" for name, new, old in told if new != old)
