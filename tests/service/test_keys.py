"""API keys: made, kept as hashes, revoked at once; the commands that do so."""

from __future__ import annotations

import hmac
import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ale_semantic.cli.commands import app
from ale_semantic.service.keys import KeyFile, KeyFileError, KeyRing, key_hash

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes of files are POSIX's")


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "settings" / "keys.json")


def test_a_key_is_long_random_and_kept_as_a_hash_alone(file: KeyFile) -> None:
    key, stored = file.add("notebook")
    other, _ = file.add("harness")
    prefix, identity, secret = key.split("_", 2)
    assert (prefix, identity) == ("alesem", stored.id)
    assert len(secret) == 43  # 256 bits
    assert key != other
    text = file.path.read_text(encoding="utf-8")
    assert secret not in text
    assert key_hash(key) in text


def test_the_file_is_its_owners_alone_and_nothing_is_left_beside_it(file: KeyFile) -> None:
    file.add("notebook")
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700
    assert {entry.name for entry in file.path.parent.iterdir()} <= {"keys.json", "keys.json.lock"}


def test_a_file_that_cannot_be_written_leaves_the_old_one(file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = file.add("notebook")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(KeyFileError, match="No space left"):
        file.add("harness")
    assert KeyRing(file.path).find(key) is not None
    assert {entry.name for entry in file.path.parent.iterdir()} <= {"keys.json", "keys.json.lock"}


def test_a_key_opens_until_it_is_revoked(file: KeyFile) -> None:
    first, _ = file.add("notebook")
    second, stored = file.add("harness")
    ring = KeyRing(file.path)
    assert [found.name for key in (first, second) if (found := ring.find(key))] == ["notebook", "harness"]
    file.revoke(stored.id)
    assert ring.find(second) is None
    assert ring.find(first) is not None


def test_a_key_expires(file: KeyFile) -> None:
    key, stored = file.add("visitor", days=1)
    assert KeyRing(file.path).find(key) is not None
    text = file.path.read_text(encoding="utf-8")
    assert stored.expires is not None
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    file.path.write_text(text.replace(stored.expires, past), encoding="utf-8")
    assert KeyRing(file.path).find(key) is None
    assert file.read()[0].state() == "expired"


@pytest.mark.parametrize("given", ["", "x", "alesem_", "é" * 50, "\udcff" * 20, "a" * 100_000])
def test_what_is_no_key_opens_nothing(given: str, file: KeyFile) -> None:
    file.add("notebook")
    assert KeyRing(file.path).find(given) is None


def test_nearly_the_key_opens_nothing(file: KeyFile) -> None:
    key, stored = file.add("notebook")
    ring = KeyRing(file.path)
    assert ring.find(key[:-1]) is None
    assert ring.find(key + "a") is None
    assert ring.find(key.upper()) is None
    assert ring.find(stored.key_hash) is None, "whoever reads the file must not get in"


def test_each_stored_key_is_compared(file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [file.add(f"key {number}")[0] for number in range(4)]
    ring = KeyRing(file.path)
    compared: list[str] = []
    real = hmac.compare_digest

    def counting(presented: str, stored: str) -> bool:
        compared.append(stored)
        return real(presented, stored)

    monkeypatch.setattr("hmac.compare_digest", counting)
    ring.find(keys[0])
    assert compared == [key_hash(key) for key in keys], "a match must not end the comparison early"


def test_a_lost_or_damaged_file_opens_nothing_and_does_not_do_away_with_keys(file: KeyFile) -> None:
    key, _ = file.add("notebook")
    ring = KeyRing(file.path)
    kept = file.path.read_bytes()
    file.path.write_text("{", encoding="utf-8")
    assert ring.find(key) is None
    assert ring.holds_keys
    assert "is no file of keys" in ring.problem
    file.path.unlink()
    assert ring.find(key) is None
    assert ring.holds_keys
    file.path.write_bytes(kept)
    assert ring.find(key) is not None
    assert ring.problem == ""


def test_revoked_keys_count_as_keys(file: KeyFile) -> None:
    assert not KeyRing(file.path).holds_keys
    ring = KeyRing(file.path)
    file.add("notebook")
    file.revoke("notebook")
    assert ring.holds_keys
    assert KeyRing(file.path).holds_keys


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused(mode: int, file: KeyFile) -> None:
    key, _ = file.add("notebook")
    ring = KeyRing(file.path)
    file.path.chmod(mode)
    assert ring.find(key) is None
    with pytest.raises(KeyFileError, match="chmod 600"):
        KeyRing(file.path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 2, "keys": []}',
        '{"format": 1, "keys": [{"id": "a"}]}',
        '{"format": 1, "keys": [{"id": "a", "name": "b", "key_hash": "00", "created": "2026-01-01T00:00:00+00:00"}]}',
        '{"format": 1, "keys": [{"id": "a", "name": "b", "key_hash": "%s", "created": "2026-01-01"}]}' % ("0" * 64),
    ],
)
def test_a_file_of_another_kind_is_refused(text: str, file: KeyFile) -> None:
    file.path.parent.mkdir()
    file.path.write_text(text, encoding="utf-8")
    file.path.chmod(0o600)
    with pytest.raises(KeyFileError, match=r"keys\.json"):
        KeyRing(file.path)


