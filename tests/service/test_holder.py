"""The open index: leases, swaps under readers, bad bundles, the watch."""

from __future__ import annotations

import gc
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from service_toys import build_toys
from toy import HashEncoder, toy_card, toy_cards

from ale_semantic.embeddings.encoder import Encoder
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.errors import BundleError, EncoderError
from ale_semantic.service.config import ServiceConfig
from ale_semantic.service.holder import EngineHolder
from ale_semantic.service.problems import NotReadyError
from ale_semantic.service.telemetry import Telemetry

LONG = 60.0


@dataclass(frozen=True)
class Bundles:
    """Two indexes: the toys, and as many other cards, whose titles say so."""

    old: Path
    new: Path

    @property
    def names(self) -> tuple[str, str]:
        return generation(self.old), generation(self.new)


def generation(folder: Path) -> str:
    return (folder / "CURRENT").read_text(encoding="utf-8").strip()


def publish(source: Path, folder: Path) -> None:
    """Put the index of one folder into another as a build would: whole, then named by CURRENT."""
    name = generation(source)
    if not (folder / name).exists():  # what is open is never written to
        shutil.copytree(source / name, folder / name)
    (folder / "CURRENT.next").write_text(name + "\n", encoding="utf-8")
    (folder / "CURRENT.next").replace(folder / "CURRENT")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Bundles:
    root = tmp_path_factory.mktemp("bundles")
    new = [toy_card(card.task_id, title=f"New {card.title}") for card in toy_cards()]
    return Bundles(build_toys(root / "old"), build_toys(root / "new", new))


@pytest.fixture
def folder(bundles: Bundles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an index folder with the old bundle; whatever is in it is opened with the toys' encoder."""

    def load(space: VectorSpace, *, workers: int = 1) -> Encoder:
        identity = space.identity
        if identity.name != "hash":
            raise EncoderError(f"unknown model {identity.name!r}")
        encoder: Encoder = HashEncoder(digest=identity.digest)
        return encoder

    monkeypatch.setattr(VectorSpace, "load_encoder", load)
    target = tmp_path / "index"
    target.mkdir()
    publish(bundles.old, target)
    return target


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[..., EngineHolder]]:
    """Open holders that are closed in the end."""
    held = []

    def open_one(**settings: float) -> EngineHolder:
        config = ServiceConfig.exactly(index=folder, **{"watch_seconds": 0.0, **settings})
        held.append(EngineHolder.open(folder, config, Telemetry(config)))
        return held[-1]

    yield open_one
    for holder in held:
        holder.close()


def first_title(holder: EngineHolder) -> str:
    with holder.lease() as index:
        return index.engine.search("comet orbit", k=1).hits[0].card.title


def until(condition: Callable[[], bool]) -> None:
    for _ in range(int(LONG / 0.01)):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it never happened")


def test_nothing_new_is_nothing_done(opened: Callable[..., EngineHolder], bundles: Bundles) -> None:
    holder = opened()
    index = holder.current
    assert (index.generation, len(index.etag)) == (bundles.names[0], 32)
    assert not holder.reload()
    assert holder.current is index


def test_reader_keeps_its_index_until_it_is_done(
    opened: Callable[..., EngineHolder], folder: Path, bundles: Bundles
) -> None:
    holder = opened()
    with holder.lease() as before:
        publish(bundles.new, folder)
        assert holder.reload()
        assert holder.open_indexes == 2
        assert first_title(holder).startswith("New ")
        assert before.generation == bundles.names[0]
        assert not before.engine.search("a comet that is new here", k=1).hits[0].card.title.startswith("New ")
    assert holder.open_indexes == 1
    assert holder.current.generation == bundles.names[1]
    assert holder.current.etag != before.etag
    assert holder.current.encoder is before.encoder  # the same model: taken over, and still at work
    assert first_title(holder).startswith("New ")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_files_of_an_old_index_are_let_go(opened: Callable[..., EngineHolder], folder: Path, bundles: Bundles) -> None:
    def mapped(name: str) -> bool:
        gc.collect()
        return f"{folder}/{name}" in Path("/proc/self/maps").read_text(encoding="utf-8")

    holder = opened()
    old, new = bundles.names
    lease = holder.lease()
    lease.__enter__()
    publish(bundles.new, folder)
    holder.reload()
    assert mapped(old)
    lease.__exit__(None, None, None)
    del lease
    assert not mapped(old)
    assert mapped(new)


def test_damaged_bundle_leaves_the_old_one_serving(
    opened: Callable[..., EngineHolder], folder: Path, bundles: Bundles
) -> None:
    holder = opened()
    publish(bundles.new, folder)
    cards = folder / bundles.names[1] / "cards.jsonl"
    whole = cards.read_bytes()
    cards.write_bytes(whole[:-10] + b"xxxxxxxxx\n")
    with pytest.raises(BundleError, match="damaged"):
        holder.reload()
    assert "damaged" in holder.problem
    assert not first_title(holder).startswith("New ")
    cards.write_bytes(whole)
    assert holder.reload()
    assert holder.problem == ""
    assert first_title(holder).startswith("New ")


