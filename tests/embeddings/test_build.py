"""A build: only what changed is embedded, a rebuild equals a first build, and readers never see a mixture."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits
from toy import HashEncoder, many_cards, toy_card, toy_cards, toy_catalogue

import ale_semantic.embeddings.build as build
from ale_semantic import Catalogue, Engine, build_index
from ale_semantic.card_store import StoredCards
from ale_semantic.cards import card_to_row
from ale_semantic.embeddings.bundle import CURRENT, LOCK, has_index, open_generation
from ale_semantic.embeddings.passages import LAYOUT_VERSION
from ale_semantic.embeddings.serving import Serving
from ale_semantic.errors import BundleError, BundleMismatchError
from ale_semantic.types import SearchResult, TaskCard

EDITED = "science/orbit_fit"
OLD_WORD, NEW_WORD = "residuals", "perihelion"  # in the old prompt alone, in the new one alone


def edited_cards() -> list[TaskCard]:
    card = toy_card(EDITED, title="Fit a comet's orbit", task_prompt=f"Find the {NEW_WORD} passage by least squares.")
    return [card if old.task_id == EDITED else old for old in toy_cards()]


def opened(folder: Path) -> Engine:
    return Engine.open(folder, encoder=HashEncoder())


@pytest.fixture(scope="module")
def first_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds an index of the toys, and the cache that its build left."""
    root = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALE_CACHE", str(root / "cache"))
        build_index(toy_catalogue(), root / "index", encoder=HashEncoder())
    return root


@pytest.fixture
def folder(first_build: Path, tmp_path: Path) -> Path:
    """Return an index of the toys for a test of its own, whose cache is as the build left it."""
    shutil.copytree(first_build / "cache", os.environ["ALE_CACHE"], dirs_exist_ok=True)
    return shutil.copytree(first_build / "index", tmp_path / "index")


def ranked(result: SearchResult) -> list[tuple[str, float]]:
    return [(hit.task_id, hit.score) for hit in result.hits]


def tasks(result: SearchResult) -> list[str]:
    return [hit.task_id for hit in result.hits]


def test_the_report_accounts_for_every_card_field_and_token(tmp_path: Path) -> None:
    encoder = HashEncoder()
    long = toy_card("legal/long_contract", task_prompt="Clause. " * 40 + "The very last word is zymurgy.")
    report = build_index(toy_catalogue([*toy_cards(), long]), tmp_path / "index", encoder=encoder)
    assert (report.cards, report.embedded, report.reused) == (10, 10, 0)
    assert report.tokens_dropped == 0
    prompt = next(one for one in report.ledger if (one.task_id, one.field) == ("legal/long_contract", "prompt"))
    assert (prompt.seen, prompt.dropped) == (40 * 2 + 7, 0)  # far more than the 32 that the encoder takes at once
    assert report.tokens_seen == sum(one.seen for one in report.ledger)
    assert report.passages == len(opened(tmp_path / "index").ranker.space.passages)
    assert tasks(opened(tmp_path / "index").search("zymurgy"))[0] == "legal/long_contract"


def test_no_passage_is_longer_than_the_encoder_takes(tmp_path: Path) -> None:
    encoder = HashEncoder()
    long = toy_card("legal/long_contract", task_prompt="word " * 500 + "x" * 3000)
    build_index(toy_catalogue([long]), tmp_path / "index", encoder=encoder)
    passages = opened(tmp_path / "index").ranker.space.passages.texts([long])
    lengths = [len(spans) for spans in encoder.token_spans(passages)]
    assert len(lengths) > 500 / encoder.identity.max_tokens
    assert max(lengths) == encoder.identity.max_tokens - 2  # two places are the model's own


def test_only_the_edited_card_is_embedded_again(folder: Path) -> None:
    again = HashEncoder()
    report = build_index(toy_catalogue(edited_cards()), folder, encoder=again)
    assert (report.embedded, report.reused) == (1, len(toy_cards()) - 1)
    assert any(NEW_WORD in text for text in again.encoded)
    others = [card.prompt for card in toy_cards() if card.task_id != EDITED]
    assert not {prompt.split(".")[0] for prompt in others} & {text.split(".")[0] for text in again.encoded}