@pytest.mark.parametrize(("name", "days"), [("", None), ("a\nb", None), ("x" * 61, None), ("a", 0), ("a", 1e9)])
def test_odd_names_and_days_are_refused(name: str, days: float | None, file: KeyFile) -> None:
    with pytest.raises(KeyFileError, match="a key"):
        file.add(name, days=days)


def test_a_name_is_taken_while_its_key_is_valid(file: KeyFile) -> None:
    file.add("notebook")
    with pytest.raises(KeyFileError, match="already"):
        file.add("notebook")
    file.revoke("notebook")
    file.add("notebook")
    assert [key.state() for key in file.read()] == ["revoked", "valid"]


def test_keys_made_at_once_are_all_kept(file: KeyFile) -> None:
    threads = [threading.Thread(target=file.add, args=(f"key {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(key.name for key in file.read()) == [f"key {number}" for number in range(8)]


def test_commands_make_list_and_revoke(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    runner = CliRunner(env={"ALE_SERVICE_KEYS_FILE": str(file), "COLUMNS": "120"})
    made = runner.invoke(app, ["keys", "add", "notebook", "--days", "30"])
    key = made.stdout.strip()
    assert made.exit_code == 0
    assert key.startswith("alesem_")
    assert KeyRing(file).find(key) is not None
    listed = runner.invoke(app, ["keys", "list", "--json"])
    (entry,) = json.loads(listed.stdout)
    assert (entry["name"], entry["state"]) == ("notebook", "valid")
    assert key_hash(key) not in listed.stdout
    assert runner.invoke(app, ["keys", "revoke", entry["id"]]).exit_code == 0
    assert "revoked" in runner.invoke(app, ["keys", "list"]).stdout
    assert KeyRing(file).find(key) is None


def test_commands_find_the_file_that_the_settings_name(tmp_path: Path) -> None:
    settings = tmp_path / "service.toml"
    settings.write_text(f'keys_file = "{(tmp_path / "here.json").as_posix()}"\n', encoding="utf-8")
    assert CliRunner().invoke(app, ["keys", "add", "notebook", "--config", str(settings)]).exit_code == 0
    assert (tmp_path / "here.json").exists()


def test_a_file_written_by_root_is_its_folders_owners(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(tmp_path, 12345, 12345)
    file = KeyFile(tmp_path / "keys.json")
    file.add("notebook")
    assert (file.path.stat().st_uid, file.path.stat().st_mode & 0o777) == (12345, 0o600)