def test_bundle_of_an_unknown_model_leaves_the_old_one_serving(
    opened: Callable[..., EngineHolder], folder: Path, tmp_path: Path
) -> None:
    from toy import toy_catalogue

    from ale_semantic import build_index

    holder = opened()
    build_index(toy_catalogue(), tmp_path / "other", encoder=HashEncoder(name="unheard-of"))
    publish(tmp_path / "other", folder)
    with pytest.raises(EncoderError):
        holder.reload()
    assert first_title(holder) == "Fit a comet's orbit"
    (folder / "CURRENT").unlink()
    with pytest.raises(BundleError, match="no index"):
        holder.reload()
    assert first_title(holder) == "Fit a comet's orbit"


def test_other_weights_bring_their_own_encoder(
    opened: Callable[..., EngineHolder], folder: Path, tmp_path: Path
) -> None:
    from toy import toy_catalogue

    from ale_semantic import build_index

    holder = opened()
    before = holder.current
    build_index(toy_catalogue(), tmp_path / "other", encoder=HashEncoder(digest="1" * 64))
    publish(tmp_path / "other", folder)
    assert holder.reload()
    assert holder.current.encoder is not before.encoder
    assert first_title(holder) == "Fit a comet's orbit"
    with pytest.raises(NotReadyError):  # nobody reads the old index: its encoder was stopped
        before.encoder.encode(["text"], "query")


def test_watch_opens_what_appears_and_tries_a_bad_one_once(
    opened: Callable[..., EngineHolder], folder: Path, bundles: Bundles, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = opened(watch_seconds=0.01)
    outcomes: list[str] = []
    told = holder._telemetry.reload

    def counted(outcome: str, *, problem: str = "") -> None:
        outcomes.append(outcome)
        told(outcome, problem=problem)

    monkeypatch.setattr(holder._telemetry, "reload", counted)
    publish(bundles.new, folder)
    cards = folder / bundles.names[1] / "cards.jsonl"
    whole = cards.read_bytes()
    (folder / "CURRENT").write_text(bundles.names[0] + "\n", encoding="utf-8")
    cards.write_bytes(b"{}\n")
    (folder / "CURRENT").write_text(bundles.names[1] + "\n", encoding="utf-8")
    holder.watch()
    until(lambda: bool(holder.problem))
    threading.Event().wait(0.1)  # some ten looks later ...
    assert outcomes == ["failed"]
    cards.write_bytes(whole)
    (folder / "CURRENT").write_text(bundles.names[0] + "\n", encoding="utf-8")
    until(lambda: holder.current.generation == bundles.names[0])
    name = "g-0123456789ab"
    shutil.copytree(folder / bundles.names[1], folder / name)
    (folder / "CURRENT").write_text(name + "\n", encoding="utf-8")
    until(lambda: holder.current.generation == name)
    assert first_title(holder).startswith("New ")
    assert not holder.problem


def test_sixteen_threads_search_while_bundles_are_swapped(
    opened: Callable[..., EngineHolder], folder: Path, bundles: Bundles
) -> None:
    holder = opened()
    stop = threading.Event()
    queries = ["comet orbit", "supplier invoices", "lease clauses", "soil probes", "poster colours"]

    def search(number: int) -> set[str]:
        seen = set()
        while not stop.is_set():
            number += 1
            with holder.lease() as index:
                result = index.engine.search(f"{queries[number % len(queries)]} {number % 50}", k=9)
                titles = {hit.card.title.startswith("New ") for hit in result.hits}
                assert titles == {index.generation == bundles.names[1]}  # the whole answer from one index
                assert result.provenance.fingerprint == index.engine.catalogue.fingerprint
                assert len(result.hits) == 9
                seen.add(index.generation)
        return seen

    with ThreadPoolExecutor(16) as threads:
        searching = [threads.submit(search, 1000 * number) for number in range(16)]
        try:
            for source in [bundles.new, bundles.old] * 2:
                publish(source, folder)
                assert holder.reload()
        finally:
            stop.set()
        seen = [one.result(LONG) for one in searching]
    assert set().union(*seen) == set(bundles.names)
    assert holder.open_indexes == 1


def test_closed_holder_leases_nothing(opened: Callable[..., EngineHolder]) -> None:
    holder = opened(watch_seconds=0.01)
    holder.watch()
    encoder = holder.current.encoder
    with holder.lease() as index:
        holder.close()
        index.engine.search("asked before, encoded after closing", k=1)  # readers finish
    with pytest.raises(NotReadyError), holder.lease():
        pass
    with pytest.raises(NotReadyError):
        encoder.encode(["text"], "query")
    assert not any(thread.name == "ale-watch" and thread.is_alive() for thread in threading.enumerate())


def test_no_index_is_told_at_the_start(tmp_path: Path) -> None:
    config = ServiceConfig.exactly(index=tmp_path)
    with pytest.raises(BundleError, match="no index"):
        EngineHolder.open(tmp_path, config, Telemetry(config))


def test_watch_tells_of_a_lost_index_and_of_its_return(opened: Callable[..., EngineHolder], folder: Path) -> None:
    holder = opened(watch_seconds=0.01)
    named = (folder / "CURRENT").read_text()
    holder.watch()
    (folder / "CURRENT").write_text("g-nothing\n")
    until(lambda: bool(holder.problem))
    assert first_title(holder)
    (folder / "CURRENT").write_text(named)
    until(lambda: not holder.problem)
