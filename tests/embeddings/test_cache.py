"""The embedding cache: kept by content, pruned by use, shared by processes, and never in the way of a build."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import HashEncoder

from ale_semantic.embeddings.cache import CACHE_FILE, EmbeddingCache, content_key
from ale_semantic.embeddings.cached import CachedEncoder
from ale_semantic.embeddings.encoder import TextKind
from ale_semantic.embeddings.records import pack, unpack

LARGE = 1_000_000


def opened(folder: Path, limit: int = LARGE) -> EmbeddingCache:
    return EmbeddingCache.open(folder, limit=limit)


def test_what_is_put_is_there_for_the_next_that_opens_it(tmp_path: Path) -> None:
    keys = [content_key(str(number)) for number in range(1200)]
    with opened(tmp_path) as cache:
        cache.put({key: bytes(key) for key in keys})
        assert cache.size() == 1200 * 32
    with opened(tmp_path) as cache:
        assert cache.get([*keys, b"absent"]) == {key: key for key in keys}
        assert cache.notices == []


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_keys_of_different_parts_differ(one: list[str], other: list[str]) -> None:
    assert (content_key(*one) == content_key(*other)) == (one == other)


def test_those_unused_for_longest_are_pruned_on_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1e9
    monkeypatch.setattr("ale_semantic.embeddings.cache.time.time", lambda: now)
    cache = opened(tmp_path, limit=250)
    for number in range(5):
        now += 10_000
        cache.put({bytes([number]): b"x" * 100})
    now += 10_000
    cache.get([bytes([0])])
    assert cache.size() == 500  # a build keeps all that it may need
    cache.close()
    with opened(tmp_path) as cache:
        assert sorted(cache.get(bytes([number]) for number in range(5))) == [bytes([0]), bytes([4])]


def test_an_error_in_the_build_prunes_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with opened(tmp_path, limit=0) as cache:
            cache.put({b"a": b"1"})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with opened(tmp_path) as cache:
        assert cache.get([b"a"]) == {b"a": b"1"}


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_file_is_begun_anew_with_a_notice(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CACHE_FILE).write_bytes(content)
    with opened(tmp_path) as cache:
        assert [("damaged" in notice) for notice in cache.notices] == ([True] if content else [])
        cache.put({b"a": b"1"})
        assert cache.get([b"a"]) == {b"a": b"1"}


def test_damage_in_the_midst_of_the_file_is_noticed_in_use(tmp_path: Path) -> None:
    with opened(tmp_path) as cache:
        cache.put({bytes([number]): bytes([number]) * 50_000 for number in range(100)})
    path = tmp_path / CACHE_FILE
    size = path.stat().st_size
    with path.open("r+b") as file:
        for place in range(8192, size, 8192):
            file.seek(place)
            file.write(b"\xa5" * 4096)
    with opened(tmp_path) as cache:
        found = cache.get(bytes([number]) for number in range(100))
        assert all(content == key * 50_000 for key, content in found.items())
        assert len(found) < 100
        assert cache.notices
        cache.put({b"new": b"1"})
        assert cache.get([b"new"]) == {b"new": b"1"}


def test_one_damaged_entry_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    with opened(tmp_path) as cache:
        cache.put({b"a": b"1", b"b": b"2"})
    with sqlite3.connect(tmp_path / CACHE_FILE) as connection:
        connection.execute("UPDATE contents SET content = content || 'x' WHERE key = ?", (b"a",))
    connection.close()
    with opened(tmp_path) as cache:
        assert cache.get([b"a", b"b"]) == {b"b": b"2"}
        assert "1 damaged entries" in cache.notices[0]


def test_a_file_of_another_version_is_dropped(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / CACHE_FILE) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with opened(tmp_path) as cache:
        assert "its version is 99" in cache.notices[0]
        cache.put({b"a": b"1"})
        assert cache.size() == 1


def test_without_a_folder_nothing_is_kept() -> None:
    cache = EmbeddingCache.open(None, limit=LARGE)
    cache.put({b"a": b"1"})
    assert (cache.get([b"a"]), cache.size(), cache.notices) == ({}, 0, [])
    cache.close()


def test_a_folder_that_cant_be_made_is_a_notice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = opened(tmp_path / "file" / "cache")
    cache.put({b"a": b"1"})
    assert cache.get([b"a"]) == {}
    assert "can't be used" in cache.notices[0]


def test_one_that_another_process_holds_for_too_long_is_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ale_semantic.embeddings.cache._BUSY", 0.05)
    cache = opened(tmp_path)
    holder = sqlite3.connect(tmp_path / CACHE_FILE, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    cache.put({b"a": b"1"})
    assert "locked" in cache.notices[0]
    assert cache.get([b"a"]) == {}
    holder.execute("ROLLBACK")
    holder.close()
    with opened(tmp_path) as again:  # it was no damage: what was there stays
        again.put({b"b": b"2"})
        assert again.get([b"b"]) == {b"b": b"2"}


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from ale_semantic.embeddings.cache import EmbeddingCache
with EmbeddingCache.open(Path(sys.argv[1]), limit=10**9) as cache:
    for number in range(40):
        cache.put({f"{sys.argv[2]}-{number}".encode(): sys.argv[2].encode() * 2000, b"shared": b"same"})
    assert cache.notices == [], cache.notices
"""
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(place)]) for place in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    with opened(tmp_path) as cache:
        keys = [f"{place}-{number}".encode() for place in range(3) for number in range(40)]
        assert set(cache.get([*keys, b"shared"])) == {*keys, b"shared"}


