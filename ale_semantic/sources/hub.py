"""The public data set on the Hugging Face Hub, fetched once into the Hub's own cache."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ale_semantic.errors import SourceError
from ale_semantic.sources.tables import TableSource

DATA_SET = "agents-last-exam/agents-last-exam"
TABLE = "task_cards.parquet"
DEFAULT_REVISION = "main"


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A data set, a pinned revision (branch, tag or commit) and the table in it."""

    data_set: str = DATA_SET
    revision: str = DEFAULT_REVISION
    table: str = TABLE

    @classmethod
    def parse(cls, text: str, *, revision: str | None = None) -> HubAddress:
        """Read `hub`, `hub:owner/name` or `hub:owner/name@revision`; `revision` wins over the text's."""
        name, _, pinned = text.removeprefix("hub").removeprefix(":").partition("@")
        return cls(data_set=name or DATA_SET, revision=revision or pinned or DEFAULT_REVISION)


def fetch(address: HubAddress, *, timeout: float) -> TableSource:
    """Download the table, or find it in the Hub's cache, where the revision is the resolved commit.

    Args:
        address: what to fetch.
        timeout: seconds to wait for the Hub to answer.

    Raises:
        SourceError: if the data set, revision or file doesn't exist, or the Hub can't be reached
            and the cache doesn't hold it.
    """
    from huggingface_hub import errors as hub
    from huggingface_hub import hf_hub_download

    what = f"{address.data_set}@{address.revision}"
    try:
        path = hf_hub_download(
            address.data_set, address.table, repo_type="dataset", revision=address.revision, etag_timeout=timeout
        )
    except hub.RepositoryNotFoundError:
        raise SourceError(f"the Hub has no data set {address.data_set!r} (or it is private): check the name") from None
    except hub.RevisionNotFoundError:
        raise SourceError(f"data set {address.data_set!r} has no revision {address.revision!r}") from None
    except hub.LocalEntryNotFoundError:
        raise SourceError(
            f"the Hub can't be reached and {what} isn't in its cache: go online, or give --cards a folder or file"
        ) from None
    except hub.EntryNotFoundError:
        raise SourceError(f"data set {what} has no file {address.table!r}") from None
    except Exception as fault:  # the HTTP library beneath, and its errors, differ between versions of the client
        raise SourceError(f"{what} can't be fetched from the Hub: {_first_line(fault)}") from None
    return _as_source(Path(path), address)


def cached(address: HubAddress) -> TableSource | None:
    """Return the table if the Hub's cache holds it, without a connection."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(address.data_set, address.table, repo_type="dataset", revision=address.revision)
    return _as_source(Path(path), address) if isinstance(path, str) else None


def reachable(*, timeout: float) -> bool:
    """Tell within `timeout` seconds whether the Hub takes a connection; never when the Hub is set offline."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    answered = threading.Event()

    def connect() -> None:
        try:
            endpoint = urlsplit(constants.ENDPOINT)
            port = endpoint.port or (443 if endpoint.scheme == "https" else 80)
            socket.create_connection((endpoint.hostname or "", port), timeout=timeout).close()
        except (OSError, ValueError):  # a ValueError is a host or port that can't be one
            return
        answered.set()

    # A thread, since the look-up of a host's name knows no time limit.
    probe = threading.Thread(target=connect, daemon=True)
    probe.start()
    probe.join(timeout)
    return answered.is_set()


def _as_source(path: Path, address: HubAddress) -> TableSource:
    # The cache lays a file out as .../snapshots/<commit>/<file>.
    commit = path.parent.name if path.parent.parent.name == "snapshots" else address.revision
    return TableSource(path, name=address.data_set, revision=commit)


def _first_line(fault: Exception) -> str:
    return (str(fault).strip() or type(fault).__name__).splitlines()[0]
