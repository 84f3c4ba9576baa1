"""The settings of the service: where they come from, what is refused, and their table."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from ale_semantic.errors import AleSemanticError
from ale_semantic.service.config import LogFormat, ServiceConfig, ServiceConfigError, is_loopback, settings_table

ROOT = Path(__file__).resolve().parents[2]


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "service.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, 'port = 1\nthreads = 1\nqueue = 1\ncors_origins = ["https://a.example"]\n')
    monkeypatch.setenv("ALE_SERVICE_THREADS", "2")
    monkeypatch.setenv("ALE_SERVICE_QUEUE", "2")
    config = ServiceConfig.load(file, queue=3, host=None)
    assert (config.port, config.threads, config.queue, config.host) == (1, 2, 3, "127.0.0.1")
    assert config.cors_origins == ("https://a.example",)


def test_the_file_is_named_by_a_variable_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALE_SERVICE_CONFIG", str(written(tmp_path, "max_k = 7")))
    assert ServiceConfig.load().max_k == 7


def test_any_setting_can_be_a_flag() -> None:
    named = ServiceConfig.named(
        ["rate-limit=120/minute", "max_k = 50", "cors_origins=https://a.example,https://b.example"]
    )
    config = ServiceConfig.load(None, **named)
    assert (config.rate_limit, config.max_k) == ("120/minute", 50)
    assert config.cors_origins == ("https://a.example", "https://b.example")


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("rate_limit", "'rate_limit' must be written NAME=VALUE, such as rate_limit=120/minute"),
        ("rate_limt=9/minute", "--set rate_limt is no setting of the service; did you mean rate_limit"),
    ],
)
def test_what_is_no_setting_is_refused_as_a_flag(pair: str, problem: str) -> None:
    with pytest.raises(ServiceConfigError, match=re.escape(problem)):
        ServiceConfig.named([pair])


def test_lists_are_split_at_commas_and_blank_variables_are_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALE_SERVICE_TRUSTED_PROXIES", "10.0.0.0/8, ::1,")
    monkeypatch.setenv("ALE_SERVICE_PORT", "")
    monkeypatch.setenv("ALE_SERVICE_LOG_FORMAT", "text")
    config = ServiceConfig.load()
    assert config.trusted_proxies == ("10.0.0.0/8", "::1")
    assert (config.port, config.log_format) == (8000, LogFormat.TEXT)


@pytest.mark.parametrize(
    ("variables", "flags", "text", "said"),
    [
        ({"ALE_SERVICE_PORT": "x"}, {}, "", "ALE_SERVICE_PORT='x': input should be a valid integer"),
        (
            {"ALE_SERVICE_PROT": "1"},
            {},
            "",
            "the variable ALE_SERVICE_PROT is no setting.* did you mean ALE_SERVICE_PORT?",
        ),
        ({}, {"port": 70_000}, "", "--port=70000: input should be less than or equal to 65535"),
        ({}, {"host": "a b"}, "", "--host='a b': must be an address or a host name"),
        ({}, {"rate_limit": "many"}, "", "--rate-limit='many': must be like 120/minute"),
        ({}, {"cors_origins": "*"}, "", "must be an exact origin"),
        ({}, {"cors_origins": "https://a.example/"}, "", "must be an exact origin"),
        ({}, {"trusted_proxies": "proxy"}, "", "must be an address or a network"),
        ({}, {"allowed_hosts": "*.example"}, "", "must be a plain host name"),
        ({}, {"otlp_endpoint": "collector:4317"}, "", "must be an http or https address"),
        ({}, {}, "porty = 1", "service.toml: 'porty' is no setting of the service; did you mean port?"),
        ({}, {}, "zzz = 1", "service.toml: 'zzz' is no setting of the service; docs/service.md lists all"),
        ({}, {}, 'threads = "two"', "service.toml: threads='two': input should be a valid integer"),
        ({}, {}, "threads =", "service.toml is not TOML"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(
    variables: dict[str, str],
    flags: dict[str, Any],
    text: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ServiceConfigError, match=said) as caught:
        ServiceConfig.load(written(tmp_path, text), **flags)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, AleSemanticError)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServiceConfigError, match=r"there is no settings file .*nowhere\.toml"):
        ServiceConfig.load(tmp_path / "nowhere.toml")


def test_the_secret_is_never_repeated() -> None:
    with pytest.raises(ServiceConfigError, match="--session-secret: ") as caught:
        ServiceConfig.load(session_secret="hunter2")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(ServiceConfig.exactly(session_secret="hunter2" * 5))


def test_settings_travel_to_workers_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    config = ServiceConfig.load(port=0, cors_origins=("https://a.example",))
    monkeypatch.setenv("ALE_SERVICE_PORT", "99")
    there = pickle.loads(pickle.dumps(config))
    assert there == config
    assert there.session_secret.get_secret_value() == config.session_secret.get_secret_value()


def test_exact_settings_ignore_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALE_SERVICE_THREADS", "9")
    assert ServiceConfig.exactly(port=0).threads == 8
    assert ServiceConfig.exactly().session_secret != ServiceConfig.exactly().session_secret


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST."])
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.0.1", "example.org", "localhost.example.org", "127.0.0.1.nip.io"]
)
def test_all_else_is_the_network(host: str) -> None:
    assert not is_loopback(host)


def test_the_documentation_lists_each_setting_as_it_is() -> None:
    page = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    assert settings_table() in page, "docs/service.md: replace its table by what `settings_table()` returns"
