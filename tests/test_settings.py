"""Settings: what the environment says, what is assumed, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ale_semantic.errors import AleSemanticError
from ale_semantic.settings import (
    DEFAULT_CARDS,
    DEFAULT_HUB_TIMEOUT,
    DEFAULT_MODEL,
    CacheSettings,
    Settings,
    cache_folder,
    default_index,
)


def test_without_variables_the_defaults_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALE_INDEX")
    assert Settings.from_environment() == Settings(DEFAULT_CARDS, default_index(), DEFAULT_MODEL, DEFAULT_HUB_TIMEOUT)


def test_variables_win_and_blank_ones_dont(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"ALE_CARDS": "demo", "ALE_INDEX": "/some/index", "ALE_MODEL": "mpnet", "ALE_HUB_TIMEOUT": "0.5"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environment() == Settings("demo", Path("/some/index"), "mpnet", 0.5)
    for name in given:
        monkeypatch.setenv(name, "")
    assert Settings.from_environment().cards == DEFAULT_CARDS


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf", "1e9"])
def test_a_timeout_that_is_none_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ALE_HUB_TIMEOUT", value)
    with pytest.raises(AleSemanticError, match=f"ALE_HUB_TIMEOUT='{value}' is not a number of seconds"):
        Settings.from_environment()


def test_the_cache_has_a_folder_and_a_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ALE_CACHE", str(tmp_path))
    monkeypatch.setenv("ALE_CACHE_MB", "7")
    assert CacheSettings.from_environment() == CacheSettings(tmp_path, 7_000_000)
    monkeypatch.setenv("ALE_CACHE", "")
    assert CacheSettings.from_environment().folder == cache_folder()


@pytest.mark.parametrize("value", ["much", "-1", "1.5", "²"])
def test_a_cache_size_that_is_none_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ALE_CACHE_MB", value)
    with pytest.raises(AleSemanticError, match=f"ALE_CACHE_MB='{value}' is not a whole number of megabytes"):
        CacheSettings.from_environment()