def test_arrays_come_back_as_they_were() -> None:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros((0, 4), np.int32), "c": np.array([7])}
    found = unpack(pack(arrays))
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("content", [b"", b"\x10\0\0\0", b"\x02\0\0\0{}", pack({"a": np.arange(9)})[:-3]])
def test_other_bytes_are_refused(content: bytes) -> None:
    if content == b"\x02\0\0\0{}":
        assert unpack(content) == {}
        return
    with pytest.raises(ValueError):  # noqa: PT011 - which one depends on where they end
        unpack(content)


def test_the_encoder_embeds_each_text_once(tmp_path: Path) -> None:
    inner = HashEncoder()
    with opened(tmp_path) as cache:
        first = CachedEncoder(inner, cache).encode(["orbit", "lease", "orbit"], TextKind.QUERY)
        assert inner.encoded == ["orbit", "lease"]
        again = CachedEncoder(inner, cache).encode(["lease", "orbit"], TextKind.QUERY)
        assert inner.encoded == ["orbit", "lease"]
        np.testing.assert_array_equal(first[[1, 0]], again)
        np.testing.assert_array_equal(first, HashEncoder().encode(["orbit", "lease", "orbit"], TextKind.QUERY))


@pytest.mark.parametrize(
    ("other", "kind", "precision"),
    [
        (HashEncoder(digest="1" * 64), TextKind.QUERY, "float32"),
        (HashEncoder(max_tokens=16), TextKind.QUERY, "float32"),
        (HashEncoder(), TextKind.DOCUMENT, "float32"),
        (HashEncoder(), TextKind.QUERY, "float16"),
    ],
    ids=["digest", "length", "kind", "precision"],
)
def test_another_model_kind_or_precision_is_embedded_anew(
    tmp_path: Path, other: HashEncoder, kind: TextKind, precision: str
) -> None:
    with opened(tmp_path) as cache:
        CachedEncoder(HashEncoder(), cache).encode(["comet"], TextKind.QUERY)
        encoder = CachedEncoder(other, cache, precision=precision)
        encoder.encode(["comet"], kind)
        assert encoder.embedded == 1


def test_words_are_kept_too(tmp_path: Path) -> None:
    texts = ["fit a comet's orbit", "", "lease"]
    vectors, tokens = HashEncoder().encode_tokens(texts, TextKind.QUERY)
    with opened(tmp_path) as cache:
        for _ in range(2):
            found, words = CachedEncoder(HashEncoder(), cache).encode_tokens(texts, TextKind.QUERY)
            np.testing.assert_array_equal(found, vectors)
            for one, other in zip(words, tokens, strict=True):
                np.testing.assert_array_equal(one.ids, other.ids)
                np.testing.assert_array_equal(one.vectors, other.vectors)
        assert CachedEncoder(HashEncoder(), cache).encode([], TextKind.QUERY).shape == (0, 64)