def test_the_old_text_of_an_edited_card_is_no_longer_found(folder: Path) -> None:
    for mode in ("hybrid", "lexical"):
        assert tasks(opened(folder).search(f"plot {OLD_WORD}", mode=mode))[0] == EDITED
    build_index(toy_catalogue(edited_cards()), folder, encoder=HashEncoder())
    engine = opened(folder)
    assert all(OLD_WORD not in text for text in engine.ranker.space.passages.texts(engine.catalogue.cards))
    assert all(hit.why.lexical is None for hit in engine.search(OLD_WORD, mode="lexical").hits)
    assert tasks(engine.search(NEW_WORD))[0] == EDITED


def test_a_rebuild_equals_a_first_build(folder: Path, tmp_path: Path) -> None:
    build_index(toy_catalogue(edited_cards()), folder, encoder=HashEncoder())
    build_index(toy_catalogue(edited_cards()), tmp_path / "fresh", encoder=HashEncoder())
    one, other = opened(folder), opened(tmp_path / "fresh")
    assert np.array_equal(one.ranker.space.backend.vectors, other.ranker.space.backend.vectors)
    for name in ("starts", "tokens", "discount", "vectors", "projection", "idf"):
        assert np.array_equal(getattr(one.ranker.space.late, name), getattr(other.ranker.space.late, name)), name
    assert one.ranker.related is not None
    assert other.ranker.related is not None
    assert np.array_equal(one.ranker.related, other.ranker.related)
    assert one.provenance.fingerprint == other.provenance.fingerprint
    for query in ("python numpy", NEW_WORD, "lease", "zzyzx"):
        assert ranked(one.search(query, k=50)) == ranked(other.search(query, k=50))


def test_a_card_more_or_less_leaves_the_others_vectors(folder: Path) -> None:
    report = build_index(toy_catalogue(toy_cards()[:-2]), folder, encoder=HashEncoder())
    assert (report.embedded, report.reused) == (0, len(toy_cards()) - 2)
    report = build_index(toy_catalogue(), folder, encoder=HashEncoder())
    assert (report.embedded, report.reused) == (0, len(toy_cards()))  # the cache keeps what is gone from the index


@pytest.mark.parametrize(
    "other",
    [
        HashEncoder(name="small", dimension=32),
        HashEncoder(digest="1" * 64),
        HashEncoder(query_prefix="query: "),
        HashEncoder(max_tokens=16),
    ],
    ids=["dimension", "digest", "prefix", "length"],
)
def test_another_model_is_refused_and_both_are_named(folder: Path, other: HashEncoder) -> None:
    with pytest.raises(BundleMismatchError) as caught:
        Engine.open(folder, encoder=other)
    for identity in (HashEncoder().identity, other.identity):
        assert f"{identity.name} (1, {identity.dimension} dimensions, {identity.digest[:12]})" in str(caught.value)
    assert "ale-semantic build" in str(caught.value)
    # A build with it embeds everything again.
    report = build_index(toy_catalogue(), folder, encoder=other)
    assert (report.embedded, report.reused) == (len(toy_cards()), 0)
    assert tasks(Engine.open(folder, encoder=other).search("comet"))[0] == EDITED


def test_the_manifest_names_model_catalogue_and_layout(folder: Path) -> None:
    _, manifest = open_generation(folder)
    assert manifest["layout"] == LAYOUT_VERSION
    assert manifest["spaces"][0]["encoder"] == asdict(HashEncoder().identity)
    assert manifest["catalogue"]["fingerprint"] == toy_catalogue().fingerprint


def test_no_pickle_is_written(folder: Path) -> None:
    arrays = list(folder.rglob("*.npy"))
    assert arrays
    for path in arrays:
        np.load(path, allow_pickle=False)  # an array of objects would be refused
    assert not [path for path in folder.rglob("*") if path.suffix in (".pkl", ".pickle", ".pt", ".bin")]


def test_a_damaged_earlier_index_is_no_hindrance(folder: Path) -> None:
    paths, _ = open_generation(folder)
    whole = paths.cards.read_bytes()
    paths.cards.write_bytes(whole[:-40])
    with pytest.raises(BundleError, match="rebuild"):
        opened(folder)
    report = build_index(toy_catalogue(), folder, encoder=HashEncoder())
    assert not report.unchanged
    assert (report.embedded, report.reused) == (0, len(toy_cards()))  # the cache has it all
    assert len(opened(folder).catalogue) == len(toy_cards())


