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


def resolve(
    where: str | Path,
    *,
    include_smoke_tests: bool = False,
    revision: str | None = None,
    hub_timeout: float = DEFAULT_HUB_TIMEOUT,
) -> tuple[Source, tuple[str, ...]]:
    """Return the source that `where` names, and notices that the user must see.

    Args:
        where: `auto`, `demo`, `hub[:owner/name[@revision]]`, a folder or a file.
        include_smoke_tests: also take the harness's smoke tests of a checkout.
        revision: branch, tag or commit of the Hub's data set.
        hub_timeout: seconds that `auto` waits for the Hub.

    Raises:
        SourceError: if nothing stands there, or what stands there isn't a catalogue.
    """
    text = str(where).strip()
    if text == "auto":
        return _automatic(include_smoke_tests, revision, hub_timeout)
    if text == "demo":
        return demo_source(), ()
    if text == "hub" or text.startswith("hub:"):
        return fetch(HubAddress.parse(text, revision=revision), timeout=hub_timeout), ()
    path = Path(text).expanduser()
    if path.is_dir():
        return CheckoutSource.find(path, include_smoke_tests=include_smoke_tests), ()
    if path.is_file():
        return TableSource(path), ()
    raise SourceError(f"no cards at {text!r}: give a folder, a .jsonl, .json, .csv or .parquet file, 'hub' or 'demo'")


def demo_source() -> Source:
    """Return the demo catalogue that comes with the package."""
    return CheckoutSource.find(Path(str(files("ale_semantic") / "data" / "demo")), demo=True)


def _automatic(
    include_smoke_tests: bool, revision: str | None, hub_timeout: float
) -> tuple[Source, tuple[str, ...]]:
    named = os.environ.get(CARDS_VARIABLE, "").strip()
    if named and named != "auto":
        return resolve(named, include_smoke_tests=include_smoke_tests, revision=revision, hub_timeout=hub_timeout)
    address = HubAddress.parse("hub", revision=revision)
    if reachable(timeout=hub_timeout):
        return fetch(address, timeout=hub_timeout), ()
    kept = cached(address)
    if kept is not None:
        return kept, (f"The Hub could not be reached; its cached table ({kept.revision}) is used.",)
    return demo_source(), (DEMO_NOTICE,)
