"""From the word a user gives (`auto`, `demo`, `hub`, a folder or a file) to a source."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from ale_semantic.errors import SourceError
from ale_semantic.settings import CARDS_VARIABLE, DEFAULT_HUB_TIMEOUT
from ale_semantic.sources import Source
from ale_semantic.sources.checkout import CheckoutSource
from ale_semantic.sources.hub import HubAddress, cached, fetch, reachable
from ale_semantic.sources.tables import TableSource

DEMO_NOTICE = (
    "These are the DEMO cards that come with ALE Semantic, not the benchmark's tasks: no catalogue was named and the "
    f"Hub could not be reached. Name the real cards with --cards FOLDER or {CARDS_VARIABLE}=FOLDER."
)
_KINDS = "a folder, a .jsonl, .json, .csv or .parquet file, 'hub' or 'demo'"


def resolve(
    where: str | Path,
    *,
    include_smoke_tests: bool = False,
    revision: str | None = None,
    hub_timeout: float = DEFAULT_HUB_TIMEOUT,
) -> tuple[Source, tuple[str, ...]]:
    """Return the source that `where` names, and notices that the user must see.

    Args:
        where: `auto`, `demo`, `hub[:owner/name[@revision]]`, a folder or a file; a Path is never one of the words.
        include_smoke_tests: also take the harness's smoke tests of a checkout.
        revision: branch, tag or commit of the Hub's data set.
        hub_timeout: seconds that `auto` waits for the Hub.

    Raises:
        SourceError: if nothing stands there, what stands there isn't a catalogue, or it has no revisions.
    """
    word = "" if isinstance(where, Path) else where.strip()
    if word == "auto":
        return _automatic(include_smoke_tests, revision, hub_timeout)
    if word == "hub" or word.startswith("hub:"):
        return fetch(HubAddress.parse(word, revision=revision), timeout=hub_timeout), ()
    if revision is not None:
        raise SourceError(f"{str(where)!r} has no revision {revision!r}: only the Hub's data set has revisions")
    if word == "demo":
        return demo_source(), ()
    return _local(where if isinstance(where, Path) else Path(word), include_smoke_tests), ()


def _local(path: Path, include_smoke_tests: bool) -> Source:
    try:
        path = path.expanduser()
        if path.is_dir():
            return CheckoutSource.find(path, include_smoke_tests=include_smoke_tests)
        if path.is_file():
            return TableSource(path)
    except (OSError, RuntimeError) as fault:  # a path too long, barred, or in the home of an unknown user
        raise SourceError(f"no cards at {str(path)!r} ({fault}): give {_KINDS}") from None
    raise SourceError(f"no cards at {str(path)!r}: give {_KINDS}")


def demo_source() -> Source:
    """Return the demo catalogue that comes with the package."""
    return CheckoutSource.find(Path(str(files("ale_semantic") / "data" / "demo")), demo=True)


def _automatic(include_smoke_tests: bool, revision: str | None, hub_timeout: float) -> tuple[Source, tuple[str, ...]]:
    named = os.environ.get(CARDS_VARIABLE, "").strip()
    if named and named != "auto":
        return resolve(named, include_smoke_tests=include_smoke_tests, revision=revision, hub_timeout=hub_timeout)
    address = HubAddress.parse("hub", revision=revision)
    reason = "no connection"
    if reachable(timeout=hub_timeout):
        try:
            return fetch(address, timeout=hub_timeout), ()
        except SourceError as fault:  # something answers, but not as the Hub with this data set does
            reason = str(fault)
    kept = cached(address)
    if kept is not None:
        return kept, (f"The Hub could not be reached ({reason}); its cached table ({kept.revision}) is used.",)
    if revision is not None:  # who asks for a revision must not get other cards
        raise SourceError(f"revision {revision!r} can't be had from the Hub ({reason}), and no cache holds it")
    return demo_source(), (f"{DEMO_NOTICE} ({reason})",)