# What is known is not done again


def test_an_unchanged_index_stands_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first = build_index(toy_catalogue(), folder, encoder=HashEncoder())
    before = (folder / CURRENT).read_text()
    encoder = HashEncoder()
    again = build_index(toy_catalogue(), folder, encoder=encoder)
    assert (again.unchanged, again.embedded, again.reused, encoder.encoded) == (True, 0, len(toy_cards()), [])
    assert any("nothing has changed" in notice for notice in again.notices)
    same = ("cards", "passages", "tokens_seen", "tokens_dropped", "ledger", "model", "exported", "folder")
    assert [getattr(again, name) for name in same] == [getattr(first, name) for name in same]
    assert (folder / CURRENT).read_text() == before


@pytest.mark.parametrize("change", ["card", "origin", "model", "languages", "recipe", "damage", "redraw"])
def test_any_change_makes_a_new_index(folder: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue, encoder, redraw, languages = toy_catalogue(), HashEncoder(), change == "redraw", None
    if change == "card":
        catalogue = toy_catalogue(edited_cards())
    elif change == "origin":
        catalogue = toy_catalogue(name="others")
    elif change == "model":
        encoder = HashEncoder(digest="1" * 64)
    elif change == "languages":
        other = HashEncoder(name="many", dimension=32)
        monkeypatch.setattr(build, "serving_encoder", lambda name, **options: Serving.given(other))
        languages = "many"
    elif change == "recipe":
        monkeypatch.setattr("ale_semantic.embeddings.build_report.ANALYSIS_VERSION", "another")
    elif change == "damage":
        (open_generation(folder)[0].ledger).write_text("[]")
    report = build_index(catalogue, folder, encoder=encoder, redraw=redraw, multilingual=languages)
    assert not report.unchanged
    assert len(opened(folder).catalogue if change != "model" else catalogue) == len(toy_cards())


def test_another_folder_and_another_process_take_from_the_cache(folder: Path, tmp_path: Path) -> None:
    encoder = HashEncoder()
    report = build_index(toy_catalogue(), tmp_path / "two", encoder=encoder)
    assert (report.embedded, encoder.encoded) == (0, [])
    for name, content in files_of(folder).items():
        assert files_of(tmp_path / "two")[name] == content, name


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of an index's generation, the manifest, which tells when it was made, left out."""
    root = open_generation(folder)[0].root
    paths = [path for path in root.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def test_a_rebuild_writes_the_same_bytes_as_a_first_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index(toy_catalogue(), tmp_path / "rebuilt", encoder=HashEncoder())
    build_index(toy_catalogue(edited_cards()), tmp_path / "rebuilt", encoder=HashEncoder(), redraw=True)
    monkeypatch.setenv("ALE_CACHE", str(tmp_path / "another"))
    build_index(toy_catalogue(edited_cards()), tmp_path / "fresh", encoder=HashEncoder())
    rebuilt, fresh = files_of(tmp_path / "rebuilt"), files_of(tmp_path / "fresh")
    assert rebuilt.keys() == fresh.keys()
    assert [name for name, content in fresh.items() if rebuilt[name] != content] == []


def blas_threads() -> set[int]:
    """Return how many threads NumPy's BLAS has."""
    return {library["num_threads"] for library in threadpool_info() if library.get("threading_layer") == "pthreads"}


@pytest.mark.parametrize("fault", [None, ValueError("broken")])
def test_products_have_one_thread_while_a_build_ends_and_as_many_as_before_afterwards(
    fault: Exception | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[int]] = []

    def watched(name: str) -> None:
        function = getattr(build, name)

        def watching(*given: Any, **named: Any) -> Any:
            seen.append(blas_threads())
            if fault is not None and name == "measure_background":
                raise fault
            return function(*given, **named)

        monkeypatch.setattr(build, name, watching)

    watched("assign_skills")
    watched("measure_background")  # in the other thread
    with threadpool_limits(2):
        before = threadpool_info()
        with pytest.raises(ValueError, match="broken") if fault is not None else nullcontext():
            build_index(toy_catalogue(), tmp_path / "index", encoder=HashEncoder())
        assert seen == [{1}, {1}]
        known = {library["filepath"] for library in before}
        assert [library for library in threadpool_info() if library["filepath"] in known] == before


def test_bytes_dont_depend_on_what_is_quicker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cards = many_cards([f"act{number}" for number in range(30)])

    def delay(name: str, function: Callable[..., Any], seconds: float) -> None:
        def delayed(*given: Any, **named: Any) -> Any:
            time.sleep(seconds)
            return function(*given, **named)

        monkeypatch.setattr(build, name, delayed)

    measure, assign = build.measure_background, build.assign_skills
    for folder, (background, skills) in {"one": (0.0, 0.5), "two": (0.5, 0.1)}.items():
        delay("measure_background", measure, background)
        delay("assign_skills", assign, skills)
        build_index(toy_catalogue(cards), tmp_path / folder, encoder=HashEncoder(), cache=False)
    one, two = files_of(tmp_path / "one"), files_of(tmp_path / "two")
    assert one.keys() == two.keys()
    assert [name for name, content in one.items() if two[name] != content] == []


def test_without_the_cache_nothing_is_taken_from_it_and_nothing_kept(
    first_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALE_CACHE", str(first_build / "cache"))
    before = {path.name: path.read_bytes() for path in (first_build / "cache").iterdir()}
    report = build_index(toy_catalogue(), tmp_path / "index", encoder=HashEncoder(), cache=False)
    assert report.embedded == len(toy_cards())
    assert {path.name: path.read_bytes() for path in (first_build / "cache").iterdir()} == before
    monkeypatch.setenv("ALE_CACHE", str(tmp_path / "cache"))
    build_index(toy_catalogue(edited_cards()), tmp_path / "index", encoder=HashEncoder(), cache=False)
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cant_be_used_is_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ALE_CACHE", str(tmp_path / "file"))
    report = build_index(toy_catalogue(), tmp_path / "index", encoder=HashEncoder())
    assert any("embedding cache" in notice for notice in report.notices)
    assert len(opened(tmp_path / "index").catalogue) == len(toy_cards())


def test_cards_on_disk_make_the_same_index_as_cards_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cards.jsonl"
    path.write_text("\n".join(json.dumps(card_to_row(card)) for card in reversed(toy_cards())), encoding="utf-8")
    in_memory = Catalogue.load(path)
    monkeypatch.setattr("ale_semantic.card_gatherer.CardGatherer.__init__.__kwdefaults__", {"most": 2})
    on_disk = Catalogue.load(path, spool=tmp_path)
    assert isinstance(on_disk.cards, StoredCards)
    assert on_disk.fingerprint == in_memory.fingerprint
    build_index(in_memory, tmp_path / "one", encoder=HashEncoder())
    monkeypatch.setattr(build, "_BLOCK_CHARACTERS", 200)  # several blocks
    monkeypatch.setenv("ALE_CACHE", str(tmp_path / "another"))
    build_index(on_disk, tmp_path / "two", encoder=HashEncoder())
    one, two = files_of(tmp_path / "one"), files_of(tmp_path / "two")
    assert [name for name, content in one.items() if two[name] != content] == []


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_build_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    script = """
import sys
from pathlib import Path
from toy import HashEncoder, toy_catalogue
from ale_semantic import build_index
import ale_semantic.embeddings.build as build

build._BLOCK_CHARACTERS = 1  # each card in a block of its own
build.CardEmbedder = type("Counting", (build.CardEmbedder,), {})
embed = build.CardEmbedder.embed

def counting(self, cards):
    if self.embedded == 5:
        print("reached", flush=True)
        sys.stdin.read()
    return embed(self, cards)

build.CardEmbedder.embed = counting
build_index(toy_catalogue(), Path(sys.argv[1]), encoder=HashEncoder())
"""
    process = _run(script, str(folder))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not has_index(folder)
    report = build_index(toy_catalogue(), folder, encoder=HashEncoder())
    assert (report.embedded, report.reused) == (len(toy_cards()) - 5, 5)
    assert tasks(opened(folder).search("comet"))[0] == EDITED


# Builds that die, race or meet readers

_BUILD = """
import sys
from pathlib import Path
from toy import HashEncoder, toy_catalogue, toy_card, toy_cards
from ale_semantic import build_index
import ale_semantic.embeddings.build as build

moment = sys.argv[2]

class Slow(HashEncoder):
    def encode_tokens(self, *given, **named):
        print("reached", flush=True)
        sys.stdin.read()
        return super().encode_tokens(*given, **named)

def stop(*given, **named):
    print("reached", flush=True)
    sys.stdin.read()

if moment != "embedding":
    owner, name = moment.rsplit(".", 1)
    setattr(build if owner == "build" else getattr(build, owner), name, stop)
extra = toy_card("legal/extra_card", task_prompt="Something new altogether.")
encoder = Slow() if moment == "embedding" else HashEncoder()
build_index(toy_catalogue([*toy_cards(), extra]), Path(sys.argv[1]), encoder=encoder)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("moment", ["embedding", "SpaceWriter.finish", "LexicalBuilder.finish", "build.seal"])
def test_a_build_killed_in_its_middle_leaves_the_earlier_index(folder: Path, moment: str) -> None:
    before = ranked(opened(folder).search("fit a comet's orbit", k=50))
    process = _started(folder, moment)
    try:
        # While it stands there, the earlier index is whole, and no second build gets in.
        assert ranked(opened(folder).search("fit a comet's orbit", k=50)) == before
        with pytest.raises(BundleError, match="another build is writing"):
            build_index(toy_catalogue(edited_cards()), folder, encoder=HashEncoder())
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert ranked(opened(folder).search("fit a comet's orbit", k=50)) == before
    # What the dead one left is no hindrance, and is tidied away.
    build_index(toy_catalogue(edited_cards()), folder, encoder=HashEncoder())
    assert tasks(opened(folder).search(NEW_WORD))[0] == EDITED
    assert all((path / "manifest.json").is_file() for path in folder.glob("g-*"))


def _started(folder: Path, moment: str) -> subprocess.Popen[str]:
    """Start a build in another process and wait until it has come to the given moment."""
    return _run(_BUILD, str(folder), moment)


def _run(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a script and wait until it says that it has come to its moment."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reached\n"
    return process


def test_a_second_build_waits_for_the_first_if_it_may(tmp_path: Path) -> None:
    import filelock

    folder = tmp_path / "index"
    folder.mkdir()
    first = filelock.FileLock(folder / LOCK, thread_local=False)
    first.acquire()
    release = threading.Timer(0.5, first.release)
    started = time.monotonic()
    with pytest.raises(BundleError, match=r"another build is writing .*index; wait for it"):
        build_index(toy_catalogue(), folder, encoder=HashEncoder())
    assert not has_index(folder)
    release.start()
    build_index(toy_catalogue(), folder, encoder=HashEncoder(), wait=30)
    assert time.monotonic() - started >= 0.5
    assert len(opened(folder).catalogue) == len(toy_cards())


def test_sixteen_threads_search_while_new_indexes_take_the_place_of_old(tmp_path: Path) -> None:
    """Each answer is from one whole index: the cards, the vectors and the counts of one catalogue."""
    folder = tmp_path / "index"
    catalogues = [toy_catalogue(), toy_catalogue(edited_cards()), toy_catalogue(toy_cards()[:-1])]
    queries = [NEW_WORD, OLD_WORD, ""]
    whole = {}
    for place, catalogue in enumerate(catalogues):
        build_index(catalogue, tmp_path / f"alone-{place}", encoder=HashEncoder())
        engine = opened(tmp_path / f"alone-{place}")
        whole[catalogue.fingerprint] = {query: engine.search(query, k=50) for query in queries}
    build_index(catalogues[0], folder, encoder=HashEncoder())
    done = threading.Event()

    def read(number: int) -> set[str]:
        seen, kept = set(), opened(folder)
        while not done.is_set():
            for engine in (kept, opened(folder)):  # one opened long ago, one just now
                for query in queries:
                    result = engine.search(query, k=50)
                    assert result == whole[result.provenance.fingerprint][query]
                    seen.add(result.provenance.fingerprint)
            time.sleep(0.02 * (1 + number % 4))
        return seen

    with ThreadPoolExecutor(16) as pool:
        readers = [pool.submit(read, number) for number in range(16)]
        try:
            for catalogue in catalogues[1:]:
                build_index(catalogue, folder, encoder=HashEncoder())
                time.sleep(0.2)
        finally:
            done.set()
        seen = set().union(*(reader.result() for reader in readers))
    assert seen == set(whole)
